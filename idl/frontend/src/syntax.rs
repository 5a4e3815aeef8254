//! The syntax tree: what the parser understood, names not yet resolved.
//!
//! Made by the parser, consumed by the checker. Expressions are flat postfix lists, so that only
//! scopes and types nest, and the parser bounds those. IDL 4.2 §7.4.

use std::rc::Rc;

use crate::model::{Direction, InterfaceKind, PortKind, Type, ValueKind};
use crate::source::Span;
use crate::token::Event;

/// An identifier, without its escape.
#[derive(Debug, Clone)]
pub(crate) struct Name {
    pub(crate) text: Rc<str>,
    pub(crate) span: Span,
}

/// `A::B` or `::A::B`; at least one part.
#[derive(Debug, Clone)]
pub(crate) struct ScopedName {
    pub(crate) absolute: bool,
    pub(crate) parts: Vec<Name>,
    pub(crate) span: Span,
}

impl ScopedName {
    pub(crate) fn text(&self) -> String {
        let parts: Vec<&str> = self.parts.iter().map(|p| &*p.text).collect();
        format!("{}{}", if self.absolute { "::" } else { "" }, parts.join("::"))
    }
}

/// A type where one is used.
#[derive(Debug, Clone)]
pub(crate) struct TypeUse {
    pub(crate) kind: TypeKind,
    pub(crate) span: Span,
}

#[derive(Debug, Clone)]
pub(crate) enum TypeKind {
    /// Everything that needs no resolution or evaluation.
    Basic(Type),
    Text {
        wide: bool,
        bound: Expression,
    },
    Sequence {
        element: Box<TypeUse>,
        bound: Option<Expression>,
    },
    Fixed {
        digits: Expression,
        scale: Expression,
    },
    /// `fixed` in a constant declaration.
    FixedOpen,
    Named(ScopedName),
    /// A struct, union or enum defined in place.
    Defined(Box<ParsedDefinition>),
}

/// A name with array dimensions.
#[derive(Debug, Clone)]
pub(crate) struct Declarator {
    pub(crate) name: Name,
    pub(crate) dims: Vec<Expression>,
}

/// A constant expression in postfix order; never empty.
#[derive(Debug, Clone)]
pub(crate) struct Expression {
    pub(crate) nodes: Vec<Node>,
    pub(crate) span: Span,
}

#[derive(Debug, Clone)]
pub(crate) struct Node {
    pub(crate) kind: NodeKind,
    pub(crate) span: Span,
}

