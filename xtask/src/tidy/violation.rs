//! One broken rule: where, which rule, what is wrong and how to mend it.
//! Every check of tidy returns these; the runner sorts and prints them all at once.

use std::fmt;

/// A broken rule. Ordered by file, then line, so that a report reads from top to bottom.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Violation {
    /// Path from the root of the repository, with `/` between its parts.
    pub(crate) file: String,
    /// Counted from 1.
    pub(crate) line: usize,
    /// Name of the rule, as `cargo xtask tidy --list` prints it.
    pub(crate) rule: &'static str,
    /// What is wrong, as a sentence without its full stop.
    pub(crate) what: String,
    /// How to mend it, as a sentence without its full stop.
    pub(crate) mend: String,
}

impl Violation {
    /// A violation of `rule` at `file:line`.
    pub(crate) fn new(
        rule: &'static str,
        file: &str,
        line: usize,
        what: impl Into<String>,
        mend: impl Into<String>,
    ) -> Violation {
        Violation { file: file.to_string(), line, rule, what: what.into(), mend: mend.into() }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Violation { file, line, rule, what, mend } = self;
        write!(f, "{file}:{line}: [{rule}] {what}.\n    mend: {mend}.")
    }
}
