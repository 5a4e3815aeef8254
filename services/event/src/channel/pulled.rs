//! A supplier that is pulled: one `pull` is on its way to it at a time, and no thread waits for
//! the reply. A typed supplier is several of these: one for each operation of its interface.
//!
//! Pulls go over connections of their own: a supplier may keep a pull until it has an event, and
//! what else goes to its process is not to wait behind it. The first attempt, and each after a
//! failure, is made by a worker. The next event is asked for when all consumers for whose sake
//! suppliers wait have room for the last one.

use super::push::{is_gone, is_passing};
use super::{Channel, Ticket};
use crate::event::{Event, PUSH, Shape};
use crate::interfaces::Signature;
use corbie::policy::{Policy, SetOverrideType};
use corbie::{Decoder, Object, Operation, Reply, ReplySink, SystemException};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

static PULL: Operation = Operation::twoway("pull");
/// A supplier may have no event for long; whether it lives tells its connection.
const PATIENCE: Duration = Duration::from_secs(30 * 24 * 3600);
const FIRST_DELAY: Duration = Duration::from_millis(20);
const LONGEST_DELAY: Duration = Duration::from_secs(5);

/// A supplier that is pulled.
pub(crate) struct PulledSupplier {
    object: Object,
    /// The only events that it is asked for; none: untyped ones.
    wanted: Option<Arc<Signature>>,
    channel: Weak<Channel>,
    /// What is to be done when the supplier is to be disconnected.
    give_up: Box<dyn Fn() + Send + Sync>,
    is_ended: AtomicBool,
    /// Lock "pulled supplier": since when it fails, and how long to wait before the next attempt.
    failing: Mutex<Option<(Instant, Duration)>>,
}

impl PulledSupplier {
    /// What pulls events of the kind `wanted` from `object`.
    ///
    /// # Errors
    /// What setting policies says.
    pub(crate) fn new(
        channel: &Arc<Channel>,
        object: &Object,
        wanted: Option<Arc<Signature>>,
        give_up: impl Fn() + Send + Sync + 'static,
    ) -> Result<Arc<Self>, SystemException> {
        let patience = Policy::RelativeReplyTimeout(PATIENCE);
        let object = object
            .set_policy_overrides(&[patience], SetOverrideType::Add)
            .map_err(super::no_policy)?;
        Ok(Arc::new(Self {
            object,
            wanted,
            channel: Arc::downgrade(channel),
            give_up: Box::new(give_up),
            is_ended: AtomicBool::new(false),
            failing: Mutex::default(),
        }))
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
        if self.is_ended.load(Ordering::SeqCst) {
            return;
        }
        let supplier = Arc::clone(self);
        let sink = ReplySink::function(move |outcome| supplier.answered(outcome));
        let operation = self.wanted.as_ref().map_or(&PULL, |wanted| wanted.operation());
        if let Err(exception) = self.object.invoke_async_apart(operation, &|_| Ok(()), sink) {
            self.failed(&exception);
        }
    }

    fn answered(self: &Arc<Self>, outcome: Result<Reply, SystemException>) {
        let mut reply = match outcome {
            Ok(reply) => reply,
            Err(exception) => return self.failed(&exception),
        };
        if reply.user_exception().is_some() {
            return (self.give_up)();
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
            Err(exception) => self.failed(&exception),
        }
    }

    fn publish(self: &Arc<Self>, event: Event) {
        *self.failing.lock().unwrap_or_else(PoisonError::into_inner) = None;
        if self.is_ended.load(Ordering::SeqCst) {
            return;
        }
        let Some(channel) = self.channel.upgrade() else { return };
        self.give(&channel, Arc::new(event), FIRST_DELAY);
    }

    /// Gives the channel an event; if it cannot take it, again later, since nobody else has it.
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

    fn failed(self: &Arc<Self>, exception: &SystemException) {
        let Some(channel) = self.channel.upgrade() else { return };
        if self.is_ended.load(Ordering::SeqCst) {
            return;
        }
        let mut failing = self.failing.lock().unwrap_or_else(PoisonError::into_inner);
        let (since, delay) = failing.unwrap_or_else(|| (Instant::now(), FIRST_DELAY));
        *failing = Some((since, (2 * delay).min(LONGEST_DELAY)));
        drop(failing);
        let is_over = since.elapsed() >= channel.qos().give_up_after;
        if is_gone(exception) || !is_passing(exception) || is_over {
            tracing::info!(%exception, "a pull supplier is disconnected");
            return (self.give_up)();
        }
        self.ask_after(delay);
    }

    /// The supplier is disconnected: it is asked no more.
    pub(crate) fn end(&self) {
        self.is_ended.store(true, Ordering::SeqCst);
    }
}
