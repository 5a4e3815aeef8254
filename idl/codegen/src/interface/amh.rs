//! Asynchronous servants (AMH): the trait, and the skeleton that hands out responses.
//!
//! The skeleton reads the arguments as the ordinary one does and then takes the response out of the
//! request, so the upcall may return before it is answered (paper AMH §2, §4.2). Operations that
//! are oneway, or not chosen to be asynchronous, are served as by an ordinary skeleton.

use corbie_frontend::model::{Access, ImpliedKind, Interface};
use corbie_frontend::{DefId, Definition, DefinitionKind};
use proc_macro2::{Ident, TokenStream};
use quote::quote;

use super::call::Call;
use super::skeleton::dispatch_name;
use crate::context::Scope;
use crate::docs::docs_with;
use crate::locals::local;
use crate::names::Implied;
use crate::rust_name::ident;

/// Which request of its operation or attribute a call makes.
pub(super) fn access(call: &Call<'_>) -> Access {
    match (&call.definition.kind, call.parameters.is_empty()) {
        (DefinitionKind::Attribute(_), true) => Access::Get,
        (DefinitionKind::Attribute(_), false) => Access::Set,
        _ => Access::Call,
    }
}

impl<'m> Scope<'_, 'm> {
    /// Trait and skeleton of an asynchronous servant; `amh` is the definition of `AMH_X`.
    pub(crate) fn emit_amh_servant(&self, amh: &Definition, of: DefId) -> TokenStream {
        let definition = self.model().get(of);
        let Some(x) = self.cx.interface(of) else { return TokenStream::new() };
        let servant = self.emit_amh_trait(amh, definition, &x);
        let skeleton = self.emit_amh_skeleton(amh, definition, &x);
        quote!(#servant #skeleton)
    }

    /// The operation of `AMH_X` for a call that is answered through a response.
    pub(super) fn response_of(&self, call: &Call<'_>) -> Option<DefId> {
        let (origin, access) = (call.definition.id, access(call));
        // Whether it is asynchronous shows in the response handler; its name is of the operation.
        self.model().implied(origin, ImpliedKind::AmhReply(access))?;
        self.model().implied(origin, ImpliedKind::AmhOperation(access))
    }

    /// The calls that an interface itself declares.
    pub(super) fn own_calls(&self, x: &Interface) -> Vec<Call<'m>> {
        let operations = self.cx.own_operations(&x.contents);
        operations.into_iter().flat_map(|operation| self.calls(operation)).collect()
    }

    fn emit_amh_trait(&self, amh: &Definition, of: &Definition, x: &Interface) -> TokenStream {
        let name = ident(self.cx.names.implied(amh.id, Implied::Servant));
        let docs = docs_with(
            &of.docs,
            &format!(
                "What a server implements for the IDL {} `{}` in order to answer when it likes: \
                 each operation gets the response to be answered, and may return before that.",
                of.kind.word(),
                of.scoped_name
            ),
        );
        let (send, sync) = (self.std("Send"), self.std("Sync"));
        let bases = x.bases.iter().map(|&base| self.amh_trait(base));
        let t = self.generic("T");
        let (mut methods, mut forwards) = (TokenStream::new(), TokenStream::new());
        for call in self.own_calls(x) {
            let (docs, signature) = (call.docs(), self.amh_signature(&call));
            methods.extend(quote!(#docs #signature;));
            let method = &call.method;
            let response = self.response_of(&call).map(|_| response_name(&call));
            let names = response.into_iter().chain(call.sent_names());
            forwards.extend(quote! {
                #signature {
                    #name::#method(&**self #(, #names)*)
                }
            });
        }
        quote! {
            #docs
            pub trait #name: #(#bases +)* #send + #sync + 'static { #methods }
            impl<#t: #name + ?Sized> #name for ::std::sync::Arc<#t> { #forwards }
        }
    }

    /// The trait of a base: its asynchronous form, if it has one.
    fn amh_trait(&self, base: DefId) -> TokenStream {
        match self.model().implied(base, ImpliedKind::AmhServant) {
            Some(amh) => self.implied(amh, Implied::Servant),
            None => self.operations_trait(base),
        }
    }

    /// `fn get_quote(&self, response: amh_quoter::GetQuoteResponse, stock_name: &str)`
    fn amh_signature(&self, call: &Call<'_>) -> TokenStream {
        let Some(operation) = self.response_of(call) else { return self.signature(call) };
        let method = &call.method;
        let response = response_name(call);
        let ty = self.implied(operation, Implied::Response);
        let parameters = self.parameter_list(call);
        quote!(fn #method(&self, #response: #ty #parameters))
    }

    fn emit_amh_skeleton(&self, amh: &Definition, of: &Definition, x: &Interface) -> TokenStream {
        let name = ident(self.cx.names.implied(amh.id, Implied::Skeleton));
        let servant = ident(self.cx.names.implied(amh.id, Implied::Servant));
        let s = self.generic("S");
        let docs = docs_with(
            "",
            &format!(
                "Serves requests for `{}` with a servant that answers when it likes. Clients see \
                 the same object as with an ordinary servant.",
                of.scoped_name
            ),
        );
        let mut functions = TokenStream::new();
        for call in self.own_calls(x) {
            functions.extend(match self.response_of(&call) {
                Some(operation) => self.amh_dispatch_function(&call, operation, &servant, &s),
                None => self.dispatch_function(&call, &servant, &s),
            });
        }
        let serve = self.serve_function(x, &quote!(#s));
        let served =
            self.served(of, |level| match self.model().implied(level, ImpliedKind::AmhServant) {
                Some(amh) => self.implied(amh, Implied::Skeleton),
                None => self.implied(level, Implied::Skeleton),
            });
        let serving = self.emit_serving(of, (&name, &servant), &served, &TokenStream::new());
        quote! {
            #docs
            #[derive(Debug)]
            pub struct #name<#s>(#s);
            impl<#s: #servant> #name<#s> {
                /// A skeleton that calls `servant`.
                pub fn new(servant: #s) -> Self {
                    Self(servant)
                }
            }
            #[doc(hidden)]
            impl<#s: #servant> #name<#s> {
                #functions
                #serve
            }
            #serving
        }
    }

    /// Reads the arguments, defers the answer, calls the servant.
    fn amh_dispatch_function(
        &self,
        call: &Call<'_>,
        operation: DefId,
        servant: &Ident,
        s: &Ident,
    ) -> TokenStream {
        let (orb, ok) = (self.orb(), self.std("Ok"));
        let function = dispatch_name(call);
        let names = call.sent_names();
        let (object, request) = (local("servant", &names), local("request", &names));
        let (reads, passed) = self.read_arguments(call, &request, false);
        let method = &call.method;
        let response_name = response_name(call);
        let response = self.implied(operation, Implied::Response);
        quote! {
            pub fn #function(#object: &#s, #request: &mut #orb::Request<'_>) -> #orb::Done {
                #reads
                let #response_name: #response = #orb::TypedResponse::from_handler(#request.defer());
                #servant::#method(#object, #response_name #(, #passed)*);
                #ok(())
            }
        }
    }
}

/// The parameter that the response is.
fn response_name(call: &Call<'_>) -> Ident {
    local("response", &call.sent_names())
}
