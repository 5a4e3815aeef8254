//! The requests of one connection that wait for their reply, with what bounds them: how many there
//! may be, and until when each waits.
//!
//! Joins the pure `reply_table` to threads: one lock, held for a look-up. Whoever takes a request
//! out of here delivers its outcome, so each has one. Used by `connection/muxed`.

use crate::client::PendingRequest;
use crate::connection::reply_table::ReplyTable;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Buffers of arguments that are kept for later requests, and how large they may be.
const SPARE_BODIES: usize = 16_384;
const SPARE_BODY_OCTETS: usize = 256;
/// A thread that must not wait may have so many times the limit pending.
const OVERDRAFT: usize = 4;
/// Stands for "no deadline" in [`Pending::next_deadline`].
const NEVER: u64 = u64::MAX;

/// See the module.
pub(crate) struct Pending {
    /// Lock "pending".
    state: Mutex<State>,
    /// Threads wait here until fewer requests are pending.
    room: Condvar,
    requests_max: usize,
    /// What the times below count from.
    epoch: Instant,
    /// Nanoseconds to a time before which no request is over: a bound, not exact.
    next_deadline: AtomicU64,
}

#[derive(Default)]
struct State {
    table: ReplyTable<PendingRequest>,
    bodies: Vec<Vec<u8>>,
    is_closed: bool,
    waiters: u32,
    /// How many requests were put here so far.
    begun: u64,
}

/// A request that was put among the pending.
pub(crate) struct Begun {
    pub(crate) id: u32,
    /// How many were pending before.
    pub(crate) others: usize,
    /// Whether its time is over before that of all others.
    pub(crate) is_next_deadline: bool,
}

/// Why a request was not put among the pending.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NotBegun {
    /// The connection is closed.
    Closed,
    /// Too many are pending already.
    Full,
}

impl Pending {
    pub(crate) fn new(requests_max: usize) -> Self {
        Pending {
            state: Mutex::default(),
            room: Condvar::new(),
            requests_max,
            epoch: Instant::now(),
            next_deadline: AtomicU64::new(NEVER),
        }
    }

    /// How many are pending.
    pub(crate) fn len(&self) -> usize {
        self.lock().table.len()
    }

    /// Nanoseconds from this table's beginning to `time`.
    #[inline]
    pub(crate) fn nanoseconds(&self, time: Instant) -> u64 {
        let since = time.saturating_duration_since(self.epoch);
        u64::try_from(since.as_nanos()).unwrap_or(NEVER - 1)
    }

    /// Puts a request among the pending; `keep` copies its arguments, if they are to be kept, and
    /// says whether.
    /// `even_beyond`: as its thread cannot wait, it may exceed the limit.
    ///
    /// # Errors
    /// The request comes back.
    #[expect(clippy::result_large_err, reason = "the request goes back to where it came from")]
    pub(crate) fn begin(
        &self,
        mut request: PendingRequest,
        keep: impl Fn(&mut Vec<u8>) -> bool,
        even_beyond: bool,
        tell: impl FnOnce(u32),
    ) -> Result<Begun, (PendingRequest, NotBegun)> {
        let deadline = request.deadline.map_or(NEVER, |deadline| self.nanoseconds(deadline));
        let mut state = self.lock();
        if state.is_closed {
            return Err((request, NotBegun::Closed));
        }
        let others = state.table.len();
        let most = if even_beyond { self.requests_max * OVERDRAFT } else { self.requests_max };
        if others >= most {
            return Err((request, NotBegun::Full));
        }
        let mut kept = state.bodies.pop().unwrap_or_default();
        if keep(&mut kept) {
            request.body.octets = Some(kept);
        } else if kept.capacity() > 0 {
            state.bodies.push(kept);
        }
        state.begun += 1;
        request.number = state.begun;
        let id = match state.table.insert(request) {
            Ok(id) => id,
            Err(request) => return Err((request, NotBegun::Full)),
        };
        tell(id);
        let is_next_deadline = deadline < self.next_deadline.load(Ordering::Relaxed);
        if is_next_deadline {
            self.next_deadline.store(deadline, Ordering::Relaxed);
        }
        Ok(Begun { id, others, is_next_deadline })
    }

