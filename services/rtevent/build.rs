//! Compiles the IDL of the Real-time Event Service, and our own, before the crate is built.
//! The Rust modules are taken in by `src/lib.rs` with `corbie::include_idl!`.

fn main() -> Result<(), corbie_build::Error> {
    corbie_build::compile(&["idl/CorbieRtEvents.idl"])
}