#[derive(Debug, Clone)]
pub(crate) enum NodeKind {
    Boolean(bool),
    Integer(u64),
    Float(Rc<str>),
    Fixed(Rc<str>),
    Character(char),
    WideCharacter(char),
    Text(Rc<str>),
    WideText(Rc<str>),
    Name(ScopedName),
    Unary(&'static str),
    Binary(&'static str),
}

#[derive(Debug, Clone)]
pub(crate) struct AnnotationUse {
    pub(crate) name: String,
    pub(crate) arguments: Vec<(Option<Name>, Expression)>,
    pub(crate) span: Span,
}

/// One thing in a scope, in order.
#[derive(Debug, Clone)]
pub(crate) enum Item {
    Definition(ParsedDefinition),
    Event(Event),
    /// A definition that could not be parsed, so that uses of its name are not reported too.
    Broken(Name),
}

#[derive(Debug, Clone)]
pub(crate) struct ParsedDefinition {
    pub(crate) kind: DefinitionSyntax,
    pub(crate) docs: String,
    pub(crate) annotations: Vec<AnnotationUse>,
}

#[derive(Debug, Clone)]
pub(crate) enum DefinitionSyntax {
    Module { name: Name, items: Vec<Item> },
    Interface { name: Name, kind: InterfaceKind, bases: Vec<ScopedName>, body: Option<Vec<Item>> },
    Operation(OperationSyntax),
    Attribute(AttributeSyntax),
    Struct { name: Name, base: Option<ScopedName>, body: Option<Vec<MemberSyntax>> },
    Exception { name: Name, members: Vec<MemberSyntax> },
    Union { name: Name, body: Option<UnionBody> },
    Enum { name: Name, enumerators: Vec<EnumeratorSyntax> },
    Typedef { ty: TypeUse, declarators: Vec<Declarator> },
    Constant { ty: TypeUse, name: Name, value: Expression },
    Value(ValueSyntax),
    State { public: bool, member: MemberSyntax },
    ValueBox { name: Name, ty: TypeUse },
    Factory { name: Name, parameters: Vec<ParameterSyntax>, raises: Vec<ScopedName> },
    Native { name: Name },
    TypeId { name: ScopedName, id: String },
    TypePrefix { name: ScopedName, prefix: String },
    Import(ScopedName),
    Component(ComponentSyntax),
    Home(HomeSyntax),
    HomeFactory(HomeFactorySyntax),
    Port { kind: PortKind, ty: TypeUse, names: Vec<Name> },
    PortType { name: Name, body: Option<Vec<Item>> },
    Connector { name: Name, base: Option<ScopedName>, items: Vec<Item> },
}

#[derive(Debug, Clone)]
pub(crate) struct OperationSyntax {
    pub(crate) oneway: bool,
    pub(crate) result: TypeUse,
    pub(crate) name: Name,
    pub(crate) parameters: Vec<ParameterSyntax>,
    pub(crate) raises: Vec<ScopedName>,
    pub(crate) contexts: Vec<(Rc<str>, Span)>,
}

#[derive(Debug, Clone)]
pub(crate) struct ParameterSyntax {
    pub(crate) direction: Direction,
    pub(crate) ty: TypeUse,
    pub(crate) name: Name,
    pub(crate) annotations: Vec<AnnotationUse>,
    pub(crate) span: Span,
}

#[derive(Debug, Clone)]
pub(crate) struct AttributeSyntax {
    pub(crate) readonly: bool,
    pub(crate) ty: TypeUse,
    pub(crate) names: Vec<Name>,
    pub(crate) get_raises: Vec<ScopedName>,
    pub(crate) set_raises: Vec<ScopedName>,
}

#[derive(Debug, Clone)]
pub(crate) struct MemberSyntax {
    pub(crate) ty: TypeUse,
    pub(crate) declarators: Vec<Declarator>,
    pub(crate) docs: String,
    pub(crate) annotations: Vec<AnnotationUse>,
}

#[derive(Debug, Clone)]
pub(crate) struct UnionBody {
    pub(crate) discriminator: TypeUse,
    pub(crate) cases: Vec<CaseSyntax>,
}

#[derive(Debug, Clone)]
pub(crate) struct CaseSyntax {
    /// `None` is `default`.
    pub(crate) labels: Vec<(Option<Expression>, Span)>,
    pub(crate) member: MemberSyntax,
}

#[derive(Debug, Clone)]
pub(crate) struct EnumeratorSyntax {
    pub(crate) name: Name,
    pub(crate) docs: String,
    pub(crate) annotations: Vec<AnnotationUse>,
}

#[derive(Debug, Clone)]
pub(crate) struct ValueSyntax {
    pub(crate) name: Name,
    pub(crate) kind: ValueKind,
    pub(crate) is_event: bool,
    pub(crate) truncatable: Option<Span>,
    pub(crate) bases: Vec<ScopedName>,
    pub(crate) supports: Vec<ScopedName>,
    pub(crate) body: Option<Vec<Item>>,
}

#[derive(Debug, Clone)]
pub(crate) struct ComponentSyntax {
    pub(crate) name: Name,
    pub(crate) base: Option<ScopedName>,
    pub(crate) supports: Vec<ScopedName>,
    pub(crate) body: Option<Vec<Item>>,
}

#[derive(Debug, Clone)]
pub(crate) struct HomeSyntax {
    pub(crate) name: Name,
    pub(crate) base: Option<ScopedName>,
    pub(crate) supports: Vec<ScopedName>,
    pub(crate) manages: ScopedName,
    pub(crate) primary_key: Option<ScopedName>,
    pub(crate) items: Vec<Item>,
}

#[derive(Debug, Clone)]
pub(crate) struct HomeFactorySyntax {
    pub(crate) name: Name,
    pub(crate) finder: bool,
    pub(crate) parameters: Vec<ParameterSyntax>,
    pub(crate) raises: Vec<ScopedName>,
}
