//! [`compile`]: preprocessor, parser and checker in a row.
//!
//! The one entry point of the crate, also for the fuzz target.

use crate::diagnostic::{Diagnostic, Diagnostics, Severity};
use crate::model::Model;
use crate::options::Options;
use crate::source::{SourceLoader, SourceMap};
use crate::{checker, parser, preprocessor};

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
        self.diagnostics.iter().any(|d| d.severity == Severity::Error)
    }

    /// All diagnostics as text for people, with source lines; an empty line after each.
    #[must_use]
    pub fn render_diagnostics(&self) -> String {
        self.diagnostics.iter().map(|d| d.render(&self.model.sources) + "\n").collect()
    }
}

/// Compiles the IDL file at `path`, which the loader is asked for with no including file.
///
/// Never fails as a whole: what is wrong is in [`Compilation::diagnostics`], and the model has the
/// rest. Never panics, whatever the input; costs are bounded by [`crate::Limits`].
#[must_use]
pub fn compile(path: &str, loader: &dyn SourceLoader, options: &Options) -> Compilation {
    let mut sources = SourceMap::default();
    let mut diagnostics = Diagnostics::new(options.limits.diagnostics);
    let stream = preprocessor::run(path, loader, options, &mut sources, &mut diagnostics);
    let items = parser::parse(stream, &options.limits, &sources, &mut diagnostics);
    let mut model = checker::check(&items, options, &mut sources, &mut diagnostics);
    let diagnostics = diagnostics.finish(&sources);
    model.sources = sources;
    Compilation { model, diagnostics }
}
