//! How a diagnostic is shown: the sentence, the source line with carets, notes, hint.
//!
//! ```text
//! error[E0301]: `Strin` is not defined
//!   --> stock.idl:3:5
//!    |
//!  3 |     Strin symbol;
//!    |     ^^^^^
//!    = hint: did you mean `String`?
//! ```

use std::fmt::Write;

use super::{Diagnostic, Severity};
use crate::source::{SourceMap, Span};

/// Longest source line shown; longer ones are cut around the caret.
const WIDTH: usize = 160;

impl Diagnostic {
    /// The diagnostic as several lines of text, each ended by a line feed; without colours.
    #[must_use]
    pub fn render(&self, sources: &SourceMap) -> String {
        let word = match self.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        };
        let mut out = format!("{word}[{}]: {}\n", self.code, self.message);
        show_place(&mut out, sources, self.span);
        show_inclusion(&mut out, sources, self.span);
        for note in &self.notes {
            let _ = writeln!(out, "note: {}", note.message);
            show_place(&mut out, sources, note.span);
        }
        if !self.hint.is_empty() {
            let _ = writeln!(out, "   = hint: {}", self.hint);
        }
        out
    }
}

impl std::fmt::Display for Diagnostic {
    /// One line: `file:line:column: error[E0301]: message`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let word = match self.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        };
        write!(f, "{}: {word}[{}]: {}", self.position, self.code, self.message)
    }
}

/// `--> file:line:column`, the source line, and carets below the span.
fn show_place(out: &mut String, sources: &SourceMap, span: Span) {
    let Some(file) = sources.file(span.file) else {
        return;
    };
    let position = file.position(span.start);
    let _ = writeln!(out, "  --> {position}");
    let (_, line, column) = file.line_at(span.start);
    if line.is_empty() {
        return;
    }
    let marked = file.text.get(span.start as usize..span.end as usize).unwrap_or("");
    let marked = marked.split(['\r', '\n']).next().unwrap_or("").chars().count().max(1);
    // Tabs and control characters become one blank each, so that the carets stand below their text.
    let shown = |c: char| if c.is_control() { ' ' } else { c };
    let first = column.saturating_sub(WIDTH / 2);
    let cut: String = line.chars().skip(first).take(WIDTH).map(shown).collect();
    let carets = marked.min(WIDTH.saturating_sub(column - first)).max(1);
    let number = position.line.to_string();
    let gutter = " ".repeat(number.len());
    let _ = writeln!(out, " {gutter} |");
    let _ = writeln!(out, " {number} | {}", cut.trim_end());
    let _ = writeln!(out, " {gutter} | {}{}", " ".repeat(column - first), "^".repeat(carets));
}

/// Where the file of `span` was included from, outwards.
fn show_inclusion(out: &mut String, sources: &SourceMap, span: Span) {
    let mut at = sources.file(span.file).and_then(|file| file.included_from);
    // Each file is included from an earlier one, so the chain is finite; show at most eight.
    for _ in 0..8 {
        let Some(from) = at else { return };
        let _ = writeln!(out, "   = note: included from {}", sources.position(from));
        at = sources.file(from.file).and_then(|file| file.included_from);
    }
}
