//! Which Rust name and module every definition gets, and which names clash.
//!
//! An IDL module becomes a Rust module; the contents of an interface, valuetype, struct, union or
//! exception go into a module beside it (`Stock::Quoter` into `stock::quoter`). Names that the
//! mapping adds (`QuoterServant`) give way to names of the IDL by a trailing underscore; two names
//! of the IDL that become one Rust name are an error that names both.

use std::collections::{HashMap, HashSet};

use corbie_frontend::diagnostic::Note;
use corbie_frontend::model::{Access, ImpliedKind, InterfaceKind, Member, Parameter};
use corbie_frontend::{Code, DefId, Definition, DefinitionKind, Diagnostic, Model, Severity, Span};

use crate::options::Options;
use crate::rust_name::{Case, convert};

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
    /// Names everything; clashes are added to `diagnostics`.
    pub(crate) fn new(model: &Model, options: &Options, diagnostics: &mut Vec<Diagnostic>) -> Self {
        let renames = options.renames.iter().cloned().collect();
        let mut names = Names { renames, ..Names::default() };
        for definition in model.iter() {
            // Containers come before their contents, so the parent's place is known.
            let module = definition.parent.map_or_else(Vec::new, |p| names.inner_module(p));
            let renamed = names.renames.get(&definition.scoped_name).cloned();
            let name = renamed.unwrap_or_else(|| rust_name_of(definition));
            names.places.push(Place { name, module });
        }
        let mut clashes = Clashes { model, diagnostics, taken: HashMap::new() };
        for definition in model.iter() {
            names.claim(definition, &mut clashes);
        }
        for definition in model.iter() {
            names.add_implied(definition);
            names.add_asynchronous(definition, options);
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
        module.push(convert(&place.name, Case::Snake));
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

    /// Reports clashes of the definition's own names, and of names of its members.
    fn claim(&mut self, definition: &Definition, clashes: &mut Clashes<'_>) {
        let place = self.places[definition.id.index()].clone();
        let scope = place.module.join("::");
        match &definition.kind {
            DefinitionKind::Module(_) => {
                clashes.claim(&scope, Space::Type, &place.name, Claimant::of(definition));
                self.types.entry(place.module).or_default().insert(place.name);
            }
            DefinitionKind::Operation(_) | DefinitionKind::Attribute(_) => {
                let scope = format!("{scope} methods");
                clashes.claim(&scope, Space::Value, &place.name, Claimant::of(definition));
                self.methods.insert((place.module, place.name));
                self.claim_members(definition, clashes);
            }
            DefinitionKind::Factory(_) | DefinitionKind::HomeFactory(_) => {
                let scope = format!("{scope} factories");
                clashes.claim(&scope, Space::Value, &place.name, Claimant::of(definition));
            }
            DefinitionKind::Constant(_) => {
                clashes.claim(&scope, Space::Value, &place.name, Claimant::of(definition));
            }
            kind => {
                clashes.claim(&scope, Space::Type, &place.name, Claimant::of(definition));
                if matches!(kind, DefinitionKind::Exception(x) if x.members.is_empty()) {
                    clashes.claim(&scope, Space::Value, &place.name, Claimant::of(definition));
                }
                let types = self.types.entry(place.module).or_default();
                types.insert(place.name.clone());
                if has_inner_module(kind) {
                    let inner = convert(&place.name, Case::Snake);
                    clashes.claim(&scope, Space::Type, &inner, Claimant::of(definition));
                    types.insert(inner);
                }
                self.claim_members(definition, clashes);
            }
        }
    }

    fn add_implied(&mut self, definition: &Definition) {
        use Implied::{
            AmiExceptionHolder, Error, Factory, Marker, Servant, SetError, Skeleton, State,
        };
        let id = definition.id;
        match &definition.kind {
            DefinitionKind::Interface(x) if x.kind == InterfaceKind::Local => {
                self.imply(id, Marker, "Idl");
            }
            DefinitionKind::Interface(_)
            | DefinitionKind::Component(_)
            | DefinitionKind::Home(_) => {
                self.imply(id, Servant, "Servant");
                self.imply(id, Skeleton, "Skeleton");
                if definition.implied.is_some_and(|x| x.kind == ImpliedKind::AmiHandler) {
                    let name = self.name(id).trim_end_matches('_');
                    let name = name.strip_suffix("Handler").unwrap_or(name);
                    let name = format!("{name}ExceptionHolder");
                    self.imply_in(id, AmiExceptionHolder, self.module(id).clone(), name);
                }
            }
            DefinitionKind::Typedef(_) => self.imply(id, Marker, "Idl"),
            DefinitionKind::ValueType(_) => {
                self.imply(id, Marker, "Idl");
                self.imply(id, State, "State");
                self.imply(id, Factory, "Factory");
            }
            DefinitionKind::Operation(_) | DefinitionKind::Factory(_) => {
                let name = convert(self.name(id), Case::Camel) + "Error";
                self.imply_in(id, Error, self.module(id).clone(), name);
            }
            DefinitionKind::Attribute(_) => {
                let module = self.module(id).clone();
                let name = convert(self.name(id), Case::Camel);
                self.imply_in(id, Error, module.clone(), format!("{name}Error"));
                self.imply_in(id, SetError, module, format!("Set{name}Error"));
                let setter = self.free_setter(definition);
                self.setters.insert(id, setter);
            }
            _ => {}
        }
    }

    /// Names of asynchronous servants and of what they answer with.
    fn add_asynchronous(&mut self, definition: &Definition, options: &Options) {
        let id = definition.id;
        match (definition.implied, &definition.kind) {
            (Some(implied), _) if implied.kind == ImpliedKind::AmhServant => {
                self.imply(id, Implied::Servant, "Servant");
                self.imply(id, Implied::Skeleton, "Skeleton");
            }
            (Some(implied), _) => {
                let ImpliedKind::AmhOperation(access) = implied.kind else { return };
                let set = if access == Access::Set { "Set" } else { "" };
                let name = convert(self.name(implied.origin), Case::Camel);
                let module = self.module(id).clone();
                self.imply_in(id, Implied::Response, module, format!("{set}{name}Response"));
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
                    self.imply_in(id, which, self.module(id).clone(), name);
                }
            }
            _ => {}
        }
    }

    fn imply(&mut self, id: DefId, which: Implied, suffix: &str) {
        let name = format!("{}{suffix}", self.name(id).trim_end_matches('_'));
        self.imply_in(id, which, self.module(id).clone(), name);
    }

    fn imply_in(&mut self, id: DefId, which: Implied, module: ModulePath, mut name: String) {
        let types = self.types.entry(module).or_default();
        while !types.insert(name.clone()) {
            name.push('_');
        }
        self.implied.insert((id, which), name);
    }

    /// `set_` and the attribute's name, unless the interface has such an operation.
    fn free_setter(&self, attribute: &Definition) -> String {
        let base = self.name(attribute.id).trim_end_matches('_');
        let mut method = (self.module(attribute.id).clone(), format!("set_{base}"));
        while self.methods.contains(&method) {
            method.1.push('_');
        }
        method.1
    }

    /// The Rust name of a member, enumerator, case or parameter of a definition.
    pub(crate) fn member(&self, owner: &Definition, idl: &str, case: Case) -> String {
        let scoped = format!("{}::{idl}", owner.scoped_name);
        self.renames.get(&scoped).cloned().unwrap_or_else(|| convert(idl, case))
    }

    fn claim_members(&self, owner: &Definition, clashes: &mut Clashes<'_>) {
        let (case, members) = members_of(owner);
        for (name, span) in members {
            let scope = format!("{} members", owner.scoped_name);
            let rust = self.member(owner, name, case);
            let scoped_name = format!("{}::{name}", owner.scoped_name);
            let claimant = Claimant { word: "member", scoped_name, span };
            clashes.claim(&scope, Space::Value, &rust, claimant);
        }
    }
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

/// Rust's two namespaces (macros have none of ours).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Space {
    Type,
    Value,
}

