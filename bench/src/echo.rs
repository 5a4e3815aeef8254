//! What `build.rs` made of the IDL.
//!
//! The generated stub and skeleton of `idl/bench.idl`; `corbie_contender.rs` uses them.

corbie::include_idl!("bench");
