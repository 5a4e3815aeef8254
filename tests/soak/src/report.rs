//! What a soak found: a table, a picture, and whatever was not as promised. Filled by `system`,
//! printed by the program and by the test that fails.

use crate::vitals::{self, Vitals};
use std::fmt;
use std::time::Duration;

/// What was found.
#[derive(Debug, Default)]
pub struct Report {
    pub(crate) rows: Vec<(String, String)>,
    pub(crate) faults: Vec<String>,
    pub(crate) samples: Vec<(Duration, Vitals)>,
    /// When which part began, with its name.
    pub(crate) phases: Vec<(Duration, &'static str)>,
}

impl Report {
    pub(crate) fn row(&mut self, what: &str, found: impl fmt::Display) {
        self.rows.push((what.to_owned(), found.to_string()));
    }

    pub(crate) fn fault(&mut self, fault: impl Into<String>) {
        self.faults.push(fault.into());
    }

    /// Notes a fault unless something holds.
    pub(crate) fn check(&mut self, holds: bool, otherwise: impl FnOnce() -> String) {
        if !holds {
            self.faults.push(otherwise());
        }
    }

    /// What was not as promised; empty when all was.
    #[must_use]
    pub fn faults(&self) -> &[String] {
        &self.faults
    }

    /// Memory, threads and descriptors of the server over time, as SVG.
    #[must_use]
    pub fn picture(&self) -> String {
        vitals::picture(&self.samples, &self.phases)
    }
}

impl fmt::Display for Report {
    /// A table in Markdown, and the faults.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "| | |\n|---|---|")?;
        for (what, found) in &self.rows {
            writeln!(f, "| {what} | {found} |")?;
        }
        match self.faults.len() {
            0 => writeln!(f, "\nEverything is as promised."),
            count => {
                writeln!(f, "\n{count} faults:\n")?;
                self.faults.iter().try_for_each(|fault| writeln!(f, "- {fault}"))
            }
        }
    }
}
