//! The Rust code that `corbie_build` makes of `idl/interop.idl` (see `build.rs`): module
//! `interop`, with references, servant traits and types of the whole catalogue.
#![allow(missing_docs, dead_code)]

corbie::include_idl!("interop");
