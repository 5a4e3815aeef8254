//! IDL to Rust from a build script: what a user's `build.rs` calls.
//!
//! ```no_run
//! fn main() -> Result<(), corbie_build::Error> {
//!     corbie_build::compile(&["idl/stock.idl"])
//! }
//! ```
//!
//! writes `$OUT_DIR/stock.rs`, which the crate takes in with `corbie::include_idl!("stock");`.
//! Options are on [`Builder`]. Cargo is told to run the build script again when any file that was
//! read changes.

#![forbid(unsafe_code)]

// layers: error loader < builder
mod builder;
mod error;
mod loader;

pub use builder::{Builder, Output, output_names};
pub use corbie_codegen::OperationDemux;
pub use error::Error;
pub use loader::FileLoader;

/// Compiles IDL files with the default options into one tree of modules, `$OUT_DIR/<stem>.rs` with
/// the name of the first file.
///
/// # Errors
/// As [`Builder::compile`].
pub fn compile(files: &[impl AsRef<std::path::Path>]) -> Result<(), Error> {
    Builder::new().compile(files)
}
