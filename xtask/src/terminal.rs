//! Lines for the person at the terminal: lists and summaries.
//! A reader that has gone (`cargo xtask help | head`) is no error.

use std::io::Write as _;

/// Prints a line of a list.
pub(crate) fn say(line: &str) {
    let _ = writeln!(std::io::stdout(), "{line}");
}
