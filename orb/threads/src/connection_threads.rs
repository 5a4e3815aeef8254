//! The threads of one connection, where each connection has threads of its own: one that reads,
//! those that are in upcalls, and those that rest.
//!
//! One at a time reads: the thread that has the connection's token. It gives the token back before
//! the upcall of a request that may be overtaken, and wants it again afterwards. If another thread
//! has it then, it rests until it is called, and ends when it is not called for a second.
//!
//! A thread is called, or started, to read in the place of those that are in upcalls: by the watch
//! (a [`Lookout`](crate::lookout::Lookout)) when requests wait behind upcalls, from then on by each
//! thread that begins one, until no request waits; and by a thread that waits for a call of its
//! own. `loom` tries all interleavings of it in the tests here.

mod means;
#[cfg(test)]
mod tests;

pub use means::{Means, StandIns, TryTake};

use means::Threads;
use std::time::Duration;

/// A thread that was not called for so long ends.
const PATIENCE: Duration = Duration::from_secs(1);

/// Upcalls are short where each thread takes more messages than these between two looks of the
/// watch: another thread would cost more than it brings.
const FEW_MESSAGES: u32 = 4;

/// The message taken last is not overtaken although the token was given back: it is a oneway in its
/// upcall, or its object keeps the order.
const KEPT: u32 = 1;

/// See the module.
pub struct ConnectionThreads<M = Threads>(M);

/// What is known of them, under a lock.
#[derive(Debug, Default)]
pub struct Roster {
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
pub enum Finding {
    /// A thread reads, or no other may.
    Quiet,
    /// No thread reads.
    InUpcall,
    /// No thread reads, and requests wait.
    Behind,
}

impl Roster {
    /// Whether a thread that rests is to go on resting.
    fn is_idle(&mut self) -> bool {
        self.called == 0 && !self.is_dismissed
    }
}

impl<M: Means> ConnectionThreads<M> {
    /// A connection without threads.
    pub fn of(means: M) -> Self {
        ConnectionThreads(means)
    }

    /// The first thread is about to be started.
    pub fn expect_first(&self) {
        let mut state = self.0.lock();
        state.threads += 1;
        state.starting += 1;
    }

    /// A thread that was started is here, or could not be started.
    pub fn arrive(&self) {
        self.0.lock().starting -= 1;
    }

    /// A thread ends; whether it was the last.
    pub fn leave(&self) -> bool {
        let mut state = self.0.lock();
        state.threads -= 1;
        self.recount(&mut state);
        state.threads == 0
    }

