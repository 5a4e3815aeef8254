//! The threads of one connection, where each connection has threads of its own: one that reads,
//! those that are in upcalls, and those that rest.
//!
//! One at a time reads: the thread that has the connection's token. It gives the token back before
//! the upcall of a request that may be overtaken, and wants it again afterwards. If another thread
//! has it then, it rests until it is called, and ends when it is not called for a second.
//!
//! A thread is called, or started, to read in the place of those that are in upcalls: by the watch
//! when requests wait behind upcalls (`watch`), from then on by each thread that begins one, until
//! no request waits; and by a thread that waits for a call of its own (`nested`).

use corbie_threads::lock::{Guard, PlainToken, Ranked, Signal, rank};
use corbie_threads::lookout::Lookout;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, MutexGuard};
use std::time::{Duration, Instant};

/// A thread that was not called for so long ends.
const PATIENCE: Duration = Duration::from_secs(1);

/// Upcalls are short where each thread takes more messages than these between two looks of the
/// watch: another thread would cost more than it brings.
const FEW_MESSAGES: u32 = 4;

/// The message taken last is not overtaken although the token was given back: it is a oneway in its
/// upcall.
const KEPT: u32 = 1;

/// The stand-ins of one ORB: threads beyond the first of each connection, but for those that take
/// the place of a thread that waits for a call of its own.
pub(crate) struct StandIns {
    count: AtomicU32,
    /// The most that the watch has started.
    most: u32,
    /// Looks for requests that wait behind upcalls.
    watch: Lookout,
}

/// See the module.
pub(crate) struct ConnectionThreads {
    state: Ranked<rank::Leaf, State>,
    called: Signal,
    /// Twice the messages taken so far, changed by the thread that has the token; and [`KEPT`].
    messages: AtomicU32,
    /// Whether requests waited behind upcalls at the last look of the watch.
    is_behind: AtomicBool,
    stand_ins: Arc<StandIns>,
}

#[derive(Debug, Default)]
struct State {
    threads: u32,
    /// In an upcall, until a call of their own has ended.
    waiting: u32,
    resting: u32,
    /// Of those that rest, how many were called.
    called: u32,
    /// Started, and not yet there.
    starting: u32,
    /// How many count among the stand-ins of the ORB.
    counted: u32,
    /// Messages taken until the last look of the watch.
    seen: u32,
    is_dismissed: bool,
}

/// What the watch finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Finding {
    /// A thread reads, or no other may.
    Quiet,
    /// No thread reads.
    InUpcall,
    /// No thread reads, and requests wait.
    Behind,
}

impl StandIns {
    /// With them, one connection has at most `threads`.
    pub(crate) fn new(threads: u32, watch: Lookout) -> Self {
        StandIns { count: AtomicU32::new(0), most: threads.saturating_sub(1), watch }
    }

    /// The ORB shuts down.
    pub(crate) fn close(&self) {
        self.watch.close();
    }

    /// Counts one more, unless there are as many as may be.
    fn take_place(&self) -> bool {
        let more = |count: u32| (count < self.most).then_some(count + 1);
        self.count.fetch_update(Ordering::AcqRel, Ordering::Acquire, more).is_ok()
    }
}

impl ConnectionThreads {
    pub(crate) fn new(stand_ins: Arc<StandIns>) -> Self {
        ConnectionThreads {
            state: Ranked::default(),
            called: Signal::new(),
            messages: AtomicU32::new(0),
            is_behind: AtomicBool::new(false),
            stand_ins,
        }
    }

