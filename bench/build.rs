//! Run by cargo before the crate is compiled.
//! Makes `bench.rs` (stub and skeleton of the interface that is measured) of `idl/bench.idl`.

fn main() -> Result<(), corbie_build::Error> {
    corbie_build::compile(&["idl/bench.idl"])
}
