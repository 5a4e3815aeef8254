//! Sends the call by the dynamic invocation interface and turns what comes back into JSON.
//!
//! The request knows its types from the IDL file, and so does the user exception that may come back
//! (CORBA 3.3 P1 §11).

use corbie::dynamic::Exception;
use corbie::types::Value;
use corbie::{
    ARG_IN, ARG_INOUT, ARG_OUT, Any, DynamicObject, NamedValue, Object, Request, SystemException,
    TypeCode,
};
use corbie_frontend::model::Direction;
use serde_json::{Map, Value as Json, json};

use super::known::Known;
use super::target::{Parameter, Target};
use crate::failure::Failure;
use crate::json::{self, Place, Values};
use crate::session::Session;

/// How a call ended.
pub(crate) enum Outcome {
    /// With results, or `null`.
    Results(Json),
    /// With a user exception: its name and members.
    UserException(Json),
}

/// The name of the return value among the results.
const RETURN: &str = "return";

/// Calls `target` at `object` with one JSON value for each in and inout parameter.
pub(crate) fn call(
    session: &Session,
    object: &Object,
    target: &Target<'_>,
    given: &[Json],
) -> Result<Outcome, Failure> {
    let surroundings = Known { session, type_codes: &target.type_codes, values: Values::default() };
    for of in target.type_codes.values() {
        session.orb().register_value_type(of);
    }
    let failed = |exception| Failure::new(format!("{}: {exception}", target.operation));
    let mut request = request(&surroundings, object, target, given)?;
    if target.oneway {
        request.send_oneway().map_err(failed)?;
        return Ok(Outcome::Results(Json::Null));
    }
    match request.invoke() {
        Ok(()) => {
            let values = results(target, &request).map_err(failed)?;
            Ok(Outcome::Results(results_to_json(target, values, &surroundings)))
        }
        Err(Exception::User(exception)) => {
            let json = user_exception(&exception, &surroundings).map_err(failed)?;
            Ok(Outcome::UserException(json))
        }
        Err(Exception::System(exception)) => Err(failed(exception)),
    }
}

fn sent(parameter: &&Parameter) -> bool {
    parameter.direction != Direction::Out
}

fn returned(parameter: &&Parameter) -> bool {
    parameter.direction != Direction::In
}

/// The request with one JSON value for each in and inout parameter.
fn request(
    surroundings: &Known<'_, '_>,
    object: &Object,
    target: &Target<'_>,
    given: &[Json],
) -> Result<Request, Failure> {
    let failed =
        |exception: SystemException| Failure::new(format!("{}: {exception}", target.operation));
    let mut request = object.request(target.operation.clone());
    request.set_return_type(target.result.clone().unwrap_or(TypeCode::VOID));
    let mut given = given.iter().enumerate();
    for parameter in &target.parameters {
        let type_code = &parameter.type_code;
        let flags = match parameter.direction {
            Direction::In => ARG_IN,
            Direction::Out => ARG_OUT,
            Direction::InOut => ARG_INOUT,
        };
        let value = match sent(&parameter).then(|| given.next()).flatten() {
            Some((index, json)) => {
                let name = format!("args[{index}]");
                let value = json::decode(json, type_code, &Place::Whole(&name), surroundings)?;
                Any::from_dynamic(type_code.clone(), &value).map_err(failed)?
            }
            None => Any::without_value(type_code.clone()),
        };
        request.add_arg(NamedValue::new(parameter.name.clone(), value, flags));
    }
    for exception in &target.raises {
        request.add_exception(exception.clone());
    }
    for name in &target.contexts {
        request.add_context(name);
    }
    Ok(request)
}

/// The values of a reply, in its order.
fn results(target: &Target<'_>, request: &Request) -> Result<Vec<Value>, SystemException> {
    let result = target.result.iter().map(|_| request.return_value());
    let arguments = request.arguments().iter().filter(|argument| argument.flags().is_returned());
    result.chain(arguments.map(NamedValue::value)).map(Any::to_value).collect()
}

fn results_to_json(target: &Target<'_>, values: Vec<Value>, surroundings: &Known<'_, '_>) -> Json {
    let names = target.result.iter().map(|type_code| (RETURN, type_code));
    let parameters = target.parameters.iter().filter(returned);
    let names = names.chain(parameters.map(|p| (p.name.as_str(), &p.type_code)));
    let mut named: Map<String, Json> = names
        .zip(values)
        .map(|((name, type_code), value)| {
            (name.to_owned(), json::encode(&value, type_code, surroundings))
        })
        .collect();
    // A return value alone stands for itself.
    let alone = named.len() == 1 && target.result.is_some();
    match named.shift_remove(RETURN) {
        Some(result) if alone => result,
        None if named.is_empty() => Json::Null,
        Some(result) => {
            let mut all = Map::new();
            all.insert(RETURN.to_owned(), result);
            all.extend(named);
            Json::Object(all)
        }
        None => Json::Object(named),
    }
}

fn user_exception(exception: &Any, surroundings: &Known<'_, '_>) -> Result<Json, SystemException> {
    let type_code = exception.type_code();
    let name = surroundings.type_codes.name_of(type_code).map(str::to_owned);
    let members = json::encode(&exception.to_value()?, type_code, surroundings);
    Ok(json!({ "exception": name.unwrap_or_else(|| type_code.id()), "members": members }))
}
