//! [`compile`] and [`compile_all`]: preprocessor, parser and checker in a row.
//!
//! The entry points of the crate, also for the fuzz target.

use std::collections::HashSet;

use crate::diagnostic::{Code, Diagnostic, Diagnostics, Report, Severity};
use crate::joining::Joined;
use crate::model::Model;
use crate::options::Options;
use crate::source::{FileId, SourceLoader, SourceMap, Span};
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
    compile_all(&[path], loader, options)
}

/// Compiles several files into one model, as [`compile`] does with one.
///
/// Each is read as if it were compiled alone: its macros and prefixes are its own, and it sees
/// the definitions of the files that it includes, not those of the files before it. A definition
/// that several of them include is in the model once.
#[must_use]
pub fn compile_all(paths: &[&str], loader: &dyn SourceLoader, options: &Options) -> Compilation {
    let mut sources = SourceMap::default();
    let mut diagnostics = Diagnostics::new(options.limits.diagnostics);
    let mut joined = Joined::default();
    let mut texts = Vec::new();
    for path in paths {
        let mut stream = preprocessor::run(path, loader, options, &mut sources, &mut diagnostics);
        let files: HashSet<FileId> = stream.stretches.iter().map(|x| x.file).collect();
        if let Some(main) = stream.stretches.first() {
            sources.set_main(main.file);
            // The one is the end.
            if stream.tokens.len() == 1 && !diagnostics.has_errors() {
                diagnostics.report(declares_nothing(main.file));
            }
        }
        if paths.len() > 1 {
            joined.leave_out(&mut stream);
        }
        let items = parser::parse(stream, &options.limits, &sources, &mut diagnostics);
        texts.push(checker::Text { items, files });
    }
    let mut model = checker::check(&texts, options, &mut sources, &mut diagnostics);
    let mut diagnostics = diagnostics.finish(&sources);
    offer_macros(&mut diagnostics, &sources, options);
    model.sources = sources;
    Compilation { model, diagnostics }
}

/// A file without a definition, its includes counted, is a wrong file or a wrong macro.
fn declares_nothing(file: FileId) -> Report {
    let begin = Span { file, start: 0, end: 0 };
    Report::new(Code::EmptyFile, begin, "the file defines nothing")
        .hint("is it the file that you meant, and are the macros of its `#if`s defined?")
}

/// Macros with which published files take forms that more compilers know.
const OFFERED: &[&str] = &["_PRE_3_0_COMPILER_"];

/// Adds to the first error of a file that such a macro would change it.
fn offer_macros(diagnostics: &mut [Diagnostic], sources: &SourceMap, options: &Options) {
    let mut offered: HashSet<FileId> = HashSet::new();
    for diagnostic in diagnostics.iter_mut().filter(|d| d.severity == Severity::Error) {
        let Some(file) = sources.file(diagnostic.span.file) else { continue };
        let asks = |name: &&&str| {
            file.text.contains(**name)
                && options.defines.iter().all(|(defined, _)| defined != *name)
        };
        let Some(name) = OFFERED.iter().find(asks) else { continue };
        if offered.insert(diagnostic.span.file) {
            let and = if diagnostic.hint.is_empty() { "" } else { "; " };
            let hint = format!("{and}the file has another form with `-D{name}`");
            diagnostic.hint.push_str(&hint);
        }
    }
}
