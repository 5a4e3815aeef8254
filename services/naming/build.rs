//! Compiles `CosNaming.idl` before the crate is built.
//! The Rust module is taken in by `src/lib.rs` with `corbie::include_idl!`.

fn main() -> Result<(), corbie_build::Error> {
    corbie_build::compile(&["idl/CosNaming.idl"])
}
