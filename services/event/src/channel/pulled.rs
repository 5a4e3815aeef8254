//! A supplier that is pulled: one `pull` is on its way to it at a time, and no thread waits for
//! the reply. A typed supplier is several of these: one for each operation of its interface.
//!
//! Pulls go over connections of their own: a supplier may keep a pull until it has an event, and
//! what else goes to its process is not to wait behind it. The first attempt, and each after a
//! failure, is made by a worker. The next event is asked for when all consumers for whose sake
//! suppliers wait have room for the last one.

use super::Channel;
use super::asking::{NotTyped, Target};
use super::push::{is_gone, is_passing};
use crate::event::{Event, PUSH, Shape};
use crate::interfaces::Signature;
use crate::ticket::Ticket;
use corbie::{Decoder, Operation, Reply, ReplySink, SystemException, SystemExceptionKind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

static PULL: Operation = Operation::twoway("pull");
/// A supplier may have no event for long; whether it lives tells its connection.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30 * 24 * 3600);
const FIRST_DELAY: Duration = Duration::from_millis(20);
const LONGEST_DELAY: Duration = Duration::from_secs(5);

/// A supplier that is pulled.
pub(crate) struct PulledSupplier {
    /// May take [`PATIENCE`] for a call.
    target: Target,
    /// The only events that it is asked for; none: untyped ones.
    wanted: Option<Arc<Signature>>,
    channel: Weak<Channel>,
    /// What is to be done when it is not to be pulled any more.
    give_up: Box<dyn Fn(Loss) + Send + Sync>,
    is_ended: AtomicBool,
    /// It is asked for no more events; what it gives now is taken.
    is_stopped: AtomicBool,
    /// Events that it has given.
    given: AtomicU64,
    /// Lock "pulled supplier": not held in calls.
    reach: Mutex<Reach>,
}

/// What is not pulled any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Loss {
    /// The supplier, which is to be disconnected.
    Supplier,
    /// The operation of a typed supplier, which does not have it; others may be there.
    Operation,
}

/// Whether a supplier can be reached.
#[derive(Default)]
struct Reach {
    /// When the last pull began.
    began: Option<Instant>,
    /// Since when no pull reaches it, and how long to wait before the next attempt.
    failing: Option<(Instant, Duration)>,
}

impl Reach {
    /// A pull has failed at `now`; it `was_sent` or not. For how long the supplier was not reached,
    /// and how long to wait before the next attempt.
    fn failed(
        &mut self,
        now: Instant,
        was_sent: bool,
        give_up_after: Duration,
    ) -> (Duration, Duration) {
        // While a pull was with it, it was reached; it may keep one for days.
        let began = self.began.filter(|_| was_sent);
        let reached = began.map_or(Duration::ZERO, |began| now.saturating_duration_since(began));
        if reached >= give_up_after.min(LONGEST_DELAY) {
            self.failing = None;
        }
        let (since, delay) = self.failing.unwrap_or((now, FIRST_DELAY));
        let since = since.checked_add(reached).map_or(now, |since| since.min(now));
        self.failing = Some((since, (2 * delay).min(LONGEST_DELAY)));
        (now.saturating_duration_since(since), delay)
    }
}

impl PulledSupplier {
    /// What pulls events of the kind `wanted` from `target`.
    pub(crate) fn new(
        channel: &Arc<Channel>,
        target: Target,
        wanted: Option<Arc<Signature>>,
        give_up: impl Fn(Loss) + Send + Sync + 'static,
    ) -> Arc<Self> {
        Arc::new(Self {
            target,
            wanted,
            channel: Arc::downgrade(channel),
            give_up: Box::new(give_up),
            is_ended: AtomicBool::new(false),
            is_stopped: AtomicBool::new(false),
            given: AtomicU64::new(0),
            reach: Mutex::default(),
        })
    }

    /// Begins to pull.
    pub(crate) fn start(self: &Arc<Self>) {
        self.ask_after(Duration::ZERO);
    }

    fn ask_after(self: &Arc<Self>, delay: Duration) {
        let Some(channel) = self.channel.upgrade() else { return };
        let supplier = Arc::downgrade(self);
        channel.workers().after(delay, move || {
            if let Some(supplier) = supplier.upgrade() {
                supplier.ask();
            }
        });
    }

    fn ask(self: &Arc<Self>) {
        if self.is_ended.load(Ordering::SeqCst) || self.is_stopped.load(Ordering::SeqCst) {
            return;
        }
        let Some(object) = self.target.object() else { return self.find_target() };
        self.reach().began = Some(Instant::now());
        let supplier = Arc::clone(self);
        let sink = ReplySink::function(move |outcome| supplier.answered(outcome));
        let operation = self.wanted.as_ref().map_or(&PULL, |wanted| wanted.operation());
        if let Err(exception) = object.invoke_async_apart(operation, &|_| Ok(()), sink) {
            self.failed(&exception, false);
        }
    }

    /// Asks for the object to pull from, then pulls.
    fn find_target(self: &Arc<Self>) {
        let supplier = Arc::clone(self);
        self.target.find(move |found| match found {
            Ok(object) => {
                supplier.target.set(object);
                supplier.ask_after(Duration::ZERO);
            }
            Err(NotTyped::Other(why)) => {
                tracing::info!(why, "a pull supplier is disconnected");
                (supplier.give_up)(Loss::Supplier);
            }
            Err(NotTyped::System(exception)) => supplier.failed(&exception, false),
        });
    }

