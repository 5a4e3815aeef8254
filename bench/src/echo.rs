//! What `build.rs` made of the IDL.
//!
//! The generated stubs and skeletons of `idl/bench.idl` and `idl/cubit.idl`; `corbie_contender.rs`
//! uses them.

corbie::include_idl!("cubit");
