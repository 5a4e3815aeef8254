//! User exceptions: a struct that is an `Error`, and the error enums of operations.
//!
//! Called by `tree` for exceptions and by `interface` for operations with `raises`. On the wire an
//! exception is its repository id and then its members (CORBA 3.3 P2 §9.4.3.1); `Marshal` here is
//! the members only.

use corbie_frontend::model::{Exception, Member};
use corbie_frontend::{DefId, Definition, DefinitionKind};
use proc_macro2::{Ident, TokenStream};
use quote::quote;

use crate::context::Scope;
use crate::docs::docs_with;
use crate::rust_name::{Case, convert, ident};
use crate::structs::OwnedMember;

/// A variant of an operation's error enum: its name and the exception.
pub(crate) type ErrorVariant = (Ident, DefId);

impl Scope<'_, '_> {
    /// Everything for one exception.
    pub(crate) fn emit_exception(&self, definition: &Definition, x: &Exception) -> TokenStream {
        let name = ident(self.cx.names.name(definition.id));
        let name = quote!(#name);
        let closing = format!("IDL exception `{}`.", definition.scoped_name);
        let docs = docs_with(&definition.docs, &closing);
        let members: Vec<OwnedMember<'_>> = x.members.iter().map(|m| (definition, m)).collect();
        let plain: Vec<&Member> = x.members.iter().collect();
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
        let display = self.display_exception(definition, &name, &members);
        let marshal = self.marshal_members(&name, &members);
        let typed = self.emit_typed(definition, &name);
        let id = self.repository_id_constant(definition, &name);
        quote! {
            #docs #derives #item #id #default #display
            impl ::std::error::Error for #name {}
            #marshal #typed
        }
    }

    /// `Stock::InvalidSymbol (symbol: "X")`
    fn display_exception(
        &self,
        definition: &Definition,
        name: &TokenStream,
        members: &[OwnedMember<'_>],
    ) -> TokenStream {
        let idl_name = &definition.scoped_name;
        let written = match members {
            [] => quote!(f.write_str(#idl_name)),
            members => {
                let texts: Vec<String> =
                    members.iter().map(|(_, m)| format!("{}: {{:?}}", m.name)).collect();
                let text = format!("{idl_name} ({})", texts.join(", "));
                let names = members.iter().map(|(o, m)| self.member(o, &m.name, Case::Snake));
                quote!(write!(f, #text, #(self.#names),*))
            }
        };
        quote! {
            impl ::std::fmt::Display for #name {
                fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                    #written
                }
            }
        }
    }

    /// The variants of the error enum for these exceptions: named like the exceptions, with as much
    /// of the scope before as it takes to tell them apart.
    pub(crate) fn error_variants(&self, raises: &[DefId]) -> Vec<ErrorVariant> {
        let model = self.model();
        let exceptions: Vec<&Definition> = raises
            .iter()
            .map(|&id| model.get(id))
            .filter(|definition| matches!(definition.kind, DefinitionKind::Exception(_)))
            .collect();
        let short = |definition: &Definition| convert(&definition.name, Case::Camel);
        exceptions
            .iter()
            .map(|exception| {
                let name = short(exception);
                let shared = exceptions.iter().filter(|other| short(other) == name).count() > 1;
                let name = match shared || name == "System" {
                    true => convert(&exception.scoped_name.replace("::", "_"), Case::Camel),
                    false => name,
                };
                let name = if name == "System" { "SystemException".to_owned() } else { name };
                (ident(&name), exception.id)
            })
            .collect()
    }

    /// The error enum of an operation: its user exceptions and every system exception.
    pub(crate) fn emit_error_enum(
        &self,
        name: &str,
        raises: &[DefId],
        of: &Definition,
    ) -> TokenStream {
        let docs = format!("What `{}` can fail with.", of.scoped_name);
        self.emit_exception_enum(name, raises, &docs)
    }

    /// An enum of exceptions and every system exception.
    pub(crate) fn emit_exception_enum(
        &self,
        name: &str,
        raises: &[DefId],
        docs: &str,
    ) -> TokenStream {
        let orb = self.orb();
        let name = ident(name);
        let (variants, ids): (Vec<Ident>, Vec<DefId>) =
            self.error_variants(raises).into_iter().unzip();
        let types: Vec<TokenStream> = ids.iter().map(|&id| self.path(id)).collect();
        let docs = docs_with("", docs);
        let each_docs = ids.iter().map(|&id| {
            docs_with(
                "",
                &format!("The exception `{}` of the IDL.", self.model().get(id).scoped_name),
            )
        });
        quote! {
            #docs
            #[derive(Clone, Debug, PartialEq)]
            pub enum #name {
                #(#each_docs #variants(#types),)*
                /// The call failed, or the servant raised a system exception.
                System(#orb::SystemException),
            }
            #orb::raised!(#name: #(#variants(#types)),*);
        }
    }
}
