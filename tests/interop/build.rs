//! Generates the Rust side of the catalogue.

fn main() -> Result<(), corbie_build::Error> {
    corbie_build::Builder::new()
        .include_path("/usr/share/idl/omniORB")
        .define("CORBIE_EXTENSIONS")
        .compile(&["idl/interop.idl"])
}
