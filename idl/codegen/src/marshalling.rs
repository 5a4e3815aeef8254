//! The expressions that write values to an encoder and read them from a decoder.
//!
//! Used by the emitters of types, stubs and skeletons. Basic types call the encoder's own methods;
//! everything else goes through its marker's `Marshal`, which also checks bounds.

use corbie_frontend::Type;
use corbie_frontend::model::Values;
use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote};

use crate::context::Scope;
use crate::types::Shape;

/// One step of writing a value.
pub(crate) enum Step {
    /// An expression of type `()`.
    Sure(TokenStream),
    /// An expression of type `Result<(), Error>`.
    Fallible(TokenStream),
}

/// An expression with a value to be written.
pub(crate) enum ValuePlace {
    /// Names the value itself: `value.symbol`.
    Direct(TokenStream),
    /// Is a reference to the value.
    Borrowed(TokenStream),
}

impl ValuePlace {
    fn copied(&self) -> TokenStream {
        match self {
            ValuePlace::Direct(place) => quote!(#place),
            ValuePlace::Borrowed(place) => quote!(*#place),
        }
    }

    fn borrowed(&self) -> TokenStream {
        match self {
            ValuePlace::Direct(place) => quote!(&#place),
            ValuePlace::Borrowed(place) => quote!(#place),
        }
    }
}

/// The steps as the body of a function or closure that returns `Result<(), Error>`.
pub(crate) fn body(scope: &Scope<'_, '_>, steps: Vec<Step>) -> TokenStream {
    let ok = scope.std("Ok");
    let mut tokens = TokenStream::new();
    let count = steps.len();
    for (at, step) in steps.into_iter().enumerate() {
        match step {
            Step::Fallible(expression) if at + 1 == count => {
                tokens.extend(expression);
                return tokens;
            }
            Step::Fallible(expression) => tokens.extend(quote!(#expression?;)),
            Step::Sure(expression) => tokens.extend(quote!(#expression;)),
        }
    }
    quote!(#tokens #ok(()))
}

/// The steps as a closure over the encoder `e`.
pub(crate) fn closure(scope: &Scope<'_, '_>, e: &Ident, steps: Vec<Step>) -> TokenStream {
    let is_block = match steps.as_slice() {
        [] => {
            let ok = scope.std("Ok");
            return quote!(|_| #ok(()));
        }
        [Step::Fallible(_)] => false,
        _ => true,
    };
    let body = body(scope, steps);
    if is_block { quote!(|#e| { #body }) } else { quote!(|#e| #body) }
}

impl Scope<'_, '_> {
    /// Writes a stored value.
    pub(crate) fn write_value(&self, ty: &Type, place: &ValuePlace, e: &Ident) -> Step {
        let (copied, borrowed) = (place.copied(), place.borrowed());
        let orb = self.orb();
        let ty = self.model().resolve_alias(ty);
        if let Some(primitive) = ty.primitive() {
            let write = format_ident!("{}", primitive.write);
            let call = quote!(#e.#write(#copied));
            return match primitive.values {
                Values::Character => Step::Fallible(call),
                _ => Step::Sure(call),
            };
        }
        Step::Fallible(match ty {
            Type::String { bound: None } => quote!(#e.write_string(#borrowed)),
            Type::WString { bound: None } => quote!(#e.write_wstring(#borrowed)),
            ty if is_octet_sequence(self, ty) => quote!(#e.write_octet_sequence(#borrowed)),
            ty => {
                let marker = self.marker(ty);
                quote!(<#marker as #orb::Marshal>::encode(#borrowed, #e))
            }
        })
    }

    /// Writes an `in` or `inout` parameter, which has the form that [`Scope::parameter`] says.
    pub(crate) fn write_parameter(&self, ty: &Type, name: &Ident, e: &Ident) -> Step {
        let orb = self.orb();
        let resolved = self.model().resolve_alias(ty);
        let marker = self.marker(ty);
        match self.shape(ty) {
            Shape::Plain => self.write_value(ty, &ValuePlace::Direct(quote!(#name)), e),
            Shape::Whole => self.write_value(ty, &ValuePlace::Borrowed(quote!(#name)), e),
            Shape::Text => Step::Fallible(match resolved {
                Type::String { bound: None } => quote!(#e.write_string(#name)),
                Type::WString { bound: None } => quote!(#e.write_wstring(#name)),
                _ => quote!(<#marker>::write(#name, #e)),
            }),
            Shape::Sequence => Step::Fallible(match is_octet_sequence(self, resolved) {
                true => quote!(#e.write_octet_sequence(#name)),
                false => quote!(<#marker>::write(#name, #e)),
            }),
            Shape::Reference => Step::Fallible(match resolved {
                Type::Object => quote!(#orb::encode_object(#name, #e)),
                ty if self.is_abstract(ty) => quote!(<#marker>::write(#name, #e)),
                _ => quote!(#orb::encode_object(#name.map(#orb::Interface::as_object), #e)),
            }),
            Shape::Shared => Step::Fallible(quote!(<#marker>::write(#name, #e))),
        }
    }

    /// Whether the type is an abstract interface, or `AbstractBase`.
    fn is_abstract(&self, ty: &Type) -> bool {
        match self.model().resolve_alias(ty) {
            Type::AbstractBase => true,
            Type::Named(id) => self.is_abstract_interface(*id),
            _ => false,
        }
    }

    /// An expression that reads a value to be stored, from `d: &mut Decoder`; ends in `?` or so.
    pub(crate) fn read_value(&self, ty: &Type, d: &Ident) -> TokenStream {
        let (read, after) = self.read_call(ty, d);
        quote!(#read? #after)
    }

    /// As [`Scope::read_value`], for the value of a member or parameter with this name, which
    /// errors tell.
    pub(crate) fn read_member(&self, ty: &Type, member: &str, d: &Ident) -> TokenStream {
        let (read, after) = self.read_call(ty, d);
        self.named(member, &read, &after)
    }

    fn named(&self, member: &str, read: &TokenStream, after: &TokenStream) -> TokenStream {
        let (orb, member) = (self.orb(), member.trim_start_matches("r#"));
        quote!(#orb::member!(#member, #read) #after)
    }

    /// A call of type `Result<_, Error>`, and what makes a value to be stored of what it gives.
    fn read_call(&self, ty: &Type, d: &Ident) -> (TokenStream, TokenStream) {
        let orb = self.orb();
        let ty = self.model().resolve_alias(ty);
        if let Some(primitive) = ty.primitive() {
            let read = format_ident!("{}", primitive.read);
            return (quote!(#d.#read()), quote!());
        }
        match ty {
            Type::String { bound: None } => (quote!(#d.read_string()), quote!(.into_owned())),
            Type::WString { bound: None } => (quote!(#d.read_wstring()), quote!()),
            ty if is_octet_sequence(self, ty) => {
                (quote!(#d.read_octet_sequence()), quote!(.to_vec()))
            }
            ty => {
                let marker = self.marker(ty);
                (quote!(<#marker as #orb::Marshal>::decode(#d)), quote!())
            }
        }
    }

    /// A function or closure from a decoder to `Result<value, Error>`.
    pub(crate) fn reader(&self, ty: &Type) -> TokenStream {
        let (orb, ok) = (self.orb(), self.std("Ok"));
        let resolved = self.model().resolve_alias(ty);
        if let Some(primitive) = resolved.primitive() {
            let read = format_ident!("{}", primitive.read);
            return quote!(|d| d.#read());
        }
        let is_text = matches!(resolved, Type::String { bound: None });
        if is_text || is_octet_sequence(self, resolved) {
            let read = self.read_value(ty, &format_ident!("d"));
            return quote!(|d| #ok(#read));
        }
        let marker = self.marker(resolved);
        quote!(<#marker as #orb::Marshal>::decode)
    }

    /// Reads an argument in a skeleton: what is bound to its name, and what is then passed.
    /// Strings and octet sequences are borrowed from the received message.
    pub(crate) fn read_argument(
        &self,
        ty: &Type,
        name: &Ident,
        d: &Ident,
    ) -> (TokenStream, TokenStream) {
        let resolved = self.model().resolve_alias(ty);
        let marker = self.marker(ty);
        let named = |read: TokenStream| self.named(&name.to_string(), &read, &quote!());
        let read = self.read_member(ty, &name.to_string(), d);
        match self.shape(ty) {
            Shape::Plain => (read, quote!(#name)),
            Shape::Text => match resolved {
                Type::String { bound: None } => (named(quote!(#d.read_string())), quote!(&#name)),
                Type::String { .. } => (named(quote!(<#marker>::read(#d))), quote!(&#name)),
                _ => (read, quote!(&#name)),
            },
            Shape::Sequence if is_octet_sequence(self, resolved) => {
                (named(quote!(#d.read_octet_sequence())), quote!(#name))
            }
            Shape::Sequence if is_octets(self, resolved) => {
                let marker = self.marker(resolved);
                (named(quote!(<#marker>::read(#d))), quote!(#name))
            }
            Shape::Sequence | Shape::Whole => (read, quote!(&#name)),
            Shape::Reference | Shape::Shared => (read, quote!(#name.as_ref())),
        }
    }

    /// As [`Scope::read_argument`], but nothing is borrowed from the received message.
    pub(crate) fn read_owned_argument(
        &self,
        ty: &Type,
        name: &Ident,
        d: &Ident,
    ) -> (TokenStream, TokenStream) {
        let pass = match self.shape(ty) {
            Shape::Plain => quote!(#name),
            Shape::Reference | Shape::Shared => quote!(#name.as_ref()),
            Shape::Text | Shape::Sequence | Shape::Whole => quote!(&#name),
        };
        (self.read_member(ty, &name.to_string(), d), pass)
    }
}

/// Unbounded sequences of octets are read and written in place.
fn is_octet_sequence(scope: &Scope<'_, '_>, ty: &Type) -> bool {
    matches!(ty, Type::Sequence { bound: None, .. }) && is_octets(scope, ty)
}

/// Whether the type is a sequence of octets, bounded or not.
fn is_octets(scope: &Scope<'_, '_>, ty: &Type) -> bool {
    let Type::Sequence { element, .. } = ty else {
        return false;
    };
    matches!(scope.model().resolve_alias(element), Type::Octet | Type::UInt8)
}
