//! Names for local variables of generated functions that no parameter of the IDL has.
//!
//! Used by stubs and skeletons, whose bodies see the operation's parameters.

use proc_macro2::Ident;

use crate::rust_name::ident;

/// `wanted`, with as many underscores appended as needed to differ from all `parameters`.
pub(crate) fn local(wanted: &str, parameters: &[Ident]) -> Ident {
    let mut name = wanted.to_owned();
    while parameters.iter().any(|parameter| *parameter == name) {
        name.push('_');
    }
    ident(&name)
}
