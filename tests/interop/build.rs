//! Generates the Rust side of the catalogue from `idl/interop.idl`, `idl/asynchrony.idl` and
//! `idl/adapters.idl`: references, servant traits and types, included by `src/idl.rs`.

fn main() -> Result<(), corbie_build::Error> {
    corbie_build::Builder::new()
        .include_path("/usr/share/idl/omniORB")
        .define("CORBIE_EXTENSIONS")
        .futures(false)
        .compile(&["idl/interop.idl"])?;
    corbie_build::Builder::new()
        .ami_callback(true)
        .ami_poller(true)
        .amh(true)
        .async_servants(true)
        .compile(&["idl/asynchrony.idl"])?;
    corbie_build::Builder::new().compile(&["idl/adapters.idl"])
}
