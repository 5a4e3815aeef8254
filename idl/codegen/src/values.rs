//! Valuetypes and boxed values: traits, state structs and factories.
//!
//! Called by `tree`. A valuetype `Node` becomes the trait `Node` (its operations, and `state()`
//! where it has state), the struct `NodeState`, and the trait `NodeFactory` where it has
//! initialisers; it is passed as `Option<Arc<dyn Node>>`. Marshalling them is not there yet, but
//! for null: it is an error that says so.

use corbie_frontend::model::{Member, ValueBox, ValueType};
use corbie_frontend::{DefId, Definition, DefinitionKind};
use proc_macro2::TokenStream;
use quote::quote;

use crate::context::Scope;
use crate::docs::{docs, docs_with};
use crate::interface::Refusal;
use crate::names::Implied;
use crate::rust_name::{Case, ident};
use crate::structs::OwnedMember;

impl<'m> Scope<'_, 'm> {
    /// Everything for one valuetype (or eventtype).
    pub(crate) fn emit_value(&self, definition: &'m Definition, x: &'m ValueType) -> TokenStream {
        let orb = self.orb();
        let name = ident(self.cx.names.name(definition.id));
        let idl_name = &definition.scoped_name;
        let word = definition.kind.word();
        let docs = docs_with(
            &definition.docs,
            &format!("IDL {word} `{idl_name}`, passed as `Arc<dyn …>`."),
        );
        let bases = x.bases.iter().map(|&base| self.path(base));
        let supports = x.supports.iter().map(|&interface| self.operations_trait(interface));
        let members = self.value_members(definition.id);
        let state_name = ident(self.cx.names.implied(definition.id, Implied::State));
        let state_docs = docs_with("", &format!("The state of the IDL {word} `{idl_name}`."));
        let (state, accessor) = if members.is_empty() {
            (None, None)
        } else {
            let fields = self.fields(&members);
            let plain: Vec<&Member> = members.iter().map(|(_, member)| *member).collect();
            let abilities = self.abilities_of_members(&plain);
            let derives = self.derives(abilities);
            let accessor = ident(&format!("{}_state", snake(self.cx.names.name(definition.id))));
            (
                Some(quote!(#state_docs #derives pub struct #state_name { #fields })),
                Some(quote! {
                    /// The state members, those of the base first.
                    fn #accessor(&self) -> &#state_name;
                }),
            )
        };
        let mut methods = TokenStream::new();
        for operation in self.cx.own_operations(&x.contents) {
            for call in self.calls(operation) {
                let docs = call.docs();
                let signature = self.signature(&call);
                methods.extend(quote!(#docs #signature;));
            }
        }
        let factory = self.emit_factory(definition, x);
        let object = self.emit_shared_object(definition, Refusal::NotYet);
        quote! {
            #docs
            pub trait #name: #(#bases +)* #(#supports +)* #orb::ValueBase {
                #accessor
                #methods
            }
            #state
            #factory
            #object
        }
    }

    /// State members, those of the base first.
    fn value_members(&self, id: DefId) -> Vec<OwnedMember<'m>> {
        let definition = self.model().get(id);
        let DefinitionKind::ValueType(x) = &definition.kind else {
            return Vec::new();
        };
        let mut members: Vec<OwnedMember<'m>> = Vec::new();
        for &base in x.bases.iter().filter(|&&base| base != id) {
            members.extend(self.value_members(base));
        }
        members.extend(x.state.iter().map(|state| (definition, &state.member)));
        members
    }

    /// The trait with the initialisers of a valuetype.
    fn emit_factory(&self, definition: &Definition, x: &ValueType) -> Option<TokenStream> {
        let orb = self.orb();
        let name = ident(self.cx.names.name(definition.id));
        let mut methods = TokenStream::new();
        for &id in &x.contents {
            let initializer = self.model().get(id);
            let DefinitionKind::Factory(factory) = &initializer.kind else {
                continue;
            };
            let docs = docs(&initializer.docs);
            let method = ident(self.cx.names.name(id));
            let names = factory.parameters.iter();
            let names = names.map(|p| self.member(initializer, &p.name, Case::Snake));
            let types = factory.parameters.iter().map(|p| self.parameter(&p.ty));
            let error = match factory.raises.is_empty() {
                true => quote!(#orb::SystemException),
                false => self.implied(id, Implied::Error),
            };
            let result = self.result(&quote!(::std::sync::Arc<dyn #name>), &error);
            methods.extend(quote!(#docs fn #method(&self #(, #names: #types)*) -> #result;));
        }
        if methods.is_empty() {
            return None;
        }
        let factory = ident(self.cx.names.implied(definition.id, Implied::Factory));
        let docs = docs_with("", &format!("Makes values of `{}`.", definition.scoped_name));
        let (send, sync) = (self.std("Send"), self.std("Sync"));
        Some(quote!(#docs pub trait #factory: #send + #sync + 'static { #methods }))
    }

    /// Everything for one boxed value: a struct around the value, passed as `Option<Arc<Struct>>`.
    pub(crate) fn emit_value_box(&self, definition: &Definition, x: &ValueBox) -> TokenStream {
        let name = ident(self.cx.names.name(definition.id));
        let idl_name = &definition.scoped_name;
        let docs =
            docs_with(&definition.docs, &format!("IDL boxed value `{idl_name}`, passed as `Arc`."));
        let ty = self.value(&x.ty);
        let abilities = self.abilities(&x.ty, &mut vec![definition.id]);
        let derives = self.derives(abilities);
        let name = quote!(#name);
        let marshal = {
            let what = format!("boxed value {idl_name}");
            self.marshal_refused(&name, &name, Refusal::NotYet, &what)
        };
        let typed = self.emit_typed(definition, &name);
        quote! {
            #docs
            #derives
            pub struct #name(
                /// What is boxed.
                pub #ty
            );
            #marshal
            #typed
        }
    }
}

fn snake(name: &str) -> String {
    crate::rust_name::convert(name, Case::Snake)
}
