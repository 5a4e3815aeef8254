//! Typed events: interfaces from IDL files, and calls of them from JSON.
//!
//! `create` and `serve` tell a server what the interfaces consist of; `push` calls their
//! operations; `pull` and `tail` see typed events as lists of properties, which any consumer may.

use std::path::PathBuf;

use clap::{Arg, ArgAction, ArgMatches, value_parser};
use corbie::types::InterfaceDescription;
use corbie::{Any, DynamicObject, Object, Orb, SystemException, dynamic::Exception, minor};
use corbie_event::cos_event_channel_admin::EventChannel;
use corbie_event::cos_typed_event_channel_admin::typed_consumer_admin::ObtainTypedPullSupplierError;
use corbie_event::cos_typed_event_channel_admin::typed_supplier_admin::ObtainTypedPushConsumerError;
use corbie_event::cos_typed_event_channel_admin::{
    TypedConsumerAdmin, TypedEventChannel, TypedProxyPullSupplier, TypedProxyPushConsumer,
};
use corbie_event::interfaces::EventInterface;
use corbie_frontend::{Compilation, Definition, DefinitionKind};
use serde_json::Value as Json;

use super::persistence::{Patience, Refusal};
use super::supply::{Shown, texts};
use super::surroundings::Plain;
use super::{failed, is_nil, refused, the_channel};
use crate::call::{TypeCodes, describe};
use crate::failure::Failure;
use crate::json::{self, Place};
use crate::session::Session;
use crate::{idl_files, near_names};

/// `--idl`, and what it is compiled with.
pub(super) fn idl_arguments() -> Vec<Arg> {
    let file = Arg::new("idl")
        .long("idl")
        .value_name("FILE")
        .action(ArgAction::Append)
        .value_parser(value_parser!(PathBuf))
        .help("An IDL file with interfaces of typed events; may be repeated");
    std::iter::once(file).chain(idl_files::arguments()).collect()
}

/// `--typed`; `help` says what for.
pub(super) fn argument(help: &'static str) -> Arg {
    Arg::new("typed").long("typed").value_name("INTERFACE").help(help)
}

/// The interfaces of the IDL files that typed events may be calls of.
pub(super) fn interfaces(matches: &ArgMatches) -> Result<Vec<InterfaceDescription>, Failure> {
    let mut found = vec![];
    for file in matches.get_many::<PathBuf>("idl").into_iter().flatten() {
        let compilation = compile(file, matches)?;
        let type_codes = TypeCodes::new(&compilation.model);
        for definition in compilation.model.iter().filter(is_interface) {
            // What the rules exclude may have types that cannot be described.
            let Ok(description) = describe(&type_codes, definition) else { continue };
            if is_for_events(&description) {
                found.push(description);
            }
        }
    }
    Ok(found)
}

/// The interface I that `--typed` names, then its bases and `Pull<I>`.
pub(super) fn wanted(matches: &ArgMatches) -> Result<Option<Vec<InterfaceDescription>>, Failure> {
    let Some(name) = matches.get_one::<String>("typed") else { return Ok(None) };
    let interface = named(matches, name)?;
    let why_not = match (EventInterface::pushed(&interface), EventInterface::pulled(&interface)) {
        (Err(pushed), Err(_)) => Some(pushed.to_string()),
        _ => None,
    };
    if let Some(why) = why_not {
        return Err(Failure::usage(why));
    }
    let own: Vec<String> =
        std::iter::once(&interface.id).chain(&interface.bases).cloned().collect();
    let belongs = |other: &InterfaceDescription| {
        own.iter().any(|id| pulled_of(id) == other.id || *id == other.id)
    };
    let others = interfaces(matches)?.into_iter();
    let others = others.filter(|other| other.id != interface.id && belongs(other));
    let others: Vec<_> = others.collect();
    Ok(Some(std::iter::once(interface).chain(others).collect()))
}

