//! The requests of one connection that wait for their reply, with what bounds them: how many there
//! may be, and until when each waits.
//!
//! Joins the pure [`ReplyTable`] of GIOP to threads: one lock, held for a look-up. The thread that
//! takes a request out of here delivers its outcome, so each has one.

use super::Call;
use corbie_cdr::budget::{Account, Draw, Waiting};
use corbie_giop::{Begun, NotBegun, Replied, ReplyTable, RequestIds};
use corbie_threads::lock::{Guard, Ranked, Signal, rank};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Buffers of arguments that are kept for later requests, and how large they may be.
const SPARE_BODIES: usize = 16_384;
const SPARE_BODY_OCTETS: usize = 256;
/// A thread that must not wait may have so many times the limit pending.
const OVERDRAFT: usize = 4;
/// What a request takes beside its arguments, about.
const REQUEST_OCTETS: usize = 300;
/// Two requests less than this apart (nanoseconds) follow each other closely: more may come.
const BURST_GAP: u64 = 20_000;
/// Stands for "no deadline".
const NEVER: u64 = ReplyTable::<()>::NEVER;

/// See the module.
pub(super) struct Replies<C> {
    state: Ranked<rank::ReplyTable, Pending<C>>,
    /// Threads wait here until fewer requests are pending.
    room: Signal,
}

struct Pending<C> {
    table: ReplyTable<Asked<C>>,
    bodies: Vec<Vec<u8>>,
    waiters: u32,
    requests_max: usize,
    /// Octets of arguments that are kept with requests.
    kept: usize,
    /// What all of it takes of the memory budget.
    draw: Draw<Waiting>,
    /// What times count from.
    epoch: Instant,
    /// When the last request was put.
    last_request: u64,
    /// Requests sent of which no reply says that their upcall is over.
    oneways: u64,
    /// How many of them were before a request that was answered.
    oneways_confirmed: u64,
}

struct Asked<C> {
    call: C,
    /// How many requests without an end of their own were sent before it.
    oneways_before: u64,
}

impl<C: Call> Pending<C> {
    /// A request with so many octets of arguments was taken out.
    #[inline]
    fn give_back(&mut self, octets: usize) {
        self.kept = self.kept.saturating_sub(octets);
        // Less never fails.
        let _ = self.draw();
    }

    /// Draws what all requests take.
    #[inline]
    fn draw(&mut self) -> Result<(), NotBegun> {
        let octets = self.table.len() * REQUEST_OCTETS + self.kept;
        self.draw.resize(octets).map_err(|_| NotBegun::NoMemory)
    }
}

impl<C> Pending<C> {
    fn nanoseconds(&self, time: Instant) -> u64 {
        let since = time.saturating_duration_since(self.epoch);
        u64::try_from(since.as_nanos()).unwrap_or(NEVER - 1)
    }

    fn time(&self, nanoseconds: u64) -> Instant {
        self.epoch.checked_add(Duration::from_nanos(nanoseconds)).unwrap_or(self.epoch)
    }

    fn has_room(&self) -> bool {
        self.table.is_closed() || self.table.len() <= self.requests_max / 2
    }

    /// A request is put `now`; whether it follows another one closely.
    fn note_request(&mut self, now: Instant) -> bool {
        let now = self.nanoseconds(now);
        now.saturating_sub(std::mem::replace(&mut self.last_request, now)) < BURST_GAP
    }
}

impl<C: Call> Replies<C> {
    pub(super) fn new(ids: RequestIds, requests_max: usize, account: &Arc<Account>) -> Self {
        let state = Pending {
            table: ReplyTable::new(ids),
            bodies: Vec::new(),
            waiters: 0,
            requests_max,
            kept: 0,
            draw: Draw::of(account),
            epoch: Instant::now(),
            last_request: 0,
            oneways: 0,
            oneways_confirmed: 0,
        };
        Replies { state: Ranked::new(state), room: Signal::new() }
    }

    /// How many are pending.
    pub(super) fn len(&self) -> usize {
        self.state.lock().table.len()
    }

    /// Puts a request of a call that begins `now` among the pending; `keep` copies its arguments,
    /// if they are to be kept, and says whether. `even_beyond`: as its thread cannot wait, it may
    /// exceed the limit. `tell` is told its id. Also whether it follows another closely.
    ///
    /// # Errors
    /// The request comes back.
    pub(super) fn begin(
        &self,
        mut call: C,
        now: Instant,
        keep: impl Fn(&mut Vec<u8>) -> bool,
        even_beyond: bool,
        tell: impl FnOnce(u32),
    ) -> Result<(Begun, bool), (C, NotBegun)> {
        let mut state = self.state.lock();
        let deadline = call.deadline().map_or(NEVER, |deadline| state.nanoseconds(deadline));
        let most = state.requests_max * if even_beyond { OVERDRAFT } else { 1 };
        if let Err(reason) = state.table.admits(most) {
            return Err((call, reason));
        }
        let mut kept = state.bodies.pop().unwrap_or_default();
        if keep(&mut kept) {
            call.keep(kept);
        } else if kept.capacity() > 0 {
            state.bodies.push(kept);
        }
        state.kept += call.octets();
        if let Err(reason) = state.draw() {
            let octets = call.octets();
            state.give_back(octets);
            return Err((call, reason));
        }
        let asked = Asked { call, oneways_before: state.oneways };
        let begun = state.table.begin(asked, deadline, most);
        let begun = begun.map_err(|(asked, reason)| (asked.call, reason))?;
        tell(begun.id);
        Ok((begun, state.note_request(now)))
    }

