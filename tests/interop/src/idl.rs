//! The Rust code that `corbie_build` makes of `idl/interop.idl` (see `build.rs`): module
//! `interop`, with references, servant traits and types of the whole catalogue.
#![allow(missing_docs, dead_code)]
// operations called from_top and so on
#![allow(clippy::wrong_self_convention)]

corbie::include_idl!("interop");
