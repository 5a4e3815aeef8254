//! Constants, and values of the IDL as Rust expressions.
//!
//! Called by `tree` for `const` and by `unions` for labels. The front end has evaluated everything;
//! here a value gets its Rust form. IDL 4.2 §7.4.1.4.3.

use corbie_frontend::model::{ConstValue, Constant, FixedValue};
use corbie_frontend::{Definition, DefinitionKind, Type};
use proc_macro2::{Literal, TokenStream};
use quote::quote;

use crate::context::Scope;
use crate::docs::docs_with;
use crate::rust_name::{Case, ident};
use crate::types::number;

impl Scope<'_, '_> {
    /// Everything for one constant.
    pub(crate) fn emit_constant(&self, definition: &Definition, x: &Constant) -> TokenStream {
        let name = ident(self.cx.names.name(definition.id));
        let closing = format!("IDL constant `{}`.", definition.scoped_name);
        let docs = docs_with(&definition.docs, &closing);
        let declared = self.model().resolve_alias(&x.ty);
        let value = self.constant_value(&in_declared_scale(&x.value, declared));
        let ty = match declared {
            Type::String { .. } | Type::WString { .. } => quote!(&str),
            _ => self.value(&x.ty),
        };
        quote!(#docs pub const #name: #ty = #value;)
    }

    /// A value as a Rust expression, and a pattern too where the value is no float or `fixed`.
    pub(crate) fn constant_value(&self, value: &ConstValue) -> TokenStream {
        let orb = self.orb();
        match value {
            ConstValue::Boolean(value) => quote!(#value),
            ConstValue::Integer(value) => {
                // Negative literals are an operator and a number in Rust's grammar.
                let minus = (*value < 0).then(|| quote!(-));
                let digits = Literal::u128_unsuffixed(value.unsigned_abs());
                quote!(#minus #digits)
            }
            ConstValue::Float(value) => {
                let minus = value.is_sign_negative().then(|| quote!(-));
                let digits = Literal::f64_unsuffixed(value.abs());
                quote!(#minus #digits)
            }
            ConstValue::LongDouble(bits) => {
                let bits: TokenStream = format!("0x{bits:032x}").parse().unwrap_or_default();
                quote!(#orb::LongDouble::from_bits(#bits))
            }
            ConstValue::Char(value) => quote!(#value),
            ConstValue::WChar(unit) => {
                let unit: TokenStream = format!("0x{unit:04x}").parse().unwrap_or_default();
                quote!(#orb::WChar(#unit))
            }
            ConstValue::String(text) | ConstValue::WString(text) => quote!(#text),
            ConstValue::Fixed(fixed) => {
                let (digits, scale) = (number(fixed.digits), number(fixed.scale));
                let minus = (fixed.unscaled < 0).then(|| quote!(-));
                let unscaled = Literal::u128_unsuffixed(fixed.unscaled.unsigned_abs());
                let (ok, err) = (self.std("Ok"), self.std("Err"));
                let text = fixed.to_string();
                quote! {
                    match #orb::Fixed::<#digits, #scale>::from_digits(#minus #unscaled) {
                        #ok(value) => value,
                        #err(_) => panic!(#text),
                    }
                }
            }
            ConstValue::Enumerator(id, index) => {
                let definition = self.model().get(*id);
                let DefinitionKind::Enum(x) = &definition.kind else {
                    return quote!(#index);
                };
                let path = self.path(*id);
                let name = x.enumerators.get(*index as usize).map_or("", |e| e.name.as_str());
                let variant = self.member(definition, name, Case::Camel);
                quote!(#path::#variant)
            }
        }
    }
}

/// A `fixed` value with the digits and the scale of its type, so that both are of one Rust type.
fn in_declared_scale(value: &ConstValue, declared: &Type) -> ConstValue {
    let (ConstValue::Fixed(fixed), Type::Fixed { digits, scale }) = (value, declared) else {
        return value.clone();
    };
    let shift = u32::from(scale.saturating_sub(fixed.scale));
    let unscaled = fixed.unscaled.saturating_mul(10i128.saturating_pow(shift));
    ConstValue::Fixed(FixedValue { unscaled, digits: *digits, scale: *scale })
}
