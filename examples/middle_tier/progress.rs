//! A line that shows how far something has come: a bar, a rate, what is under way.
//! Redrawn in place on a terminal; elsewhere one line when all is done.

use std::io::{IsTerminal as _, Write as _, stderr};
use std::time::{Duration, Instant};

const WIDTH: usize = 30;
/// Between two drawings: often enough for the eye.
const PERIOD: Duration = Duration::from_millis(100);

/// Progress towards a known number.
pub(crate) struct Progress {
    total: usize,
    start: Instant,
    drawn: Instant,
    terminal: bool,
}

impl Progress {
    /// Nothing is done yet.
    pub(crate) fn new(total: usize) -> Progress {
        let now = Instant::now();
        Progress { total, start: now, drawn: now, terminal: stderr().is_terminal() }
    }

    /// Shows that `done` are done; `note` says what else there is to say.
    pub(crate) fn show(&mut self, done: usize, note: &str) {
        let finished = done >= self.total;
        if !finished && (!self.terminal || self.drawn.elapsed() < PERIOD) {
            return;
        }
        self.drawn = Instant::now();
        let rate = done as f64 / self.start.elapsed().as_secs_f64();
        let line = format!("{} {done}/{} {rate:.0}/s{note}", bar(done, self.total), self.total);
        let clear = if self.terminal { "\r\x1b[2K" } else { "" };
        let end = if finished { "\n" } else { "" };
        // A line that cannot be shown is not worth failing for.
        let _ = write!(stderr(), "{clear}{line}{end}");
    }
}

fn bar(done: usize, total: usize) -> String {
    let filled = (WIDTH * done).checked_div(total).unwrap_or(WIDTH).min(WIDTH);
    format!("[{}{}]", "=".repeat(filled), " ".repeat(WIDTH - filled))
}

#[cfg(test)]
mod tests {
    use super::bar;

    #[test]
    fn the_bar_is_as_long_as_what_is_done() {
        assert_eq!(bar(0, 10).matches('=').count(), 0);
        assert_eq!(bar(5, 10).matches('=').count(), 15);
        assert_eq!(bar(10, 10).matches('=').count(), 30);
        assert_eq!(bar(0, 0).len(), 32);
    }
}
