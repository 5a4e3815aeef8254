//! Observers of a channel: they are told what its consumers want and what its suppliers publish,
//! when that changes (paper RTEC §4.10).
//!
//! Changes that come together are told together, by a thread of the engine: no client waits for an
//! observer.

use crate::filter::{Filter, Publication};
use crate::rtec_event_channel_admin::{ConsumerQos, Observer, SupplierQos};
use corbie::cdr::Error;
use corbie::{Encoder, Marshal, Operation, ReplySink, SystemException, SystemExceptionKind};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

static UPDATE_CONSUMER: Operation = Operation::twoway("update_consumer");
static UPDATE_SUPPLIER: Operation = Operation::twoway("update_supplier");

/// Observers of one channel, at most.
const MOST: usize = 1000;
/// Types and sources of which observers are told one by one.
const MOST_SAID: usize = 1000;
/// What an observer is told each time.
const CALLS: usize = 2;
/// One that was not reached is told again after so long, or sooner where it would be given up.
const RETRY_AFTER: Duration = Duration::from_secs(1);

/// The observers of a channel.
#[derive(Debug, Default)]
pub(crate) struct ObserverList {
    /// Lock "observers": not held in calls.
    state: Mutex<ObserverState>,
}

#[derive(Debug, Default)]
struct ObserverState {
    observers: BTreeMap<u32, Watcher>,
    next: u32,
    /// A thread is to tell them, and has not begun.
    is_planned: bool,
}

/// An observer, and how it goes.
#[derive(Debug)]
struct Watcher {
    observer: Observer,
    /// Calls that it has not answered yet.
    under_way: usize,
    /// Something changed that it was not told.
    is_behind: bool,
    /// Since when it was not reached.
    failing_since: Option<Instant>,
    /// It was not reached, and is told nothing before.
    rests_until: Option<Instant>,
}

/// What is told.
pub(crate) struct News {
    pub(crate) wanted: ConsumerQos,
    pub(crate) published: SupplierQos,
}

impl News {
    /// Of the subscriptions and publications of clients that are no gateways.
    pub(crate) fn of<'f>(
        subscriptions: impl IntoIterator<Item = &'f Filter>,
        publications: impl IntoIterator<Item = Publication>,
    ) -> Self {
        let mut wanted = BTreeSet::new();
        subscriptions.into_iter().for_each(|filter| filter.wants(&mut wanted));
        let filters = at_most(wanted).into_iter().map(|Publication { source, kind }| {
            // Of any type and source: what is needed for a negation, too.
            Filter::Type { source, kind }
        });
        let published: BTreeSet<Publication> = publications.into_iter().collect();
        Self {
            wanted: Filter::any_of(filters).subscription(),
            published: Publication::of(at_most(published)),
        }
    }
}

/// What is too long to be said is said as anything at all.
fn at_most(all: BTreeSet<Publication>) -> BTreeSet<Publication> {
    if all.len() <= MOST_SAID { all } else { BTreeSet::from([Publication::ANYTHING]) }
}

/// How observers are told.
pub(crate) struct Telling {
    /// One that is not reached for so long is told nothing any more.
    pub(crate) give_up_after: Duration,
    /// Has those that are behind told, after so long.
    pub(crate) again: Box<dyn Fn(Duration) + Send + Sync>,
}

impl ObserverList {
    /// Its number, if one more may be.
    pub(crate) fn add(&self, observer: Observer) -> Option<u32> {
        let mut state = self.lock();
        if state.observers.len() >= MOST {
            return None;
        }
        let number = state.next;
        state.next = state.next.wrapping_add(1);
        state.observers.insert(number, Watcher::new(observer));
        Some(number)
    }

    /// Whether it was there.
    pub(crate) fn remove(&self, number: u32) -> bool {
        self.lock().observers.remove(&number).is_some()
    }

    pub(crate) fn len(&self) -> usize {
        self.lock().observers.len()
    }

    pub(crate) fn clear(&self) {
        let observers = std::mem::take(&mut self.lock().observers);
        drop(observers);
    }

    /// Something changed: all of them are behind.
    pub(crate) fn has_changed(&self) {
        self.lock().observers.values_mut().for_each(|watcher| watcher.is_behind = true);
    }