/// What wants a Rust name: what it is in the IDL and where.
#[derive(Debug, Clone)]
struct Claimant {
    word: &'static str,
    scoped_name: String,
    span: Span,
}

impl Claimant {
    fn of(definition: &Definition) -> Self {
        Claimant {
            word: definition.kind.word(),
            scoped_name: definition.scoped_name.clone(),
            span: definition.span,
        }
    }
}

/// Names already given, to report the second one.
struct Clashes<'d> {
    model: &'d Model,
    diagnostics: &'d mut Vec<Diagnostic>,
    taken: HashMap<(String, Space, String), Claimant>,
}

impl Clashes<'_> {
    fn claim(&mut self, scope: &str, space: Space, name: &str, claimant: Claimant) {
        let key = (scope.to_owned(), space, name.to_owned());
        let Some(first) = self.taken.get(&key) else {
            self.taken.insert(key, claimant);
            return;
        };
        let Claimant { word, scoped_name, span } = claimant;
        let message = format!(
            "{word} `{scoped_name}` and {} `{}` both become `{name}` in Rust",
            first.word, first.scoped_name
        );
        let note = Note {
            message: format!("`{}` is here", first.scoped_name),
            span: first.span,
            position: self.model.sources.position(first.span),
        };
        self.diagnostics.push(Diagnostic {
            code: Code::RustNameClash,
            severity: Severity::Error,
            message,
            span,
            position: self.model.sources.position(span),
            hint: format!(
                "rename one of them for Rust: `Builder::rename(\"{scoped_name}\", …)` in build.rs"
            ),
            notes: vec![note],
        });
    }
}
