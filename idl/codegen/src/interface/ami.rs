//! The asynchronous stubs of a reference: `sendc_…`, `sendp_…` and `…_async`.
//!
//! Each is one `Object::invoke_async` or `invoke_deferred`, with the arguments written as by the
//! synchronous stub; what is done with the reply stands in functions that all of them share.
//! CORBA Messaging §22.7-22.10; paper AMI §2, §3.1 ("minimize stub footprint").

use corbie_frontend::model::{Access, ImpliedKind};
use corbie_frontend::{DefId, Definition, DefinitionKind};
use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote};

use super::call::{Call, tuple};
use crate::context::Scope;
use crate::docs::docs_with;
use crate::locals::local;
use crate::marshalling::{Step, ValuePlace, closure};
use crate::rust_name::ident;

/// Which asynchronous forms the methods of a reference have.
#[derive(Debug, Clone, Copy)]
pub(super) struct Forms {
    pub(super) futures: bool,
    pub(super) pollers: bool,
}

fn plain(name: &Ident) -> String {
    name.to_string().trim_start_matches("r#").to_owned()
}

impl<'m> Scope<'_, 'm> {
    /// Which forms an interface has.
    pub(super) fn forms(&self, interface: &Definition) -> Forms {
        Forms {
            futures: self.cx.options.futures && !interface.is_implied(),
            pollers: self.model().implied(interface.id, ImpliedKind::AmiPoller).is_some(),
        }
    }

    /// Where the functions are that all forms of a call share: with the interface that declares
    /// the operation, unless its code is elsewhere and may lack them.
    fn shared_with(&self, interface: &Definition, call: &Call<'_>) -> TokenStream {
        match call.definition.parent {
            Some(parent) if parent != interface.id && !self.cx.is_extern(parent) => {
                self.path(parent)
            }
            _ => quote!(Self),
        }
    }

    fn is_shared(&self, interface: &Definition, call: &Call<'_>) -> bool {
        let parent = call.definition.parent;
        parent.is_some_and(|parent| parent != interface.id && !self.cx.is_extern(parent))
    }

    /// `get_quote` or `set_price`, as in the interface that declares it; IDL has no names with the
    /// underscore that is put before it.
    fn shared_name(&self, call: &Call<'_>) -> String {
        let names = &self.cx.names;
        let id = call.definition.id;
        match call.access() {
            Access::Set => names.setter(id).to_owned(),
            Access::Get | Access::Call => names.name(id).to_owned(),
        }
    }

    /// `Self::_reply_stub_get_quote()`: what is done with the reply to a callback.
    fn reply_stub(&self, interface: &Definition, call: &Call<'_>) -> TokenStream {
        let name = format_ident!("_reply_stub_{}", self.shared_name(call));
        let owner = self.shared_with(interface, call);
        quote!(#owner::#name())
    }

    /// The asynchronous methods for one synchronous one; `name` makes their names unique.
    pub(super) fn asynchronous_stubs(
        &self,
        interface: &Definition,
        call: &Call<'_>,
        name: &mut dyn FnMut(String) -> Ident,
    ) -> TokenStream {
        if call.oneway {
            return TokenStream::new();
        }
        let forms = self.forms(interface);
        let is_shared = self.is_shared(interface, call);
        let reply_stub = (!is_shared).then(|| self.reply_stub_function(call)).flatten();
        let sendc = self.sendc(interface, call, name);
        let sendp = forms.pollers.then(|| self.sendp(interface, call, name)).flatten();
        let future = forms.futures.then(|| self.future_stub(call, name));
        quote!(#reply_stub #sendc #sendp #future)
    }

    /// What the model has implied for a call.
    fn implied_for(
        &self,
        call: &Call<'_>,
        role: fn(Access) -> ImpliedKind,
    ) -> Option<&'m Definition> {
        let id = self.model().implied(call.definition.id, role(call.access()))?;
        Some(self.model().get(id))
    }

    /// The handler or poller of the interface that declares the call.
    fn declared_with(&self, call: &Call<'_>, role: ImpliedKind) -> Option<DefId> {
        self.model().implied(call.definition.parent?, role)
    }

    /// The function that returns the `ReplyStub` of an operation; none without callbacks.
    fn reply_stub_function(&self, call: &Call<'_>) -> Option<TokenStream> {
        let orb = self.orb();
        let reply = &self.implied_for(call, ImpliedKind::AmiReply)?.name;
        let excep = &self.implied_for(call, ImpliedKind::AmiExcep)?.name;
        let name = format_ident!("_reply_stub_{}", self.shared_name(call));
        let forward = self.forward_function(call);
        let exceptions = self.error_variants(&call.raises).into_iter().map(|(_, id)| {
            let exception = self.path(id);
            quote!((#exception::REPOSITORY_ID, <#exception as #orb::Typed>::type_code))
        });
        Some(quote! {
            #[doc(hidden)]
            pub fn #name() -> &'static #orb::ReplyStub {
                #forward
                static STUB: #orb::ReplyStub = #orb::ReplyStub {
                    operation: #orb::Operation::twoway(#reply),
                    excep_operation: #orb::Operation::twoway(#excep),
                    forward,
                    exceptions: &[#(#exceptions),*],
                };
                &STUB
            }
        })
    }

    /// Reads the results and sends them to a handler elsewhere; both are in the order of the IDL.
    fn forward_function(&self, call: &Call<'_>) -> TokenStream {
        let (orb, ok) = (self.orb(), self.std("Ok"));
        let (some, none) = (self.std("Some"), self.std("None"));
        let object = self.option(&quote!(&#orb::Object));
        let done = self.result(&quote!(()), &quote!(#orb::SystemException));
        let outputs = call.outputs();
        let names: Vec<Ident> = outputs.iter().map(|output| output.name.clone()).collect();
        let [reply, handler, d, e] =
            ["reply", "handler", "d", "e"].map(|wanted| local(wanted, &names));
        let reads: Vec<_> = outputs.iter().map(|o| self.read_value(&o.ty, &d)).collect();
        let read = match outputs.as_slice() {
            [] => quote!(|_| #ok(())),
            [only] => self.reader(&only.ty),
            _ => {
                let reads = tuple(&reads);
                quote!(|#d| #ok(#reads))
            }
        };
        let steps: Vec<Step> = outputs
            .iter()
            .map(|output| {
                let name = &output.name;
                self.write_value(&output.ty, &ValuePlace::Direct(quote!(#name)), &e)
            })
            .collect();
        let write = closure(self, &e, steps);
        let results: Vec<_> = names.iter().map(|name| quote!(#name)).collect();
        let binding = match results.as_slice() {
            [] => quote!(#reply.results_only(#read)?;),
            results => {
                let pattern = tuple(results);
                quote!(let #pattern = #reply.results_only(#read)?;)
            }
        };
        quote! {
            fn forward(#reply: &mut #orb::Reply, #handler: #object) -> #done {
                #binding
                match #handler {
                    #some(#handler) => {
                        #handler.invoke_async(&STUB.operation, &#write, #orb::ReplySink::discard())
                    }
                    #none => #ok(()),
                }
            }
        }
    }

    /// `sendc_get_quote`: the reply goes to a handler.
    fn sendc(
        &self,
        interface: &Definition,
        call: &Call<'_>,
        name: &mut dyn FnMut(String) -> Ident,
    ) -> Option<TokenStream> {
        let orb = self.orb();
        let sendc = self.implied_for(call, ImpliedKind::AmiSendc)?;
        let handler_type = self.path(self.declared_with(call, ImpliedKind::AmiHandler)?);
        let method = name(self.cx.names.name(sendc.id).to_owned());
        let docs = asynchronous_docs(call, "the reply goes to a handler, as a call of its own.");
        let handler = local("ami_handler", &call.sent_names());
        let parameters = self.parameter_list(call);
        let done = self.result(&quote!(()), &quote!(#orb::SystemException));
        let (operation, arguments) = (self.operation_static(call), self.written_arguments(call));
        let stub = self.reply_stub(interface, call);
        Some(quote! {
            #docs
            pub fn #method<'h>(
                &self,
                #handler: impl ::std::convert::Into<#orb::ReplyTo<'h, #handler_type>>
                #parameters
            ) -> #done {
                let #handler = #handler.into().sink(#stub);
                self.as_object().invoke_async(#operation, &#arguments, #handler)
            }
        })
    }

    /// `sendp_get_quote`: the reply is asked for later.
    fn sendp(
        &self,
        interface: &Definition,
        call: &Call<'_>,
        name: &mut dyn FnMut(String) -> Ident,
    ) -> Option<TokenStream> {
        let orb = self.orb();
        let sendp = self.implied_for(call, ImpliedKind::AmiSendp)?;
        let poller = self.path(self.declared_with(call, ImpliedKind::AmiPoller)?);
        let method = name(self.cx.names.name(sendp.id).to_owned());
        let docs = asynchronous_docs(call, "the reply is asked for later.");
        let parameters = self.parameter_list(call);
        let result = self.result(&poller, &quote!(#orb::SystemException));
        let (operation, arguments) = (self.operation_static(call), self.written_arguments(call));
        let wire_name = &call.wire_name;
        let (ok, some, none) = (self.std("Ok"), self.std("Some"), self.std("None"));
        let has_callback = self.implied_for(call, ImpliedKind::AmiReply).is_some();
        let stub = self.reply_stub(interface, call);
        let stub = if has_callback { quote!(#some(#stub)) } else { none };
        Some(quote! {
            #docs
            pub fn #method(&self #parameters) -> #result {
                let poller = #orb::Poller::new(
                    <#poller as #orb::TypedPoller>::TYPE_ID,
                    self.as_object(),
                    #wire_name,
                    #stub,
                    self.as_object().invoke_deferred(#operation, &#arguments)?,
                );
                #ok(<#poller as #orb::TypedPoller>::from_poller(poller))
            }
        })
    }

    /// `get_quote_async`: the reply as a future.
    fn future_stub(&self, call: &Call<'_>, name: &mut dyn FnMut(String) -> Ident) -> TokenStream {
        let orb = self.orb();
        let method = name(format!("{}_async", plain(&call.method).trim_end_matches('_')));
        let docs = asynchronous_docs(call, "as a future. The call is on its way already.");
        let parameters = self.parameter_list(call);
        let types: Vec<TokenStream> = call.returned().iter().map(|o| self.value(&o.ty)).collect();
        let (value, error) = (tuple(&types), self.error_type(call));
        let (operation, arguments) = (self.operation_static(call), self.written_arguments(call));
        let results = call.results(self);
        let marker = &results.marker;
        let made = match results.returned() {
            None => quote! {
                #orb::ReplyFuture::send::<#marker>(self.as_object(), #operation, &#arguments)
            },
            Some(_) => {
                let reader = self.finish_stub(call);
                quote! {
                    let sent = self.as_object().invoke_deferred(#operation, &#arguments);
                    #orb::ReplyFuture::new(sent, #reader)
                }
            }
        };
        quote! {
            #docs
            pub fn #method(&self #parameters) -> #orb::ReplyFuture<#value, #error> {
                #made
            }
        }
    }

    /// `orb::operation!("get_quote")`
    fn operation_static(&self, call: &Call<'_>) -> TokenStream {
        let (orb, wire_name) = (self.orb(), &call.wire_name);
        quote!(#orb::operation!(#wire_name))
    }
}

impl Call<'_> {
    /// Which of the requests of its operation or attribute it is.
    pub(super) fn access(&self) -> Access {
        match &self.definition.kind {
            DefinitionKind::Attribute(_) if self.wire_name.starts_with("_set_") => Access::Set,
            DefinitionKind::Attribute(_) => Access::Get,
            _ => Access::Call,
        }
    }
}

fn asynchronous_docs(call: &Call<'_>, what: &str) -> TokenStream {
    docs_with("", &format!("`{}` without waiting: {what}", plain(&call.method)))
}

/// An identifier that is none of the names taken so far, which it joins.
pub(super) fn unique(wanted: String, taken: &mut std::collections::HashSet<String>) -> Ident {
    let mut name = wanted;
    while !taken.insert(name.clone()) {
        name.push('_');
    }
    ident(&name)
}
