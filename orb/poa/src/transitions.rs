//! Keys that are on their way in or out: ids of objects being incarnated or etherealised
//! (CORBA 3.3 P1 §15.3.6), names of POAs that an adapter activator is making (§15.3.3).
//!
//! One thread at a time is busy with a key. Application threads wait here until something has
//! changed, and look again. Requests wait in the line of the key, in no thread; while a line
//! drains, the gate of their POA says so, as nothing that the same client sent later may overtake
//! them.

use crate::active_object_map::this_thread;
use corbie_core::server::ServerRequest;
use corbie_core::server::held::{HeldRequests, Reason, Watcher};
use corbie_threads::lock::{Ranked, Signal, rank};
use corbie_types::SystemException;
use corbie_upcall::Gate;
use std::collections::HashMap;
use std::sync::{Arc, Weak};

/// In the place of a thread: another one will be busy with the key.
const NO_THREAD: u64 = 0;

/// Those of one POA.
pub(crate) struct Transitions(Arc<Keys>);

struct Keys {
    myself: Weak<Keys>,
    state: Ranked<rank::PoaKeys, KeysState>,
    changed: Signal,
    /// The bit of a gate that says that requests wait.
    bit: u32,
    /// The gate of all keys; `None`: each has its own ([`Transitions::guard`]).
    gate: Option<Arc<Gate>>,
}

#[derive(Default)]
struct KeysState {
    keys: HashMap<Box<[u8]>, KeyState>,
    /// Counts what changed.
    epoch: u64,
}

#[derive(Default)]
struct KeyState {
    /// The thread that is busy with the key.
    thread: Option<u64>,
    /// The requests that wait for it.
    line: Option<HeldRequests>,
    gate: Option<Arc<Gate>>,
}

/// Which thread is busy with a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Busy {
    No,
    ThisThread,
    OtherThread,
}

impl Transitions {
    /// `bit` of `gate` is set while requests wait; without `gate`, of the gate of their key, from
    /// [`Transitions::guard`] on.
    pub(crate) fn new(bit: u32, gate: Option<Arc<Gate>>) -> Self {
        Transitions(Arc::new_cyclic(|myself| Keys {
            myself: Weak::clone(myself),
            state: Ranked::default(),
            changed: Signal::new(),
            bit,
            gate,
        }))
    }

    /// What [`Transitions::wait`] and [`Transitions::hold`] compare with. To be taken before one
    /// looks what the state is.
    pub(crate) fn epoch(&self) -> u64 {
        self.0.state.lock().epoch
    }

    pub(crate) fn busy(&self, key: &[u8]) -> Busy {
        match self.0.state.lock().keys.get(key).and_then(|state| state.thread) {
            None => Busy::No,
            Some(thread) if thread == this_thread() => Busy::ThisThread,
            Some(_) => Busy::OtherThread,
        }
    }

    /// Whether any key is on its way.
    pub(crate) fn are_under_way(&self) -> bool {
        self.0.state.lock().keys.values().any(|state| state.thread.is_some())
    }

