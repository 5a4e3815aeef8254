//! The server side between POA and servant: finds the operation, reads arguments, writes results.
//!
//! One function for each operation, generic over the servant, so that the skeleton of a derived
//! interface uses those of its bases. The operation is found as `Options::operation_demux` says.

use corbie_frontend::model::Interface;
use corbie_frontend::{DefId, Definition};
use proc_macro2::{Ident, Literal, TokenStream};
use quote::{format_ident, quote};

use super::call::Call;
use crate::context::Scope;
use crate::docs::docs_with;
use crate::locals::local;
use crate::names::Implied;
use crate::options::OperationDemux;
use crate::perfect_hash;
use crate::rust_name::ident;

/// What a skeleton serves of one interface: its own, or a base.
pub(super) struct Served {
    /// The skeleton whose functions serve it.
    skeleton: TokenStream,
    /// The names of the operations on the wire; the skeleton's `_serve` knows them by place.
    wire_names: Vec<String>,
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
        let serve = self.serve_function(x, &quote!(#s));
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
            }
            #[doc(hidden)]
            impl<#s: #servant> #name<#s> {
                #functions
                #serve
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
        let dispatch = self.dispatch(served);
        quote! {
            impl<#s: #servant> #orb::Servant for #skeleton<#s> {
                fn _interfaces(&self) -> &'static [&'static str] {
                    &[#(#ids),*]
                }
                fn _dispatch(&self, request: &mut #orb::Request<'_>) -> #orb::Done {
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
        let (mut names, mut places) = (Vec::new(), 0usize..0);
        let mut arms = TokenStream::new();
        for Served { skeleton, wire_names } in served.iter().filter(|x| !x.wire_names.is_empty()) {
            places = places.end..places.end + wire_names.len();
            names.extend(wire_names.iter().map(String::as_str).zip(places.clone()));
            let first = Literal::usize_unsuffixed(places.start);
            let last = Literal::usize_unsuffixed(places.end - 1);
            let within = (places.start > 0).then(|| quote!(- #first));
            let range = if wire_names.len() == 1 { quote!(#first) } else { quote!(#first..=#last) };
            arms.extend(quote! {
                #some(at @ #range) => #skeleton::_serve(&self.0, at #within, request),
            });
        }
        if names.is_empty() {
            return quote!(#err(request.unknown_operation()));
        }
        let table = self.operation_table(&names);
        quote! {
            #table
            match OPERATIONS.lookup(request.operation()) {
                #arms
                _ => #err(request.unknown_operation()),
            }
        }
    }

    /// The function that serves the interface's own operations, by their place in it.
    pub(super) fn serve_function(&self, x: &Interface, servant: &TokenStream) -> TokenStream {
        let (orb, err) = (self.orb(), self.std("Err"));
        let arms = self.own_calls(x).into_iter().enumerate().map(|(at, call)| {
            let (at, function) = (Literal::usize_unsuffixed(at), dispatch_name(&call));
            quote!(#at => Self::#function(servant, request),)
        });
        let arms: Vec<TokenStream> = arms.collect();
        if arms.is_empty() {
            return TokenStream::new();
        }
        quote! {
            #[inline]
            pub fn _serve(
                servant: &#servant,
                at: usize,
                request: &mut #orb::Request<'_>,
            ) -> #orb::Done {
                match at {
                    #(#arms)*
                    _ => #err(request.unknown_operation()),
                }
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
        let levels = std::iter::once(definition.id).chain(self.cx.all_bases(definition.id));
        let served = levels.filter_map(|level| {
            let calls = self.own_calls(&self.cx.interface(level)?).into_iter();
            let wire_names = calls.map(|call| call.wire_name).collect();
            Some(Served { skeleton: skeleton(level), wire_names })
        });
        served.collect()
    }

    /// `static OPERATIONS: … = …;`
    fn operation_table(&self, operations: &[(&str, usize)]) -> TokenStream {
        let orb = self.orb();
        let names: Vec<&str> = operations.iter().map(|(name, _)| *name).collect();
        let names = names.as_slice();
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
        let results = call.results(self);
        let (marker, sent) = (&results.marker, results.sent());
        quote! {
            pub fn #function(#object: &#s, #request: &mut #orb::Request<'_>) -> #orb::Done {
                #reads
                #orb::answer::<#marker, _>(#request, #upcall #sent)
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
}

/// `dispatch_get_quote`, `dispatch_get_price` (of an attribute), `dispatch_set_price`.
pub(super) fn dispatch_name(call: &Call<'_>) -> Ident {
    let method = call.method.to_string();
    format_ident!("dispatch_{}", method.trim_start_matches("r#"))
}
