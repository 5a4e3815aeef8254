//! Typedefs and natives: a type alias plus a marker type that keeps the alias's identity.
//!
//! Called by `tree`. `typedef string Identifier;` becomes `pub type Identifier = String;`, which
//! forgets bounds and the alias's repository id; the marker `IdentifierIdl` remembers both for
//! `Any` and TypeCodes. CORBA 3.3 P1 §7.11.3 (typedef), IDL 4.2 §7.4.6.4.2 (native).

use corbie_frontend::Definition;
use corbie_frontend::model::Typedef;
use proc_macro2::TokenStream;
use quote::quote;

use crate::context::Scope;
use crate::docs::docs_with;
use crate::names::Implied;
use crate::rust_name::ident;

impl Scope<'_, '_> {
    /// Everything for one typedef.
    pub(crate) fn emit_typedef(&self, definition: &Definition, x: &Typedef) -> TokenStream {
        let orb = self.orb();
        let name = ident(self.cx.names.name(definition.id));
        let idl_name = &definition.scoped_name;
        let docs = docs_with(&definition.docs, &format!("IDL typedef `{idl_name}`."));
        let bare = self.bare(&x.ty);
        let marker = ident(self.cx.names.implied(definition.id, Implied::Marker));
        let marker_docs =
            docs_with("", &format!("The IDL type `{idl_name}` for `Any` and TypeCodes."));
        let structural = self.marker(&x.ty);
        let marker_tokens = quote!(#marker);
        let typed = self.emit_typed(definition, &marker_tokens);
        quote! {
            #docs
            pub type #name = #bare;
            #marker_docs
            #[derive(Debug)]
            pub enum #marker {}
            #orb::alias!(#marker = #structural);
            #typed
        }
    }

    /// A native type: opaque, whatever the application puts in, and never on the wire.
    pub(crate) fn emit_native(&self, definition: &Definition) -> TokenStream {
        let orb = self.orb();
        let name = ident(self.cx.names.name(definition.id));
        let idl_name = &definition.scoped_name;
        let docs = docs_with(
            &definition.docs,
            &format!(
                "IDL native type `{idl_name}`: opaque. Holds what the application puts in; it \
                 cannot leave the process."
            ),
        );
        let text = format!("{}(..)", self.cx.names.name(definition.id));
        let what = format!("native type {idl_name}");
        let (not_written, not_read) = self.refusals(&what);
        let written = self.result(&quote!(()), &quote!(#orb::Error));
        let read = self.result(&quote!(Self), &quote!(#orb::Error));
        let name_tokens = quote!(#name);
        let typed = self.emit_typed(definition, &name_tokens);
        let (send, sync) = (self.std("Send"), self.std("Sync"));
        quote! {
            #docs
            #[derive(Clone)]
            pub struct #name(pub ::std::sync::Arc<dyn ::std::any::Any + #send + #sync>);
            impl ::std::fmt::Debug for #name {
                fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                    f.write_str(#text)
                }
            }
            impl PartialEq for #name {
                /// Whether both are the same object.
                fn eq(&self, other: &Self) -> bool {
                    ::std::sync::Arc::ptr_eq(&self.0, &other.0)
                }
            }
            impl #orb::Marshal for #name {
                type Value = Self;
                const MIN_OCTETS: usize = 1;
                fn encode<'a>(_value: &'a Self, e: &mut #orb::Encoder<'a>) -> #written {
                    #not_written
                }
                fn decode(d: &mut #orb::Decoder<'_>) -> #read {
                    #not_read
                }
            }
            #typed
        }
    }
}
