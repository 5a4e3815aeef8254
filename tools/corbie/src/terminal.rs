//! Standard error: the one place that prints failures, in colour only on a terminal.
//! Called by `main` with why the command failed, and by `idl` for warnings.

use std::io::{IsTerminal, Write as _};

use crate::failure::{Failure, Report};

const RED_BOLD: &str = "\x1b[1;31m";
const PLAIN: &str = "\x1b[0m";

/// Prints why the command failed.
pub(crate) fn report(failure: &Failure) {
    let mut stderr = std::io::stderr().lock();
    // If standard error is closed there is nobody left to tell.
    let _ = match &failure.report {
        Report::Silent => Ok(()),
        Report::Text(text) => writeln!(stderr, "{}", text.trim_end()),
        Report::Sentence(sentence) if colours(&stderr) => {
            writeln!(stderr, "{RED_BOLD}corbie:{PLAIN} {sentence}")
        }
        Report::Sentence(sentence) => writeln!(stderr, "corbie: {sentence}"),
    };
}

/// Colours are for terminals, unless the user does not want any (<https://no-color.org>).
fn colours(stream: &impl IsTerminal) -> bool {
    let unwanted = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    stream.is_terminal() && !unwanted
}
