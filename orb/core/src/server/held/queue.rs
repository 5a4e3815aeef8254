//! One queue of held requests: of a POA manager, of a POA that serves one request at a time, or of
//! the main thread.
//!
//! The object adapter fills and releases it; `runner` empties it. Requests leave in the order in
//! which they came. A request counts as being in flight until it can no longer be overtaken, so
//! that the owner knows when it may let later requests pass by the queue again.

use super::HeldRequest;
use super::request::given_up;
use super::runner::Registered;
use crate::Orb;
use crate::handles::OrbInner;
use crate::server::ServerRequest;
use corbie_threads::lock::{Guard, Ranked, rank};
use corbie_types::SystemException;
use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering, fence};
use std::sync::{Arc, OnceLock, Weak};

/// Why requests of a queue wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// A POA manager holds them. Beyond `held_requests_max` and `held_octets_max` they are refused.
    UntilActive,
    /// Another upcall is under way, and one at a time is allowed. None is refused: connections with
    /// too many of them are not read for a while, as with deferred responses.
    ForTurn,
    /// As [`Reason::ForTurn`], and only the main thread makes the upcall.
    ForMainThread,
    /// A servant or its POA is being made, or being ended. None is refused, as with
    /// [`Reason::ForTurn`]; all may be served at once then.
    ForServant,
}

/// What is told of a queue.
pub trait Watcher: Send + Sync {
    /// A request of the queue is done with, or nothing is in the queue or in flight any more. No
    /// lock of the queue is held.
    fn eased(&self);
}

/// Requests that wait. Clones are the same queue.
#[derive(Clone)]
pub struct HeldRequests(pub(super) Arc<Shared>);

pub(crate) struct Shared {
    /// Names the queue: requests that were taken from it carry it.
    id: u64,
    pub(super) orb: Weak<OrbInner>,
    pub(super) reason: Reason,
    watcher: OnceLock<Weak<dyn Watcher>>,
    state: Ranked<rank::HeldLine, State>,
    /// Where the queue is a source.
    pub(super) registered: Ranked<rank::HeldLine, Option<Registered>>,
}

#[derive(Default)]
pub(super) struct State {
    queue: VecDeque<HeldRequest>,
    /// Whether requests may be taken out.
    is_released: bool,
    /// Whether none may be taken out until the last one that was has gone on.
    is_exclusive: bool,
    in_flight: u32,
    /// Requests in the queue or in flight, by connection.
    of_connection: HashMap<u64, u32>,
    /// Threads of the queue, where connections have threads of their own.
    pub(super) threads: u32,
    /// Whether one of them looks for the next request, or serves one that nothing may overtake.
    pub(super) has_looker: bool,
}

static NEXT_ID: AtomicU64 = AtomicU64::new(1);

impl HeldRequests {
    /// An empty queue of `orb`; nothing leaves it before [`HeldRequests::release`].
    #[must_use]
    pub fn new(orb: &Orb, reason: Reason) -> Self {
        let shared = Arc::new(Shared {
            id: NEXT_ID.fetch_add(1, Ordering::Relaxed),
            orb: orb.downgrade(),
            reason,
            watcher: OnceLock::new(),
            state: Ranked::default(),
            registered: Ranked::default(),
        });
        orb.server().held_queues.add(&shared);
        HeldRequests(shared)
    }

    /// Sets the watcher that is told when the queue eases. The first call counts.
    pub fn set_watcher(&self, watcher: Weak<dyn Watcher>) {
        let _ = self.0.watcher.set(watcher);
    }

    /// Puts `request` in: its caller returns at once, with nothing more to do for it. A request
    /// that was taken from this queue goes back to its head.
    ///
    /// # Errors
    /// `TRANSIENT` with minor code 1 (`COMPLETED_NO`) when as much is held as the limits allow, or
    /// the ORB shuts down.
    pub fn hold(&self, request: &mut ServerRequest<'_>) -> Result<(), SystemException> {
        let is_back = self.gave(request);
        let held = request.hold(self.0.reason)?;
        self.0.put(held, is_back);
        Ok(())
    }

    /// Whether `request` was taken from this queue.
    #[must_use]
    pub fn gave(&self, request: &ServerRequest<'_>) -> bool {
        request.held_by() == Some(self.0.id)
    }

    /// Whether a request of the same connection waits here or was taken out and may still be
    /// overtaken. (Calls of this process are one connection.)
    #[must_use]
    pub fn precedes(&self, request: &ServerRequest<'_>) -> bool {
        self.0.lock().of_connection.contains_key(&request.connection_id())
    }

    /// Whether nothing waits and nothing is in flight.
    #[must_use]
    pub fn is_settled(&self) -> bool {
        let state = self.0.lock();
        state.queue.is_empty() && state.in_flight == 0
    }

