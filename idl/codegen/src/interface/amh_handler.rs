//! The dynamic form of responses: one response handler, and one exception holder, an interface.
//!
//! `AmhQuoterResponseHandler` is made from any typed response of the interface and may be asked
//! more than once: the second answer is refused with `BAD_INV_ORDER` (paper AMH §2). The exception
//! holder has any exception that an operation raises, and raises it for one of them.

use std::collections::HashSet;

use corbie_frontend::{DefId, Definition};
use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote};

use super::amh_response::suffixed;
use super::call::Call;
use crate::context::Scope;
use crate::docs::docs_with;
use crate::locals::local;
use crate::names::Implied;
use crate::rust_name::ident;

/// A call that is answered through a response, with the names of its methods.
struct Answered<'m> {
    call: Call<'m>,
    response: DefId,
    reply: Ident,
    excep: Ident,
    raise: Ident,
}

impl<'m> Scope<'_, 'm> {
    /// The calls of an interface and its bases that are answered through responses.
    fn answered(&self, of: DefId) -> Vec<Answered<'m>> {
        let levels = std::iter::once(of).chain(self.cx.all_bases(of));
        let contents = levels.filter_map(|level| self.cx.interface(level));
        let calls = contents.flat_map(|x| self.own_calls(&x));
        let calls: Vec<(Call<'m>, DefId)> = calls
            .filter_map(|call| self.response_of(&call).map(|response| (call, response)))
            .collect();
        let mut taken: HashSet<String> =
            calls.iter().map(|(call, _)| call.method.to_string()).collect();
        let mut replies = HashSet::new();
        let mut answered = Vec::new();
        for (call, response) in calls {
            let mut reply = call.method.clone();
            // Two IDL names, one here and one in a base, may become one Rust name.
            while !replies.insert(reply.to_string()) {
                reply = format_ident!("{reply}_");
            }
            let mut between = String::new();
            let mut excep = suffixed(&reply, "_excep");
            while !taken.insert(excep.to_string()) {
                between.push_str("_amh");
                excep = suffixed(&reply, &format!("{between}_excep"));
            }
            let raise = format_ident!("raise_{}", reply.to_string().trim_start_matches("r#"));
            answered.push(Answered { call, response, reply, excep, raise });
        }
        answered
    }

    /// The response handler of an interface; `handler` is `AMH_XResponseHandler`.
    pub(crate) fn emit_response_handler(
        &self,
        handler: &Definition,
        of: DefId,
        holder: DefId,
    ) -> TokenStream {
        let orb = self.orb();
        let name = ident(self.cx.names.name(handler.id));
        let holder = self.path(holder);
        let answered = self.answered(of);
        let docs = docs_with(
            "",
            &format!(
                "The response to an operation of `{}`, made from its typed response. It can be \
                 shared, and a second answer is refused with `BAD_INV_ORDER`.",
                self.model().get(of).scoped_name
            ),
        );
        let mut methods = TokenStream::new();
        let mut conversions = TokenStream::new();
        for one in &answered {
            methods.extend(self.handler_methods(one, &holder));
            let (from, response) =
                (self.std("From"), self.implied(one.response, Implied::Response));
            let wire_name = &one.call.wire_name;
            conversions.extend(quote! {
                impl #from<#response> for #name {
                    fn from(response: #response) -> Self {
                        let handler = #orb::TypedResponse::into_handler(response);
                        Self(#orb::SharedResponse::new(#wire_name, handler))
                    }
                }
            });
        }
        quote! {
            #docs
            #[derive(Debug)]
            pub struct #name(#orb::SharedResponse);
            impl #name {
                #methods
            }
            impl AsRef<#orb::SharedResponse> for #name {
                fn as_ref(&self) -> &#orb::SharedResponse {
                    &self.0
                }
            }
            #conversions
        }
    }

    fn handler_methods(&self, one: &Answered<'m>, holder: &TokenStream) -> TokenStream {
        let orb = self.orb();
        let Answered { call, response, reply, excep, raise } = one;
        let response = self.implied(*response, Implied::Response);
        let outputs = call.outputs();
        let names: Vec<Ident> = outputs.iter().map(|output| output.name.clone()).collect();
        let types = outputs.iter().map(|output| self.parameter(&output.ty));
        let done = self.result(&quote!(()), &quote!(#orb::SystemException));
        let err = self.std("Err");
        let wire_name = &call.wire_name;
        let method = &call.method;
        let docs = docs_with(
            "",
            &format!("Answers `{}` with results; errors as for every second answer.", call.title()),
        );
        let handler = local("handler", &names);
        quote! {
            #docs
            pub fn #reply(&self #(, #names: #types)*) -> #done {
                let #handler = self.0.take(#wire_name)?;
                let #handler: #response = #orb::TypedResponse::from_handler(#handler);
                #handler.#method(#(#names),*)
            }
            /// Answers with the exception that `holder` raises.
            pub fn #excep(&self, holder: &#holder) -> #done {
                let #err(exception) = holder.#raise();
                let handler = self.0.take(#wire_name)?;
                let response: #response = #orb::TypedResponse::from_handler(handler);
                #orb::TypedResponse::finish(response, #err(exception))
            }
        }
    }

    /// The exception holder of an interface; `holder` is `AMH_XExceptionHolder`.
    pub(crate) fn emit_exception_holder(&self, holder: &Definition, of: DefId) -> TokenStream {
        let answered = self.answered(of);
        let mut raises: Vec<DefId> = Vec::new();
        for exception in answered.iter().flat_map(|one| &one.call.raises) {
            if !raises.contains(exception) {
                raises.push(*exception);
            }
        }
        let name = self.cx.names.name(holder.id);
        let docs = format!(
            "An exception that an operation of `{}` raises, for its response handler.",
            self.model().get(of).scoped_name
        );
        let item = self.emit_exception_enum(name, &raises, &docs);
        let name = ident(name);
        let methods = answered.iter().map(|one| self.raise_method(one, &raises));
        quote! {
            #item
            impl #name { #(#methods)* }
        }
    }

    /// `pub fn raise_get_quote(&self) -> Result<Infallible, GetQuoteError>`
    fn raise_method(&self, one: &Answered<'m>, all: &[DefId]) -> TokenStream {
        let orb = self.orb();
        let Answered { call, raise, .. } = one;
        let err = self.std("Err");
        let error = self.error_type(call);
        // Some exceptions are `Copy`, so a method call would not do in a strict crate.
        let clone = quote!(::std::clone::Clone::clone(exception));
        let result = self.result(&quote!(::std::convert::Infallible), &error);
        let own = self.error_variants(&call.raises);
        let mut arms = TokenStream::new();
        let mut others = Vec::new();
        for (variant, id) in self.error_variants(all) {
            match own.iter().find(|(_, raised)| *raised == id) {
                Some((own, _)) => arms.extend(quote! {
                    Self::#variant(exception) => #err(#error::#own(#clone)),
                }),
                None => others.push(variant),
            }
        }
        let title = call.title();
        let unknown = quote!(#orb::not_raised(#title, exception));
        let (system, unknown) = match call.error {
            Some(_) => (quote!(#error::System(#clone)), quote!(#error::System(#unknown))),
            None => (quote!(#clone), unknown),
        };
        let docs = docs_with(
            "",
            &format!("Raises the exception, as `{title}` does; `UNKNOWN` if it does not raise it."),
        );
        quote! {
            #docs
            pub fn #raise(&self) -> #result {
                match self {
                    #arms
                    #(Self::#others(exception) => #err(#unknown),)*
                    Self::System(exception) => #err(#system),
                }
            }
        }
    }
}
