//! Run by cargo before the crate is compiled.
//! Makes `bench.rs` (stub, skeleton and their asynchronous forms) of `idl/bench.idl`.

fn main() -> Result<(), corbie_build::Error> {
    corbie_build::Builder::new()
        .ami_callback(true)
        .ami_poller(true)
        .amh(true)
        .async_servants(true)
        .compile(&["idl/bench.idl"])
}
