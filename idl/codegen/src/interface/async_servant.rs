//! Servants made of `async fn`: the trait, and the skeleton that runs their futures.
//!
//! Built on deferred answers: arguments are read into owned values, and the future that the ORB's
//! executor runs holds them, the servant and the response. Only with `Options::async_servants`.

use corbie_frontend::model::Interface;
use corbie_frontend::{DefId, Definition};
use proc_macro2::{Ident, TokenStream};
use quote::quote;

use super::call::{Call, tuple};
use super::skeleton::dispatch_name;
use crate::context::Scope;
use crate::docs::docs_with;
use crate::locals::local;
use crate::names::Implied;
use crate::rust_name::ident;

impl Scope<'_, '_> {
    /// Trait and skeleton; nothing unless asked for.
    pub(super) fn emit_async_servant(&self, definition: &Definition, x: &Interface) -> TokenStream {
        if !self.cx.options.async_servants || definition.is_implied() {
            return TokenStream::new();
        }
        let servant = self.emit_async_trait(definition, x);
        let skeleton = self.emit_async_skeleton(definition, x);
        quote!(#servant #skeleton)
    }

    fn emit_async_trait(&self, definition: &Definition, x: &Interface) -> TokenStream {
        let name = ident(self.cx.names.implied(definition.id, Implied::AsyncServant));
        let docs = docs_with(
            &definition.docs,
            &format!(
                "What a server implements for the IDL {} `{}` with `async fn`. The futures run on \
                 the executor of the ORB.",
                definition.kind.word(),
                definition.scoped_name
            ),
        );
        let (send, sync) = (self.std("Send"), self.std("Sync"));
        let bases = x.bases.iter().map(|&base| self.implied(base, Implied::AsyncServant));
        let t = self.generic("T");
        let (mut methods, mut forwards) = (TokenStream::new(), TokenStream::new());
        for call in self.own_calls(x) {
            let (docs, signature) = (call.docs(), self.async_signature(&call));
            methods.extend(quote!(#docs #signature;));
            let (method, names) = (&call.method, call.sent_names());
            forwards.extend(quote! {
                #signature {
                    #name::#method(&**self #(, #names)*)
                }
            });
        }
        quote! {
            #docs
            pub trait #name: #(#bases +)* #send + #sync + 'static { #methods }
            impl<#t: #name> #name for ::std::sync::Arc<#t> { #forwards }
        }
    }

    /// `fn get_quote(&self, stock_name: &str) -> impl Future<Output = Result<…>> + Send`
    fn async_signature(&self, call: &Call<'_>) -> TokenStream {
        let (method, parameters, send) =
            (&call.method, self.parameter_list(call), self.std("Send"));
        let types: Vec<TokenStream> = call.returned().iter().map(|o| self.value(&o.ty)).collect();
        let output = self.result(&tuple(&types), &self.error_type(call));
        let future = quote!(impl ::std::future::Future<Output = #output> + #send);
        quote!(fn #method(&self #parameters) -> #future)
    }

    fn emit_async_skeleton(&self, definition: &Definition, x: &Interface) -> TokenStream {
        let name = ident(self.cx.names.implied(definition.id, Implied::AsyncSkeleton));
        let servant = ident(self.cx.names.implied(definition.id, Implied::AsyncServant));
        let s = self.generic("S");
        let docs = docs_with(
            "",
            &format!(
                "Serves requests for `{}` with the futures of a servant. An ORB without executor \
                 answers them with `BAD_INV_ORDER`.",
                definition.scoped_name
            ),
        );
        let calls = self.own_calls(x).into_iter();
        let functions = calls.map(|call| self.async_dispatch_function(&call, &servant, &s));
        let serve = self.serve_function(x, &quote!(::std::sync::Arc<#s>));
        let served =
            self.served(definition, |level: DefId| self.implied(level, Implied::AsyncSkeleton));
        let serving =
            self.emit_serving(definition, (&name, &servant), &served, &TokenStream::new());
        quote! {
            #docs
            #[derive(Debug)]
            pub struct #name<#s>(::std::sync::Arc<#s>);
            impl<#s: #servant> #name<#s> {
                /// A skeleton that calls `servant`.
                pub fn new(servant: #s) -> Self {
                    Self(::std::sync::Arc::new(servant))
                }
            }
            #[doc(hidden)]
            impl<#s: #servant> #name<#s> {
                #(#functions)*
                #serve
            }
            #serving
        }
    }

    fn async_dispatch_function(&self, call: &Call<'_>, servant: &Ident, s: &Ident) -> TokenStream {
        let orb = self.orb();
        let function = dispatch_name(call);
        let names = call.sent_names();
        let (object, request) = (local("servant", &names), local("request", &names));
        let response = local("response", &names);
        let (reads, passed) = self.read_arguments(call, &request, true);
        let method = &call.method;
        let outcome = quote!(#servant::#method(&*#object #(, #passed)*).await);
        let results = call.results(self);
        let (marker, sent) = (&results.marker, results.sent());
        quote! {
            pub fn #function(
                #object: &::std::sync::Arc<#s>,
                #request: &mut #orb::Request<'_>,
            ) -> #orb::Done {
                #reads
                let #object = ::std::sync::Arc::clone(#object);
                #request.spawn(|#response| async move {
                    #orb::answer_later::<#marker, _>(#response, #outcome #sent)
                })
            }
        }
    }
}
