//! Tests of the conversion: each type in both directions, each error with its place, and random
//! values of random types.

mod errors;
mod random;
mod types;
mod values;

use corbie::types::{Ior, TypeCode, Value};
use serde_json::Value as Json;

use super::{Place, Surroundings, Values, decode, encode};

/// A world without an IDL file and without an ORB, which knows one name.
#[derive(Default)]
struct Nothing(Values);

impl Surroundings for Nothing {
    fn values(&self) -> &Values {
        &self.0
    }

    fn type_named(&self, name: &str) -> Result<TypeCode, String> {
        match name {
            "Known::Colour" => Ok(colour()),
            _ => Err(format!("there is no type `{name}`")),
        }
    }

    fn name_of(&self, type_code: &TypeCode) -> Option<String> {
        (*type_code == colour()).then(|| "Known::Colour".to_owned())
    }

    fn reference(&self, url: &str) -> Result<Ior, String> {
        Err(format!("`{url}` cannot be resolved here"))
    }
}

fn colour() -> TypeCode {
    TypeCode::enumeration("IDL:Known/Colour:1.0", "Colour", &["red", "green", "blue"])
}

fn point() -> TypeCode {
    let members = [("x", TypeCode::LONG), ("y", TypeCode::LONG)];
    TypeCode::structure("IDL:Point:1.0", "Point", &members)
}

fn parse(text: &str) -> Json {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn read(json: &str, type_code: &TypeCode) -> Result<Value, String> {
    decode(&parse(json), type_code, &Place::Whole("args[0]"), &Nothing::default())
        .map_err(|failure| failure.to_string())
}

fn write(value: &Value, type_code: &TypeCode) -> String {
    encode(value, type_code, &Nothing::default()).to_string()
}

/// `json` is read, and written again exactly as it was.
fn both_ways(json: &str, type_code: &TypeCode) -> Value {
    let value = read(json, type_code).unwrap_or_else(|error| panic!("{json}: {error}"));
    assert_eq!(write(&value, type_code), json);
    value
}
