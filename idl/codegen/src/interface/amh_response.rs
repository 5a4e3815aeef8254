//! What asynchronous servants answer with: one type for each operation, consumed by the answer.
//!
//! `GetQuoteResponse` has `get_quote(result)` and `get_quote_excep(exception)`, named as in the
//! implied IDL, and what is common to all through the trait `TypedResponse` (paper AMH §2).

use corbie_frontend::{DefId, Definition};
use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote};

use super::call::{Call, tuple};
use crate::context::Scope;
use crate::docs::docs_with;
use crate::locals::local;
use crate::marshalling::{Step, closure};
use crate::names::Implied;
use crate::rust_name::ident;

impl Scope<'_, '_> {
    /// The response types of the operations that an interface itself declares.
    pub(crate) fn emit_responses(&self, of: DefId) -> TokenStream {
        let Some(x) = self.cx.interface(of) else { return TokenStream::new() };
        let mut types = TokenStream::new();
        for call in self.own_calls(&x) {
            if let Some(operation) = self.response_of(&call) {
                types.extend(self.emit_response(&call, operation));
            }
        }
        types
    }

    fn emit_response(&self, call: &Call<'_>, operation: DefId) -> TokenStream {
        let orb = self.orb();
        let name = ident(self.cx.names.implied(operation, Implied::Response));
        let docs = docs_with(
            "",
            &format!(
                "The response to `{}`: to be answered once, on any thread. Dropped, it answers \
                 with `NO_RESPONSE`.",
                call.title()
            ),
        );
        let reply = self.reply_method(call);
        let (excep, error) = (excep_name(&call.method), self.error_type(call));
        let into = match self.has_type("Into") {
            true => quote!(::std::convert::Into),
            false => quote!(Into),
        };
        let done = self.result(&quote!(()), &quote!(#orb::SystemException));
        let err = self.std("Err");
        let common = self.response_traits(call, &name);
        quote! {
            #docs
            #[derive(Debug)]
            #[must_use = "dropped, it answers with NO_RESPONSE"]
            pub struct #name(#orb::ResponseHandler);
            impl #name {
                #reply
                /// Answers with an exception.
                ///
                /// # Errors
                /// `COMM_FAILURE` when the client is gone.
                pub fn #excep(self, exception: impl #into<#error>) -> #done {
                    #orb::TypedResponse::finish(self, #err(exception.into()))
                }
            }
            #common
        }
    }

    /// `pub fn get_quote(self, result: i32) -> Result<(), SystemException>`
    fn reply_method(&self, call: &Call<'_>) -> TokenStream {
        let orb = self.orb();
        let method = &call.method;
        let outputs = call.outputs();
        let names: Vec<Ident> = outputs.iter().map(|output| output.name.clone()).collect();
        let types: Vec<TokenStream> = outputs.iter().map(|o| self.parameter(&o.ty)).collect();
        let e = local("e", &names);
        let steps: Vec<Step> =
            outputs.iter().map(|o| self.write_parameter(&o.ty, &o.name, &e)).collect();
        let writes = closure(self, &e, steps);
        let done = self.result(&quote!(()), &quote!(#orb::SystemException));
        quote! {
            /// Answers with results.
            ///
            /// # Errors
            /// `COMM_FAILURE` when the client is gone, `MARSHAL` when a result cannot be sent.
            pub fn #method(self #(, #names: #types)*) -> #done {
                self.0.reply(&#writes)
            }
        }
    }

    fn response_traits(&self, call: &Call<'_>, name: &Ident) -> TokenStream {
        let orb = self.orb();
        let types: Vec<TokenStream> = call.returned().iter().map(|o| self.value(&o.ty)).collect();
        let outcome = self.result(&tuple(&types), &self.error_type(call));
        let done = self.result(&quote!(()), &quote!(#orb::SystemException));
        let handler = format_ident!("handler");
        let results = call.results(self);
        let (marker, sent) = (&results.marker, results.sent());
        let finish = quote!(#orb::answer_later::<#marker, _>(#handler, outcome #sent));
        let from = self.std("From");
        quote! {
            impl #orb::TypedResponse for #name {
                type Outcome = #outcome;
                fn from_handler(handler: #orb::ResponseHandler) -> Self {
                    Self(handler)
                }
                fn finish(self, outcome: Self::Outcome) -> #done {
                    let handler = self.0;
                    #finish
                }
                fn handler(&self) -> &#orb::ResponseHandler {
                    &self.0
                }
                fn into_handler(self) -> #orb::ResponseHandler {
                    self.0
                }
            }
            impl #from<#name> for #orb::ResponseHandler {
                fn from(response: #name) -> Self {
                    response.0
                }
            }
        }
    }
}

/// `get_quote_excep`
pub(super) fn excep_name(method: &Ident) -> Ident {
    suffixed(method, "_excep")
}

/// The method's name without escapes, and a suffix.
pub(super) fn suffixed(method: &Ident, suffix: &str) -> Ident {
    let method = method.to_string();
    format_ident!("{}{suffix}", method.trim_start_matches("r#").trim_end_matches('_'))
}

impl Call<'_> {
    /// The operation in words: `Stock::Quoter::get_quote`, `setting Stock::Quoter::limit`.
    pub(super) fn title(&self) -> String {
        let Definition { scoped_name, .. } = self.definition;
        match super::amh::access(self) {
            corbie_frontend::model::Access::Set => format!("setting {scoped_name}"),
            _ => scoped_name.clone(),
        }
    }
}
