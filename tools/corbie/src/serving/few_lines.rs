//! A few lines a minute from each place of the code that logs: peers may cause very many. What is
//! more is counted, and told once the minute is over.
//!
//! Lines of the levels DEBUG and TRACE are all written: an operator asked for them.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread;
use std::time::{Duration, Instant};

use tracing::callsite::Identifier;
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Metadata, Subscriber};
use tracing_subscriber::layer::{Context, Filter};

use crate::failure::Failure;

/// Lines of one place in each [`WHILE`].
const LINES: u32 = 10;
const WHILE: Duration = Duration::from_secs(60);
/// How often it is looked whether there is something to tell.
const TICK: Duration = Duration::from_secs(1);

/// The lines of all places.
#[derive(Default)]
pub(super) struct FewLines {
    /// Lock "places": not held while anything is logged.
    places: Mutex<HashMap<Identifier, LogPlace>>,
}

/// The lines of one place.
#[derive(Default)]
struct LogPlace {
    since: Option<Instant>,
    written: u32,
    left_out: u64,
    /// What its last line said, but for its values.
    text: String,
}

impl LogPlace {
    /// Whether a line may be written at `now`.
    fn allows(&mut self, now: Instant) -> bool {
        if self.since.is_none_or(|since| now.duration_since(since) >= WHILE) && self.left_out == 0 {
            (self.since, self.written) = (Some(now), 0);
        }
        let allows = self.written < LINES;
        match allows {
            true => self.written += 1,
            false => self.left_out += 1,
        }
        allows
    }

    /// How many lines were left out, once that is to be told.
    fn left_out(&mut self, now: Instant) -> Option<u64> {
        let is_over = self.since.is_some_and(|since| now.duration_since(since) >= WHILE);
        (is_over && self.left_out > 0).then(|| {
            self.since = None;
            std::mem::take(&mut self.left_out)
        })
    }
}

impl FewLines {
    /// Starts the thread that tells how many lines were left out.
    pub(super) fn tell_what_is_left_out(self: &Arc<Self>) -> Result<(), Failure> {
        let weak: Weak<Self> = Arc::downgrade(self);
        let thread = thread::Builder::new().name("corbie-log".to_owned()).spawn(move || {
            while let Some(lines) = weak.upgrade() {
                for (left_out, text) in lines.left_out(Instant::now()) {
                    tracing::warn!(left_out, line = text, "lines of the last minute were left out");
                }
                drop(lines);
                thread::sleep(TICK);
            }
        });
        thread.map(drop).map_err(|error| Failure::new(format!("cannot log: {error}")))
    }

    fn left_out(&self, now: Instant) -> Vec<(u64, String)> {
        let mut places = self.places();
        let told = places
            .values_mut()
            .filter_map(|place| Some((place.left_out(now)?, place.text.clone())));
        told.collect()
    }

    fn places(&self) -> MutexGuard<'_, HashMap<Identifier, LogPlace>> {
        self.places.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<S: Subscriber> Filter<S> for FewLines {
    fn enabled(&self, _: &Metadata<'_>, _: &Context<'_, S>) -> bool {
        true
    }

    fn event_enabled(&self, event: &Event<'_>, _: &Context<'_, S>) -> bool {
        if *event.metadata().level() > Level::INFO {
            return true;
        }
        let mut places = self.places();
        let place = places.entry(event.metadata().callsite()).or_default();
        let allows = place.allows(Instant::now());
        if allows && place.written == LINES {
            place.text.clear();
            event.record(&mut Text(&mut place.text));
        }
        allows
    }
}

/// Keeps the message of an event.
struct Text<'a>(&'a mut String);

impl Visit for Text<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        if field.name() == "message" {
            *self.0 = format!("{value:?}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_beyond_the_few_are_counted_and_told_once() {
        let (mut place, now) = (LogPlace::default(), Instant::now());
        assert!((0..LINES).all(|_| place.allows(now)));
        assert!((0..7).all(|_| !place.allows(now)));
        assert_eq!(place.left_out(now), None);
        // The count is told before another line is written.
        assert!(!place.allows(now + WHILE));
        assert_eq!(place.left_out(now + WHILE), Some(8));
        assert_eq!(place.left_out(now + WHILE), None);
        assert!(place.allows(now + WHILE));
    }
}
