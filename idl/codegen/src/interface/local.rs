//! Local interfaces: a trait whose objects are passed as `Arc<dyn Trait>`.
//!
//! They never leave the process, so there is neither stub nor skeleton; the marker type exists only
//! so that structs that contain one can be declared, and refuses to be marshalled
//! (CORBA 3.3 P1 §8.3.14: MARSHAL).

use corbie_frontend::Definition;
use corbie_frontend::model::Interface;
use proc_macro2::TokenStream;
use quote::quote;

use crate::context::Scope;
use crate::docs::docs_with;
use crate::names::Implied;
use crate::rust_name::ident;

impl Scope<'_, '_> {
    /// Everything for one local interface.
    pub(super) fn emit_local(&self, definition: &Definition, x: &Interface) -> TokenStream {
        let name = ident(self.cx.names.name(definition.id));
        let idl_name = &definition.scoped_name;
        let docs = docs_with(
            &definition.docs,
            &format!("IDL local interface `{idl_name}`, passed as `Arc<dyn …>`."),
        );
        let bounds = self.trait_bounds(x);
        let methods = self.trait_methods(x);
        let object = self.emit_local_object(definition);
        let text = self.cx.names.name(definition.id);
        quote! {
            #docs
            pub trait #name: #bounds { #methods }
            impl ::std::fmt::Debug for dyn #name {
                fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                    f.write_str(#text)
                }
            }
            #object
        }
    }

    /// Writing (with `e`) and reading (with `d`) what never leaves its process: errors.
    pub(crate) fn refusals(&self, what: &str) -> (TokenStream, TokenStream) {
        let (orb, err) = (self.orb(), self.std("Err"));
        let kind = quote!(#orb::ErrorKind::LocalObject);
        let (found, needed) = ("a type that is local to its process", "a type without `local`");
        (
            quote!(#err(e.error(#kind, #what, #found, #needed))),
            quote!(#err(d.error(#kind, #what, #found, #needed))),
        )
    }

    /// For a trait whose objects are `Arc<dyn Trait>`: identity and the marker type.
    pub(crate) fn emit_shared_object(&self, definition: &Definition) -> TokenStream {
        let name = ident(self.cx.names.name(definition.id));
        let marker = ident(self.cx.names.implied(definition.id, Implied::Marker));
        let docs =
            docs_with("", &format!("The IDL type `{}` as a marker.", definition.scoped_name));
        let typed = self.emit_typed(definition, &quote!(#marker));
        quote! {
            impl PartialEq for dyn #name {
                /// Whether both are the same object.
                fn eq(&self, other: &Self) -> bool {
                    ::std::ptr::addr_eq(self, other)
                }
            }
            #docs
            #[derive(Debug)]
            pub enum #marker {}
            #typed
        }
    }

    /// As [`Scope::emit_shared_object`], for objects that cannot go on the wire.
    fn emit_local_object(&self, definition: &Definition) -> TokenStream {
        let orb = self.orb();
        let shared = self.emit_shared_object(definition);
        let name = ident(self.cx.names.name(definition.id));
        let marker = ident(self.cx.names.implied(definition.id, Implied::Marker));
        let what = format!("{} {}", definition.kind.word(), definition.scoped_name);
        let (not_written, not_read) = self.refusals(&what);
        let value = self.option(&quote!(::std::sync::Arc<dyn #name>));
        let borrowed = self.option(&quote!(&::std::sync::Arc<dyn #name>));
        let written = self.result(&quote!(()), &quote!(#orb::Error));
        let read = self.result(&quote!(Self::Value), &quote!(#orb::Error));
        quote! {
            #shared
            impl #marker {
                #[doc(hidden)]
                pub fn write(_value: #borrowed, e: &mut #orb::Encoder<'_>) -> #written {
                    #not_written
                }
            }
            impl #orb::Marshal for #marker {
                type Value = #value;
                const MIN_OCTETS: usize = 4;
                fn encode<'a>(value: &'a Self::Value, e: &mut #orb::Encoder<'a>) -> #written {
                    Self::write(value.as_ref(), e)
                }
                fn decode(d: &mut #orb::Decoder<'_>) -> #read {
                    #not_read
                }
            }
        }
    }
}
