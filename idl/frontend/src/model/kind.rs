//! [`DefinitionKind`]: what a definition is, with everything that belongs to its kind.
//!
//! One struct for each construct of IDL 4.2 §7.4 (core, any, interfaces, valuetypes, CORBA
//! specifics, and what is kept of the component building blocks). Used by the generator.

use super::{Annotation, ConstValue, DefId, Type};
use crate::source::Span;

/// The construct that a [`super::Definition`] is.
#[derive(Debug, Clone)]
#[allow(missing_docs)] // each variant is described by its payload
pub enum DefinitionKind {
    Module(Module),
    Interface(Interface),
    Operation(Operation),
    Attribute(Attribute),
    Struct(Struct),
    Union(Union),
    Enum(Enum),
    Typedef(Typedef),
    Constant(Constant),
    Exception(Exception),
    ValueType(ValueType),
    ValueBox(ValueBox),
    Factory(Factory),
    Native(Native),
    Component(Component),
    Home(Home),
    HomeFactory(HomeFactory),
    PortType(PortType),
    Connector(Connector),
}

impl DefinitionKind {
    /// The ids of the definitions directly inside, in order; empty for kinds that contain none.
    #[must_use]
    pub fn children(&self) -> &[DefId] {
        match self {
            DefinitionKind::Module(x) => &x.children,
            DefinitionKind::Interface(x) => &x.contents,
            DefinitionKind::Struct(x) => &x.nested,
            DefinitionKind::Union(x) => &x.nested,
            DefinitionKind::Exception(x) => &x.nested,
            DefinitionKind::ValueType(x) => &x.contents,
            DefinitionKind::Component(x) => &x.contents,
            DefinitionKind::Home(x) => &x.contents,
            DefinitionKind::PortType(x) => &x.contents,
            DefinitionKind::Connector(x) => &x.contents,
            _ => &[],
        }
    }

    /// The IDL word for it, for messages: `interface`, `struct`, …
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            DefinitionKind::Module(_) => "module",
            DefinitionKind::Interface(_) => "interface",
            DefinitionKind::Operation(_) => "operation",
            DefinitionKind::Attribute(_) => "attribute",
            DefinitionKind::Struct(_) => "struct",
            DefinitionKind::Union(_) => "union",
            DefinitionKind::Enum(_) => "enum",
            DefinitionKind::Typedef(_) => "typedef",
            DefinitionKind::Constant(_) => "constant",
            DefinitionKind::Exception(_) => "exception",
            DefinitionKind::ValueType(x) if x.is_event => "eventtype",
            DefinitionKind::ValueType(_) => "valuetype",
            DefinitionKind::ValueBox(_) => "value box",
            DefinitionKind::Factory(_) => "factory",
            DefinitionKind::Native(_) => "native type",
            DefinitionKind::Component(_) => "component",
            DefinitionKind::Home(_) => "home",
            DefinitionKind::HomeFactory(_) => "home factory",
            DefinitionKind::PortType(_) => "porttype",
            DefinitionKind::Connector(_) => "connector",
        }
    }
}

/// A module, all its openings together.
#[derive(Debug, Clone, Default)]
pub struct Module {
    /// Contents of all openings, in order of first declaration.
    pub children: Vec<DefId>,
}

/// The kinds of interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum InterfaceKind {
    /// Plain `interface`.
    Unconstrained,
    /// `abstract interface`: passed by reference or by value.
    Abstract,
    /// `local interface`: never leaves the process.
    Local,
}

/// An interface. Repository id and name are in the definition.
#[derive(Debug, Clone)]
pub struct Interface {
    /// Unconstrained, abstract or local.
    pub kind: InterfaceKind,
    /// Direct bases in the order written (interfaces only; aliases already followed).
    pub bases: Vec<DefId>,
    /// Operations, attributes and nested definitions, in order.
    pub contents: Vec<DefId>,
    /// Implied `sendc_` and `sendp_` operations, which exist at the client only; empty without
    /// [`crate::ImpliedIdl`].
    pub sends: Vec<DefId>,
    /// Only declared (`interface X;`), never defined, in this compilation.
    pub forward_only: bool,
}

impl Interface {
    /// An interface of which nothing is known but its kind.
    pub(crate) fn declared(kind: InterfaceKind) -> Self {
        let (bases, contents, sends) = (Vec::new(), Vec::new(), Vec::new());
        Interface { kind, bases, contents, sends, forward_only: true }
    }
}

/// How a parameter travels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Direction {
    /// Client to server.
    In,
    /// Server to client.
    Out,
    /// Both ways.
    InOut,
}

/// A parameter of an operation, factory or finder.
#[derive(Debug, Clone)]
pub struct Parameter {
    /// Which way it travels.
    pub direction: Direction,
    /// Its type.
    pub ty: Type,
    /// Its name, without escape.
    pub name: String,
    /// Annotations applied.
    pub annotations: Vec<Annotation>,
    /// Where the name stands.
    pub span: Span,
}

