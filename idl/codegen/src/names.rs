//! Which Rust name and module every definition gets.
//!
//! An IDL module becomes a Rust module; the contents of an interface, valuetype, struct, union or
//! exception go into a module beside it (`Stock::Quoter` into `stock::quoter`). Names that the
//! mapping adds (`QuoterServant`) give way to names of the IDL by a trailing underscore; of two
//! names of the IDL that become one Rust name the later one gives way, with a warning.

use std::collections::{HashMap, HashSet};

use corbie_frontend::model::{Access, ImpliedKind, InterfaceKind, Member, Parameter};
use corbie_frontend::{DefId, Definition, DefinitionKind, Diagnostic, Model, Span};

use crate::externs::Externs;
use crate::names::claims::{Claimant, Claims, Space};
use crate::options::Options;
use crate::rust_name::{Case, convert};

mod claims;

/// The parts of a Rust path, from the place where the generated code is included.
pub(crate) type ModulePath = Vec<String>;

/// A kind of item that the mapping adds to a definition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Implied {
    /// `trait QuoterServant`
    Servant,
    /// `struct QuoterSkeleton`
    Skeleton,
    /// `enum IdentifierIdl`: an alias, local interface or valuetype as a marker type.
    Marker,
    /// `struct NodeState`: the state of a valuetype.
    State,
    /// `struct NodeValue`: the values of a valuetype.
    Carrier,
    /// `trait NodeOperations`: what the application does for the operations of a valuetype.
    Operations,
    /// `trait NodeFactory`: the initialisers of a valuetype.
    Factory,
    /// `enum GetQuoteError` of an operation, or of reading an attribute.
    Error,
    /// `enum SetPriceError` of writing an attribute.
    SetError,
    /// `struct GetQuoteResponse` of an operation of `AMH_Quoter`.
    Response,
    /// `trait AsyncQuoterServant`
    AsyncServant,
    /// `struct AsyncQuoterSkeleton`
    AsyncSkeleton,
    /// `struct AmiQuoterExceptionHolder` of a reply handler.
    AmiExceptionHolder,
}

/// Where a definition's Rust item is.
#[derive(Debug, Clone)]
struct Place {
    /// Name without keyword escape.
    name: String,
    /// The module that has the item.
    module: ModulePath,
    /// The name of the module for what is defined inside.
    inner: String,
}

/// Rust names of a whole model.
#[derive(Debug, Default)]
pub(crate) struct Names {
    places: Vec<Place>,
    implied: HashMap<(DefId, Implied), String>,
    /// Names of types and modules in each module, for what would shadow the prelude.
    types: HashMap<ModulePath, HashSet<String>>,
    /// Names of operations and attributes in each interface's module.
    methods: HashSet<(ModulePath, String)>,
    setters: HashMap<DefId, String>,
    /// Members whose name had to give way: owner and IDL name.
    members: HashMap<(DefId, String), String>,
    /// By scoped IDL name.
    renames: HashMap<String, String>,
}

/// Methods that every reference has; an operation of this name gets a trailing underscore.
const REFERENCE_METHODS: &[&str] = &[
    "narrow",
    "unchecked_narrow",
    "as_object",
    "into_object",
    "from_object",
    "clone",
    "eq",
    "ne",
    "fmt",
    "from",
    "into",
    "try_into",
];

impl Names {
    /// Names everything; names that had to give way are added to `diagnostics`.
    pub(crate) fn new(
        model: &Model,
        options: &Options,
        externs: &Externs,
        diagnostics: &mut Vec<Diagnostic>,
    ) -> Self {
        let renames = options.renames.iter().cloned().collect();
        let mut names = Names { renames, ..Names::default() };
        let mut claims = Claims::new(model, externs, diagnostics);
        for definition in model.iter() {
            // Containers come before their contents, so the parent's place is known.
            let module = definition.parent.map_or_else(Vec::new, |p| names.inner_module(p));
            let renamed = names.renames.get(&definition.scoped_name).cloned();
            let wanted = renamed.unwrap_or_else(|| rust_name_of(definition));
            names.claim(definition, module, wanted, externs, &mut claims);
        }
        for definition in model.iter() {
            names.add_implied(definition, externs);
            names.add_asynchronous(definition, options, externs);
        }
        names
    }

