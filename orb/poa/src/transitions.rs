//! Object ids that are on their way in or out: being incarnated or etherealised
//! (CORBA 3.3 P1 §15.3.6).
//!
//! One thread at a time calls the servant activator for an id; others wait here until something
//! has changed, and look again.

use crate::active_object_map::this_thread;
use corbie_threads::lock::{Ranked, Signal, rank};
use std::collections::HashMap;
use std::time::Instant;

/// In the place of a thread: another one will be busy with the id.
const NO_THREAD: u64 = 0;

/// Those of one POA.
#[derive(Default)]
pub(crate) struct Transitions {
    state: Ranked<rank::Leaf, State>,
    changed: Signal,
}

#[derive(Default)]
struct State {
    /// The thread that is busy with an id.
    busy: HashMap<Box<[u8]>, u64>,
    /// Counts what changed.
    epoch: u64,
}

/// Which thread is busy with an id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Busy {
    No,
    ThisThread,
    OtherThread,
}

impl Transitions {
    /// What [`Transitions::wait`] compares with. To be taken before one looks what the state is.
    pub(crate) fn epoch(&self) -> u64 {
        self.state.lock().epoch
    }

    pub(crate) fn busy(&self, id: &[u8]) -> Busy {
        match self.state.lock().busy.get(id) {
            None => Busy::No,
            Some(thread) if *thread == this_thread() => Busy::ThisThread,
            Some(_) => Busy::OtherThread,
        }
    }

    /// Whether any id is on its way.
    pub(crate) fn are_under_way(&self) -> bool {
        !self.state.lock().busy.is_empty()
    }

    /// This thread is busy with `id` until the result is dropped; `None` when some thread is.
    pub(crate) fn begin(&self, id: &[u8]) -> Option<Transition<'_>> {
        self.try_begin(id).then(|| Transition { transitions: self, id: id.into() })
    }

    /// This thread is busy with `id` until [`Transitions::end`]; `false` when some thread is.
    pub(crate) fn try_begin(&self, id: &[u8]) -> bool {
        let mut state = self.state.lock();
        let may = !state.busy.contains_key(id);
        if may {
            state.busy.insert(id.into(), this_thread());
        }
        may
    }

    /// The thread that is busy with `id` leaves it to another one, which calls
    /// [`Transitions::take_over`].
    pub(crate) fn hand_over(&self, id: &[u8]) {
        self.note_busy(id, NO_THREAD);
    }

    /// This thread is busy with `id` from now on.
    pub(crate) fn take_over(&self, id: &[u8]) {
        self.note_busy(id, this_thread());
    }

    fn note_busy(&self, id: &[u8], thread: u64) {
        if let Some(busy) = self.state.lock().busy.get_mut(id) {
            *busy = thread;
        }
    }

    /// No thread is busy with `id` any more.
    pub(crate) fn end(&self, id: &[u8]) {
        self.state.lock().busy.remove(id);
        self.note_change();
    }

    /// Something that others may wait for has changed.
    pub(crate) fn note_change(&self) {
        self.state.lock().epoch += 1;
        self.changed.wake_all();
    }

    /// Waits until something has changed since `epoch`; whether it did before `deadline`.
    pub(crate) fn wait(&self, epoch: u64, deadline: Option<Instant>) -> bool {
        let is_same = |state: &mut State| state.epoch == epoch;
        self.changed.wait_while_until(self.state.lock(), deadline, is_same).epoch != epoch
    }
}

/// See [`Transitions::begin`].
pub(crate) struct Transition<'t> {
    transitions: &'t Transitions,
    id: Box<[u8]>,
}

impl Drop for Transition<'_> {
    fn drop(&mut self) {
        self.transitions.end(&self.id);
    }
}