    /// Waits until half of the places are free, the connection is closed (`true`), or `deadline`
    /// has passed (`false`).
    pub(crate) fn wait_for_room(&self, deadline: Option<Instant>) -> bool {
        let mut state = self.lock();
        state.waiters += 1;
        let full =
            |state: &mut State| !state.is_closed && state.table.len() > self.requests_max / 2;
        let (mut state, has_room) = match deadline {
            None => {
                (self.room.wait_while(state, full).unwrap_or_else(PoisonError::into_inner), true)
            }
            Some(deadline) => {
                let left = deadline.saturating_duration_since(Instant::now());
                let waited = self.room.wait_timeout_while(state, left, full);
                let (state, timeout) = waited.unwrap_or_else(PoisonError::into_inner);
                (state, !timeout.timed_out())
            }
        };
        state.waiters -= 1;
        has_room
    }

    /// Whether there is room for a thread that waited.
    pub(crate) fn has_room(&self) -> bool {
        let state = self.lock();
        state.is_closed || state.table.len() <= self.requests_max / 2
    }

    /// The reply to `id` has come: takes out the request that waited for it. Its arguments are
    /// kept only where it may have to be sent again.
    #[inline]
    pub(crate) fn take(&self, id: u32, may_be_sent_again: bool) -> Option<PendingRequest> {
        let mut state = self.lock();
        let mut request = state.table.take(id)?;
        if !may_be_sent_again && let Some(mut octets) = request.body.octets.take() {
            octets.clear();
            if state.bodies.len() < SPARE_BODIES && octets.capacity() <= SPARE_BODY_OCTETS {
                state.bodies.push(octets);
            }
        }
        self.tell_waiters(&state);
        Some(request)
    }

    /// Nobody waits for `id` any more; its reply may still come.
    pub(crate) fn abandon(&self, id: u32) -> Option<PendingRequest> {
        let mut state = self.lock();
        let request = state.table.abandon(id);
        self.tell_waiters(&state);
        request
    }

    #[inline]
    fn tell_waiters(&self, state: &State) {
        if state.waiters > 0 && state.table.len() <= self.requests_max / 2 {
            self.room.notify_all();
        }
    }

    /// When the next request may be over.
    pub(crate) fn next_deadline(&self) -> Option<Instant> {
        match self.next_deadline.load(Ordering::Relaxed) {
            NEVER => None,
            nanoseconds => self.epoch.checked_add(Duration::from_nanos(nanoseconds)),
        }
    }

    /// Takes out the requests whose time is over at `now`. Their replies may still come.
    pub(crate) fn take_expired(&self, now: Instant) -> Vec<(u32, PendingRequest)> {
        if self.next_deadline().is_none_or(|next| next > now) {
            return Vec::new();
        }
        let mut state = self.lock();
        let mut next = NEVER;
        let mut expired = Vec::new();
        for (id, request) in state.table.iter() {
            match request.deadline {
                Some(deadline) if deadline <= now => expired.push(id),
                Some(deadline) => next = next.min(self.nanoseconds(deadline)),
                None => {}
            }
        }
        self.next_deadline.store(next, Ordering::Relaxed);
        let mut take = |id| Some((id, state.table.abandon(id)?));
        let mut taken: Vec<(u32, PendingRequest)> =
            expired.into_iter().filter_map(&mut take).collect();
        // Threads that wait learn it first: upcalls may take their time.
        taken.sort_by_key(|(_, request)| request.call.sink.as_waiting().is_none());
        self.tell_waiters(&state);
        taken
    }

    /// The time that is so many nanoseconds after this table's beginning.
    pub(crate) fn time(&self, nanoseconds: u64) -> Instant {
        self.epoch.checked_add(Duration::from_nanos(nanoseconds)).unwrap_or(self.epoch)
    }

    /// Takes no request any more, unless one is pending; whether that is so now.
    pub(crate) fn close_if_empty(&self) -> bool {
        let mut state = self.lock();
        state.is_closed |= state.table.is_empty();
        state.is_closed
    }

    /// No request is taken any more, and no reply will come; those that waited.
    pub(crate) fn close(&self) -> Vec<PendingRequest> {
        let mut state = self.lock();
        state.is_closed = true;
        state.bodies = Vec::new();
        self.next_deadline.store(NEVER, Ordering::Relaxed);
        let mut waited = state.table.take_all();
        // Those that are sent again keep their order; slots have none.
        // And threads that wait learn it first: upcalls may take their time.
        let makes_upcall = |r: &PendingRequest| r.call.sink.as_waiting().is_none();
        waited.sort_by_key(|request| (makes_upcall(request), request.number));
        self.room.notify_all();
        waited
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
