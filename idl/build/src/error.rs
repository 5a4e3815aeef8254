//! [`Error`]: why no Rust code was written.
//!
//! Returned to the build script. `Debug` shows the same text as `Display`: cargo shows what a
//! `main` that returns the error, or an `.unwrap()`, prints by `Debug`.

use std::fmt;
use std::path::PathBuf;

/// Why IDL files could not be compiled.
#[non_exhaustive]
pub enum Error {
    /// The IDL has errors. Holds all diagnostics as text, with source lines.
    Idl(String),
    /// There is no place for the output: neither [`crate::Builder::out_dir`] nor `OUT_DIR` is set.
    NoOutputFolder,
    /// Two of the files given have the same name, and the output has no other.
    SameOutput(PathBuf, PathBuf),
    /// The output could not be written.
    Write(PathBuf, std::io::Error),
    /// An option is not what it must be; the text says which and why.
    Option(String),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Idl(text) => write!(f, "the IDL has errors\n\n{}", text.trim_end()),
            Error::NoOutputFolder => f.write_str(
                "no output folder: call this from a build script, where cargo sets OUT_DIR, or set \
                 `Builder::out_dir`",
            ),
            Error::SameOutput(first, second) => write!(
                f,
                "{} and {} have the same file name, so it cannot name the output; name it with \
                 `Builder::output` (`--output`)",
                first.display(),
                second.display()
            ),
            Error::Write(path, error) => write!(f, "cannot write {}: {error}", path.display()),
            Error::Option(text) => f.write_str(text),
        }
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Error::Write(_, error) => Some(error),
            _ => None,
        }
    }
}
