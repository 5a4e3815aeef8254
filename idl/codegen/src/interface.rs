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

pub(crate) use local::Refusal;

use corbie_frontend::model::{self, ImpliedKind, InterfaceKind};
use corbie_frontend::{DefId, Definition, DefinitionKind};
use proc_macro2::TokenStream;
use quote::quote;

use crate::context::Scope;
use crate::names::Implied;

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
        quote!(#reference #servant #skeleton #asynchronous #description #holder)
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

    /// The error enums of the operations and attributes of an interface or valuetype; they stand in
    /// its module.
    pub(crate) fn emit_error_enums(&self, contents: &[DefId]) -> TokenStream {
        let mut enums = TokenStream::new();
        for &id in contents {
            let definition = self.model().get(id);
            for call in self.calls(definition) {
                if let Some(error) = call.error {
                    let name = self.cx.names.implied(id, error);
                    enums.extend(self.emit_error_enum(name, &call.raises, definition));
                }
            }
            if let DefinitionKind::Factory(x) = &definition.kind {
                let raises: Vec<DefId> = x.raises.clone();
                if !raises.is_empty() {
                    let name = self.cx.names.implied(id, Implied::Error);
                    enums.extend(self.emit_error_enum(name, &raises, definition));
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
