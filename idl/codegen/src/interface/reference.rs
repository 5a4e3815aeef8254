//! The client side of an interface: a typed reference with one method for each operation.
//!
//! A reference holds that of its first base and derefs to it, so it has its methods; it has methods
//! of its own for what the other bases declare, and converts to each. What is the same for all is
//! in `corbie_core::stubs`: a method is one call of it, with a closure that writes the arguments.

use std::collections::HashSet;

use corbie_frontend::model::{Interface, InterfaceKind};
use corbie_frontend::{DefId, Definition, DefinitionKind};
use proc_macro2::TokenStream;
use quote::{format_ident, quote};

use super::ami::unique;
use super::call::Call;
use crate::context::Scope;
use crate::docs::docs_with;
use crate::locals::local;
use crate::marshalling::{Step, closure};
use crate::rust_name::ident;

impl<'m> Scope<'_, 'm> {
    /// The reference type of an interface, its methods and conversions.
    pub(super) fn emit_reference(&self, definition: &Definition, x: &Interface) -> TokenStream {
        let orb = self.orb();
        let name = ident(self.cx.names.name(definition.id));
        let idl_name = &definition.scoped_name;
        let word = definition.kind.word();
        let docs = docs_with(
            &definition.docs,
            &format!("Reference to an object of the IDL {word} `{idl_name}`; nil is `None`."),
        );
        let calls = self.stubs(definition);
        let methods = (!calls.is_empty()).then(|| quote!(impl #name { #calls }));
        let kind = match (&definition.kind, x.kind) {
            (DefinitionKind::Component(_), _) => quote!(component),
            (DefinitionKind::Home(_), _) => quote!(home),
            (_, InterfaceKind::Abstract) => quote!(abstract_interface),
            _ => quote!(interface),
        };
        let (held, base) = match self.first_base(definition.id) {
            Some(base) => {
                let base = self.path(base);
                (quote!(#base), Some(quote!((#base))))
            }
            None => (quote!(#orb::Object), None),
        };
        let (id, idl) = (&definition.repository_id, &definition.name);
        let bases = self.cx.all_bases(definition.id).into_iter().map(|base| {
            let (path, id) = (self.path(base), &self.model().get(base).repository_id);
            quote!(#path = #id)
        });
        quote! {
            #docs
            #[derive(Clone, Debug, PartialEq)]
            pub struct #name(#held);
            #orb::reference!(#name #base: #id, #idl, #kind, [#(#bases),*]);
            #methods
        }
    }

    /// The base whose reference a reference holds.
    fn first_base(&self, id: DefId) -> Option<DefId> {
        self.cx.interface(id)?.bases.first().copied().filter(|&base| base != id)
    }

    /// The bases whose methods a reference has by deref.
    fn held_bases(&self, id: DefId) -> Vec<DefId> {
        let mut held = Vec::new();
        let mut at = self.first_base(id);
        while let Some(base) = at.filter(|base| !held.contains(base)) {
            held.push(base);
            at = self.first_base(base);
        }
        held
    }

    /// Every method of a reference: own operations first, then those of the bases.
    pub(super) fn all_calls(&self, definition: &Definition) -> Vec<Call<'m>> {
        let mut taken = HashSet::new();
        let mut calls = Vec::new();
        for interface in std::iter::once(definition.id).chain(self.cx.all_bases(definition.id)) {
            let contents = self.cx.interface(interface).map(|x| x.contents).unwrap_or_default();
            for operation in self.cx.own_operations(&contents) {
                for mut call in self.calls(operation) {
                    // Two IDL names, one here and one in a base, may become one Rust name.
                    while !taken.insert(call.method.to_string()) {
                        call.method = format_ident!("{}_", call.method);
                    }
                    calls.push(call);
                }
            }
        }
        calls
    }

    /// The methods of a reference, synchronous and asynchronous, but for those that it has by
    /// deref.
    fn stubs(&self, definition: &Definition) -> TokenStream {
        let calls = self.all_calls(definition);
        let held = self.held_bases(definition.id);
        let mut taken: HashSet<String> = calls.iter().map(|call| call.method.to_string()).collect();
        let mut stubs = TokenStream::new();
        for call in &calls {
            let parent = call.definition.parent;
            let is_own = parent == Some(definition.id);
            let is_held = parent.is_some_and(|parent| held.contains(&parent));
            // One that is named otherwise here is hidden by a method of the interface itself.
            let is_hidden = call.method != call.on_servant;
            // A reply handler is rarely called by applications: its bases have their own methods.
            let is_wanted = is_own || (!definition.is_implied() && (!is_held || is_hidden));
            if !is_wanted {
                continue;
            }
            stubs.extend(self.stub(definition, call));
            stubs.extend(
                self.asynchronous_stubs(definition, call, &mut |wanted| unique(wanted, &mut taken)),
            );
        }
        stubs
    }

    /// The closure that writes what is sent.
    pub(super) fn written_arguments(&self, call: &Call<'_>) -> TokenStream {
        let orb = self.orb();
        let e = local("e", &call.sent_names());
        let mut steps: Vec<Step> =
            call.sent().map(|p| self.write_parameter(&p.ty, &p.name, &e)).collect();
        if !call.contexts.is_empty() {
            let (names, context) = (&call.contexts, call.context_name());
            steps.push(Step::Fallible(quote!(#orb::encode_context(&[#(#names),*], #context, #e))));
        }
        closure(self, &e, steps)
    }

    fn stub(&self, definition: &Definition, call: &Call<'_>) -> TokenStream {
        let orb = self.orb();
        let docs = call.docs();
        let signature = self.signature(call);
        let wire_name = &call.wire_name;
        let arguments = self.written_arguments(call);
        if call.oneway {
            return quote! {
                #docs
                pub #signature {
                    self.as_object().invoke_oneway(#orb::operation!(oneway #wire_name), &#arguments)
                }
            };
        }
        let results = call.results(self);
        let marker = &results.marker;
        let ordered = results.returned();
        let made = match self.upcall(definition, call, &results) {
            Some((view, upcall)) => quote! {
                #orb::call::<#marker, _, dyn #view>(
                    self.as_object(),
                    #orb::operation!(#wire_name),
                    #upcall,
                    &#arguments,
                )
            },
            None => quote! {
                #orb::invoke::<#marker, _>(
                    self.as_object(),
                    #orb::operation!(#wire_name),
                    &#arguments,
                )
            },
        };
        quote! {
            #docs
            pub #signature {
                #made #ordered
            }
        }
    }

    /// A function that takes the results, or an exception, out of a reply.
    pub(super) fn finish_stub(&self, call: &Call<'_>) -> TokenStream {
        let orb = self.orb();
        let results = call.results(self);
        let (marker, error) = (&results.marker, self.error_type(call));
        match results.returned() {
            Some(ordered) => quote!(|reply| #orb::finish::<#marker, #error>(reply) #ordered),
            None => quote!(#orb::finish::<#marker, #error>),
        }
    }
}