    /// Whether the caller is to have a thread tell them: there are some to be told now, and none is
    /// to yet.
    pub(crate) fn plans(&self) -> bool {
        let (mut state, now) = (self.lock(), Instant::now());
        let plans = !state.is_planned && state.observers.values().any(|w| w.is_due(now));
        state.is_planned |= plans;
        plans
    }

    /// Those that are to be told: what is changed from now on is told later. One that has not
    /// answered yet is told when it has.
    pub(crate) fn begin(&self) -> Vec<(u32, Observer)> {
        let (mut state, now) = (self.lock(), Instant::now());
        state.is_planned = false;
        let mut told = Vec::new();
        for (number, watcher) in &mut state.observers {
            if watcher.is_due(now) {
                (watcher.is_behind, watcher.under_way) = (false, CALLS);
                told.push((*number, watcher.observer.clone()));
            }
        }
        told
    }

    /// Tells each, without waiting. One that does not exist, or is not reached for as long as
    /// `telling` says, is told nothing any more.
    pub(crate) fn tell(
        self: &Arc<Self>,
        observers: Vec<(u32, Observer)>,
        news: &News,
        telling: &Arc<Telling>,
    ) {
        for (number, observer) in observers {
            let object = observer.as_object();
            let sink = || self.sink(number, telling);
            let told = [
                object.invoke_async(&UPDATE_CONSUMER, &|e| write(&news.wanted, e), sink()),
                object.invoke_async(&UPDATE_SUPPLIER, &|e| write(&news.published, e), sink()),
            ];
            for exception in told.into_iter().filter_map(Result::err) {
                self.answered(number, Err(exception), telling);
            }
        }
    }

    fn sink(self: &Arc<Self>, number: u32, telling: &Arc<Telling>) -> ReplySink {
        let (list, telling) = (Arc::clone(self), Arc::clone(telling));
        ReplySink::function(move |outcome| list.answered(number, outcome.map(drop), &telling))
    }

    /// It has answered a call, or could not be called.
    fn answered(&self, number: u32, outcome: Result<(), SystemException>, telling: &Telling) {
        let mut state = self.lock();
        let Some(watcher) = state.observers.get_mut(&number) else { return };
        watcher.under_way = watcher.under_way.saturating_sub(1);
        let is_over = watcher.note(outcome.as_ref().err(), telling.give_up_after);
        let again = (watcher.under_way == 0 && watcher.is_behind).then(|| watcher.rest());
        let removed = if is_over { state.observers.remove(&number) } else { None };
        // What writes the log is the application's.
        drop(state);
        if let Err(exception) = outcome {
            tracing::info!(%exception, number, "an observer was not told");
        }
        if removed.is_some() {
            tracing::info!(number, "an observer is told nothing any more: it was not reached");
        } else if let Some(after) = again {
            (telling.again)(after);
        }
    }

    fn lock(&self) -> MutexGuard<'_, ObserverState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn write<'a, T: Marshal<Value = T>>(value: &'a T, e: &mut Encoder<'a>) -> Result<(), Error> {
    T::encode(value, e)
}

impl Watcher {
    /// One that was told nothing yet.
    fn new(observer: Observer) -> Self {
        let (failing_since, rests_until) = (None, None);
        Self { observer, under_way: 0, is_behind: true, failing_since, rests_until }
    }

    /// Whether it is to be told at `now`.
    fn is_due(&self, now: Instant) -> bool {
        let rests = self.rests_until.is_some_and(|until| now < until);
        self.is_behind && self.under_way == 0 && !rests
    }

    /// How long it rests from now on.
    fn rest(&self) -> Duration {
        let rest = |until: Instant| until.saturating_duration_since(Instant::now());
        self.rests_until.map_or(Duration::ZERO, rest)
    }

    /// A call was answered, or failed; whether it is given up. One that failed is told all of it
    /// after a rest.
    fn note(&mut self, failure: Option<&SystemException>, give_up_after: Duration) -> bool {
        use SystemExceptionKind as K;
        let Some(exception) = failure else {
            (self.failing_since, self.rests_until) = (None, None);
            return false;
        };
        let now = Instant::now();
        self.is_behind = true;
        self.rests_until = now.checked_add(RETRY_AFTER.min(give_up_after / 4));
        let since = *self.failing_since.get_or_insert(now);
        matches!(exception.kind, K::ObjectNotExist | K::InvObjref)
            || now.duration_since(since) >= give_up_after
    }
}
