//! Structs: an IDL struct becomes a Rust struct with public fields, base members first.
//!
//! Called by `tree` for each struct, and by `exceptions` and `values`, whose members are laid out
//! the same way. IDL 4.2 §7.4.1.4.4.3 (structures), §7.4.13.4.1 (inheritance).

use corbie_frontend::model::{Member, Struct};
use corbie_frontend::{DefId, Definition, DefinitionKind};
use proc_macro2::TokenStream;
use quote::quote;

use crate::context::Scope;
use crate::docs::{docs, docs_with};
use crate::rust_name::{Case, ident};

/// A member together with the definition that declares it (a base, perhaps).
pub(crate) type OwnedMember<'m> = (&'m Definition, &'m Member);

impl<'m> Scope<'_, 'm> {
    /// All members of a struct, those of its bases first.
    pub(crate) fn struct_members(&self, id: DefId) -> Vec<OwnedMember<'m>> {
        let definition = self.model().get(id);
        let DefinitionKind::Struct(x) = &definition.kind else {
            return Vec::new();
        };
        let mut members = match x.base {
            Some(base) if base != id => self.struct_members(base),
            _ => Vec::new(),
        };
        members.extend(x.members.iter().map(|member| (definition, member)));
        members
    }

    /// The fields of a struct, with documentation.
    pub(crate) fn fields(&self, members: &[OwnedMember<'_>]) -> TokenStream {
        let fields = members.iter().map(|(owner, member)| {
            let docs = docs(&member.docs);
            let name = self.member(owner, &member.name, Case::Snake);
            let ty = self.value(&member.ty);
            quote!(#docs pub #name: #ty)
        });
        quote!(#(#fields),*)
    }

    /// How a type whose fields are these members is written and read.
    pub(crate) fn marshal_members(
        &self,
        name: &TokenStream,
        members: &[OwnedMember<'_>],
    ) -> TokenStream {
        let orb = self.orb();
        let fields = members.iter().map(|(owner, member)| {
            let name = self.member(owner, &member.name, Case::Snake);
            let (idl, marker) = (&member.name, self.marker(&member.ty));
            quote!(#name #idl: #marker)
        });
        quote!(#orb::members!(#name { #(#fields),* });)
    }

    /// `impl Default` where `derive` cannot write it (arrays of more than 32 elements).
    pub(crate) fn manual_default(
        &self,
        name: &TokenStream,
        members: &[OwnedMember<'_>],
    ) -> TokenStream {
        let default = self.std("Default");
        let fields = members.iter().map(|(owner, member)| {
            let name = self.member(owner, &member.name, Case::Snake);
            let value = self.default_value(&member.ty);
            quote!(#name: #value)
        });
        quote! {
            impl #default for #name {
                fn default() -> Self {
                    Self { #(#fields),* }
                }
            }
        }
    }

    /// Everything for one struct.
    pub(crate) fn emit_struct(&self, definition: &Definition, x: &Struct) -> TokenStream {
        let name = ident(self.cx.names.name(definition.id));
        let name = quote!(#name);
        let members = self.struct_members(definition.id);
        let closing = format!("IDL struct `{}`.", definition.scoped_name);
        let docs = docs_with(&definition.docs, &closing);
        let plain: Vec<&Member> = members.iter().map(|(_, member)| *member).collect();
        let abilities = self.abilities_of_members(&plain);
        let derives = self.derives(abilities);
        let item = match members.as_slice() {
            [] => quote!(pub struct #name;),
            members => {
                let fields = self.fields(members);
                quote!(pub struct #name { #fields })
            }
        };
        let default = (abilities.default && !abilities.derive_default)
            .then(|| self.manual_default(&name, &members));
        let marshal = self.marshal_members(&name, &members);
        let typed = self.emit_typed(definition, &name);
        let to_base = x.base.map(|base| self.struct_to_base(&name, base));
        let id = self.repository_id_constant(definition, &name);
        quote!(#docs #derives #item #id #default #marshal #typed #to_base)
    }

    fn struct_to_base(&self, name: &TokenStream, base: DefId) -> TokenStream {
        let from = self.std("From");
        let base_path = self.path(base);
        let members = self.struct_members(base);
        let names: Vec<_> =
            members.iter().map(|(owner, m)| self.member(owner, &m.name, Case::Snake)).collect();
        let (value, made) = match names.as_slice() {
            [] => (quote!(_value), quote!(Self)),
            names => (quote!(value), quote!(Self { #(#names: value.#names),* })),
        };
        quote! {
            impl #from<#name> for #base_path {
                /// Drops the members that the derived struct adds.
                fn from(#value: #name) -> Self {
                    #made
                }
            }
        }
    }

    /// `impl Name { pub const REPOSITORY_ID: … }`
    pub(crate) fn repository_id_constant(
        &self,
        definition: &Definition,
        name: &TokenStream,
    ) -> TokenStream {
        let id = &definition.repository_id;
        quote! {
            impl #name {
                /// What names this type on the wire.
                pub const REPOSITORY_ID: &'static str = #id;
            }
        }
    }
}
