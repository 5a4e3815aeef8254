//! The time-outs of subscriptions: events that a consumer gets of a clock (paper RTEC §4.14).
//!
//! A time-out is shown to the tree in which it stands, as an event is, so it takes part in groups;
//! what the tree passes goes on by the thread that the consumer's other events go by. Moments are
//! kept as they were planned, so that an interval does not drift.

use crate::consumer::Consumer;
use crate::event::Parcel;
use crate::filter::{Filter, Moment, TimeT, Timeout};
use crate::kinds;
use crate::rtec_event_comm::Event;
use corbie::{CompletionStatus, SystemException, minor};
use corbie_event::engine::{Allotment, Engine};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

/// A consumer is looked at again after so long, however far its next moment is: one that has gone
/// takes no more memory then.
const LONGEST: Duration = Duration::from_secs(30);

/// A second, as spans of time are said.
const SECOND: TimeT = 10_000_000;

/// Time-outs a second that a consumer has even where others have very many.
const FEW: usize = 10;

/// A time-out, and when it comes the next time.
type Moments = Vec<(Timeout, Instant)>;

/// What a client asks for is more than a limit.
pub(crate) fn too_many(text: String) -> SystemException {
    SystemException::imp_limit(minor::IMP_LIMIT_NAMES, CompletionStatus::No).with_detail(text)
}

/// Room for the time-outs of a subscription among those of the server.
///
/// # Errors
/// `IMP_LIMIT` (`COMPLETED_NO`).
pub(crate) fn room(engine: &Engine, subscription: &Filter) -> Result<Allotment, SystemException> {
    let time_outs = subscription.timeouts();
    let often = time_outs.iter().filter(|timeout| timeout.moment != Moment::Once);
    let rate = often.map(|timeout| SECOND.div_ceil(timeout.after.max(1))).sum::<TimeT>();
    let rate = usize::try_from(rate).unwrap_or(usize::MAX);
    engine.time_outs().take_share(rate, FEW).ok_or_else(|| {
        let (most, setting) = (engine.time_outs().most(), "time_outs");
        tracing::warn!(rate, most, setting, "time-outs of a consumer were refused");
        let text = format!(
            "{rate} time-outs in a second are too many: this server has {most}, and a consumer \
             half of what the others leave"
        );
        too_many(text)
    })
}

/// Has the time-outs of a consumer come from now on, until it is disconnected.
pub(crate) fn start(engine: &Engine, consumer: &Arc<Consumer>) {
    let now = Instant::now();
    let due = |timeout: Timeout| Some((timeout, now.checked_add(span(timeout.after))?));
    let moments = consumer.subscription().timeouts().into_iter().filter_map(due).collect();
    plan(engine, Arc::downgrade(consumer), moments);
}

/// One job for all time-outs of a consumer.
fn plan(engine: &Engine, consumer: Weak<Consumer>, moments: Moments) {
    let Some(next) = moments.iter().map(|(_, due)| *due).min() else { return };
    let again = engine.clone();
    let left = next.saturating_duration_since(Instant::now());
    engine.after(left.min(LONGEST), move || {
        let Some(live) = consumer.upgrade().filter(|consumer| !consumer.is_ended()) else { return };
        let moments = moments.into_iter().filter_map(|(timeout, due)| {
            let next = if Instant::now() < due { Some(due) } else { come(&live, timeout, due) };
            Some((timeout, next?))
        });
        let moments = moments.collect();
        drop(live);
        plan(&again, consumer, moments);
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
    if consumer.is_suspended() {
        return;
    }
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
