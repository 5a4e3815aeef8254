//! Compiles `mshn.idl` before the crate is built, with the asynchronous forms of clients (futures)
//! and of servants (AMH), and descriptions of interfaces for typed event channels. The Rust module
//! is taken in by `src/lib.rs` with `corbie::include_idl!`.

fn main() -> Result<(), corbie_build::Error> {
    corbie_build::Builder::new().amh(true).descriptions(true).compile(&["idl/mshn.idl"])
}
