//! Compiles the IDL of the Event Service, and our own, before the crate is built.
//! The Rust modules are taken in by `src/lib.rs` with `corbie::include_idl!`.

fn main() -> Result<(), corbie_build::Error> {
    corbie_build::compile(&["idl/CorbieEvents.idl"])?;
    // For the tests alone.
    corbie_build::Builder::new()
        .descriptions(true)
        .compile(&["tests/idl/Stock.idl", "tests/idl/Weather.idl"])
}
