//! Unions: an IDL union becomes a Rust enum with data, one variant for each case.
//!
//! Called by `tree`. A case with one label needs no discriminator; a case with several labels and
//! the default case keep theirs. Where labels leave values free and there is no `default:`, the
//! variant `Other` holds such a value. IDL 4.2 §7.4.1.4.4.3, CORBA 3.3 P2 §9.3.2.2.

use corbie_frontend::model::{ConstValue, Union, UnionCase, UnionLabel};
use corbie_frontend::{Definition, Type};
use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote};

use crate::context::Scope;
use crate::docs::{docs, docs_with};
use crate::locals::local;
use crate::marshalling::{ValuePlace, body};
use crate::rust_name::{Case, ident};

/// A union with the names and types that all its parts need.
struct Plan<'u> {
    definition: &'u Definition,
    union: &'u Union,
    /// One variant name for each case.
    variants: Vec<Ident>,
    /// The variant for values that no label has, where there are any.
    other: Option<Ident>,
    /// The Rust type of the discriminator.
    discriminator: TokenStream,
}

impl Plan<'_> {
    fn cases(&self) -> impl Iterator<Item = (&UnionCase, &Ident)> {
        self.union.cases.iter().zip(&self.variants)
    }
}

/// Whether the case is the default.
fn is_default(case: &UnionCase) -> bool {
    case.labels.contains(&UnionLabel::Default)
}

/// Whether the variant must keep the discriminator.
fn keeps_discriminator(case: &UnionCase) -> bool {
    case.labels.len() > 1 || is_default(case)
}

fn labels(case: &UnionCase) -> impl Iterator<Item = &ConstValue> {
    case.labels.iter().filter_map(|label| match label {
        UnionLabel::Value(value) => Some(value),
        UnionLabel::Default => None,
    })
}

