//! What an IDL type is in Rust: as a stored value, as a parameter, and as a marker for `Marshal`.
//!
//! Used by every emitter. The mapping: primitives and enums by value, `&str`, `&[T]`, `&Struct`,
//! `Option<&Quoter>` as parameters; `String`, `Vec<T>`, `[T; N]`, `Struct`, `Option<Quoter>` as
//! values. Bounds, wide strings and aliases are in the marker only.

use corbie_frontend::model::InterfaceKind;
use corbie_frontend::{DefId, DefinitionKind, Type};
use proc_macro2::{Literal, TokenStream};
use quote::{format_ident, quote};

use crate::context::Scope;
use crate::names::Implied;

/// Arrays that take more memory than this are boxed, so that they do not lie on the stack.
const LARGEST_ARRAY_ON_THE_STACK: u128 = 16 * 1024;

/// How a type is passed to an operation, and what its Rust value is wrapped in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    /// Primitives, enums, `fixed`: passed by value.
    Plain,
    /// Strings, wide ones too: passed as `&str`.
    Text,
    /// Sequences: passed as `&[T]`.
    Sequence,
    /// Structs, unions, arrays, `any`, TypeCodes, natives: passed as `&T`.
    Whole,
    /// Object references: `Option<T>`, passed as `Option<&T>`.
    Reference,
    /// Local objects and valuetypes: `Option<Arc<T>>`, passed as `Option<&Arc<T>>`.
    Shared,
}

impl Scope<'_, '_> {
    /// How values of the type are passed.
    pub(crate) fn shape(&self, ty: &Type) -> Shape {
        match self.model().resolve_alias(ty) {
            Type::String { .. } | Type::WString { .. } => Shape::Text,
            Type::Sequence { .. } => Shape::Sequence,
            Type::Any | Type::TypeCode | Type::Array { .. } => Shape::Whole,
            Type::Object | Type::AbstractBase => Shape::Reference,
            Type::ValueBase => Shape::Shared,
            Type::Named(id) if self.cx.is_exception_holder(*id) => Shape::Whole,
            Type::Named(id) => match &self.model().get(*id).kind {
                DefinitionKind::Interface(x) if x.kind == InterfaceKind::Local => Shape::Shared,
                DefinitionKind::Interface(_)
                | DefinitionKind::Component(_)
                | DefinitionKind::Home(_) => Shape::Reference,
                DefinitionKind::ValueType(_) | DefinitionKind::ValueBox(_) => Shape::Shared,
                DefinitionKind::Enum(_) => Shape::Plain,
                _ => Shape::Whole,
            },
            _ => Shape::Plain,
        }
    }

