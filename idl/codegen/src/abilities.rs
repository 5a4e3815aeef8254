//! Which traits the Rust types of the IDL can have: `Copy`, `Eq`, `Hash`, `Default`.
//!
//! Used by the emitters of structs, unions, enums and exceptions to write the `derive` list. All
//! types are `Clone`, `Debug` and `PartialEq`.

use std::ops::BitAnd;

use corbie_frontend::model::Member;
use corbie_frontend::{DefId, DefinitionKind, Type};
use proc_macro2::TokenStream;
use quote::quote;

use crate::context::Scope;
use crate::types::Shape;

/// What values of a type can do beyond `Clone`, `Debug` and `PartialEq`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Abilities {
    pub(crate) copy: bool,
    pub(crate) eq: bool,
    pub(crate) default: bool,
    /// `Default` holds and `derive` can write it: no array of more than 32 elements.
    pub(crate) derive_default: bool,
}

const ALL: Abilities = Abilities { copy: true, eq: true, default: true, derive_default: true };
const DEFAULT_ONLY: Abilities =
    Abilities { copy: false, eq: false, default: true, derive_default: true };
const NONE: Abilities = Abilities { copy: false, eq: false, default: false, derive_default: false };

impl BitAnd for Abilities {
    type Output = Self;
    fn bitand(self, other: Self) -> Self {
        Abilities {
            copy: self.copy && other.copy,
            eq: self.eq && other.eq,
            default: self.default && other.default,
            derive_default: self.derive_default && other.derive_default,
        }
    }
}

impl Scope<'_, '_> {
    /// Abilities of a struct or exception with these members.
    pub(crate) fn abilities_of_members(&self, members: &[&Member]) -> Abilities {
        let each = members.iter().map(|member| self.abilities(&member.ty, &mut Vec::new()));
        each.fold(ALL, Abilities::bitand)
    }

    /// Abilities of a type; `open` are the definitions being looked at, for recursive types.
    pub(crate) fn abilities(&self, ty: &Type, open: &mut Vec<DefId>) -> Abilities {
        if matches!(self.shape(ty), Shape::Reference | Shape::Shared) {
            return DEFAULT_ONLY;
        }
        match self.model().resolve_alias(ty) {
            Type::Float | Type::Double => Abilities { eq: false, ..ALL },
            Type::String { .. } | Type::WString { .. } => Abilities { copy: false, ..ALL },
            Type::Sequence { element, .. } => {
                let eq = self.abilities(element, open).eq;
                Abilities { copy: false, eq, default: true, derive_default: true }
            }
            array @ Type::Array { element, dims } => {
                let element = self.abilities(element, open);
                let boxed = self.is_boxed_array(array);
                // The standard library has `Default` for arrays of up to 32 elements only.
                let small = !boxed && dims.iter().all(|&extent| extent <= 32);
                Abilities {
                    copy: element.copy && !boxed,
                    eq: element.eq,
                    default: element.default && !boxed,
                    derive_default: element.derive_default && small,
                }
            }
            Type::Any | Type::TypeCode => DEFAULT_ONLY,
            Type::Named(id) => self.abilities_of_definition(*id, open),
            _ => ALL,
        }
    }

    fn abilities_of_definition(&self, id: DefId, open: &mut Vec<DefId>) -> Abilities {
        if open.contains(&id) {
            // Decided by the other members; a sequence lies between.
            return ALL;
        }
        open.push(id);
        let model = self.model();
        let abilities = match &model.get(id).kind {
            DefinitionKind::Struct(x) => {
                let base = x.base.map_or(ALL, |base| self.abilities_of_definition(base, open));
                let own = x.members.iter().map(|member| self.abilities(&member.ty, open));
                let all = own.fold(base, Abilities::bitand);
                // Written out by hand if need be; to others it is a type with `Default`.
                Abilities { derive_default: all.default, ..all }
            }
            DefinitionKind::Union(x) => {
                let discriminator = self.abilities(&x.discriminator, open);
                let cases = x.cases.iter().map(|case| self.abilities(&case.member.ty, open));
                let all = cases.fold(discriminator, Abilities::bitand);
                Abilities { default: false, derive_default: false, ..all }
            }
            DefinitionKind::Enum(_) => ALL,
            _ => NONE,
        };
        open.pop();
        abilities
    }

    /// The `derive` attribute for a type with these abilities.
    pub(crate) fn derives(&self, abilities: Abilities) -> TokenStream {
        let mut derives = vec![quote!(Clone)];
        if abilities.copy {
            derives.push(quote!(Copy));
        }
        derives.push(quote!(Debug));
        if abilities.derive_default {
            derives.push(quote!(Default));
        }
        derives.push(quote!(PartialEq));
        if abilities.eq {
            derives.extend([quote!(Eq), quote!(Hash)]);
        }
        self.derive_attribute(derives)
    }

    /// `#[derive(…)]` with these and with what the user asked for, each once.
    pub(crate) fn derive_attribute(&self, mut derives: Vec<TokenStream>) -> TokenStream {
        for path in &self.cx.options.extra_derives {
            let name = path.rsplit("::").next().unwrap_or(path).trim();
            let is_there = derives.iter().any(|derive| derive.to_string() == name);
            // `Options::check` has refused what is no path.
            match path.parse::<TokenStream>() {
                Ok(path) if !is_there => derives.push(path),
                _ => {}
            }
        }
        quote!(#[derive(#(#derives),*)])
    }

    /// An expression for the default value of a type that has one.
    pub(crate) fn default_value(&self, ty: &Type) -> TokenStream {
        let default = self.std("Default");
        let Type::Array { element, dims } = self.model().resolve_alias(ty) else {
            return quote!(#default::default());
        };
        dims.iter()
            .fold(self.default_value(element), |inner, _| quote!(::std::array::from_fn(|_| #inner)))
    }
}
