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
    /// Something changed that it is to be told when it has answered.
    is_behind: bool,
    /// Since when it was not reached.
    failing_since: Option<Instant>,
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
    /// Has them told once more.
    pub(crate) again: Box<dyn Fn() + Send + Sync>,
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
        let watcher = Watcher { observer, under_way: 0, is_behind: false, failing_since: None };
        state.observers.insert(number, watcher);
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

    /// Whether the caller is to have a thread tell them: there are some, and none is to yet.
    pub(crate) fn plans(&self) -> bool {
        let mut state = self.lock();
        let plans = !state.is_planned && !state.observers.is_empty();
        state.is_planned |= plans;
        plans
    }

    /// Those that are to be told: what is changed from now on is told later. One that has not
    /// answered yet is told when it has.
    pub(crate) fn begin(&self) -> Vec<(u32, Observer)> {
        let mut state = self.lock();
        state.is_planned = false;
        let mut told = Vec::new();
        for (number, watcher) in &mut state.observers {
            watcher.is_behind = watcher.under_way > 0;
            if !watcher.is_behind {
                watcher.under_way = CALLS;
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

    fn answered(&self, number: u32, outcome: Result<(), SystemException>, telling: &Telling) {
        let mut state = self.lock();
        let Some(watcher) = state.observers.get_mut(&number) else { return };
        watcher.under_way = watcher.under_way.saturating_sub(1);
        let is_over = match outcome {
            Ok(()) => {
                watcher.failing_since = None;
                false
            }
            Err(exception) => {
                tracing::info!(%exception, number, "an observer was not told");
                // It is told all of it the next time.
                watcher.has_failed(&exception, telling.give_up_after)
            }
        };
        let is_behind = watcher.under_way == 0 && watcher.is_behind;
        let removed = if is_over { state.observers.remove(&number) } else { None };
        drop(state);
        if removed.is_some() {
            tracing::info!(number, "an observer is told nothing any more: it was not reached");
        } else if is_behind {
            (telling.again)();
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
    /// A call failed; whether it is given up.
    fn has_failed(&mut self, exception: &SystemException, give_up_after: Duration) -> bool {
        use SystemExceptionKind as K;
        let since = *self.failing_since.get_or_insert_with(Instant::now);
        matches!(exception.kind, K::ObjectNotExist | K::InvObjref)
            || since.elapsed() >= give_up_after
    }
}