    /// The type of a stored value: a field, an element, a result.
    pub(crate) fn value(&self, ty: &Type) -> TokenStream {
        let bare = self.bare(ty);
        match self.shape(ty) {
            Shape::Reference => self.option(&bare),
            Shape::Shared => self.option(&quote!(::std::sync::Arc<#bare>)),
            _ => bare,
        }
    }

    /// The type that the IDL names, without `Option` and `Arc`: what an alias stands for.
    pub(crate) fn bare(&self, ty: &Type) -> TokenStream {
        let orb = self.orb();
        match ty {
            Type::String { .. } | Type::WString { .. } => self.std("String"),
            Type::Sequence { element, .. } => {
                let vec = self.std("Vec");
                let element = self.value(element);
                quote!(#vec<#element>)
            }
            Type::Array { element, dims } => {
                let array = dims.iter().rev().fold(self.value(element), |inner, &extent| {
                    let extent = Literal::u32_unsuffixed(extent);
                    quote!([#inner; #extent])
                });
                match self.is_boxed_array(ty) {
                    true => {
                        let boxed = self.std("Box");
                        quote!(#boxed<#array>)
                    }
                    false => array,
                }
            }
            Type::Any => quote!(#orb::Any),
            Type::Object => quote!(#orb::Object),
            Type::AbstractBase => quote!(#orb::AbstractBase),
            Type::ValueBase => quote!(dyn #orb::ValueBase),
            Type::TypeCode => quote!(#orb::TypeCode),
            Type::Named(id) if self.cx.is_exception_holder(*id) => self.path(*id),
            Type::Named(id) => {
                let path = self.path(*id);
                match &self.model().get(*id).kind {
                    DefinitionKind::Interface(x) if x.kind == InterfaceKind::Local => {
                        quote!(dyn #path)
                    }
                    DefinitionKind::ValueType(_) => quote!(dyn #path),
                    _ if self.is_abstract_interface(*id) => quote!(#orb::Abstract<#path>),
                    _ => path,
                }
            }
            primitive => self.primitive(primitive),
        }
    }

    fn primitive(&self, ty: &Type) -> TokenStream {
        let orb = self.orb();
        if let Some(primitive) = ty.primitive() {
            let name = format_ident!("{}", primitive.rust);
            let is_of_library = primitive.rust.starts_with(|first: char| first.is_uppercase());
            return if is_of_library { quote!(#orb::#name) } else { quote!(#name) };
        }
        match ty {
            Type::Fixed { digits, scale } => {
                let (digits, scale) = (number(*digits), number(*scale));
                quote!(#orb::Fixed<#digits, #scale>)
            }
            // `void`, and nothing else is left.
            _ => quote!(()),
        }
    }

    /// The type as a parameter: `&str`, `Option<&Quoter>`, …
    pub(crate) fn parameter(&self, ty: &Type) -> TokenStream {
        match self.shape(ty) {
            Shape::Plain => self.value(ty),
            Shape::Text => quote!(&str),
            Shape::Sequence => {
                let element = match self.model().resolve_alias(ty) {
                    Type::Sequence { element, .. } => self.value(element),
                    other => self.value(other),
                };
                quote!(&[#element])
            }
            Shape::Whole => {
                let value = self.value(ty);
                quote!(&#value)
            }
            Shape::Reference => {
                let bare = self.bare(ty);
                self.option(&quote!(&#bare))
            }
            Shape::Shared => {
                let bare = self.bare(ty);
                self.option(&quote!(&::std::sync::Arc<#bare>))
            }
        }
    }

    /// The type as a marker for `Marshal`, aliases followed: what is on the wire.
    pub(crate) fn marker(&self, ty: &Type) -> TokenStream {
        self.marker_with(ty, false)
    }

    /// The type as a marker for `Typed`, aliases kept: what a TypeCode tells.
    pub(crate) fn typed_marker(&self, ty: &Type) -> TokenStream {
        self.marker_with(ty, true)
    }

    fn marker_with(&self, ty: &Type, keep_aliases: bool) -> TokenStream {
        let orb = self.orb();
        match ty {
            Type::String { bound: None } => self.std("String"),
            Type::String { bound: Some(bound) } => {
                let bound = Literal::u32_unsuffixed(*bound);
                quote!(#orb::idl::BoundedString<#bound>)
            }
            Type::WString { bound: None } => quote!(#orb::idl::Wstring),
            Type::WString { bound: Some(bound) } => {
                let bound = Literal::u32_unsuffixed(*bound);
                quote!(#orb::idl::BoundedWstring<#bound>)
            }
            Type::Sequence { element, bound } => {
                let element = self.marker_with(element, keep_aliases);
                match bound {
                    None => quote!(#orb::idl::Sequence<#element>),
                    Some(bound) => {
                        let bound = Literal::u32_unsuffixed(*bound);
                        quote!(#orb::idl::BoundedSequence<#element, #bound>)
                    }
                }
            }
            Type::Array { element, dims } => {
                let mut marker = self.marker_with(element, keep_aliases);
                for (at, &extent) in dims.iter().enumerate().rev() {
                    let extent = Literal::u32_unsuffixed(extent);
                    marker = match at == 0 && self.is_boxed_array(ty) {
                        true => quote!(#orb::idl::BoxedArray<#marker, #extent>),
                        false => quote!(#orb::idl::Array<#marker, #extent>),
                    };
                }
                marker
            }
            Type::ValueBase => quote!(#orb::idl::ValueBase),
            Type::Named(id) if self.cx.is_exception_holder(*id) => self.path(*id),
            Type::Named(id) => match &self.model().get(*id).kind {
                DefinitionKind::Typedef(alias) if !keep_aliases => {
                    self.marker_with(&alias.ty, keep_aliases)
                }
                DefinitionKind::Typedef(_) | DefinitionKind::ValueType(_) => {
                    self.implied(*id, Implied::Marker)
                }
                DefinitionKind::Interface(x) if x.kind == InterfaceKind::Local => {
                    self.implied(*id, Implied::Marker)
                }
                _ => self.bare(ty),
            },
            other => self.bare(other),
        }
    }

    /// Whether a definition is an abstract interface.
    pub(crate) fn is_abstract_interface(&self, id: DefId) -> bool {
        let kind = &self.model().get(id).kind;
        matches!(kind, DefinitionKind::Interface(x) if x.kind == InterfaceKind::Abstract)
    }

    /// Whether an array is too large for the stack.
    pub(crate) fn is_boxed_array(&self, ty: &Type) -> bool {
        matches!(ty, Type::Array { .. }) && self.octets(ty, 0) > LARGEST_ARRAY_ON_THE_STACK
    }

    /// Roughly the memory that a value takes by itself, what it points to left out.
    fn octets(&self, ty: &Type, depth: u32) -> u128 {
        // Deeper than any real type: a cycle through a faulty model.
        if depth > 64 {
            return 0;
        }
        match self.model().resolve_alias(ty) {
            Type::Char => 4,
            Type::TypeCode => 8,
            Type::Fixed { .. } => 16,
            Type::Array { element, dims } => {
                let all: u128 = dims.iter().map(|&extent| u128::from(extent)).product();
                let octets = all.saturating_mul(self.octets(element, depth + 1));
                let boxed = depth > 0 && octets > LARGEST_ARRAY_ON_THE_STACK;
                if boxed { 8 } else { octets }
            }
            Type::Named(id) => match &self.model().get(*id).kind {
                DefinitionKind::Struct(x) => {
                    let base = x.base.map_or(0, |base| self.octets(&Type::Named(base), depth + 1));
                    let own = x.members.iter().map(|m| self.octets(&m.ty, depth + 1));
                    own.fold(base, u128::saturating_add)
                }
                DefinitionKind::Union(x) => {
                    let cases = x.cases.iter().map(|c| self.octets(&c.member.ty, depth + 1));
                    cases.max().unwrap_or(0).saturating_add(8)
                }
                DefinitionKind::Enum(_) => 4,
                _ => 16,
            },
            other => other.primitive().map_or(24, |primitive| primitive.octets.into()),
        }
    }
}

/// A number without type suffix.
pub(crate) fn number(value: u16) -> Literal {
    Literal::u16_unsuffixed(value)
}
