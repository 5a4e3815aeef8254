//! Enums: an IDL enum becomes a Rust enum of the same order, an `unsigned long` on the wire.
//!
//! Called by `tree`. A value that the IDL does not have is an error when decoding (MARSHAL), never
//! an undefined variant. CORBA 3.3 P2 §9.3.2.6.

use corbie_frontend::Definition;
use corbie_frontend::model::Enum;
use proc_macro2::{Ident, Literal, TokenStream};
use quote::quote;

use crate::context::Scope;
use crate::docs::{docs, docs_with};
use crate::rust_name::{Case, ident};

impl Scope<'_, '_> {
    /// Everything for one enum.
    pub(crate) fn emit_enum(&self, definition: &Definition, x: &Enum) -> TokenStream {
        let name = ident(self.cx.names.name(definition.id));
        let closing = format!("IDL enum `{}`.", definition.scoped_name);
        let docs = docs_with(&definition.docs, &closing);
        let names: Vec<Ident> =
            x.enumerators.iter().map(|e| self.member(definition, &e.name, Case::Camel)).collect();
        let variants = x.enumerators.iter().zip(&names).enumerate().map(|(at, (e, name))| {
            let docs = self::docs(&e.docs);
            let default = (at == 0).then(|| quote!(#[default]));
            let value = Literal::usize_unsuffixed(at);
            quote!(#docs #default #name = #value)
        });
        let derives =
            ["Clone", "Copy", "Debug", "Default", "PartialEq", "Eq", "PartialOrd", "Ord", "Hash"];
        let derives = derives.iter().map(|derive| ident(derive)).map(|derive| quote!(#derive));
        let derives = self.derive_attribute(derives.collect());
        let name = quote!(#name);
        let typed = self.emit_typed(definition, &name);
        let id = self.repository_id_constant(definition, &name);
        let marshal = self.marshal_enum(definition, &name, &names);
        quote! {
            #docs
            #derives
            #[repr(u32)]
            pub enum #name { #(#variants),* }
            #id
            #marshal
            #typed
        }
    }

    fn marshal_enum(
        &self,
        definition: &Definition,
        name: &TokenStream,
        names: &[Ident],
    ) -> TokenStream {
        let orb = self.orb();
        let (ok, err) = (self.std("Ok"), self.std("Err"));
        let values = (0..names.len()).map(Literal::usize_unsuffixed);
        let count = Literal::usize_unsuffixed(names.len());
        let idl_name = &definition.scoped_name;
        let written = self.result(&quote!(()), &quote!(#orb::Error));
        let read = self.result(&quote!(Self), &quote!(#orb::Error));
        quote! {
            impl #orb::Marshal for #name {
                type Value = Self;
                const MIN_OCTETS: usize = 4;
                fn encode<'a>(value: &'a Self, e: &mut #orb::Encoder<'a>) -> #written {
                    e.write_ulong(*value as u32);
                    #ok(())
                }
                fn decode(d: &mut #orb::Decoder<'_>) -> #read {
                    match d.read_ulong()? {
                        #(#values => #ok(Self::#names),)*
                        value => #err(d.invalid_enumerator(#idl_name, value, #count)),
                    }
                }
            }
        }
    }
}
