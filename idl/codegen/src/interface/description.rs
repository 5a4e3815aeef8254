//! What an interface consists of, for programs that serve or call interfaces which they were not
//! built for, such as typed event channels: `impl Described`, when `Options::descriptions` asks.
//!
//! Called by `emit_interface`. Operations and attributes of bases are spelled out, since the code
//! of a base may have been generated without descriptions.

use corbie_frontend::model::{self, Attribute, Direction, Operation};
use corbie_frontend::{Definition, DefinitionKind};
use proc_macro2::TokenStream;
use quote::quote;

use crate::context::Scope;
use crate::rust_name::ident;

impl Scope<'_, '_> {
    /// `impl Described` for the reference of an interface.
    pub(super) fn emit_description(&self, definition: &Definition) -> TokenStream {
        if !self.cx.options.descriptions || definition.implied.is_some() {
            return TokenStream::new();
        }
        let orb = self.orb();
        let reference = ident(self.cx.names.name(definition.id));
        let (id, name) = (&definition.repository_id, format!("::{}", definition.scoped_name));
        let bases = self.cx.all_bases(definition.id);
        let base_ids = bases.iter().map(|&base| &self.model().get(base).repository_id);
        let mut members = Vec::new();
        for level in std::iter::once(definition.id).chain(bases.iter().copied()) {
            let Some(interface) = self.cx.interface(level) else { continue };
            let defined_in = &self.model().get(level).repository_id;
            for own in self.cx.own_operations(&interface.contents) {
                match &own.kind {
                    DefinitionKind::Operation(x) => {
                        let operation = self.described_operation(own, x, defined_in);
                        members.push(quote!(.with_operation(#operation)));
                    }
                    DefinitionKind::Attribute(x) => {
                        let attribute = self.described_attribute(own, x, defined_in);
                        members.push(quote!(.with_attribute(#attribute)));
                    }
                    _ => {}
                }
            }
        }
        quote! {
            impl #orb::Described for #reference {
                fn describe() -> #orb::InterfaceDescription {
                    #orb::InterfaceDescription::new(#id, #name)
                        #(.with_base(#base_ids))*
                        #(#members)*
                }
            }
        }
    }

    fn described_operation(
        &self,
        definition: &Definition,
        x: &Operation,
        defined_in: &str,
    ) -> TokenStream {
        let (orb, name) = (self.orb(), &definition.name);
        let result = (x.result != model::Type::Void).then(|| {
            let result = self.described_type(&x.result);
            quote!(.with_result(#result))
        });
        let parameters = x.parameters.iter().map(|parameter| {
            let (name, type_code) = (&parameter.name, self.described_type(&parameter.ty));
            let mode = match parameter.direction {
                Direction::In => quote!(In),
                Direction::Out => quote!(Out),
                Direction::InOut => quote!(InOut),
            };
            quote!(.with_parameter(#orb::ParameterMode::#mode, #name, #type_code))
        });
        let exceptions = x.raises.iter().map(|&id| &self.model().get(id).repository_id);
        let (oneway, contexts) = (x.oneway.then(|| quote!(.as_oneway())), &x.contexts);
        quote! {
            #orb::OperationDescription::new(#name, #defined_in)
                #oneway
                #result
                #(#parameters)*
                #(.with_exception(#exceptions))*
                #(.with_context(#contexts))*
        }
    }

    fn described_attribute(
        &self,
        definition: &Definition,
        x: &Attribute,
        defined_in: &str,
    ) -> TokenStream {
        let (orb, name) = (self.orb(), &definition.name);
        let type_code = self.described_type(&x.ty);
        let readonly = x.readonly.then(|| quote!(.as_readonly()));
        quote!(#orb::AttributeDescription::new(#name, #defined_in, #type_code) #readonly)
    }

    fn described_type(&self, ty: &model::Type) -> TokenStream {
        let orb = self.orb();
        let marker = self.typed_marker(ty);
        quote!(<#marker as #orb::Typed>::type_code())
    }
}
