//! The collocated half of stubs and skeletons: a call that reaches a servant of the same process
//! without a message (paper POA §3.1).
//!
//! A stub makes its call by `Object::call`, which runs it on the servant where that keeps every
//! promise of the object adapter; a skeleton shows its servant as what it implements. Operations
//! whose values only marshalling can check are always sent.

use corbie_frontend::model::Member;
use corbie_frontend::{DefId, Definition, DefinitionKind, Type};
use proc_macro2::TokenStream;
use quote::quote;

use super::call::{Call, CallResults};
use crate::context::Scope;
use crate::locals::local;
use crate::names::Implied;
use crate::types::Shape;

impl Scope<'_, '_> {
    /// As what a stub sees the servant, and how it calls it straight; none where its call must be a
    /// message.
    pub(super) fn upcall(
        &self,
        definition: &Definition,
        call: &Call<'_>,
        results: &CallResults,
    ) -> Option<(TokenStream, TokenStream)> {
        // A oneway does not wait for its servant, so the caller must not run it either.
        if call.oneway || definition.is_implied() || !self.passes_unmarshalled(call) {
            return None;
        }
        let declaring = call.definition.parent.unwrap_or(definition.id);
        let view = self.implied(definition.id, Implied::Servant);
        let operations = self.operations_trait(declaring);
        let names = call.sent_names();
        let servant = local("servant", &names);
        let (method, sent) = (&call.on_servant, results.sent());
        let upcall = match (names.is_empty(), &sent) {
            (true, None) => quote!(#operations::#method),
            _ => quote!(|#servant| #operations::#method(#servant #(, #names)*) #sent),
        };
        Some((view, upcall))
    }

    /// How a skeleton shows its servant: as each interface that it serves.
    pub(super) fn views(&self, definition: &Definition) -> TokenStream {
        if definition.is_implied() {
            return TokenStream::new();
        }
        let orb = self.orb();
        let levels = std::iter::once(definition.id).chain(self.cx.all_bases(definition.id));
        let views = levels.map(|level| self.operations_trait(level));
        quote! {
            fn _view<'a>(&'a self, view: &mut #orb::View<'a>) {
                #(view.offer::<dyn #views>(&self.0);)*
            }
        }
    }

    /// Whether the values of a call can be handed over as they are: nothing of them is checked,
    /// changed or refused by marshalling alone.
    fn passes_unmarshalled(&self, call: &Call<'_>) -> bool {
        let results = std::iter::once(&call.result).filter(|ty| **ty != Type::Void);
        let types = results.chain(call.parameters.iter().map(|parameter| &parameter.ty));
        let mut seen = Vec::new();
        // A context is cut down to its clause on the way.
        call.contexts.is_empty()
            && types.into_iter().all(|ty| self.is_the_same_unmarshalled(ty, &mut seen))
            && call.raises.iter().all(|&id| self.definition_is_the_same(id, &mut seen))
    }

    /// `seen` are the definitions looked at before.
    fn is_the_same_unmarshalled(&self, ty: &Type, seen: &mut Vec<DefId>) -> bool {
        if self.shape(ty) == Shape::Shared {
            return false;
        }
        match self.model().resolve_alias(ty) {
            Type::String { bound } | Type::WString { bound } => bound.is_none(),
            Type::Sequence { element, bound } => {
                bound.is_none() && self.is_the_same_unmarshalled(element, seen)
            }
            Type::Array { element, .. } => self.is_the_same_unmarshalled(element, seen),
            Type::Named(id) => self.definition_is_the_same(*id, seen),
            _ => true,
        }
    }

    fn definition_is_the_same(&self, id: DefId, seen: &mut Vec<DefId>) -> bool {
        if seen.contains(&id) {
            return true;
        }
        seen.push(id);
        let mut all = |members: &[Member]| {
            members.iter().all(|member| self.is_the_same_unmarshalled(&member.ty, seen))
        };
        match &self.model().get(id).kind {
            DefinitionKind::Struct(x) => {
                all(&x.members) && x.base.is_none_or(|base| self.definition_is_the_same(base, seen))
            }
            DefinitionKind::Exception(x) => all(&x.members),
            DefinitionKind::Union(x) => {
                x.cases.iter().all(|case| self.is_the_same_unmarshalled(&case.member.ty, seen))
            }
            DefinitionKind::Enum(_)
            | DefinitionKind::Interface(_)
            | DefinitionKind::Component(_)
            | DefinitionKind::Home(_) => true,
            _ => false,
        }
    }
}