    fn lock(&self) -> Guard<'_, rank::Leaf, State> {
        self.state.lock()
    }

    /// The first thread is about to be started.
    pub(crate) fn expect_first(&self) {
        let mut state = self.lock();
        state.threads += 1;
        state.starting += 1;
    }

    /// A thread that was started is here, or could not be started.
    pub(crate) fn arrive(&self) {
        self.lock().starting -= 1;
    }

    /// A thread ends; whether it was the last.
    pub(crate) fn leave(&self) -> bool {
        let mut state = self.lock();
        state.threads -= 1;
        self.recount(&mut state);
        state.threads == 0
    }

    /// The token to read, once this thread is needed for that; `None`: it is not.
    #[inline]
    pub(crate) fn take_turn<'t, T>(&self, token: &'t PlainToken<T>) -> Option<MutexGuard<'t, T>> {
        self.try_turn(token).or_else(|| self.rest(token))
    }

    #[inline]
    fn try_turn<'t, T>(&self, token: &'t PlainToken<T>) -> Option<MutexGuard<'t, T>> {
        token.try_take().filter(|_| self.messages.load(Ordering::Relaxed) & KEPT == 0)
    }

    #[cold]
    fn rest<'t, T>(&self, token: &'t PlainToken<T>) -> Option<MutexGuard<'t, T>> {
        let mut state = self.lock();
        loop {
            // The watch takes the token under this lock only, so a thread that has it now is one
            // that reads, or will.
            let turn = self.try_turn(token);
            if turn.is_some() || state.is_dismissed {
                return turn;
            }
            state.resting += 1;
            let idle = |state: &mut State| state.called == 0 && !state.is_dismissed;
            let end = Instant::now() + PATIENCE;
            state = self.called.wait_while_until(state, Some(end), idle);
            state.resting -= 1;
            if state.called == 0 {
                return None;
            }
            state.called -= 1;
        }
    }

    /// A message was taken; called by the thread that has the token.
    #[inline]
    pub(crate) fn note_message(&self) {
        // No other thread writes, so one step is not needed.
        let messages = self.messages.load(Ordering::Relaxed).wrapping_add(2);
        self.messages.store(messages, Ordering::Relaxed);
    }

    /// Nothing overtakes the message taken last until [`ConnectionThreads::end_keeping`]. Called by
    /// the thread that has the token, before it gives it back. Names the message.
    #[inline]
    pub(crate) fn keep_turn(&self) -> u32 {
        let message = self.messages.load(Ordering::Relaxed) | KEPT;
        self.messages.store(message, Ordering::Relaxed);
        message
    }

    #[inline]
    pub(crate) fn end_keeping(&self, message: u32) {
        // Only the thread that keeps the turn ends that, so one step is not needed.
        if self.messages.load(Ordering::Relaxed) == message {
            self.messages.store(message & !KEPT, Ordering::Release);
        }
    }

    /// This thread begins an upcall, and has given the token back. Whether a thread has to be
    /// started that reads.
    #[inline]
    #[must_use]
    pub(crate) fn begin_upcall(&self) -> bool {
        self.stand_ins.watch.expect();
        self.is_behind.load(Ordering::Relaxed) && self.call()
    }

    /// Calls a thread to read; whether one has to be started. There are never more stand-ins than
    /// the ORB may have.
    #[cold]
    #[must_use]
    pub(crate) fn call(&self) -> bool {
        let mut state = self.lock();
        if self.call_one_that_rests(&mut state) || !self.stand_ins.take_place() {
            return false;
        }
        state.counted += 1;
        self.expect_more(&mut state);
        true
    }

    /// Calls a thread that rests; also `true` when a thread is on its way, or none is needed.
    fn call_one_that_rests(&self, state: &mut State) -> bool {
        if state.called + state.starting > 0 || state.is_dismissed {
            return true;
        }
        let rests = state.resting > 0;
        if rests {
            state.called += 1;
            self.called.wake_one();
        }
        rests
    }

    fn expect_more(&self, state: &mut State) {
        state.threads += 1;
        state.starting += 1;
        self.recount(state);
    }

    fn recount(&self, state: &mut State) {
        let extra = (state.threads - state.waiting).saturating_sub(1);
        let more = extra.wrapping_sub(state.counted);
        if more != 0 {
            self.stand_ins.count.fetch_add(more, Ordering::AcqRel);
            state.counted = extra;
        }
    }

    /// The thread is about to wait for a call of its own, in an upcall. Whether a thread has to be
    /// started that reads, which is never more than `most` of this connection.
    #[must_use]
    pub(crate) fn begin_waiting<T>(&self, token: &PlainToken<T>, most: u32) -> bool {
        let mut state = self.lock();
        state.waiting += 1;
        let is_read = self.try_turn(token).is_none();
        let is_called = is_read || self.call_one_that_rests(&mut state) || state.threads >= most;
        if !is_called {
            self.expect_more(&mut state);
        }
        self.recount(&mut state);
        !is_called
    }

    /// It has what it waited for.
    pub(crate) fn end_waiting(&self) {
        let mut state = self.lock();
        state.waiting -= 1;
        self.recount(&mut state);
    }

    /// How the connection stands; called by the watch. `has_input`: whether requests may wait.
    pub(crate) fn look<T>(
        &self,
        token: &PlainToken<T>,
        has_input: impl FnOnce() -> bool,
    ) -> Finding {
        let mut state = self.lock();
        let Some(turn) = self.try_turn(token) else {
            drop(state);
            if self.is_behind.load(Ordering::Relaxed) && !has_input() {
                self.is_behind.store(false, Ordering::Relaxed);
            }
            return Finding::Quiet;
        };
        let messages = self.messages.load(Ordering::Relaxed);
        let taken = messages.wrapping_sub(std::mem::replace(&mut state.seen, messages));
        let are_long = taken / 2 <= FEW_MESSAGES.saturating_mul(state.threads);
        drop(turn);
        drop(state);
        let is_behind = are_long && has_input();
        self.is_behind.store(is_behind, Ordering::Relaxed);
        if is_behind { Finding::Behind } else { Finding::InUpcall }
    }

    /// The connection is closed: no thread rests any more.
    pub(crate) fn dismiss(&self) {
        self.lock().is_dismissed = true;
        self.called.wake_all();
    }
}
