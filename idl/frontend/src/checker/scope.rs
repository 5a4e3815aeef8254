//! [`Scope`]: the names of one scope, those it has used, and where they lead.
//!
//! Identifiers are compared without regard to case, so all keys are in lower case. IDL 4.2 §7.5.2.

use std::collections::HashMap;
use std::rc::Rc;

use super::repository::Prefix;
use crate::model::DefId;
use crate::source::{FileId, Span};
use crate::syntax::Name;

/// Index into the checker's list of scopes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct ScopeId(pub(super) usize);

impl ScopeId {
    pub(super) const ROOT: ScopeId = ScopeId(0);
}

/// What a name stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Target {
    Definition(DefId),
    /// An enumerator and its index.
    Enumerator(DefId, u32),
    /// A member, parameter, port or state: a name that nothing can refer to.
    Member,
    /// A definition that was faulty; uses of it are not reported.
    Broken,
}

/// A name in a scope.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    pub(super) name: Rc<str>,
    pub(super) span: Span,
    pub(super) target: Target,
    /// Other files that declare it: forward, or as a module that they continue.
    pub(super) again: Vec<FileId>,
}

impl Entry {
    pub(super) fn new(name: &Name, target: Target) -> Self {
        Entry { name: name.text.clone(), span: name.span, target, again: Vec::new() }
    }
}

/// The first use in a scope of a name from elsewhere.
#[derive(Debug, Clone)]
pub(super) struct Used {
    pub(super) name: Rc<str>,
    pub(super) span: Span,
}

#[derive(Debug)]
pub(super) struct Scope {
    /// `None` for the root and for operations.
    pub(super) owner: Option<DefId>,
    pub(super) parent: Option<ScopeId>,
    /// The scope's own name, which may not be defined inside it; empty where that is allowed.
    pub(super) own_name: Rc<str>,
    /// Modules (and the root) may define names that they have used.
    pub(super) is_module: bool,
    pub(super) entries: HashMap<String, Entry>,
    pub(super) used: HashMap<String, Used>,
    /// Scopes whose names are inherited.
    pub(super) bases: Vec<ScopeId>,
    /// Set by `typeprefix`.
    pub(super) type_prefix: Option<Prefix>,
}

impl Scope {
    pub(super) fn root() -> Scope {
        Scope::new(None, None, "".into(), true)
    }

    pub(super) fn new(
        owner: Option<DefId>,
        parent: Option<ScopeId>,
        own_name: Rc<str>,
        is_module: bool,
    ) -> Scope {
        Scope {
            owner,
            parent,
            own_name,
            is_module,
            entries: HashMap::new(),
            used: HashMap::new(),
            bases: Vec::new(),
            type_prefix: None,
        }
    }

    /// Remembers the name of a faulty definition.
    pub(super) fn poison(&mut self, key: String, name: &Name) {
        let entry = Entry::new(name, Target::Broken);
        self.entries.entry(key).or_insert(entry);
    }
}

/// The form in which names are compared, unless the options allow names that differ by case only.
pub(super) fn key(name: &str) -> String {
    name.to_ascii_lowercase()
}
