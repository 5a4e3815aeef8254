//! The set of consumers that threads go through for each event, while others change it, and while
//! the upcalls of the same thread change it (paper RTEC §4.4, §4.5).
//!
//! Four strategies, one interface. No thread holds a lock in a visit, but for
//! [`CollectionStrategy::Immediate`], which is for channels whose visits make no upcall.

#[cfg(test)]
mod tests;

use std::cell::Cell;
use std::fmt;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How visits and changes of a collection go together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CollectionStrategy {
    /// A change waits until no thread visits, and the other way round. An upcall in a visit must
    /// not change the collection.
    Immediate,
    /// Each visit copies the collection first.
    CopyOnRead,
    /// Each change makes a new collection; visits go on in that with which they began.
    #[default]
    CopyOnWrite,
    /// A change is put off while a thread visits. When so many visits have begun since, the next
    /// ones wait until it is made, 100 ms at most: an upcall of a visit may wait for them.
    Delayed {
        /// How many.
        visits: u32,
    },
}

/// A collection of `T`, each with a number of its own.
pub(crate) struct Collection<T> {
    strategy: CollectionStrategy,
    /// Lock "collection": held in visits by [`CollectionStrategy::Immediate`] only.
    state: Mutex<CollectionState<T>>,
    /// Signalled when what was put off is done.
    changed: Condvar,
}

type Entries<T> = Arc<Vec<(u64, T)>>;

struct CollectionState<T> {
    entries: Entries<T>,
    /// Threads that visit.
    visits: usize,
    /// What was put off, in order.
    delayed: Vec<Change<T>>,
    /// Visits that began since the first change was put off.
    begun: u32,
}

/// A change of a collection, as a command.
#[derive(Clone, Debug)]
pub(crate) enum Change<T> {
    /// Puts one in; one that has the number goes.
    Add(u64, T),
    /// Takes the one with this number out.
    Remove(u64),
    /// Takes all out.
    Clear,
}

/// How long a visit waits for changes that were put off.
const LONGEST_WAIT: Duration = Duration::from_millis(100);

thread_local! {
    /// Visits in which this thread is, of all collections.
    static VISITING: Cell<usize> = const { Cell::new(0) };
}

/// A visit of [`CollectionStrategy::Delayed`]; its end makes the changes that were put off.
struct Visit<'c, T: Clone> {
    collection: &'c Collection<T>,
    entries: Option<Entries<T>>,
}

impl<T: Clone> Collection<T> {
    /// An empty one.
    #[must_use]
    pub(crate) fn new(strategy: CollectionStrategy) -> Self {
        let state =
            CollectionState { entries: Arc::default(), visits: 0, delayed: Vec::new(), begun: 0 };
        Self { strategy, state: Mutex::new(state), changed: Condvar::new() }
    }

    /// Shows each entry to `visitor`, in the order in which they were added.
    pub(crate) fn visit(&self, mut visitor: impl FnMut(&T)) {
        match self.strategy {
            CollectionStrategy::Immediate => {
                let state = self.lock();
                state.entries.iter().for_each(|(_, entry)| visitor(entry));
            }
            CollectionStrategy::CopyOnRead => {
                let copy: Vec<T> = self.lock().entries.iter().map(|(_, e)| e.clone()).collect();
                copy.iter().for_each(visitor);
            }
            CollectionStrategy::CopyOnWrite => {
                let entries = Arc::clone(&self.lock().entries);
                entries.iter().for_each(|(_, entry)| visitor(entry));
            }
            CollectionStrategy::Delayed { visits } => {
                let visit = self.begin(visits);
                let entries = visit.entries.iter().flat_map(|entries| entries.iter());
                entries.for_each(|(_, entry)| visitor(entry));
            }
        }
    }

    /// Makes a change: at once, or when no thread visits any more
    /// ([`CollectionStrategy::Delayed`]).
    pub(crate) fn change(&self, change: Change<T>) {
        let mut state = self.lock();
        if matches!(self.strategy, CollectionStrategy::Delayed { .. }) && state.visits > 0 {
            state.delayed.push(change);
            return;
        }
        let before = state.make(change);
        drop(state);
        // Entries may end in here, and whatever hangs on them.
        drop(before);
    }

    fn begin(&self, most: u32) -> Visit<'_, T> {
        let is_nested = VISITING.get() > 0;
        let mut state = self.lock();
        // A thread that visits already would wait for itself.
        if !is_nested {
            let waits =
                |state: &mut CollectionState<T>| !state.delayed.is_empty() && state.begun >= most;
            let waited = self.changed.wait_timeout_while(state, LONGEST_WAIT, waits);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        if !state.delayed.is_empty() {
            state.begun = state.begun.saturating_add(1);
        }
        state.visits += 1;
        VISITING.set(VISITING.get() + 1);
        Visit { collection: self, entries: Some(Arc::clone(&state.entries)) }
    }
}

impl<T> Collection<T> {
    fn lock(&self) -> MutexGuard<'_, CollectionState<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T: Clone> CollectionState<T> {
    /// What is not in the collection any more.
    fn make(&mut self, change: Change<T>) -> Vec<(u64, T)> {
        // A copy only while another thread visits them.
        let entries = Arc::make_mut(&mut self.entries);
        match change {
            Change::Add(number, entry) => {
                let before = take_out(entries, number);
                entries.push((number, entry));
                before.into_iter().collect()
            }
            Change::Remove(number) => take_out(entries, number).into_iter().collect(),
            Change::Clear => std::mem::take(entries),
        }
    }
}

fn take_out<T>(entries: &mut Vec<(u64, T)>, number: u64) -> Option<(u64, T)> {
    let at = entries.iter().position(|(other, _)| *other == number)?;
    Some(entries.remove(at))
}

impl<T: Clone> Drop for Visit<'_, T> {
    fn drop(&mut self) {
        VISITING.set(VISITING.get() - 1);
        let mut before = Vec::new();
        let mut state = self.collection.lock();
        self.entries = None;
        state.visits -= 1;
        if state.visits == 0 && !state.delayed.is_empty() {
            state.begun = 0;
            for change in std::mem::take(&mut state.delayed) {
                before.extend(state.make(change));
            }
            self.collection.changed.notify_all();
        }
        drop(state);
        drop(before);
    }
}

impl<T> fmt::Debug for Collection<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let entries = self.lock().entries.len();
        f.debug_struct("Collection")
            .field("strategy", &self.strategy)
            .field("entries", &entries)
            .finish()
    }
}
