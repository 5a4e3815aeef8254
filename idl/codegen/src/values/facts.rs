//! What a valuetype is made of: its bases, the interfaces that it supports, the operations that
//! come with them, the types to which it may be truncated.

use std::ops::BitAnd;

use corbie_frontend::DefinitionKind;
use corbie_frontend::model::{DefId, ValueKind, ValueType};
use proc_macro2::Ident;

use crate::abilities::Abilities;
use crate::context::Scope;
use crate::interface::Call;
use crate::rust_name::{Case, ident};

impl<'m> Scope<'_, 'm> {
    pub(super) fn value_type(&self, id: DefId) -> Option<&'m ValueType> {
        match &self.model().get(id).kind {
            DefinitionKind::ValueType(x) => Some(x),
            _ => None,
        }
    }

    pub(super) fn is_abstract_value(&self, id: DefId) -> bool {
        self.value_type(id).is_none_or(|x| x.kind == ValueKind::Abstract)
    }

    /// The base that has state.
    pub(super) fn concrete_base(&self, id: DefId) -> Option<DefId> {
        let bases = &self.value_type(id)?.bases;
        bases.iter().copied().find(|&base| base != id && !self.is_abstract_value(base))
    }

    /// Each base with state, and from which it is the base, nearest first.
    pub(super) fn chain(&self, id: DefId) -> Vec<(DefId, DefId)> {
        let mut chain = Vec::new();
        let mut at = id;
        while let Some(base) = self.concrete_base(at) {
            chain.push((at, base));
            at = base;
        }
        chain
    }

    /// Itself and all bases, each once.
    pub(super) fn value_bases(&self, id: DefId) -> Vec<DefId> {
        let mut found = vec![id];
        let mut at = 0;
        while let Some(&value) = found.get(at) {
            let bases = self.value_type(value).map(|x| x.bases.as_slice()).unwrap_or_default();
            for &base in bases {
                if !found.contains(&base) {
                    found.push(base);
                }
            }
            at += 1;
        }
        found
    }

    pub(super) fn is_a_value(&self, id: DefId, of: DefId) -> bool {
        self.value_bases(id).contains(&of)
    }

    /// All interfaces that it supports, with their bases, each once and with the valuetype whose
    /// operations have what they declare.
    pub(super) fn supported(&self, id: DefId) -> Vec<(DefId, DefId)> {
        let mut found: Vec<(DefId, DefId)> = Vec::new();
        // A base first: what it declares already is not declared again.
        for value in self.value_bases(id).into_iter().rev() {
            let own = self.value_type(value).map(|x| x.supports.as_slice()).unwrap_or_default();
            for &interface in own {
                let all = std::iter::once(interface).chain(self.cx.all_bases(interface));
                for interface in all {
                    if !found.iter().any(|(_, known)| *known == interface) {
                        found.push((value, interface));
                    }
                }
            }
        }
        found
    }

    /// The operations that the application serves for the valuetype itself, and who declares them:
    /// its own, and those of interfaces that no base supports.
    pub(super) fn served_calls(&self, id: DefId) -> Vec<(DefId, Call<'m>)> {
        let mut declarers = vec![id];
        let supported = self.supported(id).into_iter();
        declarers.extend(supported.filter(|(value, _)| *value == id).map(|(_, of)| of));
        let mut served = Vec::new();
        for declarer in declarers {
            let contents = match self.value_type(declarer) {
                Some(x) => x.contents.clone(),
                None => self.cx.interface(declarer).map(|x| x.contents).unwrap_or_default(),
            };
            served.extend(self.declared_calls(&contents).into_iter().map(|call| (declarer, call)));
        }
        served
    }

    /// Whether neither it nor a base has operations, so that nothing is left to the application.
    pub(super) fn is_without_operations(&self, id: DefId) -> bool {
        self.value_bases(id).into_iter().all(|value| {
            let is_custom = self.value_type(value).is_some_and(|x| x.kind == ValueKind::Custom);
            !is_custom && self.served_calls(value).is_empty()
        })
    }

    /// Its repository id, and those of the types to which it may be truncated, nearest first.
    pub(super) fn truncatable_to(&self, id: DefId) -> Vec<&'m str> {
        let mut ids = vec![self.model().get(id).repository_id.as_str()];
        for (from, base) in self.chain(id) {
            if !self.value_type(from).is_some_and(|x| x.truncatable) {
                break;
            }
            ids.push(&self.model().get(base).repository_id);
        }
        ids
    }

    /// The field with the state of the base: `base`, unless a member is called that.
    pub(super) fn base_field(&self, id: DefId) -> Ident {
        let definition = self.model().get(id);
        let members = self.value_type(id).map(|x| x.state.as_slice()).unwrap_or_default();
        let mut name = "base".to_owned();
        while members
            .iter()
            .any(|state| self.member(definition, &state.member.name, Case::Snake) == name)
        {
            name.push('_');
        }
        ident(&name)
    }

    /// Abilities of the state, that of the bases included.
    pub(super) fn abilities_of_state(&self, id: DefId) -> Abilities {
        let members = |value: DefId| {
            let state = self.value_type(value).map(|x| x.state.as_slice()).unwrap_or_default();
            let members: Vec<_> = state.iter().map(|state| &state.member).collect();
            self.abilities_of_members(&members)
        };
        let bases = self.chain(id).into_iter().map(|(_, base)| members(base));
        let bases = bases.map(|base| Abilities { derive_default: base.default, ..base });
        bases.fold(members(id), Abilities::bitand)
    }
}
