//! Errors and warnings: code, place, sentence, hint and notes, and how they are shown.
//!
//! Every stage reports into one `Diagnostics` sink; the caller of [`crate::compile`] gets the
//! list and prints [`Diagnostic::render`]. The codes are one table, `diagnostic/codes.rs`.

mod codes;
mod render;
mod sink;

pub use codes::Code;
pub(crate) use sink::{Diagnostics, Report};

use crate::source::{Position, Span};

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Severity {
    /// Worth knowing; the model is complete.
    Warning,
    /// The text is not IDL; do not generate code.
    Error,
}

/// One error or warning.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// Which rule, e.g. `E0103`.
    pub code: Code,
    /// Error or warning.
    pub severity: Severity,
    /// What is wrong, one sentence without full stop.
    pub message: String,
    /// Where.
    pub span: Span,
    /// `span` as file name, line and column.
    pub position: Position,
    /// What to do about it; may be empty.
    pub hint: String,
    /// Other places that matter.
    pub notes: Vec<Note>,
}

/// A second place that explains a diagnostic.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// What is there.
    pub message: String,
    /// Where.
    pub span: Span,
    /// `span` as file name, line and column.
    pub position: Position,
}
