//! What stands beside an interface for its asynchronous calls: the typed exception holder of its
//! reply handlers (`AmiQuoterExceptionHolder`) and its poller (`AmiQuoterPoller`).
//!
//! Both have a method for each operation, inherited ones too. Handlers themselves are ordinary
//! interfaces. CORBA Messaging §22.6-22.10.

use std::collections::HashSet;

use corbie_frontend::Definition;
use corbie_frontend::model::{Access, ImpliedKind};
use proc_macro2::{Ident, TokenStream};
use quote::quote;

use super::ami::unique;
use super::call::Call;
use crate::context::Scope;
use crate::docs::docs_with;
use crate::names::Implied;
use crate::rust_name::{Case, convert, ident};

impl<'m> Scope<'_, 'm> {
    /// The typed exception holder, beside the reply handler that `handler` is.
    pub(super) fn emit_ami_exception_holder(&self, handler: &Definition) -> TokenStream {
        let Some(origin) = handler.implied.map(|implied| self.model().get(implied.origin)) else {
            return TokenStream::new();
        };
        let (orb, from) = (self.orb(), self.std("From"));
        let name = ident(self.cx.names.implied(handler.id, Implied::AmiExceptionHolder));
        let reference = ident(self.cx.names.name(handler.id));
        let bases = self.cx.all_bases(handler.id).into_iter();
        let bases = bases.filter(|&base| self.model().get(base).is_implied());
        let bases = bases.map(|base| self.path(base));
        let docs = docs_with(
            "",
            &format!(
                "What a reply handler of `{}` was given, as the error of each operation.",
                origin.scoped_name
            ),
        );
        let mut taken = HashSet::from(["as_holder".to_owned()]);
        let calls = self.all_calls(origin);
        let methods = calls.iter().filter(|call| !call.oneway).map(|call| {
            let method = unique(format!("raise_{}", request_name(self, call)), &mut taken);
            match self.inherited_holder(origin, call) {
                Some(base) => self.raise_inherited(call, &method, &base),
                None => self.ami_raise_method(call, &method),
            }
        });
        quote! {
            #docs
            #[derive(Clone, Debug, PartialEq)]
            pub struct #name(#orb::ExceptionHolder);
            impl #name {
                /// The holder without its type.
                pub fn as_holder(&self) -> &#orb::ExceptionHolder {
                    &self.0
                }
                #(#methods)*
            }
            impl #from<#orb::ExceptionHolder> for #name {
                fn from(holder: #orb::ExceptionHolder) -> Self {
                    Self(holder)
                }
            }
            impl #from<&#orb::ExceptionHolder> for #name {
                fn from(holder: &#orb::ExceptionHolder) -> Self {
                    Self(::std::clone::Clone::clone(holder))
                }
            }
            #(
                impl<'h> #from<&'h #reference> for #orb::ReplyTo<'h, #bases> {
                    fn from(derived: &'h #reference) -> Self {
                        Self::unchecked(::std::option::Option::Some(derived.as_object()))
                    }
                }
            )*
        }
    }

    /// The holder of the base that declares the call, where it is a base and generated here.
    fn inherited_holder(&self, origin: &Definition, call: &Call<'_>) -> Option<TokenStream> {
        let declared = call.definition.parent.filter(|&parent| parent != origin.id)?;
        let handler = self.model().implied(declared, ImpliedKind::AmiHandler)?;
        (!self.cx.is_extern(handler)).then(|| self.implied(handler, Implied::AmiExceptionHolder))
    }

    fn raise_inherited(&self, call: &Call<'_>, method: &Ident, base: &TokenStream) -> TokenStream {
        let done = self.result(&quote!(::std::convert::Infallible), &self.error_type(call));
        let declared = ident(&format!("raise_{}", request_name(self, call)));
        let docs = raise_docs(call);
        quote! {
            #docs
            pub fn #method(&self) -> #done {
                #base::from(&self.0).#declared()
            }
        }
    }

    /// `raise_get_quote`: always fails, with the error that the synchronous call would have had.
    fn ami_raise_method(&self, call: &Call<'_>, method: &Ident) -> TokenStream {
        let (orb, err) = (self.orb(), self.std("Err"));
        let error = self.error_type(call);
        let done = self.result(&quote!(::std::convert::Infallible), &error);
        let docs = raise_docs(call);
        let arms = self.error_variants(&call.raises).into_iter().map(|(variant, id)| {
            let exception = self.path(id);
            quote! {
                #exception::REPOSITORY_ID => {
                    let exception = self.0.members(<#exception as #orb::Marshal>::decode)?;
                    #err(#error::#variant(exception))
                }
            }
        });
        let unknown = match call.error {
            Some(_) => quote!(#err(self.0.unknown_user_exception().into())),
            None => quote!(#err(self.0.unknown_user_exception())),
        };
        let body = match call.raises.is_empty() {
            true => quote!(self.0.user_exception()?; #unknown),
            false => quote! {
                match self.0.user_exception()? {
                    #(#arms)*
                    _ => #unknown,
                }
            },
        };
        quote! {
            #docs
            pub fn #method(&self) -> #done {
                #body
            }
        }
    }

    /// The typed poller that `poller` is.
    pub(crate) fn emit_poller(&self, poller: &'m Definition) -> TokenStream {
        let Some(origin) = poller.implied.map(|implied| self.model().get(implied.origin)) else {
            return TokenStream::new();
        };
        let (orb, from) = (self.orb(), self.std("From"));
        let name = ident(self.cx.names.name(poller.id));
        let type_id = &poller.repository_id;
        let docs = docs_with(
            "",
            &format!(
                "Has the reply to one call of `{}`; the method of that operation asks for it.",
                origin.scoped_name
            ),
        );
        let calls = self.all_calls(origin);
        let mut taken = HashSet::new();
        let methods = calls.iter().filter(|call| !call.oneway).map(|call| {
            let method = unique(request_name(self, call), &mut taken);
            self.poll_method(call, &method)
        });
        let to_bases = self.poller_bases(poller, &name);
        quote! {
            #docs
            #[derive(Clone, Debug, PartialEq)]
            pub struct #name(#orb::Poller);
            impl #name { #(#methods)* }
            impl #orb::TypedPoller for #name {
                const TYPE_ID: &'static str = #type_id;
                fn from_poller(poller: #orb::Poller) -> Self {
                    Self(poller)
                }
                fn as_poller(&self) -> &#orb::Poller {
                    &self.0
                }
            }
            impl ::std::ops::Deref for #name {
                type Target = #orb::Poller;
                fn deref(&self) -> &#orb::Poller {
                    &self.0
                }
            }
            impl #from<#name> for #orb::Poller {
                fn from(poller: #name) -> Self {
                    poller.0
                }
            }
            impl #from<#name> for #orb::Pollable {
                fn from(poller: #name) -> Self {
                    poller.0.into()
                }
            }
            impl #from<&#name> for #orb::Pollable {
                fn from(poller: &#name) -> Self {
                    (&poller.0).into()
                }
            }
            #to_bases
        }
    }

    /// Conversions to the pollers of the bases.
    fn poller_bases(&self, poller: &Definition, name: &Ident) -> TokenStream {
        let (orb, from) = (self.orb(), self.std("From"));
        let bases = self.model().all_bases(poller.id).into_iter();
        let bases = bases.filter(|&base| {
            let implied = self.model().get(base).implied;
            implied.is_some_and(|implied| implied.kind == ImpliedKind::AmiPoller)
        });
        let to_bases = bases.map(|base| {
            let base = self.path(base);
            quote! {
                impl #from<#name> for #base {
                    fn from(derived: #name) -> Self {
                        <Self as #orb::TypedPoller>::from_poller(derived.0)
                    }
                }
            }
        });
        quote!(#(#to_bases)*)
    }

    /// `get_quote`: the results, once they are here.
    fn poll_method(&self, call: &Call<'_>, method: &Ident) -> TokenStream {
        let orb = self.orb();
        let wire_name = &call.wire_name;
        let reader = self.finish_stub(call);
        let (duration, result) =
            (self.option(&quote!(::std::time::Duration)), self.result_of(call));
        let docs = docs_with(
            "",
            &format!(
                "The outcome of `{}`, once; waits for it at most for `timeout`, without one as \
                 long as the call may take.",
                call.definition.scoped_name
            ),
        );
        quote! {
            #docs
            pub fn #method(&self, timeout: #duration) -> #result {
                let read: fn(&mut #orb::Reply) -> #result = #reader;
                read(&mut self.0.reply(#wire_name, timeout)?)
            }
        }
    }
}

fn raise_docs(call: &Call<'_>) -> TokenStream {
    docs_with("", &format!("Fails with what `{}` ended with.", call.definition.scoped_name))
}

/// `get_quote`, `get_price`, `set_price`: what implied names are made of.
fn request_name(scope: &Scope<'_, '_>, call: &Call<'_>) -> String {
    let prefix = match call.access() {
        Access::Call => return scope.cx.names.name(call.definition.id).to_owned(),
        Access::Get => "get_",
        Access::Set => "set_",
    };
    prefix.to_owned() + &convert(&call.definition.name, Case::Snake)
}