    fn answered(self: &Arc<Self>, outcome: Result<Reply, SystemException>) {
        let mut reply = match outcome {
            Ok(reply) => reply,
            Err(exception) => return self.failed(&exception, true),
        };
        if reply.user_exception().is_some() {
            return (self.give_up)(Loss::Supplier);
        }
        let read = |d: &mut Decoder<'_>| match &self.wanted {
            None => Ok(Event::read(PUSH, Shape::Any, d)),
            Some(signature) => Ok(Event::read_typed(signature, d)),
        };
        match reply.results(read) {
            Ok(event) => {
                drop(reply);
                self.publish(event);
            }
            Err(exception) => self.failed(&exception, true),
        }
    }

    /// It has given an event.
    pub(crate) fn publish(self: &Arc<Self>, event: Event) {
        self.reach().failing = None;
        self.given.fetch_add(1, Ordering::Relaxed);
        if self.is_ended.load(Ordering::SeqCst) {
            return;
        }
        let Some(channel) = self.channel.upgrade() else { return };
        self.give(&channel, Arc::new(event), FIRST_DELAY);
    }

    /// Gives the channel an event; if it cannot take it, again later, since no other process has
    /// it.
    fn give(self: &Arc<Self>, channel: &Arc<Channel>, event: Arc<Event>, delay: Duration) {
        let ticket = Arc::new(Ticket::default());
        let (supplier, again) = (Arc::clone(self), Arc::clone(&event));
        ticket.then(move |outcome| match outcome {
            Ok(()) => supplier.ask(),
            Err(failure) => supplier.give_later(again, delay, &failure),
        });
        channel.publish(&event, &ticket);
        drop(ticket);
    }

    fn give_later(self: &Arc<Self>, event: Arc<Event>, delay: Duration, why: &SystemException) {
        tracing::warn!(%why, "an event of a pull supplier was not taken; it will be tried again");
        let Some(channel) = self.channel.upgrade() else { return };
        let supplier = Arc::clone(self);
        channel.workers().after(delay, move || {
            if let Some(channel) = supplier.channel.upgrade() {
                supplier.give(&channel, event, (2 * delay).min(LONGEST_DELAY));
            }
        });
    }

    fn failed(self: &Arc<Self>, exception: &SystemException, was_sent: bool) {
        let Some(channel) = self.channel.upgrade() else { return };
        if self.is_ended.load(Ordering::SeqCst) {
            return;
        }
        if self.wanted.is_some() && is_unknown(exception) {
            self.end();
            tracing::warn!(%exception, "a typed pull supplier does not have an operation");
            return (self.give_up)(Loss::Operation);
        }
        let give_up_after = channel.qos().give_up_after;
        let (absent, delay) = self.reach().failed(Instant::now(), was_sent, give_up_after);
        let is_over = absent >= give_up_after;
        // Its supplier may have made another object since.
        let may_be_replaced = self.target.forget() && is_gone(exception);
        let is_lost = is_gone(exception) || !is_passing(exception);
        if is_over || (is_lost && !may_be_replaced) {
            tracing::info!(%exception, "a pull supplier is disconnected");
            return (self.give_up)(Loss::Supplier);
        }
        self.ask_after(delay);
    }

    /// The object that is called, if it is known.
    pub(crate) fn called(&self) -> Option<corbie::Object> {
        self.target.object().map(std::borrow::Cow::into_owned)
    }

    /// Events that it has given.
    pub(crate) fn given(&self) -> u64 {
        self.given.load(Ordering::Relaxed)
    }

    fn reach(&self) -> MutexGuard<'_, Reach> {
        self.reach.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// It is asked no more until the server is started again.
    pub(crate) fn stop(&self) {
        self.is_stopped.store(true, Ordering::SeqCst);
    }

    /// The supplier is disconnected: it is asked no more.
    pub(crate) fn end(&self) {
        self.is_ended.store(true, Ordering::SeqCst);
    }
}

/// Whether the object does not have the operation.
fn is_unknown(exception: &SystemException) -> bool {
    use SystemExceptionKind as K;
    matches!(exception.kind, K::BadOperation | K::NoImplement)
}

#[cfg(test)]
mod tests {
    use super::*;

    const GIVE_UP: Duration = Duration::from_millis(500);
    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn a_pull_that_was_kept_ends_the_time_in_which_nobody_was_reached() {
        let (mut reach, now) = (Reach::default(), Instant::now());
        assert_eq!(reach.failed(now, false, GIVE_UP), (Duration::ZERO, FIRST_DELAY));
        reach.began = Some(now);
        let later = now + SECOND;
        assert_eq!(reach.failed(later, true, GIVE_UP), (Duration::ZERO, FIRST_DELAY));
        // A supplier that it did not reach, or that had it for a moment, is absent all the time.
        reach.began = Some(later);
        assert_eq!(reach.failed(later + SECOND, false, GIVE_UP).0, SECOND);
        let moment = Duration::from_millis(1);
        reach.began = Some(later + SECOND);
        assert_eq!(reach.failed(later + SECOND + moment, true, GIVE_UP).0, SECOND);
    }
}