fn named(matches: &ArgMatches, name: &str) -> Result<InterfaceDescription, Failure> {
    let mut names = vec![];
    for file in matches.get_many::<PathBuf>("idl").into_iter().flatten() {
        let compilation = compile(file, matches)?;
        let is_it =
            |d: &&Definition| is_interface(d) && (d.scoped_name == name || d.repository_id == name);
        if let Some(definition) = compilation.model.iter().find(is_it) {
            return describe(&TypeCodes::new(&compilation.model), definition);
        }
        let here = compilation.model.iter().filter(is_interface);
        names.extend(here.map(|definition| definition.scoped_name.clone()));
    }
    if !matches.contains_id("idl") {
        return Err(Failure::usage(format!("which IDL file has {name}? Give --idl FILE")));
    }
    let near = near_names::suggestion(name, names.iter().map(String::as_str));
    Err(Failure::usage(format!("the IDL has no interface `{name}`{near}")))
}

fn compile(file: &std::path::Path, matches: &ArgMatches) -> Result<Compilation, Failure> {
    let implied = corbie_frontend::ImpliedIdl::default();
    let compilation = idl_files::compile(file, matches, implied)?;
    match compilation.has_errors() {
        true => Err(Failure::text(compilation.render_diagnostics())),
        false => Ok(compilation),
    }
}

fn is_interface(definition: &&Definition) -> bool {
    matches!(definition.kind, DefinitionKind::Interface(_))
}

fn is_for_events(description: &InterfaceDescription) -> bool {
    EventInterface::pushed(description).is_ok() || EventInterface::pulled(description).is_ok()
}

/// Calls the interface `--typed` for each event: `{"operation": NAME, "arguments": {…}}`.
pub(super) fn supply(
    session: &Session,
    matches: &ArgMatches,
    interface: &InterfaceDescription,
    shown: &mut Shown<'_>,
) -> Result<(), Failure> {
    let mut calls = vec![];
    let texts = texts(matches)?;
    // Mistakes on the command line are found before anything is sent.
    if texts.is_finite {
        for given in texts.all {
            calls.push(Ok(Call::read(session.orb(), interface, &given?)?));
        }
        return send(session, matches, interface, calls.into_iter(), shown);
    }
    let calls = texts.all.map(|given| Call::read(session.orb(), interface, &given?));
    send(session, matches, interface, calls, shown)
}

fn send(
    session: &Session,
    matches: &ArgMatches,
    interface: &InterfaceDescription,
    calls: impl Iterator<Item = Result<Call, Failure>>,
    shown: &mut Shown<'_>,
) -> Result<(), Failure> {
    let patience = Patience::of(matches)?;
    let obtain = || push_consumer(session, matches, &interface.id);
    let proxy = patience.connect(obtain, |proxy| Ok(proxy.connect_push_supplier(None)?))?;
    let typed = proxy.get_typed_consumer().map_err(|e| failed("the channel", &e))?;
    let typed = typed.ok_or_else(|| is_nil("the typed object"))?;
    for call in calls {
        let call = call?;
        patience.call(|| call.send(&typed)).map_err(|e| failed("the channel", &e))?;
        shown.taken(&call.text)?;
    }
    proxy.disconnect_push_consumer().map_err(|e| failed("the channel", &e))
}

/// One event that is pushed.
struct Call {
    operation: String,
    arguments: Vec<(String, Any)>,
    text: String,
}

impl Call {
    fn read(
        orb: &Orb,
        interface: &InterfaceDescription,
        (name, text): &(String, String),
    ) -> Result<Self, Failure> {
        let (place, plain) = (Place::Whole(name), Plain::new(orb));
        let given = json::text::parse(text, &place)?;
        let wrong = || {
            Failure::usage(format!(
                "{place} is no call: write {{\"operation\": NAME, \"arguments\": {{…}}}}"
            ))
        };
        let operation = given.get("operation").and_then(Json::as_str).ok_or_else(wrong)?;
        // As `tail` shows it, or the name alone.
        let simple = operation.rsplit("::").next().unwrap_or(operation);
        let all = &interface.operations;
        let Some(known) = all.iter().find(|operation| operation.name == simple) else {
            let near = near_names::suggestion(simple, all.iter().map(|known| known.name.as_str()));
            let interface = &interface.name;
            return Err(Failure::usage(format!("{interface} has no operation `{simple}`{near}")));
        };
        let empty = Json::Object(serde_json::Map::new());
        let values = given.get("arguments").unwrap_or(&empty).as_object().ok_or_else(wrong)?;
        if let Some(more) = values
            .keys()
            .find(|&name| known.parameters.iter().all(|parameter| parameter.name != *name))
        {
            return Err(Failure::usage(format!("{place}: {simple} has no parameter `{more}`")));
        }
        let mut arguments = vec![];
        for parameter in &known.parameters {
            let (name, of) = (&parameter.name, &parameter.type_code);
            let Some(value) = values.get(name) else {
                return Err(Failure::usage(format!("{place}: {simple} needs `{name}`")));
            };
            let value = json::decode(value, of, &place.member(name), &plain)?;
            let value = Any::from_dynamic(of.clone(), &value);
            arguments.push((name.clone(), value.map_err(|e| failed("the ORB", &e))?));
        }
        Ok(Call { operation: simple.to_owned(), arguments, text: text.clone() })
    }

