//! Compiles `mshn.idl` before the crate is built, with the asynchronous forms of clients (futures)
//! and of servants (AMH). The Rust module is taken in by `src/lib.rs` with `corbie::include_idl!`.

fn main() -> Result<(), corbie_build::Error> {
    corbie_build::Builder::new().amh(true).compile(&["idl/mshn.idl"])
}
