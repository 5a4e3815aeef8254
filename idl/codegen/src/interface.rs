//! Interfaces: typed references, servant traits and skeletons.
//!
//! Called by `tree` for interfaces (and for components and homes as far as they are interfaces).
//! `call` says what operations and attributes are as Rust methods, `reference` makes the client
//! side, `servant` and `skeleton` the server side, `local` what never leaves the process.

mod amh;
mod amh_handler;
mod amh_response;
mod ami;
mod ami_types;
mod async_servant;
mod call;
mod collocated;
mod description;
mod local;
mod reference;
mod servant;
mod skeleton;

pub(crate) use call::Call;

use corbie_frontend::model::{self, ImpliedKind, InterfaceKind};
use corbie_frontend::{DefId, Definition, DefinitionKind};
use proc_macro2::TokenStream;
use quote::quote;

use crate::context::Scope;
use crate::docs::docs_with;
use crate::names::Implied;
use crate::rust_name::ident;

impl Scope<'_, '_> {
    /// Everything that stands beside the interface's name.
    pub(crate) fn emit_interface(&self, definition: &Definition) -> TokenStream {
        let Some(interface) = self.cx.interface(definition.id) else {
            return TokenStream::new();
        };
        if interface.kind == InterfaceKind::Local {
            return self.emit_local(definition, &interface);
        }
        let reference = self.emit_reference(definition, &interface);
        let servant = self.emit_servant(definition, &interface);
        let skeleton = self.emit_skeleton(definition, &interface);
        let asynchronous = self.emit_async_servant(definition, &interface);
        let role = definition.implied.map(|implied| implied.kind);
        let holder = (role == Some(ImpliedKind::AmiHandler))
            .then(|| self.emit_ami_exception_holder(definition));
        let description = self.emit_description(definition);
        let by_value = (interface.kind == InterfaceKind::Abstract)
            .then(|| self.emit_abstract_interface(definition));
        quote!(#reference #by_value #servant #skeleton #asynchronous #description #holder)
    }

    /// What stands beside the name of a definition of AMH's implied IDL.
    pub(crate) fn emit_amh(&self, definition: &Definition) -> TokenStream {
        let Some(model::Implied { kind, origin }) = definition.implied else {
            return TokenStream::new();
        };
        let holder = self.model().implied(origin, ImpliedKind::AmhExceptionHolder);
        match (kind, holder) {
            (ImpliedKind::AmhServant, _) => self.emit_amh_servant(definition, origin),
            (ImpliedKind::AmhResponseHandler, Some(holder)) => {
                self.emit_response_handler(definition, origin, holder)
            }
            (ImpliedKind::AmhExceptionHolder, _) => self.emit_exception_holder(definition, origin),
            _ => TokenStream::new(),
        }
    }

    /// The error types of the operations and attributes of an interface or valuetype; they stand in
    /// its module. Those that raise the same exceptions have one enum: the others are names for it.
    pub(crate) fn emit_error_enums(&self, contents: &[DefId]) -> TokenStream {
        let mut enums = TokenStream::new();
        let mut made: Vec<(Vec<DefId>, &str)> = Vec::new();
        for &id in contents {
            let definition = self.model().get(id);
            let calls = self.calls(definition).into_iter();
            let mut raising: Vec<(Implied, Vec<DefId>)> =
                calls.filter_map(|call| Some((call.error?, call.raises))).collect();
            if let DefinitionKind::Factory(x) = &definition.kind
                && !x.raises.is_empty()
            {
                raising.push((Implied::Error, x.raises.clone()));
            }
            for (which, raises) in raising {
                let name = self.cx.names.implied(id, which);
                let all = |others: &[DefId]| raises.iter().all(|raised| others.contains(raised));
                let same =
                    |(others, _): &&(Vec<DefId>, _)| others.len() == raises.len() && all(others);
                match made.iter().find(same) {
                    Some((_, same)) => enums.extend(error_alias(name, same, definition)),
                    None => {
                        enums.extend(self.emit_error_enum(name, &raises, definition));
                        made.push((raises, name));
                    }
                }
            }
        }
        enums
    }

    /// The trait with the operations of a base interface: what a derived servant must implement
    /// too.
    pub(crate) fn operations_trait(&self, id: DefId) -> TokenStream {
        let kind = &self.model().get(id).kind;
        match kind {
            DefinitionKind::Interface(x) if x.kind == InterfaceKind::Local => self.path(id),
            _ => self.implied(id, Implied::Servant),
        }
    }
}

/// Another name for an error enum.
fn error_alias(name: &str, same: &str, of: &Definition) -> TokenStream {
    let docs = docs_with("", &format!("What `{}` can fail with.", of.scoped_name));
    let (name, same) = (ident(name), ident(same));
    quote!(#docs pub type #name = #same;)
}
