//! What JSON of events is read and written with: no IDL, and the ORB for references. Used by
//! `flow`; the mapping is that of `corbie call`.

use corbie::types::{Ior, TypeCode};
use corbie::{Any, Orb, Value};
use serde_json::{Value as Json, json};

use crate::failure::Failure;
use crate::json::{self, Place, Surroundings, Values};

/// What a typed event is as an untyped one (Notification Service 1.1 §2.8.2).
const PROPERTY_SEQ: &str = "IDL:omg.org/CosNotification/PropertySeq:1.0";

/// Types are written out; references are any URL.
pub(in crate::command) struct Plain<'o> {
    pub(in crate::command) orb: &'o Orb,
    values: Values,
}

impl Surroundings for Plain<'_> {
    fn values(&self) -> &Values {
        &self.values
    }

    fn type_named(&self, name: &str) -> Result<TypeCode, String> {
        Err(format!("no type {name:?} is known here: write it out"))
    }

    fn name_of(&self, _: &TypeCode) -> Option<String> {
        None
    }

    fn reference(&self, url: &str) -> Result<Ior, String> {
        let object = self.orb.string_to_object(url).map_err(|exception| exception.to_string())?;
        Ok(object.ior().clone())
    }
}

impl<'o> Plain<'o> {
    /// What one event is read or written with.
    pub(in crate::command) fn new(orb: &'o Orb) -> Self {
        Self { orb, values: Values::default() }
    }

    /// The event that a JSON text means.
    pub(super) fn event(&self, text: &str, place: &Place<'_>) -> Result<Any, Failure> {
        let given = json::text::parse(text, place)?;
        let type_name = match &given {
            Json::Bool(_) => Some("boolean"),
            Json::String(_) => Some("string"),
            Json::Number(number) if number.as_i64().is_some_and(|n| i32::try_from(n).is_ok()) => {
                Some("long")
            }
            Json::Number(number) if number.as_i64().is_some() => Some("long long"),
            Json::Number(_) => Some("double"),
            _ => None,
        };
        let whole = match type_name {
            Some(name) => json!({ "type": name, "value": given }),
            None => given,
        };
        let value = json::decode(&whole, &TypeCode::ANY, place, self)?;
        match value {
            corbie::Value::Any(any) => Ok(*any),
            _ => Err(Failure::usage(format!("{place} is no any"))),
        }
    }

    /// An event as JSON.
    pub(in crate::command) fn json(&self, event: &Any) -> Json {
        if let Some(call) = self.call(event) {
            return call;
        }
        let value = corbie::Value::Any(Box::new(event.clone()));
        json::encode(&value, &TypeCode::ANY, self)
    }

    /// A typed event, which comes as the list of its properties: operation and arguments by name.
    fn call(&self, event: &Any) -> Option<Json> {
        if event.type_code().id() != PROPERTY_SEQ {
            return None;
        }
        let Ok(Value::List(list)) = event.to_value() else { return None };
        let mut properties = list.into_iter().map_while(|property| match property {
            Value::Struct(members) => match <[Value; 2]>::try_from(members) {
                Ok([Value::String(name), Value::Any(value)]) => Some((name, *value)),
                _ => None,
            },
            _ => None,
        });
        let (_, operation) = properties.next().filter(|(name, _)| name == "operation")?;
        let operation = operation.extract::<String>().ok()?;
        let mut arguments = serde_json::Map::new();
        for (name, any) in properties {
            let value = any.to_value().ok()?;
            arguments.insert(name, json::encode(&value, any.type_code(), self));
        }
        Some(json!({ "operation": operation, "arguments": arguments }))
    }
}
