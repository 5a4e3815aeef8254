//! The time-outs of subscriptions: events that a consumer gets of a clock (paper RTEC §4.14).
//!
//! A time-out is shown to the tree in which it stands, as an event is, so it takes part in groups;
//! what the tree passes goes on by the thread that the consumer's other events go by. Moments are
//! kept as they were planned, so that an interval does not drift.

use crate::consumer::Consumer;
use crate::event::Parcel;
use crate::filter::{Moment, TimeT, Timeout};
use crate::kinds;
use crate::rtec_event_comm::Event;
use corbie_event::engine::Engine;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

/// A timer is looked at again after so long, however far its moment is.
const LONGEST: Duration = Duration::from_secs(3600);

/// Has the time-outs of a consumer come from now on, until it is disconnected.
pub(crate) fn start(engine: &Engine, consumer: &Arc<Consumer>) {
    let now = Instant::now();
    for timeout in consumer.subscription().timeouts() {
        if let Some(due) = now.checked_add(span(timeout.after)) {
            plan(engine, Arc::downgrade(consumer), timeout, due);
        }
    }
}

fn plan(engine: &Engine, consumer: Weak<Consumer>, timeout: Timeout, due: Instant) {
    let again = engine.clone();
    let left = due.saturating_duration_since(Instant::now());
    engine.after(left.min(LONGEST), move || {
        let Some(live) = consumer.upgrade().filter(|consumer| !consumer.is_ended()) else { return };
        let next = if Instant::now() < due { Some(due) } else { come(&live, timeout, due) };
        drop(live);
        if let Some(next) = next {
            plan(&again, consumer, timeout, next);
        }
    });
}

/// A moment has come: which is the next one.
fn come(consumer: &Arc<Consumer>, timeout: Timeout, due: Instant) -> Option<Instant> {
    let span = span(timeout.after);
    match timeout.moment {
        Moment::Once => {
            show(consumer, timeout);
            None
        }
        Moment::Interval => {
            show(consumer, timeout);
            after(due, span)
        }
        Moment::Deadline => {
            // What it was given meanwhile puts the moment off.
            let later = consumer.last_given().and_then(|given| given.checked_add(span));
            match later.filter(|later| *later > Instant::now()) {
                Some(later) => Some(later),
                None => {
                    show(consumer, timeout);
                    Instant::now().checked_add(span)
                }
            }
        }
    }
}

/// The first moment after `due`, so many spans later, that is to come yet.
fn after(due: Instant, span: Duration) -> Option<Instant> {
    let late = Instant::now().saturating_duration_since(due).as_nanos();
    let spans = late / span.as_nanos().max(1) + 1;
    due.checked_add(span.checked_mul(u32::try_from(spans).ok()?)?)
}

fn show(consumer: &Arc<Consumer>, timeout: Timeout) {
    let mut event = Event::default();
    event.header.r#type = match timeout.moment {
        Moment::Once => kinds::EVENT_TIMEOUT,
        Moment::Interval => kinds::EVENT_INTERVAL_TIMEOUT,
        Moment::Deadline => kinds::EVENT_DEADLINE_TIMEOUT,
    };
    event.header.ttl = 1;
    consumer.offer(&Parcel::of(event), Some(timeout.number), &Arc::default());
}

fn span(units: TimeT) -> Duration {
    Duration::from_micros(units / 10) + Duration::from_nanos(units % 10 * 100)
}
