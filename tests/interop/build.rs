//! Generates the Rust side of the catalogue from `idl/interop.idl`: references, servant traits and
//! types, included by `src/idl.rs`.

fn main() -> Result<(), corbie_build::Error> {
    corbie_build::Builder::new()
        .include_path("/usr/share/idl/omniORB")
        .define("CORBIE_EXTENSIONS")
        .compile(&["idl/interop.idl"])
}