    /// How many wait.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.lock().queue.len()
    }

    /// Whether none waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Has the requests served: all of them, or the next one where they wait for their turn.
    pub fn release(&self) {
        self.0.lock().is_released = true;
        self.0.wake();
    }

    /// No more requests are taken out.
    pub fn keep(&self) {
        self.0.lock().is_released = false;
    }

    /// Answers all requests with `exception`.
    pub fn refuse(&self, exception: &SystemException) {
        self.0.refuse(exception);
    }
}

impl Shared {
    pub(super) fn lock(&self) -> Guard<'_, rank::HeldLine, State> {
        self.state.lock()
    }

    fn put(self: &Arc<Self>, mut held: HeldRequest, at_head: bool) {
        held.queue = self.id;
        {
            let mut state = self.lock();
            *state.of_connection.entry(held.connection_id()).or_insert(0) += 1;
            if at_head {
                state.queue.push_front(held);
            } else {
                state.queue.push_back(held);
            }
        }
        // The end of the ORB refuses what it finds here; what came after that is refused by the
        // thread that put it in.
        let is_over = |orb: Orb| orb.server().held_queues.are_given_up.load(Ordering::Acquire);
        if self.orb().is_none_or(is_over) {
            return self.refuse(&given_up());
        }
        self.wake();
    }

    pub(super) fn refuse(&self, exception: &SystemException) {
        let refused = {
            let mut state = self.lock();
            let refused = std::mem::take(&mut state.queue);
            refused.iter().for_each(|held| state.forget(held.connection_id()));
            refused
        };
        refused.into_iter().for_each(|held| held.refuse(exception));
        self.tell_watcher();
    }

    /// Drops requests whose clients have gone.
    pub(super) fn drop_orphans(&self) {
        let orphans: Vec<HeldRequest> = {
            let mut state = self.lock();
            if !state.queue.iter().any(HeldRequest::is_orphan) {
                return;
            }
            let (orphans, rest): (VecDeque<_>, _) =
                std::mem::take(&mut state.queue).into_iter().partition(HeldRequest::is_orphan);
            state.queue = rest;
            orphans.iter().for_each(|held| state.forget(held.connection_id()));
            orphans.into()
        };
        drop(orphans);
        self.tell_watcher();
    }

    /// Whether [`Shared::take`] might give something.
    pub(super) fn has_next(&self) -> bool {
        self.lock().has_next()
    }

    /// Takes the next request out, whose connection may be sent replies. It is in flight until the
    /// second value is dropped.
    pub(super) fn take(self: &Arc<Self>) -> Option<(HeldRequest, Flight)> {
        let mut state = self.lock();
        if !state.has_next() {
            return None;
        }
        let with_room = |state: &State| state.queue.iter().position(HeldRequest::has_room);
        let next = with_room(&state).or_else(|| {
            self.wait_for_room();
            // A peer that has taken octets meanwhile did not see that anything waits for it.
            with_room(&state)
        });
        let held = state.queue.remove(next?)?;
        state.in_flight += 1;
        state.is_exclusive = true;
        if self.reason == Reason::ForTurn {
            state.is_released = false;
        }
        let flight = Flight { queue: Arc::clone(self), connection: held.connection_id() };
        Some((held, flight))
    }

    /// All clients of those that wait do not take their replies.
    #[cold]
    fn wait_for_room(&self) {
        if let Some(orb) = self.orb() {
            orb.server().held_queues.wait_for_room.store(true, Ordering::SeqCst);
            fence(Ordering::SeqCst);
        }
    }

    fn tell_watcher(&self) {
        if let Some(watcher) = self.watcher.get().and_then(Weak::upgrade) {
            watcher.eased();
        }
    }

    pub(super) fn orb(&self) -> Option<Orb> {
        Orb::upgrade(&self.orb)
    }
}

impl State {
    pub(super) fn has_next(&self) -> bool {
        self.is_released && !self.is_exclusive && !self.queue.is_empty()
    }

    fn forget(&mut self, connection: u64) {
        if let Some(count) = self.of_connection.get_mut(&connection) {
            *count -= 1;
            if *count == 0 {
                self.of_connection.remove(&connection);
            }
        }
    }
}

/// A request that was taken out and may still be overtaken, until dropped.
pub(crate) struct Flight {
    queue: Arc<Shared>,
    connection: u64,
}

impl Flight {
    pub(super) fn queue(&self) -> &Arc<Shared> {
        &self.queue
    }
}

impl Drop for Flight {
    fn drop(&mut self) {
        {
            let mut state = self.queue.lock();
            state.in_flight -= 1;
            state.is_exclusive = false;
            state.has_looker = false;
            state.forget(self.connection);
        }
        self.queue.tell_watcher();
        self.queue.wake();
    }
}

impl fmt::Debug for HeldRequests {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.0.lock();
        f.debug_struct("HeldRequests")
            .field("reason", &self.0.reason)
            .field("waiting", &state.queue.len())
            .field("is_released", &state.is_released)
            .finish_non_exhaustive()
    }
}
