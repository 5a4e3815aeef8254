//! The Rust code that `corbie_build` makes of `idl/interop.idl` and `idl/asynchrony.idl` (see
//! `build.rs`): modules `interop` and `asynchrony`, with references, servant traits and types.
#![allow(missing_docs, dead_code)]
// operations called from_top and so on
#![allow(clippy::wrong_self_convention)]

corbie::include_idl!("interop");
pub(crate) use second::asynchrony;

/// Both files have a module `corba`.
mod second {
    corbie::include_idl!("asynchrony");
}
