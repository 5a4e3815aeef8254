//! Run by cargo before the crate is compiled.
//! Makes `cubit.rs` (stubs, skeletons and their asynchronous forms) of `idl/cubit.idl`, which
//! includes `idl/bench.idl`, and `ticks.rs` of `idl/ticks.idl`.

fn main() -> Result<(), corbie_build::Error> {
    let everything = corbie_build::Builder::new()
        .ami_callback(true)
        .ami_poller(true)
        .amh(true)
        .async_servants(true);
    everything.compile(&["idl/cubit.idl"])?;
    everything.compile(&["idl/cuber.idl"])?;
    corbie_build::Builder::new().descriptions(true).compile(&["idl/ticks.idl"])
}
