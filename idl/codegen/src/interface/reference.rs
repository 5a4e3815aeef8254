//! The client side of an interface: a typed reference with one method for each operation.
//!
//! A reference has the methods of its bases as well, and converts to each of them. Every method is
//! one `Object::invoke` with two closures: one writes the arguments, one reads the results.

use std::collections::HashSet;

use corbie_frontend::Definition;
use corbie_frontend::model::{Interface, InterfaceKind};
use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote};

use super::ami::unique;
use super::call::{Call, tuple};
use crate::context::Scope;
use crate::docs::docs_with;
use crate::locals::local;
use crate::marshalling::{Step, closure};
use crate::rust_name::ident;

impl<'m> Scope<'_, 'm> {
    /// The reference type of an interface, its methods and conversions.
    pub(super) fn emit_reference(&self, definition: &Definition, x: &Interface) -> TokenStream {
        let orb = self.orb();
        let name = ident(self.cx.names.name(definition.id));
        let name = quote!(#name);
        let idl_name = &definition.scoped_name;
        let word = definition.kind.word();
        let docs = docs_with(
            &definition.docs,
            &format!("Reference to an object of the IDL {word} `{idl_name}`; nil is `None`."),
        );
        let basics = self.reference_basics(definition, &name);
        let calls = self.stubs(definition);
        let marshal = self.marshal_reference(&name, x.kind == InterfaceKind::Abstract);
        let typed = self.emit_typed(definition, &name);
        let bases = self.cx.all_bases(definition.id);
        let from = self.std("From");
        let to_bases = bases.iter().map(|&base| {
            let base = self.path(base);
            quote! {
                impl #from<#name> for #base {
                    fn from(derived: #name) -> Self {
                        <Self as #orb::Interface>::from_object(derived.0)
                    }
                }
            }
        });
        quote! {
            #docs
            #[derive(Clone, Debug, PartialEq)]
            pub struct #name(#orb::Object);
            #basics
            impl #name { #calls }
            impl #from<#name> for #orb::Object {
                fn from(reference: #name) -> Self {
                    reference.0
                }
            }
            #(#to_bases)*
            #marshal
            #typed
        }
    }

    /// Narrowing, and the way to the untyped reference and back.
    fn reference_basics(&self, definition: &Definition, name: &TokenStream) -> TokenStream {
        let orb = self.orb();
        let model = self.model();
        let id = &definition.repository_id;
        let bases = self.cx.all_bases(definition.id);
        let base_ids = bases.iter().map(|&base| &model.get(base).repository_id);
        let narrowed = self.option(&quote!(Self));
        let result = self.result(&narrowed, &quote!(#orb::SystemException));
        quote! {
            impl #orb::Interface for #name {
                const REPOSITORY_ID: &'static str = #id;
                const BASES: &'static [&'static str] = &[#(#base_ids),*];
                fn from_object(object: #orb::Object) -> Self {
                    Self(object)
                }
                fn as_object(&self) -> &#orb::Object {
                    &self.0
                }
                fn into_object(self) -> #orb::Object {
                    self.0
                }
            }
            impl #name {
                /// What names this interface on the wire.
                pub const REPOSITORY_ID: &'static str = #id;
                /// This interface of `object`, `None` if it has no such interface. Asks the object
                /// unless its reference says.
                ///
                /// # Errors
                /// The system exception of asking.
                pub fn narrow(object: &#orb::Object) -> #result {
                    <Self as #orb::Interface>::narrow(object)
                }
                /// This interface of `object` on the caller's word.
                pub fn unchecked_narrow(object: #orb::Object) -> Self {
                    Self(object)
                }
                /// The reference without its type.
                pub fn as_object(&self) -> &#orb::Object {
                    &self.0
                }
                /// The reference without its type.
                pub fn into_object(self) -> #orb::Object {
                    self.0
                }
            }
        }
    }

    fn marshal_reference(&self, name: &TokenStream, is_abstract: bool) -> TokenStream {
        let orb = self.orb();
        let ok = self.std("Ok");
        let option = self.option(&quote!(Self));
        let written = self.result(&quote!(()), &quote!(#orb::Error));
        let read = self.result(&option, &quote!(#orb::Error));
        let (smallest, encode, decode) = match is_abstract {
            true => (
                quote!(1),
                quote! {
                    let object = value.as_ref().map(#orb::Interface::as_object);
                    #orb::encode_abstract(object, e)
                },
                quote!(#ok(#orb::decode_abstract(d)?.map(Self))),
            ),
            false => (
                quote!(<#orb::Object as #orb::Marshal>::MIN_OCTETS),
                quote!(#orb::encode_reference(value, e)),
                quote!(#orb::decode_reference(d)),
            ),
        };
        quote! {
            impl #orb::Marshal for #name {
                type Value = #option;
                const MIN_OCTETS: usize = #smallest;
                fn encode<'a>(value: &'a #option, e: &mut #orb::Encoder<'a>) -> #written {
                    #encode
                }
                fn decode(d: &mut #orb::Decoder<'_>) -> #read {
                    #decode
                }
            }
        }
    }

    /// Every method of a reference: own operations first, then those of the bases.
    pub(super) fn all_calls(&self, definition: &Definition) -> Vec<Call<'m>> {
        let mut taken = HashSet::new();
        let mut calls = Vec::new();
        for interface in std::iter::once(definition.id).chain(self.cx.all_bases(definition.id)) {
            let contents = self.cx.interface(interface).map(|x| x.contents).unwrap_or_default();
            for operation in self.cx.own_operations(&contents) {
                for mut call in self.calls(operation) {
                    // Two IDL names, one here and one in a base, may become one Rust name.
                    while !taken.insert(call.method.to_string()) {
                        call.method = format_ident!("{}_", call.method);
                    }
                    calls.push(call);
                }
            }
        }
        calls
    }

    /// The methods of a reference, synchronous and asynchronous.
    fn stubs(&self, definition: &Definition) -> TokenStream {
        let mut calls = self.all_calls(definition);
        if definition.is_implied() {
            // A reply handler is rarely called by applications: its bases have their own methods.
            calls.retain(|call| call.definition.parent == Some(definition.id));
        }
        let mut taken: HashSet<String> = calls.iter().map(|call| call.method.to_string()).collect();
        let mut stubs = TokenStream::new();
        for call in &calls {
            stubs.extend(self.stub(definition, call));
            stubs.extend(
                self.asynchronous_stubs(definition, call, &mut |wanted| unique(wanted, &mut taken)),
            );
        }
        stubs
    }

    /// The closure that writes what is sent.
    pub(super) fn written_arguments(&self, call: &Call<'_>) -> TokenStream {
        let orb = self.orb();
        let e = local("e", &call.sent_names());
        let mut steps: Vec<Step> =
            call.sent().map(|p| self.write_parameter(&p.ty, &p.name, &e)).collect();
        if !call.contexts.is_empty() {
            let (names, context) = (&call.contexts, call.context_name());
            steps.push(Step::Fallible(quote!(#orb::encode_context(&[#(#names),*], #context, #e))));
        }
        closure(self, &e, steps)
    }

    fn stub(&self, definition: &Definition, call: &Call<'_>) -> TokenStream {
        let orb = self.orb();
        let docs = call.docs();
        let signature = self.signature(call);
        let wire_name = &call.wire_name;
        let arguments = self.written_arguments(call);
        if call.oneway {
            return quote! {
                #docs
                pub #signature {
                    static OPERATION: #orb::Operation = #orb::Operation::oneway(#wire_name);
                    self.0.invoke_oneway(&OPERATION, &#arguments)
                }
            };
        }
        let finish = match self.forms(definition).share_reading() {
            true => {
                let reader = self.reader_path(definition, call);
                quote!(#reader(&mut reply))
            }
            false => self.finish_stub(call),
        };
        let body = quote! {
            let mut reply = self.0.invoke(&OPERATION, &#arguments)?;
            #finish
        };
        let body = self.collocated(definition, call, body);
        quote! {
            #docs
            pub #signature {
                static OPERATION: #orb::Operation = #orb::Operation::twoway(#wire_name);
                #body
            }
        }
    }

    /// Reads results or a user exception.
    pub(super) fn finish_stub(&self, call: &Call<'_>) -> TokenStream {
        let orb = self.orb();
        let results = self.read_results(call);
        let Some(_) = call.error else {
            return quote!(reply.results_only(#results));
        };
        let error = self.error_type(call);
        let (ok, err) = (self.std("Ok"), self.std("Err"));
        let (some, none) = (self.std("Some"), self.std("None"));
        let arms = self.error_variants(&call.raises).into_iter().map(|(variant, id)| {
            let exception = self.path(id);
            quote! {
                #some(#exception::REPOSITORY_ID) => {
                    let exception = reply.results(<#exception as #orb::Marshal>::decode)?;
                    #err(#error::#variant(exception))
                }
            }
        });
        quote! {
            match reply.user_exception() {
                #none => #ok(reply.results(#results)?),
                #(#arms)*
                #some(_) => #err(reply.unknown_user_exception().into()),
            }
        }
    }

    /// The closure that reads the results.
    fn read_results(&self, call: &Call<'_>) -> TokenStream {
        let ok = self.std("Ok");
        let on_wire = call.outputs();
        let names: Vec<Ident> = on_wire.iter().map(|output| output.name.clone()).collect();
        let d = local("d", &names);
        let returned = call.returned();
        match on_wire.as_slice() {
            [] => return quote!(|_| #ok(())),
            [only] => return self.reader(&only.ty),
            _ => {}
        }
        let same_order = on_wire.iter().zip(&returned).all(|(a, b)| a.name == b.name);
        if same_order {
            let reads: Vec<_> = on_wire.iter().map(|o| self.read_value(&o.ty, &d)).collect();
            let reads = tuple(&reads);
            return quote!(|#d| #ok(#reads));
        }
        let reads = on_wire.iter().map(|output| {
            let (name, read) = (&output.name, self.read_value(&output.ty, &d));
            quote!(let #name = #read;)
        });
        let names = returned.iter().map(|output| &output.name);
        quote!(|#d| { #(#reads)* #ok((#(#names),*)) })
    }
}
