//! TypeCodes: `impl Typed` for every type, made once when first asked for.
//!
//! Called by the emitters of types. A recursive type's TypeCode holds placeholders for the types
//! around it, so everything between is spelled out in place instead of asking the inner type, which
//! would ask back. CORBA 3.3 P1 §8.11 (TypeCodes), §8.11.3 (recursive ones).

use corbie_frontend::model::{
    ConstValue, InterfaceKind, Member, Union, UnionLabel, ValueKind, ValueType,
};
use corbie_frontend::{DefId, Definition, DefinitionKind, Type};
use proc_macro2::{Literal, TokenStream};
use quote::quote;

use crate::context::Scope;

impl Scope<'_, '_> {
    /// `impl Typed` for the type `name`, which stands for the definition.
    pub(crate) fn emit_typed(&self, definition: &Definition, name: &TokenStream) -> TokenStream {
        let orb = self.orb();
        let code = self.type_code_of(definition, &mut vec![definition.id]);
        quote!(#orb::typed!(#name, #code);)
    }

    /// The TypeCode of a type; `open` are the definitions around it, outermost first.
    fn type_code(&self, ty: &Type, open: &mut Vec<DefId>) -> TokenStream {
        let orb = self.orb();
        let asked = || {
            let marker = self.typed_marker(ty);
            quote!(<#marker as #orb::Typed>::type_code())
        };
        // Only what leads back to an open definition is spelled out.
        let leads_back =
            |id: DefId| open.iter().any(|&around| around == id || self.model().reaches(id, around));
        let Some(id) = ty.innermost().named().filter(|&id| leads_back(id)) else {
            return asked();
        };
        match ty {
            Type::Sequence { element, bound } => {
                let element = self.type_code(element, open);
                let bound = Literal::u32_unsuffixed(bound.unwrap_or(0));
                quote!(#orb::TypeCode::sequence(#element, #bound))
            }
            Type::Array { element, dims } => {
                let element = self.type_code(element, open);
                dims.iter().rev().fold(element, |inner, &extent| {
                    let extent = Literal::u32_unsuffixed(extent);
                    quote!(#orb::TypeCode::array(#inner, #extent))
                })
            }
            Type::Named(_) if open.contains(&id) => {
                let id = &self.model().get(id).repository_id;
                quote!(#orb::TypeCode::recursive(#id))
            }
            Type::Named(_) => {
                open.push(id);
                let code = self.type_code_of(self.model().get(id), open);
                open.pop();
                code
            }
            _ => asked(),
        }
    }

    /// The TypeCode of a definition, spelled out.
    fn type_code_of(&self, definition: &Definition, open: &mut Vec<DefId>) -> TokenStream {
        let orb = self.orb();
        let (id, name) = (&definition.repository_id, &definition.name);
        match &definition.kind {
            DefinitionKind::Struct(_) => {
                let members = self.struct_members(definition.id);
                let members: Vec<&Member> = members.into_iter().map(|(_, m)| m).collect();
                let members = self.member_codes(&members, open);
                quote!(#orb::TypeCode::structure(#id, #name, &[#members]))
            }
            DefinitionKind::Exception(x) => {
                let members: Vec<&Member> = x.members.iter().collect();
                let members = self.member_codes(&members, open);
                quote!(#orb::TypeCode::exception(#id, #name, &[#members]))
            }
            DefinitionKind::Union(x) => self.union_code(definition, x, open),
            DefinitionKind::Enum(x) => {
                let names = x.enumerators.iter().map(|e| &e.name);
                quote!(#orb::TypeCode::enumeration(#id, #name, &[#(#names),*]))
            }
            DefinitionKind::Typedef(x) => {
                let aliased = self.type_code(&x.ty, open);
                quote!(#orb::TypeCode::alias(#id, #name, #aliased))
            }
            DefinitionKind::Interface(x) => match x.kind {
                InterfaceKind::Unconstrained => quote!(#orb::TypeCode::interface(#id, #name)),
                InterfaceKind::Abstract => quote!(#orb::TypeCode::abstract_interface(#id, #name)),
                InterfaceKind::Local => quote!(#orb::TypeCode::local_interface(#id, #name)),
            },
            DefinitionKind::ValueType(x) => self.value_code(definition, x, open),
            DefinitionKind::ValueBox(x) => {
                let boxed = self.type_code(&x.ty, open);
                quote!(#orb::TypeCode::value_box(#id, #name, #boxed))
            }
            DefinitionKind::Native(_) => quote!(#orb::TypeCode::native(#id, #name)),
            DefinitionKind::Component(_) => quote!(#orb::TypeCode::component(#id, #name)),
            DefinitionKind::Home(_) => quote!(#orb::TypeCode::home(#id, #name)),
            // Nothing else is a type.
            _ => quote!(#orb::TypeCode::NULL),
        }
    }

    fn member_codes(&self, members: &[&Member], open: &mut Vec<DefId>) -> TokenStream {
        let members = members.iter().map(|member| {
            let (name, code) = (&member.name, self.type_code(&member.ty, open));
            quote!((#name, #code))
        });
        quote!(#(#members),*)
    }

    fn union_code(&self, definition: &Definition, x: &Union, open: &mut Vec<DefId>) -> TokenStream {
        let orb = self.orb();
        let (id, name) = (&definition.repository_id, &definition.name);
        let discriminator = self.type_code(&x.discriminator, open);
        let (some, none) = (self.std("Some"), self.std("None"));
        let mut cases = TokenStream::new();
        for case in &x.cases {
            let code = self.type_code(&case.member.ty, open);
            let member = &case.member.name;
            for label in &case.labels {
                // One case for each label (CORBA 3.3 P1 §8.11.1).
                let label = match label {
                    UnionLabel::Value(value) => {
                        let label = label_number(value);
                        quote!(#some(#label))
                    }
                    UnionLabel::Default => none.clone(),
                };
                cases.extend(quote!((#label, #member, #code),));
            }
        }
        quote!(#orb::TypeCode::union(#id, #name, #discriminator, &[#cases]))
    }

    fn value_code(
        &self,
        definition: &Definition,
        x: &ValueType,
        open: &mut Vec<DefId>,
    ) -> TokenStream {
        let orb = self.orb();
        let (id, name) = (&definition.repository_id, &definition.name);
        let modifier = match x.kind {
            ValueKind::Custom => quote!(Custom),
            ValueKind::Abstract => quote!(Abstract),
            ValueKind::Regular if x.truncatable => quote!(Truncatable),
            ValueKind::Regular => quote!(None),
        };
        let modifier = quote!(#orb::ValueModifier::#modifier);
        let concrete = x.bases.iter().copied().find(|&base| {
            matches!(&self.model().get(base).kind,
                DefinitionKind::ValueType(b) if b.kind != ValueKind::Abstract)
        });
        let base = match concrete {
            Some(base) => {
                let some = self.std("Some");
                let code = self.type_code(&Type::Named(base), open);
                quote!(#some(#code))
            }
            None => self.std("None"),
        };
        let members = x.state.iter().map(|state| {
            let (name, code) = (&state.member.name, self.type_code(&state.member.ty, open));
            let visibility = if state.public { quote!(Public) } else { quote!(Private) };
            quote!((#name, #code, #orb::Visibility::#visibility))
        });
        let kind = if x.is_event { quote!(event) } else { quote!(value) };
        quote!(#orb::TypeCode::#kind(#id, #name, #modifier, #base, &[#(#members),*]))
    }
}

/// A label as a number: of a boolean 0 or 1, of a character its code, of an enumerator its place.
fn label_number(value: &ConstValue) -> TokenStream {
    let number = match value {
        ConstValue::Boolean(value) => i128::from(*value),
        ConstValue::Integer(value) => *value,
        ConstValue::Char(value) => i128::from(u32::from(*value)),
        ConstValue::WChar(value) => i128::from(*value),
        ConstValue::Enumerator(_, index) => i128::from(*index),
        // The front end lets nothing else be a label.
        _ => 0,
    };
    let minus = (number < 0).then(|| quote!(-));
    let digits = Literal::u128_unsuffixed(number.unsigned_abs());
    quote!(#minus #digits)
}
