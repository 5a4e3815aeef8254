//! Compiles the IDL of the Event Service, and our own, before the crate is built.
//! The Rust modules are taken in by `src/lib.rs` with `corbie::include_idl!`.

fn main() -> Result<(), corbie_build::Error> {
    corbie_build::compile(&["idl/CorbieEvents.idl"])?;
    // For the tests alone.
    let builder = corbie_build::Builder::new().descriptions(true);
    builder.compile(&["tests/idl/Stock.idl"])?;
    builder.compile(&["tests/idl/Weather.idl"])
}
