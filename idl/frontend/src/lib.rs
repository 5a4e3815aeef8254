//! The IDL front end: IDL text in, checked [`Model`] and [`Diagnostic`]s out.
//!
//! Called by the generator (`idl/codegen`, `idl/build`) and by the `corbie` command.
//! It performs no I/O: files come through a [`SourceLoader`]. It never stops at the first error, and no
//! input makes it panic, recurse or allocate without limit (see [`Limits`]).
//! Sources of the rules: IDL 4.2 (CORBA profile) and CORBA 3.3 part 1, chapter 7.

#![forbid(unsafe_code)]

pub mod diagnostic;
pub mod model;
pub mod options;
pub mod source;

pub use diagnostic::{Code, Diagnostic, Note, Severity};
pub use model::{DefId, Definition, DefinitionKind, Model, Type};
pub use options::{Limits, Options};
pub use source::{
    FileId, LoadError, LoadedSource, MemoryLoader, Position, SourceFile, SourceLoader, SourceMap,
    Span,
};

/// The result of [`compile`].
#[derive(Debug, Clone, Default)]
pub struct Compilation {
    /// What was defined; complete and correct only when there are no errors.
    pub model: Model,
    /// Errors and warnings, in the order of files and places.
    pub diagnostics: Vec<Diagnostic>,
}

impl Compilation {
    /// Whether the text is faulty, so that no code should be generated.
    #[must_use]
    pub fn has_errors(&self) -> bool {
        self.diagnostics
            .iter()
            .any(|d| d.severity == Severity::Error)
    }

    /// All diagnostics as text for people, with source lines.
    #[must_use]
    pub fn render_diagnostics(&self) -> String {
        self.diagnostics
            .iter()
            .map(|d| d.render(&self.model.sources) + "\n")
            .collect()
    }
}
