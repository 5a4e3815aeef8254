//! The rules that an interface has to follow if its calls are to be events (Event Service 1.2
//! §2.6 for `<I>`, §2.7 for `Pull<I>`).
//!
//! `<I>`: operations have `in` parameters only, return nothing and raise nothing. `Pull<I>`: for
//! each operation `op` of I there are `void op(out …)`, which waits, and `boolean try_op(out …)`.
//! An attribute is read by an operation that returns something, and has no place in either.

use super::{EventInterface, NotForEvents, Signature};
use corbie::types::{InterfaceDescription, OperationDescription, ParameterMode, TcKind};

/// What stands before the name of an operation that does not wait.
pub(crate) const TRY: &str = "try_";

impl EventInterface {
    /// `description`, if it follows the rules of `<I>`.
    ///
    /// # Errors
    /// [`NotForEvents`] says which rule is broken, and by what.
    pub fn pushed(description: &InterfaceDescription) -> Result<Self, NotForEvents> {
        let refuse = |why| NotForEvents { interface: description.id.clone(), why };
        has_no_attributes(description).map_err(refuse)?;
        let mut signatures = Vec::with_capacity(description.operations.len());
        for operation in &description.operations {
            can_be_event(operation, ParameterMode::In, TcKind::Void).map_err(refuse)?;
            let OperationDescription { defined_in, name, parameters, .. } = operation;
            let scope = scope_of(description, defined_in);
            signatures.push(Signature::of((defined_in, &scope), name, parameters));
        }
        if signatures.is_empty() {
            return Err(refuse("it has no operations".to_owned()));
        }
        Ok(Self::new(ids(description), signatures, false))
    }

    /// `description`, if it follows the rules of `Pull<I>`.
    ///
    /// # Errors
    /// [`NotForEvents`] says which rule is broken, and by what.
    pub fn pulled(description: &InterfaceDescription) -> Result<Self, NotForEvents> {
        let refuse = |why| NotForEvents { interface: description.id.clone(), why };
        has_no_attributes(description).map_err(refuse)?;
        let all = &description.operations;
        let named = |name: &str| all.iter().find(|operation| operation.name == name);
        let mut signatures = Vec::with_capacity(all.len() / 2);
        for operation in all {
            if operation.result.kind() == TcKind::Boolean {
                let waits = operation.name.strip_prefix(TRY).and_then(named);
                if waits.is_none() {
                    let why = "it returns a boolean and is not the try_ of another operation";
                    return Err(refuse(format!("{}: {why}", operation.name)));
                }
                continue;
            }
            can_be_event(operation, ParameterMode::Out, TcKind::Void).map_err(refuse)?;
            let tries = format!("{TRY}{}", operation.name);
            let Some(tries) = named(&tries) else {
                return Err(refuse(format!("{} has no boolean {tries}", operation.name)));
            };
            can_be_event(tries, ParameterMode::Out, TcKind::Boolean).map_err(refuse)?;
            if !have_the_same_parameters(operation, tries) {
                let (waits, tries) = (&operation.name, &tries.name);
                return Err(refuse(format!("{waits} and {tries} have different parameters")));
            }
            let scope = event_scope_of(&scope_of(description, &operation.defined_in));
            let interface = event_interface_of(&operation.defined_in);
            let (name, parameters) = (&operation.name, &operation.parameters);
            signatures.push(Signature::of((&interface, &scope), name, parameters));
        }
        if signatures.is_empty() {
            return Err(refuse("it has no operations".to_owned()));
        }
        Ok(Self::new(ids(description), signatures, true))
    }
}

fn ids(description: &InterfaceDescription) -> Vec<String> {
    std::iter::once(&description.id).chain(&description.bases).cloned().collect()
}

fn has_no_attributes(description: &InterfaceDescription) -> Result<(), String> {
    match description.attributes.first() {
        None => Ok(()),
        Some(attribute) => {
            Err(format!("{} is an attribute, which is read with a result", attribute.name))
        }
    }
}

fn can_be_event(
    operation: &OperationDescription,
    mode: ParameterMode,
    result: TcKind,
) -> Result<(), String> {
    let name = &operation.name;
    if operation.result.unaliased().map(|result| result.kind()) != Some(result) {
        let wanted = if result == TcKind::Void { "return nothing" } else { "return a boolean" };
        return Err(format!("{name} has to {wanted}"));
    }
    if let Some(other) = operation.parameters.iter().find(|parameter| parameter.mode != mode) {
        let (found, wanted) = (other.mode.word(), mode.word());
        return Err(format!("{name}: {} is {found}, and has to be {wanted}", other.name));
    }
    if let Some(exception) = operation.exceptions.first() {
        return Err(format!("{name} raises {exception}: no caller is there to be told"));
    }
    match operation.contexts.first() {
        None => Ok(()),
        Some(_) => Err(format!("{name} has a context clause, which a channel does not pass on")),
    }
}

fn have_the_same_parameters(one: &OperationDescription, two: &OperationDescription) -> bool {
    one.parameters.len() == two.parameters.len()
        && one
            .parameters
            .iter()
            .zip(&two.parameters)
            .all(|(one, two)| one.type_code.equivalent(&two.type_code))
}

/// The interface I of a `Pull<I>`, by its name: the specification has no other tie between them.
/// `PullTicker` is that of `Ticker` beside it; any other name stands for itself.
pub(super) fn event_interface_of(pulled: &str) -> String {
    let parts = split_id(pulled);
    match parts.and_then(|(before, name, after)| Some((before, without_pull(name)?, after))) {
        Some((before, name, after)) => format!("{before}{name}{after}"),
        None => pulled.to_owned(),
    }
}

/// The interface `Pull<I>` of an I.
pub(super) fn pulled_interface_of(events: &str) -> String {
    match split_id(events) {
        Some((before, name, after)) => format!("{before}Pull{name}{after}"),
        None => events.to_owned(),
    }
}

/// The same as [`event_interface_of`] for scoped names.
fn event_scope_of(pulled: &str) -> String {
    match pulled.rsplit_once("::") {
        Some((before, name)) => format!("{before}::{}", without_pull(name).unwrap_or(name)),
        None => pulled.to_owned(),
    }
}

fn without_pull(name: &str) -> Option<&str> {
    name.strip_prefix("Pull").filter(|name| !name.is_empty())
}

/// The parts of a repository id around the simple name: `IDL:Stock/`, `Ticker`, `:1.0`.
fn split_id(id: &str) -> Option<(&str, &str, &str)> {
    let first = id.find(':')?;
    let end = id.rfind(':').filter(|&end| end > first)?;
    let start = id.get(..end)?.rfind(['/', ':'])? + 1;
    Some((id.get(..start)?, id.get(start..end)?, id.get(end..)?))
}

/// The scoped name of an interface that `description` has operations of. Ids of interfaces of one
/// prefix begin alike; where another prefix ends is not known, and all is taken.
fn scope_of(description: &InterfaceDescription, id: &str) -> String {
    if id == description.id {
        return description.name.clone();
    }
    let path = |id: &str| {
        let (before, name, _) = split_id(id)?;
        let before = before.split_once(':').map_or(before, |(_, path)| path);
        Some(format!("{before}{name}"))
    };
    let own = description.name.trim_start_matches("::").replace("::", "/");
    let prefix = path(&description.id).and_then(|path| Some(path.strip_suffix(&own)?.to_owned()));
    let whole = path(id).unwrap_or_else(|| id.to_owned());
    let rest = prefix.as_deref().and_then(|prefix| whole.strip_prefix(prefix)).unwrap_or(&whole);
    format!("::{}", rest.replace('/', "::"))
}
