//! The Rust code that `corbie_build` makes of `idl/interop.idl`.
#![allow(missing_docs, dead_code)]

corbie::include_idl!("interop");
