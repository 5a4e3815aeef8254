//! The checked model of one compilation: what the generator and `corbie call` build on.
//!
//! A [`Model`] is an arena of [`Definition`]s; everything refers to definitions by [`DefId`]. Names
//! are resolved, constants evaluated, repository ids assigned. A model made from text with errors
//! is still consistent (every id is valid) but may lack definitions; do not generate code from it.
//! Rules: IDL 4.2 §7, CORBA 3.3 P1 §7 and §14.7 (repository ids).

mod definition;
mod implied;
mod implied_text;
mod kind;
mod query;
mod types;
mod value;

pub use corbie_primitives::{Primitive, Values};
pub use definition::{Annotation, AnnotationArgument, DefId, Definition};
pub use implied::{Access, Implied, ImpliedKind};
pub use kind::{
    Attribute, Component, Connector, Constant, DefinitionKind, Direction, Enum, Enumerator,
    Exception, Factory, Home, HomeFactory, Interface, InterfaceKind, Member, Module, Native,
    Operation, Parameter, Port, PortKind, PortType, StateMember, Struct, Typedef, Union, UnionCase,
    UnionLabel, ValueBox, ValueKind, ValueType,
};
pub use types::Type;
pub use value::{ConstValue, FixedValue};

use std::collections::HashMap;

use crate::source::SourceMap;

/// Everything one compilation defined, including what came from included files.
#[derive(Debug, Default, Clone)]
pub struct Model {
    definitions: Vec<Definition>,
    top_level: Vec<DefId>,
    /// Implied definitions by what implies them.
    implied: HashMap<(DefId, ImpliedKind), DefId>,
    /// The source files, by [`crate::FileId`]; file 0 is the first one compiled.
    pub sources: SourceMap,
}

impl Model {
    /// The definition behind an id of this model.
    ///
    /// # Panics
    /// When `id` belongs to another model.
    #[must_use]
    pub fn get(&self, id: DefId) -> &Definition {
        &self.definitions[id.index()]
    }

    /// All definitions, in order of first declaration (a container before its contents).
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Definition> + DoubleEndedIterator {
        self.definitions.iter()
    }

    /// The definitions at file scope, in order of first declaration.
    #[must_use]
    pub fn top_level(&self) -> &[DefId] {
        &self.top_level
    }

    /// How many definitions there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.definitions.len()
    }

    /// Whether nothing at all was defined.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.definitions.is_empty()
    }

    /// Adds a definition; its parent's list of contents is the caller's business.
    pub(crate) fn add(&mut self, make: impl FnOnce(DefId) -> Definition) -> DefId {
        let id = DefId::new(self.definitions.len());
        let definition = make(id);
        if definition.parent.is_none() {
            self.top_level.push(id);
        }
        self.definitions.push(definition);
        id
    }

    /// Adds an implied definition, and puts it into the scope of `after`, behind that definition.
    pub(crate) fn add_behind(
        &mut self,
        after: DefId,
        make: impl FnOnce(DefId) -> Definition,
    ) -> DefId {
        let id = DefId::new(self.definitions.len());
        let definition = make(id);
        let siblings = match definition.parent {
            None => Some(&mut self.top_level),
            Some(parent) => match &mut self.get_mut(parent).kind {
                DefinitionKind::Module(x) => Some(&mut x.children),
                _ => None,
            },
        };
        if let Some(siblings) = siblings {
            let at = siblings.iter().position(|&x| x == after).map_or(siblings.len(), |at| at + 1);
            siblings.insert(at, id);
        }
        self.definitions.push(definition);
        self.remember_implied(id);
        id
    }

    /// Enters a definition that says what implies it.
    pub(crate) fn remember_implied(&mut self, id: DefId) {
        if let Some(Implied { kind, origin }) = self.get(id).implied {
            self.implied.insert((origin, kind), id);
        }
    }

    pub(crate) fn get_mut(&mut self, id: DefId) -> &mut Definition {
        &mut self.definitions[id.index()]
    }
}

impl std::ops::Index<DefId> for Model {
    type Output = Definition;
    fn index(&self, id: DefId) -> &Definition {
        self.get(id)
    }
}
