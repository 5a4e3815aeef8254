//! The matrix as Markdown: a table for each run, a note for each known limit, and the totals.
//! Called by `runner`.

use super::{Cell, Column};
use crate::matrix::{Matrix, Run};
use std::collections::BTreeSet;
use std::fmt::Write;
use std::time::Duration;

/// Counts over all tables, and what has to be explained below them.
#[derive(Default)]
pub(crate) struct Totals {
    passed: usize,
    known: usize,
    missing: usize,
    unexpected: Vec<String>,
    rules: BTreeSet<usize>,
}

impl Totals {
    /// Whether every cell was as the matrix says.
    pub(crate) fn is_expected(&self) -> bool {
        self.unexpected.is_empty()
    }

    /// How many cells there were.
    pub(crate) fn cells(&self) -> usize {
        self.passed + self.known + self.missing + self.unexpected.len()
    }

    fn count(&mut self, run: &Run, column: &Column, matrix: &Matrix) {
        for (feature, cell) in &column.cells {
            if let Some(rule) = rule_of(cell) {
                self.rules.insert(rule);
            }
            let place = || {
                format!("{}, {} → {}: {feature}", run.name, column.pair.client, column.pair.server)
            };
            match cell {
                Cell::Passed => self.passed += 1,
                Cell::Known { .. } => self.known += 1,
                Cell::Missing => self.missing += 1,
                Cell::Failed(reason) => self.unexpected.push(format!("{}: {reason}", place())),
                Cell::Unexpected { rule } => self.unexpected.push(format!(
                    "{} passes, although: {}",
                    place(),
                    matrix.expect[*rule].reason
                )),
            }
        }
    }
}

fn rule_of(cell: &Cell) -> Option<usize> {
    match cell {
        Cell::Known { rule, .. } | Cell::Unexpected { rule } => Some(*rule),
        _ => None,
    }
}

/// The table of one run.
pub(crate) fn of_run(
    matrix: &Matrix,
    run: &Run,
    columns: &[Column],
    full: bool,
    totals: &mut Totals,
) -> String {
    let mut out = format!("## {}\n\n{}\n\n| client → server |", run.name, run.about);
    for column in columns {
        totals.count(run, column, matrix);
        let _ = write!(out, " {} → {} |", column.pair.client, column.pair.server);
    }
    out.push_str("\n|---|");
    out.push_str(&"---|".repeat(columns.len()));
    for (group, features) in matrix.features(run) {
        let rows: Vec<(&str, Vec<&str>)> = if full {
            features.into_iter().map(|feature| (feature, vec![feature])).collect()
        } else {
            vec![(group, features)]
        };
        for (name, features) in rows {
            let cells: Vec<String> = columns.iter().map(|c| summed(c, &features)).collect();
            if cells.iter().any(|cell| !cell.is_empty()) {
                let _ = write!(out, "\n| {name} | {} |", cells.join(" | "));
            }
        }
    }
    out.push('\n');
    out
}

/// Some features of one column in a few words.
fn summed(column: &Column, features: &[&str]) -> String {
    let cells: Vec<&Cell> = features.iter().filter_map(|f| column.cells.get(*f)).collect();
    let count = |is: fn(&Cell) -> bool| cells.iter().filter(|cell| is(cell)).count();
    let mut parts = Vec::new();
    let passed = count(|cell| matches!(cell, Cell::Passed));
    if passed > 0 {
        parts.push(if features.len() == 1 { "ok".to_owned() } else { format!("ok {passed}") });
    }
    let rules: BTreeSet<usize> = cells
        .iter()
        .filter_map(|cell| match cell {
            Cell::Known { rule, .. } => Some(*rule + 1),
            _ => None,
        })
        .collect();
    if !rules.is_empty() {
        let known = count(|cell| matches!(cell, Cell::Known { .. }));
        let notes: Vec<String> = rules.iter().map(|rule| format!("[{rule}]")).collect();
        parts.push(format!("known {known} {}", notes.join("")));
    }
    let failed = count(|cell| !cell.is_expected());
    if failed > 0 {
        parts.push(format!("**FAIL {failed}**"));
    }
    if count(|cell| matches!(cell, Cell::Missing)) > 0 {
        parts.push("missing".to_owned());
    }
    parts.join(", ")
}

/// What stands below the tables.
pub(crate) fn summary(
    matrix: &Matrix,
    totals: &Totals,
    missing: &[(String, String)],
    took: Duration,
) -> String {
    let mut out = String::new();
    for rule in &totals.rules {
        let _ = writeln!(out, "[{}] {}", rule + 1, matrix.expect[*rule].reason);
    }
    for (peer, why) in missing {
        let _ = writeln!(out, "\nMISSING: {peer}: {why}");
    }
    if !totals.unexpected.is_empty() {
        out.push_str("\nNot as expected:\n\n");
    }
    for line in &totals.unexpected {
        let _ = writeln!(out, "- {line}");
    }
    let _ = write!(
        out,
        "\n{} cells: {} passed, {} known limits of a peer, {} missing, {} not as expected ({} s)",
        totals.cells(),
        totals.passed,
        totals.known,
        totals.missing,
        totals.unexpected.len(),
        took.as_secs()
    );
    out
}

/// What `--list` prints.
pub(crate) fn list(matrix: &Matrix) -> String {
    let mut out = String::new();
    for run in &matrix.run {
        let _ = writeln!(out, "run {}: {} ({})", run.name, run.pairs.join(", "), run.about);
    }
    for group in &matrix.group {
        let _ = writeln!(out, "group {}: {}", group.name, group.features.join(" "));
    }
    out
}