/// An operation of an interface or valuetype.
#[derive(Debug, Clone)]
pub struct Operation {
    /// No reply is awaited; the result is `Void` and all parameters are `In`.
    pub oneway: bool,
    /// Result type, `Type::Void` for none.
    pub result: Type,
    /// Parameters in order.
    pub parameters: Vec<Parameter>,
    /// Exceptions (definitions of kind `Exception`, or `Native`) that it may raise, each once.
    pub raises: Vec<DefId>,
    /// Names of the `context (…)` clause.
    pub contexts: Vec<String>,
}

/// One attribute (a declaration of several makes several).
#[derive(Debug, Clone)]
pub struct Attribute {
    /// Cannot be set.
    pub readonly: bool,
    /// Its type.
    pub ty: Type,
    /// Exceptions that reading may raise (`getraises`, or `raises` of a readonly attribute).
    pub get_raises: Vec<DefId>,
    /// Exceptions that setting may raise (`setraises`).
    pub set_raises: Vec<DefId>,
}

/// A member of a struct or exception.
#[derive(Debug, Clone)]
pub struct Member {
    /// Its name, without escape.
    pub name: String,
    /// Its type, array dimensions included.
    pub ty: Type,
    /// Comments directly before it.
    pub docs: String,
    /// Annotations applied.
    pub annotations: Vec<Annotation>,
    /// Where the name stands.
    pub span: Span,
}

/// A struct.
#[derive(Debug, Clone, Default)]
pub struct Struct {
    /// Base struct (IDL 4.2 §7.4.13.4.1); its members come first on the wire.
    pub base: Option<DefId>,
    /// Own members, in order; may be empty.
    pub members: Vec<Member>,
    /// Types defined in place by members.
    pub nested: Vec<DefId>,
    /// Only declared, never defined, in this compilation.
    pub forward_only: bool,
}

/// A discriminated union.
#[derive(Debug, Clone)]
pub struct Union {
    /// As written: an integer type, `Octet`, `Char`, `WChar`, `Boolean`, or `Named` enum or alias
    /// of those.
    pub discriminator: Type,
    /// The cases, in order.
    pub cases: Vec<UnionCase>,
    /// Types defined in place by cases (or by the discriminator: an enum).
    pub nested: Vec<DefId>,
    /// Only declared, never defined, in this compilation.
    pub forward_only: bool,
    /// A label value that no case has: what an inactive union's discriminator is set to, or what a
    /// `default:` case may use. `None` when the labels cover the whole discriminator type.
    pub unused_label: Option<ConstValue>,
}

/// One case of a union: one or more labels and a member.
#[derive(Debug, Clone)]
pub struct UnionCase {
    /// Its labels, at least one.
    pub labels: Vec<UnionLabel>,
    /// The member.
    pub member: Member,
}

/// A label of a union case.
#[derive(Debug, Clone, PartialEq)]
pub enum UnionLabel {
    /// `case value:`: `Integer`, `Char`, `WChar`, `Boolean` or `Enumerator`.
    Value(ConstValue),
    /// `default:`
    Default,
}

/// An enum.
#[derive(Debug, Clone, Default)]
pub struct Enum {
    /// Its enumerators; at least one; on the wire each is its index.
    pub enumerators: Vec<Enumerator>,
}

/// One enumerator.
#[derive(Debug, Clone)]
pub struct Enumerator {
    /// Its name, without escape.
    pub name: String,
    /// Comments directly before it.
    pub docs: String,
    /// Annotations applied.
    pub annotations: Vec<Annotation>,
    /// Where the name stands.
    pub span: Span,
}

/// A typedef (a declaration of several makes several).
#[derive(Debug, Clone)]
pub struct Typedef {
    /// What it stands for, array dimensions included.
    pub ty: Type,
}

/// A constant.
#[derive(Debug, Clone)]
pub struct Constant {
    /// The declared type (may be an alias; bounds of strings kept).
    pub ty: Type,
    /// The evaluated value.
    pub value: ConstValue,
}

/// A user exception.
#[derive(Debug, Clone, Default)]
pub struct Exception {
    /// Its members; may be empty.
    pub members: Vec<Member>,
    /// Types defined in place by members.
    pub nested: Vec<DefId>,
}

/// The kinds of valuetype.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ValueKind {
    /// Plain `valuetype`.
    Regular,
    /// `abstract valuetype`: no state.
    Abstract,
    /// `custom valuetype`: the application marshals it.
    Custom,
}

/// A valuetype (or eventtype).
#[derive(Debug, Clone)]
pub struct ValueType {
    /// Regular, abstract or custom.
    pub kind: ValueKind,
    /// Declared with `eventtype`.
    pub is_event: bool,
    /// Direct base valuetypes; a concrete base, if any, is first.
    pub bases: Vec<DefId>,
    /// The concrete base is `truncatable`.
    pub truncatable: bool,
    /// Interfaces supported.
    pub supports: Vec<DefId>,
    /// Own state, in order, public and private.
    pub state: Vec<StateMember>,
    /// Operations, attributes, factories and nested definitions, in order.
    pub contents: Vec<DefId>,
    /// Only declared, never defined, in this compilation.
    pub forward_only: bool,
}