    /// The token to read, once this thread is needed for that; `None`: it is not.
    #[inline]
    pub fn take_turn<'t, T: TryTake>(&self, token: &'t T) -> Option<T::Taken<'t>> {
        self.try_turn(token).or_else(|| self.rest(token))
    }

    #[inline]
    fn try_turn<'t, T: TryTake>(&self, token: &'t T) -> Option<T::Taken<'t>> {
        token.try_take().filter(|_| self.0.messages() & KEPT == 0)
    }

    #[cold]
    fn rest<'t, T: TryTake>(&self, token: &'t T) -> Option<T::Taken<'t>> {
        let mut state = self.0.lock();
        loop {
            // The watch takes the token under this lock only, so a thread that has it now is one
            // that reads, or will.
            let turn = self.try_turn(token);
            if turn.is_some() || state.is_dismissed {
                return turn;
            }
            state.resting += 1;
            state = self.0.rest(state);
            state.resting -= 1;
            if state.called == 0 {
                return None;
            }
            state.called -= 1;
        }
    }

    /// A message was taken; called by the thread that has the token.
    #[inline]
    pub fn note_message(&self) {
        // No other thread writes, so one step is not needed.
        let messages = self.0.messages().wrapping_add(2);
        self.0.set_messages(messages);
    }

    /// Nothing overtakes the message taken last until [`ConnectionThreads::end_keeping`]. Called by
    /// the thread that has the token, before it gives it back. Names the message.
    #[inline]
    pub fn keep_turn(&self) -> u32 {
        let message = self.0.messages() | KEPT;
        self.0.set_messages(message);
        message
    }

    /// The upcall of `message` has ended, if it was kept: others may read.
    #[inline]
    pub fn end_keeping(&self, message: u32) {
        // Only the thread that keeps the turn ends that, so one step is not needed.
        if self.0.messages() == message {
            self.0.set_messages(message & !KEPT);
        }
    }

    /// This thread begins an upcall, and has given the token back. `list`: has the watch look at
    /// the connection, which it does until that rests. Whether a thread has to be started that
    /// reads.
    #[inline]
    #[must_use]
    pub fn begin_upcall(&self, list: impl FnOnce()) -> bool {
        if !self.0.is_listed() {
            self.enlist(list);
        }
        self.0.is_behind() && self.call()
    }

    #[cold]
    fn enlist(&self, list: impl FnOnce()) {
        if self.0.list() {
            list();
            self.0.expect_upcalls();
        }
    }

    /// For the watch, which has found nothing: it looks no more, unless `look` finds something
    /// after all; whether it looks no more. A thread may have listed the connection anew then.
    pub fn unlist(&self, look: impl FnOnce() -> bool) -> bool {
        self.0.unlist();
        !(look() && self.0.list())
    }

    /// Calls a thread to read; whether one has to be started. There are never more stand-ins than
    /// the ORB may have.
    #[cold]
    #[must_use]
    pub fn call(&self) -> bool {
        let mut state = self.0.lock();
        if self.call_one_that_rests(&mut state) || !self.0.take_place() {
            return false;
        }
        state.counted += 1;
        self.expect_more(&mut state);
        true
    }

    /// Calls a thread that rests; also `true` when a thread is on its way, or none is needed.
    fn call_one_that_rests(&self, state: &mut Roster) -> bool {
        if state.called + state.starting > 0 || state.is_dismissed {
            return true;
        }
        let rests = state.resting > 0;
        if rests {
            state.called += 1;
            self.0.wake_one();
        }
        rests
    }

    fn expect_more(&self, state: &mut Roster) {
        state.threads += 1;
        state.starting += 1;
        self.recount(state);
    }

    fn recount(&self, state: &mut Roster) {
        let extra = (state.threads - state.waiting).saturating_sub(1);
        let more = extra.wrapping_sub(state.counted);
        if more != 0 {
            self.0.add_places(more);
            state.counted = extra;
        }
    }

    /// The thread is about to wait for a call of its own, in an upcall. Whether a thread has to be
    /// started that reads, which is never more than `most` of this connection.
    #[must_use]
    pub fn begin_waiting<T: TryTake>(&self, token: &T, most: u32) -> bool {
        let mut state = self.0.lock();
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
    pub fn end_waiting(&self) {
        let mut state = self.0.lock();
        state.waiting -= 1;
        self.recount(&mut state);
    }

    /// How the connection stands; called by the watch. `has_input`: whether requests may wait.
    pub fn look<T: TryTake>(&self, token: &T, has_input: impl FnOnce() -> bool) -> Finding {
        let mut state = self.0.lock();
        let Some(turn) = self.try_turn(token) else {
            drop(state);
            if self.0.is_behind() && !has_input() {
                self.0.set_behind(false);
            }
            return Finding::Quiet;
        };
        let messages = self.0.messages();
        let taken = messages.wrapping_sub(std::mem::replace(&mut state.seen, messages));
        let are_long = taken / 2 <= FEW_MESSAGES.saturating_mul(state.threads);
        drop(turn);
        drop(state);
        let is_behind = are_long && has_input();
        self.0.set_behind(is_behind);
        if is_behind { Finding::Behind } else { Finding::InUpcall }
    }

    /// The connection is closed: no thread rests any more.
    pub fn dismiss(&self) {
        self.0.lock().is_dismissed = true;
        self.0.wake_all();
    }
}
