//! Sends the call and turns what comes back into JSON.
//!
//! Arguments travel in the order of the IDL, in and inout ones; the reply has the return value,
//! then inout and out parameters (CORBA 3.3 P2 §9.4.4.2).

use corbie::cdr::{self, Decoder, Encoder};
use corbie::types::Value;
use corbie::{Object, Operation, Reply};
use corbie_frontend::model::Direction;
use serde_json::{Map, Value as Json, json};

use super::known::Known;
use super::target::{Parameter, Raised, Target};
use crate::failure::Failure;
use crate::json::{self, Place};
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
    let surroundings = Known { session, type_codes: &target.type_codes };
    let arguments = arguments(&surroundings, target, given)?;
    // One call, then the process ends: the name may as well live for ever.
    let name: &'static str = target.operation.clone().leak();
    let write = writer(&arguments, target.has_context);
    let failed = |exception| Failure::new(format!("{}: {exception}", target.operation));
    if target.oneway {
        let operation = Operation::oneway(name);
        object.invoke_oneway(&operation, &write).map_err(failed)?;
        return Ok(Outcome::Results(Json::Null));
    }
    let operation = Operation::twoway(name);
    let mut reply = object.invoke(&operation, &write).map_err(failed)?;
    let raised = reply.user_exception().map(str::to_owned);
    match raised {
        None => {
            let values = reply.results(|d| results(target, d)).map_err(failed)?;
            Ok(Outcome::Results(results_to_json(target, values, &surroundings)))
        }
        Some(id) => {
            user_exception(target, &id, &mut reply, &surroundings).map(Outcome::UserException)
        }
    }
}

/// Writes the arguments; large octet sequences are borrowed from them until they are sent.
fn writer<'a>(
    arguments: &'a [(&Parameter, Value)],
    has_context: bool,
) -> impl Fn(&mut Encoder<'a>) -> Result<(), cdr::Error> {
    move |e| {
        arguments.iter().try_for_each(|(to, value)| value.encode(&to.type_code, e))?;
        // CORBA 3.3 P2 §9.4.2.2: names and values of the context; this command has none.
        if has_context { e.write_length(0) } else { Ok(()) }
    }
}

fn sent(parameter: &&Parameter) -> bool {
    parameter.direction != Direction::Out
}

fn returned(parameter: &&Parameter) -> bool {
    parameter.direction != Direction::In
}

fn arguments<'t>(
    surroundings: &Known<'_, '_>,
    target: &'t Target<'_>,
    given: &[Json],
) -> Result<Vec<(&'t Parameter, Value)>, Failure> {
    let parameters = target.parameters.iter().filter(sent);
    parameters
        .zip(given)
        .enumerate()
        .map(|(index, (parameter, json))| {
            let name = format!("args[{index}]");
            let place = Place::Whole(&name);
            Ok((parameter, json::decode(json, &parameter.type_code, &place, surroundings)?))
        })
        .collect()
}

/// The values of a reply, in its order.
fn results(target: &Target<'_>, d: &mut Decoder<'_>) -> Result<Vec<Value>, cdr::Error> {
    let types = target.result.iter();
    let types = types.chain(target.parameters.iter().filter(returned).map(|p| &p.type_code));
    types.map(|type_code| Value::decode(type_code, d)).collect()
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

fn user_exception(
    target: &Target<'_>,
    id: &str,
    reply: &mut Reply,
    surroundings: &Known<'_, '_>,
) -> Result<Json, Failure> {
    let failed = |exception| Failure::new(format!("{}: {exception}", target.operation));
    let Some(Raised { name, members, .. }) =
        target.raises.iter().find(|raised| raised.repository_id == id)
    else {
        return Err(failed(reply.unknown_user_exception()));
    };
    let value = reply.results(|d| Value::decode(members, d)).map_err(failed)?;
    let members = json::encode(&value, members, surroundings);
    Ok(json!({ "exception": name, "members": members }))
}