    fn send(&self, typed: &Object) -> Result<(), SystemException> {
        let mut request = typed.request(self.operation.clone());
        for (name, value) in &self.arguments {
            request.add_in_arg(name.clone(), value.clone());
        }
        request.invoke().map_err(|exception| match exception {
            Exception::System(exception) => exception,
            Exception::User(_) => SystemException::unknown(
                minor::UNKNOWN_USER_EXCEPTION,
                corbie::CompletionStatus::Maybe,
            ),
        })
    }
}

fn typed_channel(session: &Session, matches: &ArgMatches) -> Result<TypedEventChannel, Refusal> {
    let channel: EventChannel = the_channel(session, matches)?;
    let narrowed = TypedEventChannel::narrow(channel.as_object());
    Ok(narrowed?.ok_or_else(|| refused("the channel is not for typed events".to_owned()))?)
}

fn push_consumer(
    session: &Session,
    matches: &ArgMatches,
    id: &str,
) -> Result<TypedProxyPushConsumer, Refusal> {
    let channel = typed_channel(session, matches)?;
    let suppliers = channel.for_suppliers()?.ok_or_else(|| is_nil("the channel"))?;
    let proxy = suppliers.obtain_typed_push_consumer(id).map_err(|error| match error {
        ObtainTypedPushConsumerError::InterfaceNotSupported(_) => refused(unsupported(id)).into(),
        ObtainTypedPushConsumerError::System(exception) => Refusal::from(exception),
    })?;
    Ok(proxy.ok_or_else(|| is_nil("the proxy"))?)
}

/// A proxy for the events of the interface `--typed` alone, by whose `pull` they come as untyped
/// ones.
pub(super) fn pull_supplier(
    session: &Session,
    matches: &ArgMatches,
    interface: &str,
) -> Result<TypedProxyPullSupplier, Refusal> {
    let id = pulled_id(matches, interface)?;
    let channel = typed_channel(session, matches)?;
    let consumers: Option<TypedConsumerAdmin> = channel.for_consumers()?;
    let consumers = consumers.ok_or_else(|| is_nil("the channel"))?;
    let proxy = consumers.obtain_typed_pull_supplier(&id).map_err(|error| match error {
        ObtainTypedPullSupplierError::InterfaceNotSupported(_) => refused(unsupported(&id)).into(),
        ObtainTypedPullSupplierError::System(exception) => Refusal::from(exception),
    })?;
    Ok(proxy.ok_or_else(|| is_nil("the proxy"))?)
}

/// The repository id of `Pull<I>`, where `--typed` names I.
fn pulled_id(matches: &ArgMatches, interface: &str) -> Result<String, Failure> {
    match interface.starts_with("IDL:") {
        true => Ok(pulled_of(interface)),
        false => Ok(pulled_of(&named(matches, interface)?.id)),
    }
}

/// The repository id of `Pull<I>`, by that of I.
fn pulled_of(id: &str) -> String {
    let (path, version) = id.rsplit_once(':').unwrap_or((id, "1.0"));
    let at = path.rfind(['/', ':']).map_or(0, |at| at + 1);
    let (before, name) = path.split_at(at);
    match name.starts_with("Pull") {
        true => id.to_owned(),
        false => format!("{before}Pull{name}:{version}"),
    }
}

fn unsupported(id: &str) -> String {
    format!(
        "the channel knows no interface {id} that events may be calls of; \
         `corbie events create --typed INTERFACE --idl FILE` tells it"
    )
}
