//! [`Diagnostics`]: where all stages report; counts, removes duplicates, and stops collecting at a
//! limit.
//!
//! Owned by [`crate::compile`] and lent to preprocessor, parser and checker.

use std::collections::HashSet;

use super::{Code, Diagnostic, Note, Severity};
use crate::source::{Position, SourceMap, Span};

/// A diagnostic before it is reported; see [`Report::new`].
#[derive(Debug, Clone)]
pub(crate) struct Report {
    code: Code,
    span: Span,
    message: String,
    hint: String,
    notes: Vec<(String, Span)>,
}

impl Report {
    pub(crate) fn new(code: Code, span: Span, message: impl Into<String>) -> Self {
        Report { code, span, message: message.into(), hint: String::new(), notes: Vec::new() }
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = hint.into();
        self
    }

    pub(crate) fn note(mut self, message: impl Into<String>, span: Span) -> Self {
        self.notes.push((message.into(), span));
        self
    }

    /// Moves the report to another place, where only the caller knows it.
    pub(crate) fn at(mut self, span: Span) -> Self {
        self.span = span;
        self
    }
}

/// The sink.
#[derive(Debug)]
pub(crate) struct Diagnostics {
    reports: Vec<Report>,
    seen: HashSet<(Code, Span, String)>,
    limit: usize,
    suppressed: usize,
    suppressed_error: bool,
}

impl Diagnostics {
    pub(crate) fn new(limit: usize) -> Self {
        Diagnostics {
            reports: Vec::new(),
            seen: HashSet::new(),
            limit,
            suppressed: 0,
            suppressed_error: false,
        }
    }

    /// Takes a report unless the very same one is already there. Returns its index, for
    /// [`Self::also`].
    pub(crate) fn report(&mut self, report: Report) -> Option<usize> {
        if self.reports.len() >= self.limit {
            self.suppressed += 1;
            self.suppressed_error |= report.code.severity() == Severity::Error;
            return None;
        }
        if !self.seen.insert((report.code, report.span, report.message.clone())) {
            return None;
        }
        self.reports.push(report);
        Some(self.reports.len() - 1)
    }

    /// Whether any report so far is an error.
    pub(crate) fn has_errors(&self) -> bool {
        let is_error = |report: &Report| report.code.severity() == Severity::Error;
        self.suppressed_error || self.reports.iter().any(is_error)
    }

    /// Whether further reports are only counted, so that hints for them need not be worked out.
    pub(crate) fn is_full(&self) -> bool {
        self.reports.len() >= self.limit
    }

    /// The report of a file that was included and is not there.
    pub(crate) fn missing_include(&self) -> Option<usize> {
        self.reports.iter().position(|report| report.code == Code::FileNotFound)
    }

    /// Adds one more place to an earlier report instead of reporting its consequence again.
    pub(crate) fn also(&mut self, index: usize, message: &str, span: Span) {
        /// Places listed for one report; the rest would only be noise.
        const PLACES: usize = 4;
        if let Some(report) = self.reports.get_mut(index)
            && report.notes.len() < PLACES
            && report.notes.iter().all(|n| n.1 != span)
        {
            report.notes.push((message.to_owned(), span));
        }
    }

    /// The reports with their places resolved, ordered by file and place within the file of the
    /// first report of each stage (that is: as reported).
    pub(crate) fn finish(self, sources: &SourceMap) -> Vec<Diagnostic> {
        let mut all: Vec<Diagnostic> =
            self.reports.into_iter().map(|report| resolve(report, sources)).collect();
        all.sort_by_key(|d| (d.span.file, d.span.start));
        if self.suppressed > 0 {
            let message = format!("{} more errors and warnings are not shown", self.suppressed);
            let report = Report::new(Code::TooManyDiagnostics, Span::default(), message)
                .hint("correct the first ones; raise `Limits::diagnostics` to see all");
            let mut last = resolve(report, sources);
            if !self.suppressed_error {
                last.severity = Severity::Warning;
            }
            all.push(last);
        }
        all
    }
}

fn resolve(report: Report, sources: &SourceMap) -> Diagnostic {
    let place = |span: Span| -> Position { sources.position(span) };
    Diagnostic {
        code: report.code,
        severity: report.code.severity(),
        message: report.message,
        span: report.span,
        position: place(report.span),
        hint: report.hint,
        notes: report
            .notes
            .into_iter()
            .map(|(message, span)| Note { message, span, position: place(span) })
            .collect(),
    }
}
