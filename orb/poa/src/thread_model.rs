//! Which thread may be inside servants of a POA, and how many at once (`ThreadPolicy`,
//! CORBA 3.3 P1 §15.3.8.1). Servant managers and adapter activators count as servants here.
//!
//! `ORB_CTRL_MODEL` costs nothing. With the other two the gate of the POA is never quite open, and
//! a request takes a [`Turn`] before its upcall, or waits for it in a queue: no thread waits, so an
//! event loop goes on, and the thread that ends a turn has the next request served. What is not a
//! request (etherealisation) waits for the turn as an [`Errand`], which the thread that ends the
//! turn runs.

use crate::closed;
use crate::policies::ThreadModel;
use corbie_core::Orb;
use corbie_core::server::ServerRequest;
use corbie_core::server::held::{HeldRequests, Reason, Watcher};
use corbie_threads::lock::{Ranked, Signal, rank};
use corbie_types::SystemException;
use corbie_upcall::Gate;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Weak};
use std::thread::ThreadId;

/// How the upcalls of one POA take turns.
pub(crate) enum Turns {
    /// Not at all.
    OrbControl,
    /// One at a time.
    SingleThread(Arc<OneAtATime>),
    /// On the main thread.
    MainThread(Orb),
}

/// At most one upcall at a time, but for those that an upcall causes on its own thread.
pub(crate) struct OneAtATime {
    held: HeldRequests,
    state: Ranked<rank::Poa, TurnState>,
    /// Signalled when the turn ends while threads wait for it.
    ended: Signal,
}

/// An upcall that no request causes, and that waits for its turn.
type Errand = Box<dyn FnOnce() + Send>;

#[derive(Default)]
struct TurnState {
    owner: Option<Owner>,
    errands: VecDeque<Errand>,
    /// Threads in [`OneAtATime::wait`].
    waiting: u32,
}

struct Owner {
    thread: ThreadId,
    /// Upcalls, each but the first nested in the one before.
    upcalls: u32,
}

impl Turns {
    /// Closes `gate` as far as the model needs it.
    pub(crate) fn new(orb: &Orb, model: ThreadModel, gate: &Gate) -> Self {
        if model != ThreadModel::OrbControl {
            gate.change(closed::SERIALISED, 0);
        }
        match model {
            ThreadModel::OrbControl => Turns::OrbControl,
            ThreadModel::MainThread => Turns::MainThread(orb.clone()),
            ThreadModel::SingleThread => {
                let held = HeldRequests::new(orb, Reason::ForTurn);
                let (state, ended) = (Ranked::default(), Signal::new());
                let turns = Arc::new(OneAtATime { held, state, ended });
                let watcher: Weak<dyn Watcher> = Arc::<OneAtATime>::downgrade(&turns);
                turns.held.set_watcher(watcher);
                Turns::SingleThread(turns)
            }
        }
    }

    /// A turn for the upcall of `request` on this thread; `None`: the request was taken away, and
    /// comes back when it is its turn.
    ///
    /// # Errors
    /// `TRANSIENT` (`COMPLETED_NO`) when the ORB shuts down.
    pub(crate) fn take(
        &self,
        request: &mut ServerRequest<'_>,
    ) -> Result<Option<Turn<'_>>, SystemException> {
        match self {
            Turns::OrbControl => Ok(Some(Turn(None))),
            Turns::SingleThread(turns) => turns.take(request),
            Turns::MainThread(orb) => {
                let held = orb.held_for_main_thread();
                let is_overtaking = || !held.gave(request) && held.precedes(request);
                if orb.is_main_thread() && !is_overtaking() {
                    return Ok(Some(Turn(None)));
                }
                held.hold(request)?;
                Ok(None)
            }
        }
    }

    /// A turn for a call of this process, if it may be made on this thread now.
    pub(crate) fn take_at_once(&self) -> Option<Turn<'_>> {
        match self {
            Turns::OrbControl => Some(Turn(None)),
            Turns::SingleThread(turns) => turns.take_at_once(),
            Turns::MainThread(orb) => orb.is_main_thread().then_some(Turn(None)),
        }
    }
}

impl Turns {
    /// Waits for a turn of this thread, for an upcall that the thread makes for itself: it asks an
    /// adapter activator. With a main thread, the asking thread makes the upcall.
    pub(crate) fn wait(&self) -> Turn<'_> {
        match self {
            Turns::OrbControl | Turns::MainThread(_) => Turn(None),
            Turns::SingleThread(turns) => turns.wait(),
        }
    }

    /// Runs `errand` in a turn: in this thread, or in the one that ends the upcall under way.
    pub(crate) fn run(&self, errand: impl FnOnce() + Send + 'static) {
        match self {
            Turns::OrbControl | Turns::MainThread(_) => errand(),
            Turns::SingleThread(turns) => turns.run(Box::new(errand)),
        }
    }
}

impl OneAtATime {
    fn wait(&self) -> Turn<'_> {
        let mut state = self.state.lock();
        loop {
            if let Some(turn) = self.begin(&mut state.owner, true) {
                return turn;
            }
            state.waiting += 1;
            state = self.ended.wait(state);
            state.waiting -= 1;
        }
    }

    fn run(&self, errand: Errand) {
        let mut state = self.state.lock();
        let Some(_turn) = self.begin(&mut state.owner, true) else {
            return state.errands.push_back(errand);
        };
        drop(state);
        errand();
    }

    fn take(&self, request: &mut ServerRequest<'_>) -> Result<Option<Turn<'_>>, SystemException> {
        let mut state = self.state.lock();
        // Requests that have waited go first.
        let may_begin = self.held.gave(request) || self.held.is_settled();
        if let Some(turn) = self.begin(&mut state.owner, may_begin) {
            return Ok(Some(turn));
        }
        self.held.hold(request)?;
        if state.owner.is_none() {
            self.held.release();
        }
        Ok(None)
    }

    fn take_at_once(&self) -> Option<Turn<'_>> {
        let mut state = self.state.lock();
        self.begin(&mut state.owner, self.held.is_settled())
    }

    /// `may_begin`: unless another thread has the turn.
    fn begin(&self, owner: &mut Option<Owner>, may_begin: bool) -> Option<Turn<'_>> {
        let thread = std::thread::current().id();
        match owner {
            Some(owner) if owner.thread == thread => owner.upcalls += 1,
            None if may_begin => *owner = Some(Owner { thread, upcalls: 1 }),
            _ => return None,
        }
        Some(Turn(Some(self)))
    }
}

impl Watcher for OneAtATime {
    fn eased(&self) {
        let state = self.state.lock();
        if state.owner.is_none() {
            self.held.release();
        }
    }
}

/// The turn of one upcall, until dropped.
pub(crate) struct Turn<'t>(Option<&'t OneAtATime>);

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        let Some(turns) = self.0 else { return };
        while let Some(errand) = turns.end() {
            // The thread may be unwinding already.
            if catch_unwind(AssertUnwindSafe(errand)).is_err() {
                tracing::error!("what ended an object panicked");
            }
        }
    }
}

impl OneAtATime {
    /// Ends one upcall of the thread that has the turn; or gives what is to be run first.
    fn end(&self) -> Option<Errand> {
        let mut state = self.state.lock();
        let owner = state.owner.as_mut()?;
        if owner.upcalls > 1 {
            owner.upcalls -= 1;
            return None;
        }
        if let Some(errand) = state.errands.pop_front() {
            return Some(errand);
        }
        state.owner = None;
        self.held.release();
        if state.waiting > 0 {
            self.ended.wake_all();
        }
        None
    }
}
