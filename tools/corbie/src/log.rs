//! What servers have to say to their operator, on standard error: warnings and errors, a line each,
//! with nothing in it that a terminal obeys.
//!
//! Started by the commands that serve. Peers may cause many lines: beyond a few a second they are
//! counted and left out.

use std::fmt::{self, Write as _};
use std::io::{self, Write as _};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use tracing::field::{Field, Visit};
use tracing::{Event, Level, Metadata, Subscriber, span};

use crate::escapes::one_line;

/// Lines in each [`WHILE`]; what is more is counted.
const LINES: u32 = 50;
const WHILE: Duration = Duration::from_secs(1);

/// Shows warnings and errors from now on.
pub(crate) fn to_standard_error() {
    // A process has one log; a second server in it uses the first.
    let _ = tracing::subscriber::set_global_default(Lines::default());
}

#[derive(Default)]
struct Lines {
    /// Lock "log": held while a line is written.
    rate: Mutex<Rate>,
}

/// How many lines there may be now.
#[derive(Default)]
struct Rate {
    since: Option<Instant>,
    written: u32,
    left_out: u64,
}

impl Rate {
    /// Whether a line may be written at `now`, and how many were left out before it.
    fn allows(&mut self, now: Instant) -> Option<u64> {
        if self.since.is_none_or(|since| now.duration_since(since) >= WHILE) {
            (self.since, self.written) = (Some(now), 0);
        }
        if self.written >= LINES {
            self.left_out += 1;
            return None;
        }
        self.written += 1;
        Some(std::mem::take(&mut self.left_out))
    }
}

impl Subscriber for Lines {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        *metadata.level() <= Level::WARN && metadata.target().starts_with("corbie")
    }

    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(1)
    }

    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}

    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut line = Line::default();
        event.record(&mut line);
        let level = event.metadata().level().as_str().to_lowercase();
        let mut rate = self.rate.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(left_out) = rate.allows(Instant::now()) else { return };
        let mut stderr = io::stderr().lock();
        // If standard error is closed no reader is left.
        if left_out > 0 {
            let _ = writeln!(stderr, "corbie: warn: {left_out} lines were left out");
        }
        let (text, values) = (one_line(&line.message), one_line(&line.values));
        let _ = writeln!(stderr, "corbie: {level}: {text}{values}");
    }

    fn enter(&self, _: &span::Id) {}

    fn exit(&self, _: &span::Id) {}
}

#[derive(Default)]
struct Line {
    message: String,
    values: String,
}

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        // Writing to a string does not fail.
        let _ = match field.name() {
            "message" => write!(self.message, "{value:?}"),
            name => write!(self.values, " {name}={value:?}"),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_beyond_the_rate_are_counted() {
        let (mut rate, now) = (Rate::default(), Instant::now());
        for _ in 0..LINES {
            assert_eq!(rate.allows(now), Some(0));
        }
        (0..7).for_each(|_| assert_eq!(rate.allows(now), None));
        assert_eq!(rate.allows(now + WHILE), Some(7));
        assert_eq!(rate.allows(now + WHILE), Some(0));
    }
}
