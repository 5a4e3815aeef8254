//! Valuetypes and boxed values: traits, state structs, operations and factories.
//!
//! Called by `tree`. A valuetype `Node` becomes the trait `Node`, passed as
//! `Option<Arc<dyn Node>>`; the struct `NodeState`; the trait `NodeOperations`, which the
//! application implements where the IDL has operations; `NodeValue`, which joins the two; and the
//! trait `NodeFactory` where it has initialisers. What all have in common is made by macros of
//! `corbie_core::values`.

mod facts;

use corbie_frontend::model::{ValueBox, ValueKind, ValueType};
use corbie_frontend::{DefId, Definition, DefinitionKind};
use proc_macro2::TokenStream;
use quote::quote;

use crate::context::Scope;
use crate::docs::{docs, docs_with};
use crate::interface::Call;
use crate::locals::local;
use crate::names::Implied;
use crate::rust_name::{Case, convert, ident};
use crate::structs::OwnedMember;

impl<'m> Scope<'_, 'm> {
    /// Everything for one valuetype (or eventtype).
    pub(crate) fn emit_value(&self, definition: &'m Definition, x: &ValueType) -> TokenStream {
        let view = self.emit_view(definition, x);
        let operations = self.emit_operations(definition, x);
        let factory = self.emit_factory(definition, x);
        let object = self.emit_shared_object(definition);
        let marker = self.emit_marker(definition);
        if x.kind == ValueKind::Abstract {
            return quote!(#view #operations #factory #object #marker);
        }
        let state = self.emit_state(definition, x);
        let carrier = self.emit_carrier(definition, x);
        quote!(#view #state #operations #carrier #factory #object #marker)
    }

    /// The trait that values are passed as.
    fn emit_view(&self, definition: &'m Definition, x: &ValueType) -> TokenStream {
        let orb = self.orb();
        let name = ident(self.cx.names.name(definition.id));
        let word = definition.kind.word();
        let closing = format!("IDL {word} `{}`, passed as `Arc<dyn …>`.", definition.scoped_name);
        let docs = docs_with(&definition.docs, &closing);
        let bases = x.bases.iter().map(|&base| self.path(base));
        let supports = x.supports.iter().map(|&interface| self.operations_trait(interface));
        let accessors = self.accessors(definition.id).map(|(get, update)| {
            quote! {
                /// The state as it is now.
                #get;
                /// Changes the state, for all that share the value; what was given out stays.
                #update;
            }
        });
        let methods = self.declared_calls(&x.contents).into_iter().map(|call| {
            let (docs, signature) = (call.docs(), self.signature(&call));
            quote!(#docs #signature;)
        });
        quote! {
            #docs
            pub trait #name: #(#bases +)* #(#supports +)* #orb::ValueBase {
                #accessors
                #(#methods)*
            }
        }
    }

    fn declared_calls(&self, contents: &[DefId]) -> Vec<Call<'m>> {
        let operations = self.cx.own_operations(contents).into_iter();
        operations.flat_map(|operation| self.calls(operation)).collect()
    }

    /// `fn node_state(&self) -> StateRef<NodeState>`, and what changes it; none of an abstract one.
    fn accessors(&self, id: DefId) -> Option<(TokenStream, TokenStream)> {
        if self.is_abstract_value(id) {
            return None;
        }
        let (orb, state) = (self.orb(), self.implied(id, Implied::State));
        let name = convert(self.cx.names.name(id), Case::Snake);
        let get = ident(&format!("{name}_state"));
        let update = ident(&format!("update_{name}_state"));
        Some((
            quote!(fn #get(&self) -> #orb::StateRef<#state>),
            quote!(fn #update(&self, change: &mut dyn FnMut(&mut #state))),
        ))
    }

    /// The struct with the state: that of the base, and the own members.
    fn emit_state(&self, definition: &'m Definition, x: &ValueType) -> TokenStream {
        let orb = self.orb();
        let state = ident(self.cx.names.implied(definition.id, Implied::State));
        let idl_name = &definition.scoped_name;
        let word = definition.kind.word();
        let docs = docs_with("", &format!("The state of the IDL {word} `{idl_name}`."));
        let members: Vec<OwnedMember<'_>> =
            x.state.iter().map(|state| (definition, &state.member)).collect();
        let base = self.concrete_base(definition.id);
        let abilities = self.abilities_of_state(definition.id);
        let derives = self.derives(abilities);
        let base_name = self.base_field(definition.id);
        let fields = self.fields(&members);
        let (base_field, base_member) = match base {
            None => (None, None),
            Some(base) => {
                let base = self.implied(base, Implied::State);
                let docs = " What the base declares.";
                (
                    Some(quote!(#[doc = #docs] pub #base_name: #base,)),
                    Some(quote!(#base_name "base": #base,)),
                )
            }
        };
        let marshalled = members.iter().map(|(owner, member)| {
            let name = self.member(owner, &member.name, Case::Snake);
            let (idl, marker) = (&member.name, self.marker(&member.ty));
            quote!(#name #idl: #marker)
        });
        let marshalled = quote!(#base_member #(#marshalled),*);
        let default = (abilities.default && !abilities.derive_default)
            .then(|| self.manual_default(&quote!(#state), &members));
        let parts = self.state_parts(definition.id);
        quote! {
            #docs
            #derives
            pub struct #state { #base_field #fields }
            #default
            #orb::members!(#state { #marshalled });
            #parts
        }
    }

    /// The state seen as that of each base.
    fn state_parts(&self, id: DefId) -> TokenStream {
        let state = self.implied(id, Implied::State);
        let mut parts = quote! {
            impl ::std::convert::AsRef<#state> for #state {
                fn as_ref(&self) -> &Self {
                    self
                }
            }
        };
        let mut path = TokenStream::new();
        for (from, base) in self.chain(id) {
            let (field, base) = (self.base_field(from), self.implied(base, Implied::State));
            path.extend(quote!(.#field));
            parts.extend(quote! {
                impl ::std::convert::AsRef<#base> for #state {
                    fn as_ref(&self) -> &#base {
                        &self #path
                    }
                }
            });
        }
        parts
    }

    /// The trait with what the application does for the operations.
    fn emit_operations(&self, definition: &'m Definition, x: &ValueType) -> TokenStream {
        let orb = self.orb();
        let id = definition.id;
        let name = ident(self.cx.names.implied(id, Implied::Operations));
        let (idl_name, value) = (&definition.scoped_name, self.path(id));
        let docs = docs_with("", &format!("What is done for the operations of `{idl_name}`."));
        let bases = x.bases.iter().map(|&base| self.implied(base, Implied::Operations));
        let (send, sync) = (self.std("Send"), self.std("Sync"));
        let custom = (x.kind == ValueKind::Custom).then(|| {
            let state = self.implied(id, Implied::State);
            quote!(#orb::CustomMarshal<#state> +)
        });
        let methods = self.served_calls(id).into_iter().map(|(_, call)| {
            let (docs, signature) = (call.docs(), self.signature_of_value(&call, &value));
            quote!(#docs #signature;)
        });
        let none = self.is_without_operations(id).then(|| quote!(impl #name for () {}));
        quote! {
            #docs
            pub trait #name: #(#bases +)* #custom #send + #sync + 'static { #(#methods)* }
            #none
        }
    }

    /// `fn sum(&self, this: &dyn Node, …) -> …`
    fn signature_of_value(&self, call: &Call<'_>, value: &TokenStream) -> TokenStream {
        let this = local("this", &call.sent_names());
        let (parameters, result) = (self.parameter_list(call), self.result_of(call));
        let method = &call.method;
        quote!(fn #method(&self, #this: &dyn #value #parameters) -> #result)
    }

    /// The struct that joins state and operations.
    fn emit_carrier(&self, definition: &'m Definition, x: &ValueType) -> TokenStream {
        let orb = self.orb();
        let id = definition.id;
        let carrier = ident(self.cx.names.implied(id, Implied::Carrier));
        let [marker, state, operations] = [Implied::Marker, Implied::State, Implied::Operations]
            .map(|which| self.implied(id, which));
        let docs = docs_with("", &format!("Values of the IDL type `{}`.", definition.scoped_name));
        let kind = if x.kind == ValueKind::Custom { quote!(custom) } else { quote!(plain) };
        let ids = self.truncatable_to(id);
        let (values, interfaces) = (self.value_bases(id), self.supported(id));
        let mut views: Vec<TokenStream> =
            values.iter().map(|&value| self.path(value)).map(|path| quote!(dyn #path)).collect();
        views.extend(interfaces.iter().map(|&(_, interface)| {
            let servant = self.operations_trait(interface);
            quote!(dyn #servant)
        }));
        let generic = self.generic("O");
        let mut impls = TokenStream::new();
        for value in values {
            let path = self.path(value);
            let methods = self.carried_methods(id, value);
            impls.extend(quote! {
                impl<#generic: #operations> #path for #carrier<#generic> { #methods }
            });
        }
        for (value, interface) in interfaces {
            let servant = self.operations_trait(interface);
            let contents = self.cx.interface(interface).map(|x| x.contents).unwrap_or_default();
            let methods = self.forwards(value, &self.declared_calls(&contents));
            impls.extend(quote! {
                impl<#generic: #operations> #servant for #carrier<#generic> { #methods }
            });
        }
        quote! {
            #orb::valuetype!(
                #docs
                #carrier: #marker, #state, #operations, #kind, [#(#ids),*], [#(#views),*]
            );
            #impls
        }
    }

    /// What a carrier of `id` has of the valuetype `value`, itself or a base.
    fn carried_methods(&self, id: DefId, value: DefId) -> TokenStream {
        let orb = self.orb();
        let x = self.value_type(value);
        let contents = x.map(|x| x.contents.clone()).unwrap_or_default();
        let forwards = self.forwards(value, &self.declared_calls(&contents));
        let Some((get, update)) = self.accessors(value) else { return forwards };
        let mut path = TokenStream::new();
        if id != value {
            for (from, base) in self.chain(id) {
                let field = self.base_field(from);
                path.extend(quote!(.#field));
                if base == value {
                    break;
                }
            }
        }
        let part = if path.is_empty() { quote!(state) } else { quote!(&mut state #path) };
        quote! {
            #get {
                #orb::StateRef::of(self.state())
            }
            #update {
                self.state().update(|state| change(#part));
            }
            #forwards
        }
    }

    /// Methods that hand on to the application's operations, as the valuetype `value` declares
    /// them.
    fn forwards(&self, value: DefId, calls: &[Call<'m>]) -> TokenStream {
        let operations = self.implied(value, Implied::Operations);
        let each = calls.iter().map(|call| {
            let (signature, method) = (self.signature(call), &call.method);
            let names = call.sent_names();
            quote! {
                #signature {
                    #operations::#method(self.operations(), self #(, #names)*)
                }
            }
        });
        quote!(#(#each)*)
    }

    fn emit_marker(&self, definition: &Definition) -> TokenStream {
        let orb = self.orb();
        let name = ident(self.cx.names.name(definition.id));
        let marker = ident(self.cx.names.implied(definition.id, Implied::Marker));
        let factories = self.default_factories(|value| self.is_a_value(value, definition.id));
        let id = &definition.repository_id;
        quote!(#orb::value_marker!(#marker = dyn #name, #id, [#(#factories),*]);)
    }

    /// What an abstract interface has beside its reference.
    pub(crate) fn emit_abstract_interface(&self, definition: &'m Definition) -> TokenStream {
        let orb = self.orb();
        let name = ident(self.cx.names.name(definition.id));
        let factories = self.default_factories(|value| {
            self.supported(value).iter().any(|(_, interface)| *interface == definition.id)
        });
        let calls = self.emit_abstract_calls(definition);
        quote!(#orb::abstract_interface!(#name, [#(#factories),*]); #calls)
    }

    /// The operations of an abstract interface, of what was passed as it: of the object, or of the
    /// value. None where a base is in another crate, which its trait binds to its own types.
    fn emit_abstract_calls(&self, definition: &'m Definition) -> TokenStream {
        let (orb, id) = (self.orb(), definition.id);
        let name = self.path(id);
        let interfaces: Vec<DefId> = std::iter::once(id).chain(self.cx.all_bases(id)).collect();
        if interfaces.iter().any(|&interface| self.cx.is_extern(interface)) {
            return TokenStream::new();
        }
        let mut impls = TokenStream::new();
        for interface in interfaces {
            let (path, servant) = (self.path(interface), self.operations_trait(interface));
            let contents = self.cx.interface(interface).map(|x| x.contents).unwrap_or_default();
            let methods = self.declared_calls(&contents).into_iter().map(|call| {
                let (signature, method) = (self.signature(&call), &call.method);
                let names = call.sent_names();
                let held = local("held", &names);
                quote! {
                    #signature {
                        match self {
                            Self::Object(#held) => {
                                #path::unchecked_narrow(#held.as_object().clone())
                                    .#method(#(#names),*)
                            }
                            Self::Value(#held) => {
                                let #held = #orb::supported::<dyn #servant>(#held)?;
                                #servant::#method(&*#held #(, #names)*)
                            }
                        }
                    }
                }
            });
            impls.extend(quote! {
                impl #servant for #orb::Abstract<#name> { #(#methods)* }
            });
        }
        impls
    }

    /// Factories of the valuetypes that need no operations of the application.
    fn default_factories(&self, is_wanted: impl Fn(DefId) -> bool) -> Vec<TokenStream> {
        let values = self.model().iter().filter(|definition| match &definition.kind {
            DefinitionKind::ValueType(x) => {
                x.kind == ValueKind::Regular
                    && definition.implied.is_none()
                    && !definition.is_messaging()
                    && !x.forward_only
                    && self.is_without_operations(definition.id)
                    && is_wanted(definition.id)
            }
            _ => false,
        });
        let carriers = values.map(|value| self.implied(value.id, Implied::Carrier));
        carriers.map(|carrier| quote!(|| #carrier::factory(|| ()))).collect()
    }

    /// The trait with the initialisers of a valuetype.
    fn emit_factory(&self, definition: &Definition, x: &ValueType) -> Option<TokenStream> {
        let orb = self.orb();
        let name = ident(self.cx.names.name(definition.id));
        let mut methods = TokenStream::new();
        for &id in &x.contents {
            let initializer = self.model().get(id);
            let DefinitionKind::Factory(factory) = &initializer.kind else {
                continue;
            };
            let docs = docs(&initializer.docs);
            let method = ident(self.cx.names.name(id));
            let names = factory.parameters.iter();
            let names = names.map(|p| self.member(initializer, &p.name, Case::Snake));
            let types = factory.parameters.iter().map(|p| self.parameter(&p.ty));
            let error = match factory.raises.is_empty() {
                true => quote!(#orb::SystemException),
                false => self.implied(id, Implied::Error),
            };
            let result = self.result(&quote!(::std::sync::Arc<dyn #name>), &error);
            methods.extend(quote!(#docs fn #method(&self #(, #names: #types)*) -> #result;));
        }
        if methods.is_empty() {
            return None;
        }
        let factory = ident(self.cx.names.implied(definition.id, Implied::Factory));
        let docs = docs_with("", &format!("Makes values of `{}`.", definition.scoped_name));
        let (send, sync) = (self.std("Send"), self.std("Sync"));
        Some(quote!(#docs pub trait #factory: #send + #sync + 'static { #methods }))
    }

    /// Everything for one boxed value: a struct around the value, passed as `Option<Arc<Struct>>`.
    pub(crate) fn emit_value_box(&self, definition: &Definition, x: &ValueBox) -> TokenStream {
        let orb = self.orb();
        let name = ident(self.cx.names.name(definition.id));
        let idl_name = &definition.scoped_name;
        let docs =
            docs_with(&definition.docs, &format!("IDL boxed value `{idl_name}`, passed as `Arc`."));
        let ty = self.value(&x.ty);
        let abilities = self.abilities(&x.ty, &mut vec![definition.id]);
        let derives = self.derives(abilities);
        let (id, marker) = (&definition.repository_id, self.marker(&x.ty));
        let typed = self.emit_typed(definition, &quote!(#name));
        quote! {
            #docs
            #derives
            pub struct #name(
                /// What is boxed.
                pub #ty
            );
            #orb::value_box!(#name: #marker, #id);
            #typed
        }
    }
}