    /// A request without a reply is put `now`; whether it follows another one closely.
    pub(super) fn note_request(&self, now: Instant) -> bool {
        self.state.lock().note_request(now)
    }

    /// A request was put of which no reply will say that its upcall is over. To be called after
    /// that: a request that counts fewer is behind them.
    pub(super) fn note_oneway(&self) {
        self.state.lock().oneways += 1;
    }

    /// Whether requests are on their way that nothing sent elsewhere may overtake.
    pub(super) fn are_in_use(&self) -> bool {
        let state = self.state.lock();
        !state.table.is_empty() || state.oneways_confirmed != state.oneways
    }

    /// When the last request was put, if none waits.
    pub(super) fn idle_since(&self) -> Option<Instant> {
        let state = self.state.lock();
        state.table.is_empty().then(|| state.time(state.last_request))
    }

    /// Waits until half of the places are free, the connection is closed (`true`), or `deadline`
    /// has passed (`false`).
    pub(super) fn wait_for_room(&self, deadline: Option<Instant>) -> bool {
        let mut state = self.state.lock();
        state.waiters += 1;
        let full = |state: &mut Pending<C>| !state.has_room();
        let mut state = self.room.wait_while_until(state, deadline, full);
        state.waiters -= 1;
        state.has_room()
    }

    /// Whether there is room for a thread that waited.
    pub(super) fn have_room(&self) -> bool {
        self.state.lock().has_room()
    }

    /// The reply to `id` has come: takes out the request that waited for it. Its arguments are
    /// kept only where it may have to be sent again.
    #[inline]
    pub(super) fn take(&self, id: u32, may_be_sent_again: bool) -> Replied<C> {
        let mut state = self.state.lock();
        let Asked { mut call, oneways_before } = match state.table.replied(id) {
            Replied::To(asked) => asked,
            Replied::Late => return Replied::Late,
            Replied::Unasked => return Replied::Unasked,
        };
        state.oneways_confirmed = state.oneways_confirmed.max(oneways_before);
        state.give_back(call.octets());
        if !may_be_sent_again && let Some(mut octets) = call.take_kept() {
            octets.clear();
            if state.bodies.len() < SPARE_BODIES && octets.capacity() <= SPARE_BODY_OCTETS {
                state.bodies.push(octets);
            }
        }
        self.tell_waiters(&state);
        Replied::To(call)
    }

    /// Takes out a request that was not sent.
    pub(super) fn withdraw(&self, id: u32) -> Option<C> {
        let mut state = self.state.lock();
        let asked = state.table.withdraw(id)?;
        state.give_back(asked.call.octets());
        self.tell_waiters(&state);
        Some(asked.call)
    }

    /// Takes out a request that is given up; its reply may still come.
    pub(super) fn abandon(&self, id: u32) -> Option<C> {
        let mut state = self.state.lock();
        let asked = state.table.abandon(id)?;
        state.give_back(asked.call.octets());
        self.tell_waiters(&state);
        Some(asked.call)
    }

    #[inline]
    fn tell_waiters(&self, state: &Pending<C>) {
        if state.waiters > 0 && state.has_room() {
            self.room.wake_all();
        }
    }

    /// When the next request may be over: a bound, not exact.
    pub(super) fn next_deadline(&self) -> Option<Instant> {
        let state = self.state.lock();
        let next = state.table.next_deadline();
        (next != NEVER).then(|| state.time(next))
    }

    /// Whether a request waits, and none is over before `until`.
    pub(super) fn all_wait_until(&self, until: Instant) -> bool {
        let state = self.state.lock();
        !state.table.is_empty() && state.table.next_deadline() > state.nanoseconds(until)
    }

    /// Takes out the requests whose time is over at `now`. Their replies may still come.
    pub(super) fn take_expired(&self, now: Instant) -> Vec<(u32, C)> {
        let mut state = self.state.lock();
        let now = state.nanoseconds(now);
        if state.table.next_deadline() > now {
            return Vec::new();
        }
        let taken = state.table.expire(now);
        taken.iter().for_each(|(_, asked)| state.give_back(asked.call.octets()));
        self.tell_waiters(&state);
        drop(state);
        let mut taken: Vec<_> = taken.into_iter().map(|(id, asked)| (id, asked.call)).collect();
        // Threads that wait learn it first: upcalls may take their time.
        taken.sort_by_key(|(_, call)| call.slot().is_none());
        taken
    }

    /// Takes no request any more, unless one is pending; whether that is so now.
    pub(super) fn close_if_empty(&self) -> bool {
        self.state.lock().table.close_if_empty()
    }

    /// No request is taken any more, and no reply will come; those that waited, in the order in
    /// which they were sent, threads that wait first: upcalls may take their time.
    pub(super) fn close(&self) -> Vec<C> {
        let mut state: Guard<'_, rank::ReplyTable, Pending<C>> = self.state.lock();
        state.bodies = Vec::new();
        let waited = state.table.close();
        state.kept = 0;
        state.give_back(0);
        self.room.wake_all();
        drop(state);
        let mut waited: Vec<_> = waited.into_iter().map(|asked| asked.call).collect();
        waited.sort_by_key(|call| call.slot().is_none());
        waited
    }
}