impl ValueType {
    /// A valuetype with nothing in it.
    pub(crate) fn defined(kind: ValueKind) -> Self {
        let (bases, supports) = (Vec::new(), Vec::new());
        let (is_event, truncatable, forward_only) = (false, false, false);
        let (state, contents) = (Vec::new(), Vec::new());
        ValueType { kind, is_event, bases, truncatable, supports, state, contents, forward_only }
    }
}

/// A state member of a valuetype.
#[derive(Debug, Clone)]
pub struct StateMember {
    /// `public` or `private`.
    pub public: bool,
    /// The member.
    pub member: Member,
}

/// A boxed value: `valuetype Name type;`.
#[derive(Debug, Clone)]
pub struct ValueBox {
    /// What is boxed; never a valuetype.
    pub ty: Type,
    /// Types defined in place by the boxed type.
    pub nested: Vec<DefId>,
}

/// A `factory` (initialiser) of a valuetype.
#[derive(Debug, Clone, Default)]
pub struct Factory {
    /// All `In`.
    pub parameters: Vec<Parameter>,
    /// Exceptions that it may raise.
    pub raises: Vec<DefId>,
}

/// `native Name;`
#[derive(Debug, Clone, Copy, Default)]
pub struct Native;

/// A component. Kept as written; its equivalent IDL is not generated.
#[derive(Debug, Clone, Default)]
pub struct Component {
    /// Base component.
    pub base: Option<DefId>,
    /// Interfaces supported.
    pub supports: Vec<DefId>,
    /// Ports, in order.
    pub ports: Vec<Port>,
    /// Attributes, in order.
    pub contents: Vec<DefId>,
    /// Only declared, never defined, in this compilation.
    pub forward_only: bool,
}

/// What a port does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)] // the IDL words
pub enum PortKind {
    Provides,
    Uses { multiple: bool },
    Emits,
    Publishes,
    Consumes,
    Port,
    MirrorPort,
}

/// A port of a component, porttype or connector.
#[derive(Debug, Clone)]
pub struct Port {
    /// What it does.
    pub kind: PortKind,
    /// Interface, eventtype, or porttype; `Type::Object` where allowed.
    pub ty: Type,
    /// Its name, without escape.
    pub name: String,
    /// Where the name stands.
    pub span: Span,
}

/// A home.
#[derive(Debug, Clone)]
pub struct Home {
    /// Base home.
    pub base: Option<DefId>,
    /// Interfaces supported.
    pub supports: Vec<DefId>,
    /// The component that it manages.
    pub manages: DefId,
    /// `primarykey`: a valuetype.
    pub primary_key: Option<DefId>,
    /// Operations, attributes, factories, finders and nested definitions, in order.
    pub contents: Vec<DefId>,
}

/// A `factory` or `finder` of a home.
#[derive(Debug, Clone, Default)]
pub struct HomeFactory {
    /// `finder` rather than `factory`.
    pub finder: bool,
    /// All `In`.
    pub parameters: Vec<Parameter>,
    /// Exceptions that it may raise.
    pub raises: Vec<DefId>,
}

/// A porttype.
#[derive(Debug, Clone, Default)]
pub struct PortType {
    /// `provides`, `uses`, `port` and `mirrorport` declarations, in order.
    pub ports: Vec<Port>,
    /// Attributes, in order.
    pub contents: Vec<DefId>,
    /// Only declared, never defined, in this compilation.
    pub forward_only: bool,
}

/// A connector.
#[derive(Debug, Clone, Default)]
pub struct Connector {
    /// Base connector.
    pub base: Option<DefId>,
    /// Ports, in order.
    pub ports: Vec<Port>,
    /// Attributes, in order.
    pub contents: Vec<DefId>,
}

impl DefinitionKind {
    /// Adds a definition to the contents of this one; kinds that contain nothing ignore it.
    pub(crate) fn add_child(&mut self, id: DefId) {
        match self {
            DefinitionKind::Module(x) => x.children.push(id),
            DefinitionKind::Interface(x) => x.contents.push(id),
            DefinitionKind::Struct(x) => x.nested.push(id),
            DefinitionKind::Union(x) => x.nested.push(id),
            DefinitionKind::Exception(x) => x.nested.push(id),
            DefinitionKind::ValueType(x) => x.contents.push(id),
            DefinitionKind::ValueBox(x) => x.nested.push(id),
            DefinitionKind::Component(x) => x.contents.push(id),
            DefinitionKind::Home(x) => x.contents.push(id),
            DefinitionKind::PortType(x) => x.contents.push(id),
            DefinitionKind::Connector(x) => x.contents.push(id),
            _ => {}
        }
    }
}
