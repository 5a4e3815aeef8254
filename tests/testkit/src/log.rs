//! Captures what Corbie logs (`tracing` events), so that a test can ask whether it was said.
//!
//! One for the process: servers log in threads of their own. Tests tell their lines apart by the
//! address of their peer.

use std::fmt::{self, Write as _};
use std::sync::{Condvar, Mutex, Once, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use tracing::field::{Field, Visit};
use tracing::span;
use tracing::{Event, Level, Metadata, Subscriber};

/// The lines logged by Corbie's crates, down to the level DEBUG.
#[derive(Debug, Default)]
pub struct CapturedLog {
    lines: Mutex<Vec<String>>,
    has_grown: Condvar,
}

static LOG: OnceLock<CapturedLog> = OnceLock::new();

/// The lines kept; the oldest are dropped beyond.
const LINES_MAX: usize = 50_000;

impl CapturedLog {
    /// Captures from now on. Later calls return the same log.
    ///
    /// # Panics
    /// When the process has another subscriber already.
    pub fn install() -> &'static Self {
        LOG.get_or_init(|| {
            tracing::subscriber::set_global_default(Capture).expect("no other subscriber");
            Self::default()
        })
    }

    /// The first line that has all these parts, waited for as long as `within`.
    pub fn line_with(&self, parts: &[&str], within: Duration) -> Option<String> {
        let deadline = Instant::now() + within;
        let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            let found = lines.iter().find(|line| parts.iter().all(|part| line.contains(part)));
            if let Some(line) = found {
                return Some(line.clone());
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return None;
            }
            let waited = self.has_grown.wait_timeout(lines, left);
            lines = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Has a panic of any thread of the process from now on be a line here, with the word `panic`.
    /// Threads of an ORB, whose panics fail no test, are seen so.
    pub fn with_panics(&'static self) -> &'static Self {
        static HOOK: Once = Once::new();
        HOOK.call_once(|| {
            let before = std::panic::take_hook();
            std::panic::set_hook(Box::new(move |panic| {
                let thread = std::thread::current();
                self.push(format!("panic of {}: {panic}", thread.name().unwrap_or("a thread")));
                before(panic);
            }));
        });
        self
    }

    /// All lines with this part, for the message of a failed assertion.
    pub fn lines_with(&self, part: &str) -> Vec<String> {
        let lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        lines.iter().filter(|line| line.contains(part)).cloned().collect()
    }

    fn push(&self, line: String) {
        let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        if lines.len() >= LINES_MAX {
            lines.drain(..LINES_MAX / 2);
        }
        lines.push(line);
        self.has_grown.notify_all();
    }
}

/// The subscriber: spans are not told apart, events become lines.
struct Capture;

impl Subscriber for Capture {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        *metadata.level() <= Level::DEBUG && metadata.target().starts_with("corbie")
    }

    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(1)
    }

    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}

    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}

    fn event(&self, event: &Event<'_>) {
        let metadata = event.metadata();
        let mut line = Line(format!("{} {}:", metadata.level(), metadata.target()));
        event.record(&mut line);
        if let Some(log) = LOG.get() {
            log.push(line.0);
        }
    }

    fn enter(&self, _: &span::Id) {}

    fn exit(&self, _: &span::Id) {}
}

struct Line(String);

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        // Writing to a string does not fail.
        let _ = match field.name() {
            "message" => write!(self.0, " {value:?}"),
            name => write!(self.0, " {name}={value:?}"),
        };
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.record_debug(field, &format_args!("{value}"));
    }
}