    /// This thread is busy with `key` until the result is dropped; `None` when some thread is.
    pub(crate) fn begin(&self, key: &[u8]) -> Option<Transition<'_>> {
        self.try_begin(key).then(|| Transition { transitions: self, key: key.into() })
    }

    /// This thread is busy with `key` until [`Transitions::end`]; `false` when some thread is.
    pub(crate) fn try_begin(&self, key: &[u8]) -> bool {
        let mut state = self.0.state.lock();
        if let Some(key) = state.keys.get_mut(key) {
            let may = key.thread.is_none();
            key.thread.get_or_insert_with(this_thread);
            return may;
        }
        let begun = KeyState { thread: Some(this_thread()), ..KeyState::default() };
        state.keys.insert(key.into(), begun);
        true
    }

    /// While a thread is busy with `key`, and until the requests that waited for it are served,
    /// `gate` is closed to requests.
    pub(crate) fn guard(&self, key: &[u8], gate: &Arc<Gate>) {
        if let Some(key) = self.0.state.lock().keys.get_mut(key) {
            gate.change(self.0.bit, 0);
            key.gate = Some(Arc::clone(gate));
        }
    }

    /// The thread that is busy with `key` leaves it to another one, which calls
    /// [`Transitions::take_over`].
    pub(crate) fn hand_over(&self, key: &[u8]) {
        self.note_busy(key, NO_THREAD);
    }

    /// This thread is busy with `key` from now on.
    pub(crate) fn take_over(&self, key: &[u8]) {
        self.note_busy(key, this_thread());
    }

    fn note_busy(&self, key: &[u8], thread: u64) {
        if let Some(key) = self.0.state.lock().keys.get_mut(key) {
            key.thread = Some(thread);
        }
    }

    /// No thread is busy with `key` any more.
    pub(crate) fn end(&self, key: &[u8]) {
        let has_line = {
            let mut state = self.0.state.lock();
            state.epoch += 1;
            let ended = state.keys.get_mut(key);
            let line = ended.and_then(|ended| {
                ended.thread = None;
                ended.line.as_ref()
            });
            match line {
                Some(line) => line.release(),
                None => self.0.forget(&mut state, key),
            }
            state.keys.contains_key(key)
        };
        if has_line {
            self.0.eased();
        }
        self.0.changed.wake_all();
    }

    /// Something that others may wait for has changed.
    pub(crate) fn note_change(&self) {
        {
            let mut state = self.0.state.lock();
            state.epoch += 1;
            // What a thread is busy with is not over.
            let idle = state.keys.values().filter(|key| key.thread.is_none());
            idle.filter_map(|key| key.line.as_ref()).for_each(HeldRequests::release);
        }
        self.0.eased();
        self.0.changed.wake_all();
    }

    /// Waits until something has changed since `epoch`. For threads of the application.
    pub(crate) fn wait(&self, epoch: u64) {
        let is_same = |state: &mut KeysState| state.epoch == epoch;
        drop(self.0.changed.wait_while(self.0.state.lock(), is_same));
    }

    /// Has `request` wait until something has changed for `key`; `false`: something has, since
    /// `epoch`.
    ///
    /// # Errors
    /// `TRANSIENT` (`COMPLETED_NO`) when the ORB shuts down.
    pub(crate) fn hold(
        &self,
        key: &[u8],
        epoch: u64,
        request: &mut ServerRequest<'_>,
    ) -> Result<bool, SystemException> {
        let mut state = self.0.state.lock();
        if state.epoch != epoch {
            return Ok(false);
        }
        self.0.put(&mut state, key, request).map(|()| true)
    }

    /// Has `request` wait while a thread is busy with `key`, and behind those of the same client
    /// that did; whether it waits.
    ///
    /// # Errors
    /// As [`Transitions::hold`].
    pub(crate) fn hold_while_busy(
        &self,
        key: &[u8],
        request: &mut ServerRequest<'_>,
    ) -> Result<bool, SystemException> {
        let mut state = self.0.state.lock();
        if state.keys.get(key).is_some_and(|key| key.thread.is_some()) {
            return self.0.put(&mut state, key, request).map(|()| true);
        }
        state.follow(key, false, request)
    }

    /// Has `request` wait behind those of the same client that wait for `key`, or, with `any`, for
    /// whatever key; whether it waits.
    ///
    /// # Errors
    /// As [`Transitions::hold`].
    pub(crate) fn follow(
        &self,
        key: &[u8],
        any: bool,
        request: &mut ServerRequest<'_>,
    ) -> Result<bool, SystemException> {
        self.0.state.lock().follow(key, any, request)
    }
}

impl Keys {
    /// Puts `request` into the line of `key`, which nothing leaves until the next change.
    fn put(
        &self,
        state: &mut KeysState,
        key: &[u8],
        request: &mut ServerRequest<'_>,
    ) -> Result<(), SystemException> {
        if let Some(gate) = self.gate.as_ref().filter(|gate| gate.bits() & self.bit == 0) {
            gate.change(self.bit, 0);
        }
        let waited_for = state.keys.entry(key.into()).or_default();
        let line = waited_for.line.get_or_insert_with(|| {
            let line = HeldRequests::new(request.orb(), Reason::ForServant);
            let watcher: Weak<dyn Watcher> = Weak::<Keys>::clone(&self.myself);
            line.set_watcher(watcher);
            line
        });
        line.keep();
        line.hold(request)
    }

    /// No thread is busy with `key`, and no request waits for it.
    fn forget(&self, state: &mut KeysState, key: &[u8]) {
        let forgotten = state.keys.remove(key);
        if let Some(gate) = forgotten.and_then(|key| key.gate) {
            gate.change(0, self.bit);
        }
    }
}

impl Watcher for Keys {
    /// Forgets the lines that have drained.
    fn eased(&self) {
        let mut state = self.state.lock();
        let is_over = |key: &KeyState| {
            key.thread.is_none() && key.line.as_ref().is_none_or(HeldRequests::is_settled)
        };
        let over: Vec<_> =
            state.keys.iter().filter(|(_, key)| is_over(key)).map(|(key, _)| key.clone()).collect();
        over.iter().for_each(|key| self.forget(&mut state, key));
        if let Some(gate) = self.gate.as_ref().filter(|gate| gate.bits() & self.bit != 0)
            && state.keys.values().all(|key| key.line.is_none())
        {
            gate.change(0, self.bit);
        }
    }
}

impl KeysState {
    fn follow(
        &self,
        key: &[u8],
        any: bool,
        request: &mut ServerRequest<'_>,
    ) -> Result<bool, SystemException> {
        let all = || self.keys.values().filter_map(|key| key.line.as_ref());
        if all().any(|line| line.gave(request)) {
            return Ok(false);
        }
        let own = self.keys.get(key).and_then(|key| key.line.as_ref());
        let before = own.into_iter().chain(all().filter(|_| any));
        match before.into_iter().find(|line| line.precedes(request)) {
            Some(line) => line.hold(request).map(|()| true),
            None => Ok(false),
        }
    }
}

/// See [`Transitions::begin`].
pub(crate) struct Transition<'t> {
    transitions: &'t Transitions,
    key: Box<[u8]>,
}

impl Drop for Transition<'_> {
    fn drop(&mut self) {
        self.transitions.end(&self.key);
    }
}
