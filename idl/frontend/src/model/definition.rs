//! What every definition of the model has: identity, name, repository id, documentation, place.
//!
//! Used by everyone who walks a [`super::Model`]. Repository ids: CORBA 3.3 P1 §14.7;
//! annotations: IDL 4.2 §7.4.15.

use super::{ConstValue, DefinitionKind, Implied};
use crate::source::{Position, Span};

/// The index of a definition in its [`super::Model`]. Ids of different models must not be mixed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DefId(u32);

impl DefId {
    pub(crate) fn new(index: usize) -> Self {
        DefId(u32::try_from(index).unwrap_or(u32::MAX))
    }

    /// Position in the order of first declaration: 0 for the first definition.
    #[must_use]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// One named IDL definition.
#[derive(Debug, Clone)]
pub struct Definition {
    /// This definition's own id.
    pub id: DefId,
    /// The identifier as declared, without the escaping underscore.
    pub name: String,
    /// All enclosing names and this one, e.g. `CosNaming::NamingContext::resolve`; no leading `::`.
    pub scoped_name: String,
    /// The definition that contains this one; `None` at file scope.
    pub parent: Option<DefId>,
    /// E.g. `IDL:omg.org/CosNaming/NamingContext:1.0`.
    pub repository_id: String,
    /// The text of the comments directly before the definition, without comment marks; may be
    /// empty.
    pub docs: String,
    /// Annotations applied, in order.
    pub annotations: Vec<Annotation>,
    /// Where the name stands in the definition proper (or in the forward declaration if that is
    /// all).
    pub span: Span,
    /// `span` as file name, line and column (both from 1), `#line` directives applied.
    pub position: Position,
    /// Defined in a file compiled, rather than in an included one. For a module: reopened there.
    pub in_main_file: bool,
    /// Set when the compiler added it, see [`crate::ImpliedIdl`]: why, and for which definition.
    pub implied: Option<Implied>,
    /// What it is.
    pub kind: DefinitionKind,
}

impl Definition {
    /// The ids of the definitions directly inside this one (module, interface, valuetype, …), in
    /// order.
    #[must_use]
    pub fn children(&self) -> &[DefId] {
        self.kind.children()
    }

    /// The annotation of this name, e.g. `key`; names of annotations are case sensitive.
    #[must_use]
    pub fn annotation(&self, name: &str) -> Option<&Annotation> {
        self.annotations.iter().find(|a| a.name == name)
    }
}

/// `@name`, `@name(value)` or `@name(parameter = value, …)`.
#[derive(Debug, Clone, PartialEq)]
pub struct Annotation {
    /// Name as written, `::` included where it was scoped.
    pub name: String,
    /// Arguments in order; empty for a bare `@name`.
    pub arguments: Vec<AnnotationArgument>,
    /// Where the annotation stands.
    pub span: Span,
}

/// One argument of an [`Annotation`].
#[derive(Debug, Clone, PartialEq)]
pub struct AnnotationArgument {
    /// `None` for the single unnamed argument of the short form.
    pub name: Option<String>,
    /// The value if it could be evaluated as a constant; enumerators of standard annotations
    /// (e.g. `@extensibility(FINAL)`) that no definition declares are kept as
    /// [`ConstValue::String`].
    pub value: ConstValue,
}
