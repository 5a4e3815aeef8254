//! Standard error: the one place that prints failures, in colour only on a terminal, and shows
//! how far long work is. Called by `main` with why the command failed, by `idl` for warnings, by
//! `mshn` for progress.

use std::io::{IsTerminal, Write as _};
use std::time::{Duration, Instant};

use crate::escapes::{lines, one_line};
use crate::failure::{Failure, Report, remedy};

const RED_BOLD: &str = "\x1b[1;31m";
const PLAIN: &str = "\x1b[0m";

/// Prints why the command failed.
pub(crate) fn report(failure: &Failure) {
    let mut stderr = std::io::stderr().lock();
    // If standard error is closed no reader is left.
    let _ = match &failure.report {
        Report::Silent => Ok(()),
        Report::Text(text) => writeln!(stderr, "{}", lines(text.trim_end())),
        Report::Sentence(sentence) if colours(&stderr) => {
            writeln!(stderr, "{RED_BOLD}corbie:{PLAIN} {}", one_line(sentence))
        }
        Report::Sentence(sentence) => writeln!(stderr, "corbie: {}", one_line(sentence)),
    };
    if let Report::Sentence(sentence) = &failure.report
        && let Some(remedy) = remedy(sentence)
    {
        let _ = writeln!(stderr, "what to try: {remedy}");
    }
}

/// Colours are for terminals, unless the user does not want any (<https://no-color.org>).
fn colours(stream: &impl IsTerminal) -> bool {
    let unwanted = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    stream.is_terminal() && !unwanted
}

/// How far long work is: one line on a terminal, written over and over; nothing elsewhere.
pub(crate) struct ProgressBar {
    name: String,
    shown: Option<Instant>,
    is_terminal: bool,
}

impl ProgressBar {
    /// A bar that is not shown yet: work that is done at once shows none.
    pub(crate) fn new(name: &str) -> Self {
        let is_terminal = std::io::stderr().is_terminal();
        Self { name: name.to_owned(), shown: Some(Instant::now()), is_terminal }
    }

    /// The work is `done` (0 to 1); `note` is what is known so far.
    pub(crate) fn show(&mut self, done: f64, note: &str) {
        const PAUSE: Duration = Duration::from_millis(100);
        const WIDTH: usize = 30;
        if !self.is_terminal || self.shown.is_some_and(|shown| shown.elapsed() < PAUSE) {
            return;
        }
        self.shown = Some(Instant::now());
        let full = ((done.clamp(0.0, 1.0) * WIDTH as f64) as usize).min(WIDTH);
        let (full_part, rest) = ("#".repeat(full), ".".repeat(WIDTH - full));
        let percent = done * 100.0;
        // If standard error is closed no reader is left.
        let mut stderr = std::io::stderr().lock();
        let _ =
            write!(stderr, "\r{:<10} [{full_part}{rest}] {percent:3.0} % {note}\x1b[K", self.name);
        let _ = stderr.flush();
    }

    /// Takes the line away.
    pub(crate) fn clear(&self) {
        if self.is_terminal {
            let _ = write!(std::io::stderr().lock(), "\r\x1b[K");
        }
    }
}
