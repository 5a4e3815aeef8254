//! Compiles the examples' IDL before the examples are built.
//! Each file becomes a Rust module in `OUT_DIR`, which the example takes in with
//! `corbie::include_idl!`.

fn main() -> Result<(), corbie_build::Error> {
    corbie_build::compile(&["stock_quoter/stock.idl"])?;
    // Reply handlers, servants that answer later, and servants that are `async fn`.
    corbie_build::Builder::new()
        .ami_callback(true)
        .amh(true)
        .async_servants(true)
        .compile(&["middle_tier/quotes.idl"])
}