    /// The name of the definition's own item.
    pub(crate) fn name(&self, id: DefId) -> &str {
        &self.places[id.index()].name
    }

    /// The module that has the definition's item.
    pub(crate) fn module(&self, id: DefId) -> &ModulePath {
        &self.places[id.index()].module
    }

    /// The module that has what is defined inside.
    pub(crate) fn inner_module(&self, id: DefId) -> ModulePath {
        let place = &self.places[id.index()];
        let mut module = place.module.clone();
        module.push(place.inner.clone());
        module
    }

    /// The name of an item that the mapping adds to a definition.
    pub(crate) fn implied(&self, id: DefId, which: Implied) -> &str {
        self.implied.get(&(id, which)).map_or("", String::as_str)
    }

    /// The method that sets an attribute.
    pub(crate) fn setter(&self, id: DefId) -> &str {
        self.setters.get(&id).map_or("", String::as_str)
    }

    /// Whether a module has a type or module of this name.
    pub(crate) fn has_type(&self, module: &[String], name: &str) -> bool {
        self.types.get(module).is_some_and(|names| names.contains(name))
    }

    /// Gives a definition its place, and its members their names.
    fn claim(
        &mut self,
        definition: &Definition,
        module: ModulePath,
        wanted: String,
        externs: &Externs,
        claims: &mut Claims<'_>,
    ) {
        use Space::{Type, Value};
        let id = definition.id;
        let around = externs.tree_of(id, &module);
        let scope = around.join("::");
        let claimant = Claimant::of(definition);
        let (scope, spaces): (String, &[Space]) = match &definition.kind {
            DefinitionKind::Operation(_) | DefinitionKind::Attribute(_) => {
                (format!("{scope} methods"), &[Value])
            }
            DefinitionKind::Factory(_) | DefinitionKind::HomeFactory(_) => {
                (format!("{scope} factories"), &[Value])
            }
            DefinitionKind::Constant(_) => (scope, &[Value]),
            DefinitionKind::Exception(x) if x.members.is_empty() => (scope, &[Type, Value]),
            DefinitionKind::Struct(x) if x.members.is_empty() => (scope, &[Type, Value]),
            _ => (scope, &[Type]),
        };
        let name = claims.claim(&scope, spaces, wanted, claimant.clone());
        let mut inner = convert(&name, Case::Snake);
        match &definition.kind {
            DefinitionKind::Operation(_) | DefinitionKind::Attribute(_) => {
                self.methods.insert((around, name.clone()));
            }
            DefinitionKind::Factory(_)
            | DefinitionKind::HomeFactory(_)
            | DefinitionKind::Constant(_) => {}
            kind => {
                let types = self.types.entry(around).or_default();
                types.insert(name.clone());
                if matches!(kind, DefinitionKind::Module(_)) {
                    inner.clone_from(&name);
                } else if has_inner_module(kind) {
                    inner = claims.claim(&scope, &[Type], inner, claimant);
                    types.insert(inner.clone());
                }
            }
        }
        self.places.push(Place { name, module, inner });
        self.claim_members(definition, claims);
    }

