//! What a server implements: a trait with one method for each operation.
//!
//! A derived interface's trait has the traits of its bases as supertraits, so that one servant
//! serves them all. An `Arc` of a servant is a servant: the application can keep a hold of it.

use corbie_frontend::Definition;
use corbie_frontend::model::Interface;
use proc_macro2::{Ident, TokenStream};
use quote::quote;

use crate::context::Scope;
use crate::docs::docs_with;
use crate::names::Implied;
use crate::rust_name::ident;

impl Scope<'_, '_> {
    /// The servant trait of an interface.
    pub(super) fn emit_servant(&self, definition: &Definition, x: &Interface) -> TokenStream {
        let name = ident(self.cx.names.implied(definition.id, Implied::Servant));
        let docs = docs_with(
            &definition.docs,
            &format!(
                "What a server implements for the IDL {} `{}`.",
                definition.kind.word(),
                definition.scoped_name
            ),
        );
        let methods = self.trait_methods(x);
        let bounds = self.trait_bounds(x);
        let forwards = self.forward_to_arc(&name, x);
        quote! {
            #docs
            pub trait #name: #bounds { #methods }
            #forwards
        }
    }

    /// Supertraits: those of the bases, or the common ones.
    pub(super) fn trait_bounds(&self, x: &Interface) -> TokenStream {
        let bases = x.bases.iter().map(|&base| self.operations_trait(base));
        let (send, sync) = (self.std("Send"), self.std("Sync"));
        quote!(#(#bases +)* #send + #sync + 'static)
    }

    /// Signatures of the own operations and attributes.
    pub(super) fn trait_methods(&self, x: &Interface) -> TokenStream {
        let mut methods = TokenStream::new();
        for operation in self.cx.own_operations(&x.contents) {
            for call in self.calls(operation) {
                let docs = call.docs();
                let signature = self.signature(&call);
                methods.extend(quote!(#docs #signature;));
            }
        }
        methods
    }

    /// `impl QuoterServant for Arc<T>`
    pub(super) fn forward_to_arc(&self, name: &Ident, x: &Interface) -> TokenStream {
        let generic = self.generic("T");
        let mut methods = TokenStream::new();
        for operation in self.cx.own_operations(&x.contents) {
            for call in self.calls(operation) {
                let (signature, method) = (self.signature(&call), &call.method);
                let names = call.sent_names();
                methods.extend(quote! {
                    #signature {
                        #name::#method(&**self #(, #names)*)
                    }
                });
            }
        }
        quote! {
            impl<#generic: #name + ?Sized> #name for ::std::sync::Arc<#generic> { #methods }
        }
    }

    /// A name for a type parameter that no type of the module has.
    pub(crate) fn generic(&self, wanted: &str) -> Ident {
        let mut name = wanted.to_owned();
        while self.has_type(&name) {
            name.push('_');
        }
        ident(&name)
    }
}
