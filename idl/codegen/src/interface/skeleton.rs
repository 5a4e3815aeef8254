//! The server side between POA and servant: finds the operation, reads arguments, writes results.
//!
//! One function for each operation, generic over the servant, so that the skeleton of a derived
//! interface uses those of its bases. The operation is found as `Options::operation_demux` says.

use corbie_frontend::model::Interface;
use corbie_frontend::{DefId, Definition};
use proc_macro2::{Ident, Literal, TokenStream};
use quote::{ToTokens, format_ident, quote};

use super::call::{Call, Output, tuple};
use crate::context::Scope;
use crate::docs::docs_with;
use crate::locals::local;
use crate::marshalling::{ValuePlace, closure};
use crate::names::Implied;
use crate::options::OperationDemux;
use crate::perfect_hash;
use crate::rust_name::ident;

/// An operation that a skeleton serves: its name on the wire and the function for it.
pub(super) struct Served {
    wire_name: String,
    function: TokenStream,
}

impl Scope<'_, '_> {
    /// The skeleton of an interface.
    pub(super) fn emit_skeleton(&self, definition: &Definition, x: &Interface) -> TokenStream {
        let name = ident(self.cx.names.implied(definition.id, Implied::Skeleton));
        let servant = ident(self.cx.names.implied(definition.id, Implied::Servant));
        let s = self.generic("S");
        let docs = docs_with(
            "",
            &format!("Serves requests for `{}` with a servant.", definition.scoped_name),
        );
        let mut functions = TokenStream::new();
        for operation in self.cx.own_operations(&x.contents) {
            for call in self.calls(operation) {
                functions.extend(self.dispatch_function(&call, &servant, &s));
            }
        }
        let served = self.served(definition, |level| self.implied(level, Implied::Skeleton));
        let views = self.views(definition);
        let serving = self.emit_serving(definition, (&name, &servant), &served, &views);
        quote! {
            #docs
            #[derive(Debug)]
            pub struct #name<#s>(#s);
            impl<#s: #servant> #name<#s> {
                /// A skeleton that calls `servant`.
                pub fn new(servant: #s) -> Self {
                    Self(servant)
                }
                #functions
            }
            #serving
        }
    }

    /// What a skeleton is to the object adapter: the real interface, its operations, and how
    /// collocated calls see the servant.
    pub(super) fn emit_serving(
        &self,
        definition: &Definition,
        (skeleton, servant): (&Ident, &Ident),
        served: &[Served],
        views: &TokenStream,
    ) -> TokenStream {
        let orb = self.orb();
        let s = self.generic("S");
        let reference = ident(self.cx.names.name(definition.id));
        let ids = self.all_repository_ids(definition);
        let done = self.result(&quote!(()), &quote!(#orb::SystemException));
        let dispatch = self.dispatch(served);
        quote! {
            impl<#s: #servant> #orb::Servant for #skeleton<#s> {
                fn _interfaces(&self) -> &'static [&'static str] {
                    &[#(#ids),*]
                }
                fn _dispatch(&self, request: &mut #orb::ServerRequest<'_>) -> #done {
                    #dispatch
                }
                #views
            }
            impl<#s: #servant> #orb::TypedServant for #skeleton<#s> {
                type Reference = #reference;
            }
        }
    }

    fn all_repository_ids(&self, definition: &Definition) -> Vec<String> {
        let bases = self.cx.all_bases(definition.id);
        let bases = bases.iter().map(|&base| self.model().get(base).repository_id.clone());
        std::iter::once(definition.repository_id.clone()).chain(bases).collect()
    }

    /// The body of `_dispatch`.
    fn dispatch(&self, served: &[Served]) -> TokenStream {
        let (err, some) = (self.std("Err"), self.std("Some"));
        if served.is_empty() {
            return quote!(#err(request.unknown_operation()));
        }
        let names: Vec<&str> = served.iter().map(|served| served.wire_name.as_str()).collect();
        let table = self.operation_table(&names);
        let arms = served.iter().enumerate().map(|(at, served)| {
            let (index, function) = (Literal::usize_unsuffixed(at), &served.function);
            quote!(#some(#index) => #function(&self.0, request),)
        });
        quote! {
            #table
            match OPERATIONS.lookup(request.operation()) {
                #(#arms)*
                _ => #err(request.unknown_operation()),
            }
        }
    }

    /// What a skeleton serves: own operations first, then those of the bases. `skeleton` says whose
    /// functions serve those of an interface.
    pub(super) fn served(
        &self,
        definition: &Definition,
        skeleton: impl Fn(DefId) -> TokenStream,
    ) -> Vec<Served> {
        let s = self.generic("S");
        let mut served: Vec<Served> = Vec::new();
        let levels = std::iter::once(definition.id).chain(self.cx.all_bases(definition.id));
        for level in levels {
            let contents = self.cx.interface(level).map(|x| x.contents).unwrap_or_default();
            let skeleton = skeleton(level);
            for operation in self.cx.own_operations(&contents) {
                for call in self.calls(operation) {
                    let function = dispatch_name(&call);
                    let function = quote!(#skeleton::<#s>::#function);
                    let wire_name = call.wire_name;
                    if served.iter().all(|other| other.wire_name != wire_name) {
                        served.push(Served { wire_name, function });
                    }
                }
            }
        }
        served
    }

    /// `static OPERATIONS: … = …;`
    fn operation_table(&self, names: &[&str]) -> TokenStream {
        let orb = self.orb();
        let perfect = match self.cx.options.operation_demux {
            OperationDemux::PerfectHash => perfect_hash::build(names),
            OperationDemux::LinearSearch => {
                return quote! {
                    static OPERATIONS: #orb::LinearSearch =
                        #orb::LinearSearch { names: &[#(#names),*] };
                };
            }
            OperationDemux::BinarySearch => None,
        };
        if let Some(found) = perfect {
            let seed = Literal::u64_unsuffixed(found.seed);
            let displacements = found.displacements.iter().map(|&d| Literal::u16_unsuffixed(d));
            let slots = found.slots.iter().map(|&index| {
                let (name, index) = (names[usize::from(index)], Literal::u16_unsuffixed(index));
                quote!((#name, #index))
            });
            return quote! {
                static OPERATIONS: #orb::PerfectHash = #orb::PerfectHash {
                    seed: #seed,
                    displacements: &[#(#displacements),*],
                    slots: &[#(#slots),*],
                };
            };
        }
        let mut sorted: Vec<(&str, usize)> =
            names.iter().enumerate().map(|(index, name)| (*name, index)).collect();
        sorted.sort_unstable();
        let entries = sorted.into_iter().map(|(name, index)| {
            let index = Literal::usize_unsuffixed(index);
            quote!((#name, #index))
        });
        quote! {
            static OPERATIONS: #orb::BinarySearch =
                #orb::BinarySearch { names: &[#(#entries),*] };
        }
    }

    /// The function that serves one operation.
    pub(super) fn dispatch_function(
        &self,
        call: &Call<'_>,
        servant: &Ident,
        s: &Ident,
    ) -> TokenStream {
        let orb = self.orb();
        let function = dispatch_name(call);
        let names = call.sent_names();
        let object = local("servant", &names);
        let request = local("request", &names);
        let (reads, passed) = self.read_arguments(call, &request, false);
        let method = &call.method;
        let upcall = quote!(#servant::#method(#object #(, #passed)*));
        let answer = self.answer(call, &upcall, &Answering::Request(&request));
        let done = self.result(&quote!(()), &quote!(#orb::SystemException));
        quote! {
            #[doc(hidden)]
            pub fn #function(#object: &#s, #request: &mut #orb::ServerRequest<'_>) -> #done {
                #reads
                #answer
            }
        }
    }

    /// Statements that read the arguments of a request, and what is then passed to the servant.
    /// `owned`: nothing is borrowed from the message received.
    pub(super) fn read_arguments(
        &self,
        call: &Call<'_>,
        request: &Ident,
        owned: bool,
    ) -> (TokenStream, Vec<TokenStream>) {
        let orb = self.orb();
        let d = local("d", &call.sent_names());
        let mut reads = TokenStream::new();
        let mut passed = Vec::new();
        for parameter in call.sent() {
            let name = &parameter.name;
            let (read, pass) = match owned {
                true => self.read_owned_argument(&parameter.ty, name, &d),
                false => self.read_argument(&parameter.ty, name, &d),
            };
            reads.extend(quote!(let #name = #read;));
            passed.push(pass);
        }
        if !call.contexts.is_empty() {
            let name = call.context_name();
            reads.extend(quote!(let #name = #orb::decode_context(#d)?;));
            passed.push(quote!(&#name));
        }
        let decoder = (!reads.is_empty()).then(|| quote!(let #d = &mut #request.arguments();));
        (quote!(#decoder #reads), passed)
    }

    /// Takes what the servant returns, `outcome`, and writes it.
    pub(super) fn answer(
        &self,
        call: &Call<'_>,
        outcome: &TokenStream,
        through: &Answering<'_>,
    ) -> TokenStream {
        let orb = self.orb();
        let (ok, err) = (self.std("Ok"), self.std("Err"));
        let outputs = call.outputs();
        let e = local("e", &outputs.iter().map(|o| o.name.clone()).collect::<Vec<_>>());
        let write = |output: &Output| {
            let name = &output.name;
            self.write_value(&output.ty, &ValuePlace::Direct(quote!(#name)), &e)
        };
        let writes = closure(self, &e, outputs.iter().map(write).collect());
        let returned: Vec<TokenStream> =
            call.returned().iter().map(|output| output.name.to_token_stream()).collect();
        let pattern = tuple(&returned);
        let (target, raised) = match through {
            Answering::Request(request) => (request, quote!(#err(exception))),
            Answering::Handler(handler) => (handler, quote!(#handler.raise(&exception))),
        };
        if call.error.is_none() {
            return match through {
                Answering::Request(_) if returned.is_empty() => {
                    quote!(#outcome?; #target.reply(&#writes))
                }
                Answering::Request(_) => {
                    quote!(let #pattern = #outcome?; #target.reply(&#writes))
                }
                Answering::Handler(_) => quote! {
                    match #outcome {
                        #ok(#pattern) => #target.reply(&#writes),
                        #err(exception) => #raised,
                    }
                },
            };
        }
        let error = self.error_type(call);
        let arms = self.error_variants(&call.raises).into_iter().map(|(variant, id)| {
            let exception = self.path(id);
            quote! {
                #err(#error::#variant(exception)) => {
                    let id = #exception::REPOSITORY_ID;
                    #target.reply_exception(id, &|e| {
                        <#exception as #orb::Marshal>::encode(&exception, e)
                    })
                }
            }
        });
        quote! {
            match #outcome {
                #ok(#pattern) => #target.reply(&#writes),
                #(#arms)*
                #err(#error::System(exception)) => #raised,
            }
        }
    }
}

/// Through what a skeleton answers.
pub(super) enum Answering<'a> {
    /// The request itself; a system exception is returned to the dispatcher.
    Request(&'a Ident),
    /// A response handler, which the answer consumes.
    Handler(&'a Ident),
}

/// `dispatch_get_quote`, `dispatch_get_price` (of an attribute), `dispatch_set_price`.
pub(super) fn dispatch_name(call: &Call<'_>) -> Ident {
    let method = call.method.to_string();
    format_ident!("dispatch_{}", method.trim_start_matches("r#"))
}