    fn add_implied(&mut self, definition: &Definition, externs: &Externs) {
        use Implied::{
            AmiExceptionHolder, Carrier, Error, Factory, Marker, Operations, Servant, SetError,
            Skeleton, State,
        };
        let id = definition.id;
        match &definition.kind {
            DefinitionKind::Interface(x) if x.kind == InterfaceKind::Local => {
                self.imply(id, Marker, "Idl", externs);
            }
            DefinitionKind::Interface(_)
            | DefinitionKind::Component(_)
            | DefinitionKind::Home(_) => {
                self.imply(id, Servant, "Servant", externs);
                self.imply(id, Skeleton, "Skeleton", externs);
                if definition.implied.is_some_and(|x| x.kind == ImpliedKind::AmiHandler) {
                    let name = self.name(id).trim_end_matches('_');
                    let name = name.strip_suffix("Handler").unwrap_or(name);
                    let name = format!("{name}ExceptionHolder");
                    self.imply_in(id, AmiExceptionHolder, name, externs);
                }
            }
            DefinitionKind::Typedef(_) => self.imply(id, Marker, "Idl", externs),
            DefinitionKind::ValueType(_) => {
                self.imply(id, Marker, "Idl", externs);
                self.imply(id, State, "State", externs);
                self.imply(id, Carrier, "Value", externs);
                self.imply(id, Operations, "Operations", externs);
                self.imply(id, Factory, "Factory", externs);
            }
            DefinitionKind::Operation(_) | DefinitionKind::Factory(_) => {
                let name = convert(self.name(id), Case::Camel) + "Error";
                self.imply_in(id, Error, name, externs);
            }
            DefinitionKind::Attribute(_) => {
                let name = convert(self.name(id), Case::Camel);
                self.imply_in(id, Error, format!("{name}Error"), externs);
                self.imply_in(id, SetError, format!("Set{name}Error"), externs);
                let setter = self.free_setter(definition, externs);
                self.setters.insert(id, setter);
            }
            _ => {}
        }
    }

    /// Names of asynchronous servants and of what they answer with.
    fn add_asynchronous(&mut self, definition: &Definition, options: &Options, externs: &Externs) {
        let id = definition.id;
        match (definition.implied, &definition.kind) {
            (Some(implied), _) if implied.kind == ImpliedKind::AmhServant => {
                self.imply(id, Implied::Servant, "Servant", externs);
                self.imply(id, Implied::Skeleton, "Skeleton", externs);
            }
            (Some(implied), _) => {
                let ImpliedKind::AmhOperation(access) = implied.kind else { return };
                let set = if access == Access::Set { "Set" } else { "" };
                let name = convert(self.name(implied.origin), Case::Camel);
                self.imply_in(id, Implied::Response, format!("{set}{name}Response"), externs);
            }
            (None, DefinitionKind::Interface(x)) if x.kind == InterfaceKind::Local => {}
            (
                None,
                DefinitionKind::Interface(_)
                | DefinitionKind::Component(_)
                | DefinitionKind::Home(_),
            ) if options.async_servants => {
                for (which, suffix) in
                    [(Implied::AsyncServant, "Servant"), (Implied::AsyncSkeleton, "Skeleton")]
                {
                    let name = self.name(id).trim_end_matches('_');
                    let name = format!("Async{name}{suffix}");
                    self.imply_in(id, which, name, externs);
                }
            }
            _ => {}
        }
    }

    fn imply(&mut self, id: DefId, which: Implied, suffix: &str, externs: &Externs) {
        let name = format!("{}{suffix}", self.name(id).trim_end_matches('_'));
        self.imply_in(id, which, name, externs);
    }

    fn imply_in(&mut self, id: DefId, which: Implied, mut name: String, externs: &Externs) {
        let types = self.types.entry(externs.tree_of(id, self.module(id))).or_default();
        while !types.insert(name.clone()) {
            name.push('_');
        }
        self.implied.insert((id, which), name);
    }

    /// `set_` and the attribute's name, unless the interface has such an operation.
    fn free_setter(&self, attribute: &Definition, externs: &Externs) -> String {
        let base = self.name(attribute.id).trim_end_matches('_');
        let around = externs.tree_of(attribute.id, self.module(attribute.id));
        let mut method = (around, format!("set_{base}"));
        while self.methods.contains(&method) {
            method.1.push('_');
        }
        method.1
    }

    /// The Rust name of a member, enumerator, case or parameter of a definition.
    pub(crate) fn member(&self, owner: &Definition, idl: &str, case: Case) -> String {
        let given = self.members.get(&(owner.id, idl.to_owned()));
        given.cloned().unwrap_or_else(|| self.wanted_member(owner, idl, case))
    }

    fn wanted_member(&self, owner: &Definition, idl: &str, case: Case) -> String {
        let scoped = format!("{}::{idl}", owner.scoped_name);
        self.renames.get(&scoped).cloned().unwrap_or_else(|| convert(idl, case))
    }

