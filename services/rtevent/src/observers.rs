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

static UPDATE_CONSUMER: Operation = Operation::twoway("update_consumer");
static UPDATE_SUPPLIER: Operation = Operation::twoway("update_supplier");

/// Observers of one channel, at most.
const MOST: usize = 1000;

/// The observers of a channel.
#[derive(Debug, Default)]
pub(crate) struct ObserverList {
    /// Lock "observers": not held in calls.
    state: Mutex<ObserverState>,
}

#[derive(Debug, Default)]
struct ObserverState {
    observers: BTreeMap<u32, Observer>,
    next: u32,
    /// A thread is to tell them, and has not begun.
    is_planned: bool,
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
        let filters = wanted.into_iter().map(|Publication { source, kind }| {
            // Of any type and source: what is needed for a negation, too.
            Filter::Type { source, kind }
        });
        let published: BTreeSet<Publication> = publications.into_iter().collect();
        Self {
            wanted: Filter::any_of(filters).subscription(),
            published: Publication::of(published),
        }
    }
}

impl ObserverList {
    /// Its number, if one more may be.
    pub(crate) fn add(&self, observer: &Observer) -> Option<u32> {
        let mut state = self.lock();
        if state.observers.len() >= MOST {
            return None;
        }
        let number = state.next;
        state.next = state.next.wrapping_add(1);
        state.observers.insert(number, observer.clone());
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

    /// What is changed from now on is told later.
    pub(crate) fn begin(&self) -> Vec<(u32, Observer)> {
        let mut state = self.lock();
        state.is_planned = false;
        state.observers.iter().map(|(number, observer)| (*number, observer.clone())).collect()
    }

    /// Tells each, without waiting; one that does not exist is told nothing any more.
    pub(crate) fn tell(self: &Arc<Self>, observers: Vec<(u32, Observer)>, news: &News) {
        for (number, observer) in observers {
            let object = observer.as_object();
            let told = [
                object.invoke_async(
                    &UPDATE_CONSUMER,
                    &|e| write(&news.wanted, e),
                    self.sink(number),
                ),
                object.invoke_async(
                    &UPDATE_SUPPLIER,
                    &|e| write(&news.published, e),
                    self.sink(number),
                ),
            ];
            for exception in told.into_iter().filter_map(Result::err) {
                self.was_not_told(number, &exception);
            }
        }
    }

    fn sink(self: &Arc<Self>, number: u32) -> ReplySink {
        let list = Arc::clone(self);
        ReplySink::function(move |outcome| {
            if let Err(exception) = outcome {
                list.was_not_told(number, &exception);
            }
        })
    }

    fn was_not_told(&self, number: u32, exception: &SystemException) {
        use SystemExceptionKind as K;
        tracing::info!(%exception, number, "an observer was not told");
        if matches!(exception.kind, K::ObjectNotExist | K::InvObjref) {
            self.remove(number);
        }
    }

    fn lock(&self) -> MutexGuard<'_, ObserverState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn write<'a, T: Marshal<Value = T>>(value: &'a T, e: &mut Encoder<'a>) -> Result<(), Error> {
    T::encode(value, e)
}
