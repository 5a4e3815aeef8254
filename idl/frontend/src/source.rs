//! Source text without I/O: how files come in ([`SourceLoader`]) and how places in them are named.
//!
//! The preprocessor asks the loader for each `#include`; diagnostics and the model refer to text by
//! [`Span`]. The loader that reads the file system is `corbie_build::FileLoader`.

mod loader;
mod map;

pub use loader::{LoadError, LoadedSource, MemoryLoader, SourceLoader, include_candidates};
pub use map::{FileId, Position, SourceFile, SourceMap, Span};
