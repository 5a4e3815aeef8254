//! The requests of one connection that wait for their reply, with what bounds them: how many there
//! may be, and until when each waits.
//!
//! Joins the pure `ReplyTable` of GIOP to threads: one lock, held for a look-up. The thread that
//! takes a request out of here delivers its outcome, so each has one. Used by `connection/muxed`.

use crate::client::AwaitedCall;
use corbie_giop::{Begun, NotBegun, Replied, ReplyTable};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Buffers of arguments that are kept for later requests, and how large they may be.
const SPARE_BODIES: usize = 16_384;
const SPARE_BODY_OCTETS: usize = 256;
/// A thread that must not wait may have so many times the limit pending.
const OVERDRAFT: usize = 4;
/// Stands for "no deadline" in [`Pending::next_deadline`].
const NEVER: u64 = ReplyTable::<AwaitedCall>::NEVER;

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
    table: ReplyTable<AwaitedCall>,
    bodies: Vec<Vec<u8>>,
    waiters: u32,
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
        mut request: AwaitedCall,
        keep: impl Fn(&mut Vec<u8>) -> bool,
        even_beyond: bool,
        tell: impl FnOnce(u32),
    ) -> Result<Begun, (AwaitedCall, NotBegun)> {
        let deadline = request.deadline().map_or(NEVER, |deadline| self.nanoseconds(deadline));
        let mut state = self.lock();
        let most = if even_beyond { self.requests_max * OVERDRAFT } else { self.requests_max };
        if let Err(reason) = state.table.admits(most) {
            return Err((request, reason));
        }
        let mut kept = state.bodies.pop().unwrap_or_default();
        if keep(&mut kept) {
            request.kept.octets = Some(kept);
        } else if kept.capacity() > 0 {
            state.bodies.push(kept);
        }
        let begun = state.table.begin(request, deadline, most)?;
        tell(begun.id);
        if begun.is_next_deadline {
            self.next_deadline.store(deadline, Ordering::Relaxed);
        }
        Ok(begun)
    }

    /// Waits until half of the places are free, the connection is closed (`true`), or `deadline`
    /// has passed (`false`).
    pub(crate) fn wait_for_room(&self, deadline: Option<Instant>) -> bool {
        let mut state = self.lock();
        state.waiters += 1;
        let full = |state: &mut State| {
            !state.table.is_closed() && state.table.len() > self.requests_max / 2
        };
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
        state.table.is_closed() || state.table.len() <= self.requests_max / 2
    }

    /// The reply to `id` has come: takes out the request that waited for it. Its arguments are
    /// kept only where it may have to be sent again.
    #[inline]
    pub(crate) fn take(&self, id: u32, may_be_sent_again: bool) -> Replied<AwaitedCall> {
        let mut state = self.lock();
        let mut replied = state.table.replied(id);
        if let Replied::To(request) = &mut replied {
            if !may_be_sent_again && let Some(mut octets) = request.kept.octets.take() {
                octets.clear();
                if state.bodies.len() < SPARE_BODIES && octets.capacity() <= SPARE_BODY_OCTETS {
                    state.bodies.push(octets);
                }
            }
            self.tell_waiters(&state);
        }
        replied
    }

    /// Takes out a request that was not sent.
    pub(crate) fn withdraw(&self, id: u32) -> Option<AwaitedCall> {
        let mut state = self.lock();
        let request = state.table.withdraw(id);
        self.tell_waiters(&state);
        request
    }

    /// Takes out a request that is given up; its reply may still come.
    pub(crate) fn abandon(&self, id: u32) -> Option<AwaitedCall> {
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
    pub(crate) fn take_expired(&self, now: Instant) -> Vec<(u32, AwaitedCall)> {
        if self.next_deadline().is_none_or(|next| next > now) {
            return Vec::new();
        }
        let mut state = self.lock();
        let mut taken = state.table.expire(self.nanoseconds(now));
        self.next_deadline.store(state.table.next_deadline(), Ordering::Relaxed);
        // Threads that wait learn it first: upcalls may take their time.
        taken.sort_by_key(|(_, request)| request.sink.as_slot().is_none());
        self.tell_waiters(&state);
        taken
    }

    /// The time that is so many nanoseconds after this table's beginning.
    pub(crate) fn time(&self, nanoseconds: u64) -> Instant {
        self.epoch.checked_add(Duration::from_nanos(nanoseconds)).unwrap_or(self.epoch)
    }

    /// Takes no request any more, unless one is pending; whether that is so now.
    pub(crate) fn close_if_empty(&self) -> bool {
        self.lock().table.close_if_empty()
    }

    /// No request is taken any more, and no reply will come; those that waited, in the order in
    /// which they were sent, threads that wait first: upcalls may take their time.
    pub(crate) fn close(&self) -> Vec<AwaitedCall> {
        let mut state = self.lock();
        state.bodies = Vec::new();
        self.next_deadline.store(NEVER, Ordering::Relaxed);
        let mut waited = state.table.close();
        waited.sort_by_key(|request| request.sink.as_slot().is_none());
        self.room.notify_all();
        waited
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