impl Scope<'_, '_> {
    /// Everything for one union.
    pub(crate) fn emit_union(&self, definition: &Definition, x: &Union) -> TokenStream {
        let plan = self.plan(definition, x);
        let name = ident(self.cx.names.name(definition.id));
        let closing = format!("IDL union `{}`.", definition.scoped_name);
        let docs = docs_with(&definition.docs, &closing);
        let abilities = self.abilities(&Type::Named(definition.id), &mut Vec::new());
        let derives = self.derives(abilities);
        let discriminator = &plan.discriminator;
        let variants = plan.cases().map(|(case, variant)| {
            let docs = self::docs(&case.member.docs);
            let ty = self.value(&case.member.ty);
            match keeps_discriminator(case) {
                false => quote!(#docs #variant(#ty)),
                true => quote! {
                    #docs
                    #variant {
                        /// One of the labels of this case.
                        discriminator: #discriminator,
                        /// The member.
                        value: #ty,
                    }
                },
            }
        });
        let other = plan.other.iter().map(|other| {
            quote! {
                /// No member: a discriminator that no label has.
                #other(#discriminator)
            }
        });
        let name = quote!(#name);
        let id = self.repository_id_constant(definition, &name);
        let accessor = self.union_discriminator(&plan, &name);
        let marshal = self.marshal_union(&plan, &name);
        let typed = self.emit_typed(definition, &name);
        quote! {
            #docs
            #derives
            pub enum #name { #(#variants,)* #(#other,)* }
            #id
            #accessor
            #marshal
            #typed
        }
    }

    fn plan<'u>(&self, definition: &'u Definition, union: &'u Union) -> Plan<'u> {
        let variants: Vec<Ident> = union
            .cases
            .iter()
            .map(|case| self.member(definition, &case.member.name, Case::Camel))
            .collect();
        let has_default = union.cases.iter().any(is_default);
        let has_other = !has_default && union.unused_label.is_some();
        let other = has_other.then(|| local("Other", &variants));
        let discriminator = self.value(&union.discriminator);
        Plan { definition, union, variants, other, discriminator }
    }

    /// `pub fn discriminator(&self) -> …`
    fn union_discriminator(&self, plan: &Plan<'_>, name: &TokenStream) -> TokenStream {
        let ty = &plan.discriminator;
        let arms = plan.cases().map(|(case, variant)| match keeps_discriminator(case) {
            true => quote!(Self::#variant { discriminator, .. } => *discriminator),
            false => {
                let label = labels(case).map(|label| self.constant_value(label));
                quote!(Self::#variant(_) => #(#label)*)
            }
        });
        let other = plan.other.iter().map(|other| quote!(Self::#other(value) => *value));
        quote! {
            impl #name {
                /// The value that says which case this is.
                pub fn discriminator(&self) -> #ty {
                    match self { #(#arms,)* #(#other,)* }
                }
            }
        }
    }

    fn marshal_union(&self, plan: &Plan<'_>, name: &TokenStream) -> TokenStream {
        let orb = self.orb();
        let (ok, e, d) = (self.std("Ok"), format_ident!("e"), format_ident!("d"));
        let smallest = {
            let marker = self.marker(&plan.union.discriminator);
            quote!(<#marker as #orb::Marshal>::MIN_OCTETS)
        };
        let writes = plan.cases().map(|(case, variant)| self.write_case(plan, case, variant, &e));
        let writes_other = plan.other.iter().map(|other| {
            let all: Vec<&ConstValue> = plan.union.cases.iter().flat_map(labels).collect();
            let check = self.check_label(plan, &all, false, "a value that no label has");
            let place = ValuePlace::Borrowed(quote!(discriminator));
            let write = body(self, vec![self.write_value(&plan.union.discriminator, &place, &e)]);
            quote!(Self::#other(discriminator) => { #check #write })
        });
        let reads = plan.cases().filter(|(case, _)| !is_default(case)).map(|(case, variant)| {
            let patterns = labels(case).map(|label| self.constant_value(label));
            let value = self.read_member(&case.member.ty, &case.member.name, &d);
            match keeps_discriminator(case) {
                true => quote!(#(#patterns)|* => Self::#variant { discriminator, value: #value }),
                false => quote!(#(#patterns)|* => Self::#variant(#value)),
            }
        });
        let rest = self.read_rest(plan, &d);
        let discriminator = self.read_value(&plan.union.discriminator, &d);
        let written = self.result(&quote!(()), &quote!(#orb::Error));
        let read = self.result(&quote!(Self), &quote!(#orb::Error));
        quote! {
            impl #orb::Marshal for #name {
                type Value = Self;
                const MIN_OCTETS: usize = #smallest;
                fn encode<'a>(value: &'a Self, e: &mut #orb::Encoder<'a>) -> #written {
                    match value { #(#writes,)* #(#writes_other,)* }
                }
                fn decode(d: &mut #orb::Decoder<'_>) -> #read {
                    let discriminator = #discriminator;
                    #ok(match discriminator { #(#reads,)* #rest })
                }
            }
        }
    }

    /// The arm of `encode` for one case.
    fn write_case(
        &self,
        plan: &Plan<'_>,
        case: &UnionCase,
        variant: &Ident,
        e: &Ident,
    ) -> TokenStream {
        let ty = &plan.union.discriminator;
        let value = self.write_value(&case.member.ty, &ValuePlace::Borrowed(quote!(value)), e);
        if !keeps_discriminator(case) {
            let label = labels(case).next().map(|label| self.constant_value(label));
            let label = self.write_value(ty, &ValuePlace::Direct(quote!(#label)), e);
            let writes = body(self, vec![label, value]);
            return quote!(Self::#variant(value) => { #writes });
        }
        let (allowed, needed) = match is_default(case) {
            // The default case may have any value that no other case has.
            true => {
                let others = plan.union.cases.iter().filter(|other| !is_default(other));
                (others.flat_map(labels).collect::<Vec<_>>(), "a value that no other case has")
            }
            false => (labels(case).collect(), "a label of its case"),
        };
        let check = self.check_label(plan, &allowed, !is_default(case), needed);
        let label = self.write_value(ty, &ValuePlace::Borrowed(quote!(discriminator)), e);
        let writes = body(self, vec![label, value]);
        quote!(Self::#variant { discriminator, value } => { #check #writes })
    }

    /// Refuses a discriminator that does not go with the variant: the peer would read another case.
    fn check_label(
        &self,
        plan: &Plan<'_>,
        labels: &[&ConstValue],
        must_be_one: bool,
        needed: &str,
    ) -> TokenStream {
        if labels.is_empty() {
            return TokenStream::new();
        }
        let orb = self.orb();
        let err = self.std("Err");
        let patterns = labels.iter().map(|label| self.constant_value(label));
        let not = must_be_one.then(|| quote!(!));
        let what = format!("union {}", plan.definition.scoped_name);
        quote! {
            if #not matches!(discriminator, #(#patterns)|*) {
                let found = format!("the discriminator {discriminator:?}");
                return #err(e.error(#orb::ErrorKind::BadParameter, #what, found, #needed));
            }
        }
    }

    /// The last arm of `decode`, where the labels leave values free.
    fn read_rest(&self, plan: &Plan<'_>, d: &Ident) -> TokenStream {
        let err = self.std("Err");
        if let Some((case, variant)) = plan.cases().find(|(case, _)| is_default(case)) {
            let value = self.read_member(&case.member.ty, &case.member.name, d);
            return quote!(_ => Self::#variant { discriminator, value: #value });
        }
        if let Some(other) = &plan.other {
            return quote!(_ => Self::#other(discriminator));
        }
        match self.model().resolve_alias(&plan.union.discriminator) {
            // All 256 characters have a label, but Rust's `char` has more values.
            Type::Char => {
                let name = &plan.definition.scoped_name;
                quote!(_ => return #err(d.invalid_discriminator(#name, discriminator)))
            }
            _ => TokenStream::new(),
        }
    }
}
