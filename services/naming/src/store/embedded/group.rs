//! Group commit: changes that wait while a transaction is written go into the next one together.
//!
//! There is no thread for it: a thread that finds no other writing writes for all that wait. So a
//! lone change is written by the thread that asks for it, at once.

use super::change::{Made, TableChange};
use crate::store::StoreError;
use std::collections::HashMap;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Most changes in one transaction: bounds how long the first of them waits for the others.
const GROUP_MAX: usize = 256;

/// Lock "group": held to queue and to take results, not while writing.
#[derive(Default)]
pub(super) struct Group {
    state: Mutex<State>,
    /// Signalled when a transaction is written.
    written: Condvar,
}

#[derive(Default)]
struct State {
    next_ticket: u64,
    waiting: Vec<(u64, TableChange)>,
    done: HashMap<u64, Result<Made, StoreError>>,
    is_writing: bool,
}

impl Group {
    /// Has `change` made and waits until it is on the disk. `commit` makes several.
    pub(super) fn write(
        &self,
        change: TableChange,
        commit: impl Fn(&[TableChange]) -> Vec<Result<Made, StoreError>>,
    ) -> Result<Made, StoreError> {
        let mut state = self.lock();
        let ticket = state.next_ticket;
        state.next_ticket += 1;
        state.waiting.push((ticket, change));
        loop {
            if let Some(outcome) = state.done.remove(&ticket) {
                return outcome;
            }
            if state.is_writing {
                state = self.written.wait(state).unwrap_or_else(PoisonError::into_inner);
                continue;
            }
            if !state.waiting.iter().any(|(waiting, _)| *waiting == ticket) {
                // The thread that had it in hand did not come back.
                return Err(StoreError::Uncertain("the thread that wrote ended".to_owned()));
            }
            state.is_writing = true;
            let count = state.waiting.len().min(GROUP_MAX);
            let (tickets, changes): (Vec<u64>, Vec<TableChange>) =
                state.waiting.drain(..count).unzip();
            drop(state);
            let writing = Writing(self);
            let outcomes = commit(&changes);
            state = self.lock();
            state.done.extend(tickets.into_iter().zip(outcomes));
            drop(state);
            drop(writing);
            state = self.lock();
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The turn to write, given back also when the writer unwinds.
struct Writing<'g>(&'g Group);

impl Drop for Writing<'_> {
    fn drop(&mut self) {
        self.0.lock().is_writing = false;
        self.0.written.notify_all();
    }
}
