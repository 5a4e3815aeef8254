//! An interface whose operations are events, and the signatures of these: what is left of a
//! description once it was found to follow the rules.
//!
//! Proxies look operations up here; channels compare signatures to tell which events are for whom.

use super::NotForEvents;
use super::rules::{TRY, pulled_interface_of};
use corbie::types::ParameterDescription;
use corbie::{Object, Operation, OperationName, TypeCode};
use std::collections::HashMap;
use std::sync::Arc;

/// One kind of typed events: an operation of an interface, with its parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct Signature {
    operation: Operation,
    interface: Arc<str>,
    scope: Arc<str>,
    names: Arc<[String]>,
    types: Arc<[TypeCode]>,
}

impl Signature {
    /// The operation `name` of an interface with the repository id `interface` and the scoped name
    /// `scope`, such as `::Stock::Ticker`.
    pub fn new(
        interface: &str,
        scope: &str,
        name: &str,
        parameters: impl IntoIterator<Item = (String, TypeCode)>,
    ) -> Self {
        let (names, types): (Vec<String>, Vec<TypeCode>) = parameters.into_iter().unzip();
        let name = OperationName::from(name.to_owned());
        Self {
            operation: Operation { name, response_expected: true },
            interface: interface.into(),
            scope: scope.into(),
            names: names.into(),
            types: types.into(),
        }
    }

    pub(super) fn of(
        (interface, scope): (&str, &str),
        name: &str,
        parameters: &[ParameterDescription],
    ) -> Self {
        let parameters = parameters.iter().map(|p| (p.name.clone(), p.type_code.clone()));
        Self::new(interface, scope, name, parameters)
    }

    /// The operation, as it is called.
    #[must_use]
    pub fn operation(&self) -> &Operation {
        &self.operation
    }

    /// The repository id of the interface that declares the operation.
    #[must_use]
    pub fn interface(&self) -> &str {
        &self.interface
    }

    /// The scoped name of that interface.
    #[must_use]
    pub fn scope(&self) -> &str {
        &self.scope
    }

    /// Its scoped name, as `::Stock::Ticker::price`.
    #[must_use]
    pub fn scoped_name(&self) -> String {
        format!("{}::{}", self.scope, self.operation.name())
    }

    /// The names of its parameters, in order.
    #[must_use]
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The types of its parameters, in order.
    #[must_use]
    pub fn types(&self) -> &Arc<[TypeCode]> {
        &self.types
    }

    /// Whether an event of the one kind is an event of the other: both come from the same
    /// declaration, as far as can be told.
    #[must_use]
    pub fn is_alike(&self, other: &Signature) -> bool {
        self.operation.name == other.operation.name
            && self.interface == other.interface
            && self.has_types_of(other)
    }

    fn has_types_of(&self, other: &Signature) -> bool {
        Arc::ptr_eq(&self.types, &other.types)
            || (self.types.len() == other.types.len()
                && self.types.iter().zip(&*other.types).all(|(one, two)| one.equivalent(two)))
    }
}

/// An interface whose operations are events.
#[derive(Debug)]
pub struct EventInterface {
    ids: Vec<String>,
    signatures: HashMap<String, Arc<Signature>>,
    is_pulled: bool,
    definition: Option<Object>,
}

impl EventInterface {
    pub(super) fn new(
        ids: Vec<String>,
        signatures: impl IntoIterator<Item = Signature>,
        is_pulled: bool,
    ) -> Self {
        let by_name =
            |signature: Signature| (signature.operation.name().to_owned(), Arc::new(signature));
        Self {
            ids,
            signatures: signatures.into_iter().map(by_name).collect(),
            is_pulled,
            definition: None,
        }
    }

    /// The `Pull<I>` of this I, with the repository id `id`.
    ///
    /// # Errors
    /// [`NotForEvents`] names an `op` beside which I has `try_op`: that would be two operations.
    pub(super) fn as_pulled(&self, id: &str) -> Result<Self, NotForEvents> {
        let both = self.signatures.keys().find_map(|name| {
            let tries = format!("{TRY}{name}");
            self.signatures.contains_key(&tries).then_some((name, tries))
        });
        if let Some((name, tries)) = both {
            let why = format!(
                "{} has {name} and {tries}: a call of {tries} could be meant for either",
                self.id()
            );
            return Err(NotForEvents { interface: id.to_owned(), why });
        }
        let signatures = self.signatures.clone();
        let bases = self.ids.iter().skip(1).map(|base| pulled_interface_of(base));
        let ids = std::iter::once(id.to_owned()).chain(bases).collect();
        Ok(Self { ids, signatures, is_pulled: true, definition: None })
    }

    /// This `Pull<I>`, where `events` is I: its events are those of I, whichever interface declares
    /// them there.
    ///
    /// # Errors
    /// [`NotForEvents`] names an operation that I does not have like this.
    pub(super) fn of_events(mut self, events: &EventInterface) -> Result<Self, NotForEvents> {
        for (name, signature) in &mut self.signatures {
            match events.signatures.get(name).filter(|event| event.has_types_of(signature)) {
                Some(event) => *signature = Arc::clone(event),
                None => {
                    let events = events.id();
                    let why =
                        format!("{name} is no operation of {events} with the same parameters");
                    let interface = self.ids.first().cloned().unwrap_or_default();
                    return Err(NotForEvents { interface, why });
                }
            }
        }
        Ok(self)
    }

    /// With its `CORBA::InterfaceDef`.
    pub(super) fn defined_by(self, definition: Option<Object>) -> Self {
        Self { definition, ..self }
    }

    /// Its `CORBA::InterfaceDef`, if it comes from an Interface Repository.
    #[must_use]
    pub fn definition(&self) -> Option<&Object> {
        self.definition.as_ref()
    }

    /// Its repository id.
    #[must_use]
    pub fn id(&self) -> &str {
        self.ids.first().map_or("", String::as_str)
    }

    /// Whether an object with this interface has that one.
    #[must_use]
    pub fn is_a(&self, repository_id: &str) -> bool {
        self.ids.iter().any(|id| id == repository_id)
    }

    /// Whether it is a `Pull<I>`.
    #[must_use]
    pub fn is_pulled(&self) -> bool {
        self.is_pulled
    }

    /// The event that is a call of `operation`.
    #[must_use]
    pub fn signature(&self, operation: &str) -> Option<&Arc<Signature>> {
        self.signatures.get(operation)
    }

    /// All events.
    pub fn signatures(&self) -> impl Iterator<Item = &Arc<Signature>> {
        self.signatures.values()
    }

    /// Whether an event of this kind can be given to who has this interface.
    #[must_use]
    pub fn takes(&self, signature: &Arc<Signature>) -> bool {
        self.signature(signature.operation.name())
            .is_some_and(|own| Arc::ptr_eq(own, signature) || own.is_alike(signature))
    }
}
