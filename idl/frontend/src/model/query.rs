//! Questions that the generator and the `corbie` command ask of a model.
//!
//! All of them are pure and terminate on every model, also one made from text with errors.
//! CORBA 3.3 P1 §7.8.5 (interface inheritance), IDL 4.2 §7.4.1.4.4.4 (recursive types).

use std::collections::HashSet;

use super::{DefId, Definition, DefinitionKind, Model, Type};

impl Model {
    /// The definition of this fully scoped name (`A::B` or `::A::B`), compared exactly.
    #[must_use]
    pub fn find(&self, scoped_name: &str) -> Option<&Definition> {
        let wanted = scoped_name.strip_prefix("::").unwrap_or(scoped_name);
        self.iter().find(|d| d.scoped_name == wanted)
    }

    /// Follows typedefs until the type is not one: `Array`, `Sequence`, a primitive, or a named
    /// struct, enum, interface, …
    #[must_use]
    pub fn resolve_alias<'a>(&'a self, ty: &'a Type) -> &'a Type {
        let mut at = ty;
        // A typedef can only name earlier definitions, so this ends; the count is a second belt.
        for _ in 0..=self.len() {
            match at {
                Type::Named(id) => match &self.get(*id).kind {
                    DefinitionKind::Typedef(alias) => at = &alias.ty,
                    _ => return at,
                },
                _ => return at,
            }
        }
        at
    }

    /// Direct bases of an interface, valuetype, struct, component or home; empty for other kinds.
    #[must_use]
    pub fn direct_bases(&self, id: DefId) -> &[DefId] {
        match &self.get(id).kind {
            DefinitionKind::Interface(x) => &x.bases,
            DefinitionKind::ValueType(x) => &x.bases,
            DefinitionKind::Struct(x) => x.base.as_slice(),
            DefinitionKind::Component(x) => x.base.as_slice(),
            DefinitionKind::Home(x) => x.base.as_slice(),
            DefinitionKind::Connector(x) => x.base.as_slice(),
            _ => &[],
        }
    }

    /// All direct and indirect bases, each once, depth first in the order written, a base before
    /// its own bases; `id` itself is not listed.
    #[must_use]
    pub fn all_bases(&self, id: DefId) -> Vec<DefId> {
        let mut found = Vec::new();
        let mut seen = HashSet::from([id]);
        let mut waiting: Vec<DefId> = self.direct_bases(id).iter().rev().copied().collect();
        while let Some(base) = waiting.pop() {
            if seen.insert(base) {
                found.push(base);
                waiting.extend(self.direct_bases(base).iter().rev());
            }
        }
        found
    }

    /// Whether `derived` is `base` or inherits from it.
    #[must_use]
    pub fn is_a(&self, derived: DefId, base: DefId) -> bool {
        derived == base || self.all_bases(derived).contains(&base)
    }

    /// Operations and attributes of an interface (or valuetype), own ones first, then those of
    /// [`Model::all_bases`] in that order; each once.
    #[must_use]
    pub fn all_operations(&self, id: DefId) -> Vec<DefId> {
        std::iter::once(id)
            .chain(self.all_bases(id))
            .flat_map(|x| self.get(x).children())
            .copied()
            .filter(|&x| {
                let kind = &self.get(x).kind;
                matches!(kind, DefinitionKind::Operation(_) | DefinitionKind::Attribute(_))
            })
            .collect()
    }

    /// Whether a value of this definition can contain another value of it: through a sequence
    /// (struct, union) or a valuetype. Object references do not count.
    #[must_use]
    pub fn is_recursive(&self, id: DefId) -> bool {
        self.reaches(id, id)
    }

    /// Whether a value of `from` can contain a value of `to`, directly or through other types.
    #[must_use]
    pub fn reaches(&self, from: DefId, to: DefId) -> bool {
        let mut seen = HashSet::new();
        let mut waiting = self.contained_types(from);
        while let Some(next) = waiting.pop() {
            if next == to {
                return true;
            }
            if seen.insert(next) {
                waiting.extend(self.contained_types(next));
            }
        }
        false
    }

    /// The user-defined types that a value of `id` directly consists of (members, elements, base).
    fn contained_types(&self, id: DefId) -> Vec<DefId> {
        let named = |ty: &Type| ty.innermost().named();
        match &self.get(id).kind {
            DefinitionKind::Struct(x) => {
                x.members.iter().filter_map(|m| named(&m.ty)).chain(x.base).collect()
            }
            DefinitionKind::Exception(x) => x.members.iter().filter_map(|m| named(&m.ty)).collect(),
            DefinitionKind::Union(x) => {
                let discriminator = named(&x.discriminator);
                x.cases.iter().filter_map(|c| named(&c.member.ty)).chain(discriminator).collect()
            }
            DefinitionKind::Typedef(x) => named(&x.ty).into_iter().collect(),
            DefinitionKind::ValueBox(x) => named(&x.ty).into_iter().collect(),
            DefinitionKind::ValueType(x) => {
                let state = x.state.iter().filter_map(|s| named(&s.member.ty));
                state.chain(x.bases.iter().copied()).collect()
            }
            _ => Vec::new(),
        }
    }

    /// All definitions such that the types a definition consists of come before it, as far as
    /// recursion allows; otherwise in order of declaration. Containers (modules, interfaces) come
    /// before their contents only where nothing in them is needed earlier.
    #[must_use]
    pub fn dependency_order(&self) -> Vec<DefId> {
        let mut order = Vec::with_capacity(self.len());
        let mut state = vec![Visit::New; self.len()];
        for start in self.iter().map(|d| d.id) {
            let mut stack = vec![start];
            while let Some(&id) = stack.last() {
                match state[id.index()] {
                    Visit::New => {
                        state[id.index()] = Visit::Open;
                        let needed = self.contained_types(id).into_iter().rev();
                        stack.extend(needed.filter(|n| state[n.index()] == Visit::New));
                    }
                    Visit::Open => {
                        state[id.index()] = Visit::Done;
                        order.push(id);
                        stack.pop();
                    }
                    Visit::Done => {
                        stack.pop();
                    }
                }
            }
        }
        order
    }

    /// Whether values of this type can only be used inside one process (local interfaces, natives,
    /// and what contains them). CORBA 3.3 P1 §7.8.7.
    #[must_use]
    pub fn is_local(&self, ty: &Type) -> bool {
        let mut seen = HashSet::new();
        let mut waiting: Vec<DefId> = ty.innermost().named().into_iter().collect();
        while let Some(id) = waiting.pop() {
            match &self.get(id).kind {
                DefinitionKind::Native(_) => return true,
                DefinitionKind::Interface(x) if x.kind == super::InterfaceKind::Local => {
                    return true;
                }
                _ if seen.insert(id) => waiting.extend(self.contained_types(id)),
                _ => {}
            }
        }
        false
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Visit {
    New,
    Open,
    Done,
}
