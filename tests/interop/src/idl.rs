//! The Rust code that `corbie_build` makes of `idl/interop.idl`, `idl/asynchrony.idl` and
//! `idl/adapters.idl` (see `build.rs`): modules `interop`, `asynchrony` and `adapters`, with
//! references, servant traits and types.
#![allow(missing_docs, dead_code)]
// operations called from_top and so on
#![allow(clippy::wrong_self_convention)]

corbie::include_idl!("interop");
corbie::include_idl!("adapters");
pub(crate) use second::asynchrony;

/// Both files have a module `corba`.
mod second {
    corbie::include_idl!("asynchrony");
}