    fn claim_members(&mut self, owner: &Definition, claims: &mut Claims<'_>) {
        let (case, members) = members_of(owner);
        let scope = format!("members of {}", owner.id.index());
        for (base, name) in inherited_members(claims.model(), owner) {
            let given = self.member(base, name, case);
            claims.claim(&scope, &[Space::Value], given, Claimant::of(base));
        }
        for (name, span) in members {
            let wanted = self.wanted_member(owner, name, case);
            let claimant = Claimant {
                id: owner.id,
                word: "member",
                scoped_name: format!("{}::{name}", owner.scoped_name),
                span,
            };
            let given = claims.claim(&scope, &[Space::Value], wanted.clone(), claimant);
            if given != wanted {
                self.members.insert((owner.id, name.to_owned()), given);
            }
        }
    }
}

/// The members that a struct or valuetype has from its bases, each with the base.
fn inherited_members<'m>(model: &'m Model, owner: &Definition) -> Vec<(&'m Definition, &'m str)> {
    let bases: Vec<DefId> = match &owner.kind {
        DefinitionKind::Struct(x) => x.base.into_iter().collect(),
        DefinitionKind::ValueType(x) => x.bases.clone(),
        _ => Vec::new(),
    };
    let mut found = Vec::new();
    for base in bases.into_iter().filter(|base| *base < owner.id).map(|base| model.get(base)) {
        found.extend(inherited_members(model, base));
        found.extend(members_of(base).1.into_iter().map(|(name, _)| (base, name)));
    }
    found
}

/// Names of the members, enumerators, cases or parameters, and how Rust writes them.
fn members_of(owner: &Definition) -> (Case, Vec<(&str, Span)>) {
    fn members(list: &[Member]) -> Vec<(&str, Span)> {
        list.iter().map(|m| (m.name.as_str(), m.span)).collect()
    }
    fn parameters(list: &[Parameter]) -> Vec<(&str, Span)> {
        list.iter().map(|p| (p.name.as_str(), p.span)).collect()
    }
    match &owner.kind {
        DefinitionKind::Struct(x) => (Case::Snake, members(&x.members)),
        DefinitionKind::Exception(x) => (Case::Snake, members(&x.members)),
        DefinitionKind::ValueType(x) => {
            let state = x.state.iter().map(|s| (s.member.name.as_str(), s.member.span));
            (Case::Snake, state.collect())
        }
        DefinitionKind::Operation(x) => (Case::Snake, parameters(&x.parameters)),
        DefinitionKind::Factory(x) => (Case::Snake, parameters(&x.parameters)),
        DefinitionKind::HomeFactory(x) => (Case::Snake, parameters(&x.parameters)),
        DefinitionKind::Union(x) => {
            let cases = x.cases.iter().map(|c| (c.member.name.as_str(), c.member.span));
            (Case::Camel, cases.collect())
        }
        DefinitionKind::Enum(x) => {
            (Case::Camel, x.enumerators.iter().map(|e| (e.name.as_str(), e.span)).collect())
        }
        _ => (Case::Snake, Vec::new()),
    }
}

/// Whether the mapping makes a module for what the definition contains.
fn has_inner_module(kind: &DefinitionKind) -> bool {
    match kind {
        DefinitionKind::Interface(_)
        | DefinitionKind::Component(_)
        | DefinitionKind::Home(_)
        | DefinitionKind::ValueType(_) => true,
        kind => !kind.children().is_empty(),
    }
}

fn rust_name_of(definition: &Definition) -> String {
    let case = match &definition.kind {
        DefinitionKind::Module(_)
        | DefinitionKind::Operation(_)
        | DefinitionKind::Attribute(_)
        | DefinitionKind::Factory(_)
        | DefinitionKind::HomeFactory(_) => Case::Snake,
        DefinitionKind::Constant(_) => Case::Screaming,
        _ => Case::Camel,
    };
    let name = convert(&definition.name, case);
    let is_method =
        matches!(definition.kind, DefinitionKind::Operation(_) | DefinitionKind::Attribute(_));
    if is_method && REFERENCE_METHODS.contains(&name.as_str()) { name + "_" } else { name }
}
