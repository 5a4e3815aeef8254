//! Which thread may be inside servants of a POA, and how many at once (`ThreadPolicy`,
//! CORBA 3.3 P1 §15.3.8.1).
//!
//! `ORB_CTRL_MODEL` costs nothing. With the other two the gate of the POA is never quite open, and
//! a request takes a [`Turn`] before its upcall, or waits for it in a queue: no thread waits, so an
//! event loop goes on, and the thread that ends a turn has the next request served.

use crate::closed;
use crate::policies::ThreadModel;
use corbie_core::Orb;
use corbie_core::server::ServerRequest;
use corbie_core::server::held::{HeldRequests, Reason, Watcher};
use corbie_threads::lock::{Ranked, rank};
use corbie_types::SystemException;
use corbie_upcall::Gate;
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
    owner: Ranked<rank::Poa, Option<Owner>>,
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
                let turns = Arc::new(OneAtATime { held, owner: Ranked::default() });
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

impl OneAtATime {
    fn take(&self, request: &mut ServerRequest<'_>) -> Result<Option<Turn<'_>>, SystemException> {
        let mut owner = self.owner.lock();
        // Requests that have waited go first.
        let may_begin = self.held.gave(request) || self.held.is_settled();
        if let Some(turn) = self.begin(&mut owner, may_begin) {
            return Ok(Some(turn));
        }
        self.held.hold(request)?;
        if owner.is_none() {
            self.held.release();
        }
        Ok(None)
    }

    fn take_at_once(&self) -> Option<Turn<'_>> {
        let mut owner = self.owner.lock();
        self.begin(&mut owner, self.held.is_settled())
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
        let owner = self.owner.lock();
        if owner.is_none() {
            self.held.release();
        }
    }
}

/// The turn of one upcall, until dropped.
pub(crate) struct Turn<'t>(Option<&'t OneAtATime>);

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        let Some(turns) = self.0 else { return };
        let mut owner = turns.owner.lock();
        if let Some(inside) = &mut *owner {
            inside.upcalls -= 1;
            if inside.upcalls == 0 {
                *owner = None;
                turns.held.release();
            }
        }
    }
}
