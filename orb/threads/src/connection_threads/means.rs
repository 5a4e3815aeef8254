//! What the threads of a connection are made of: words and a lock of the standard library, or of
//! loom in the tests. Both run the same code.

use super::{ConnectionThreads, PATIENCE, Roster};
use crate::lock::{Guard, PlainToken, Ranked, Signal, rank};
use crate::lookout::{Awake, Lookout};
use std::ops::DerefMut;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, MutexGuard};
use std::time::Instant;

/// See the module.
pub trait Means {
    /// The state, locked.
    type Guard<'m>: DerefMut<Target = Roster>
    where
        Self: 'm;

    /// Waits for the lock.
    fn lock(&self) -> Self::Guard<'_>;
    /// Gives the lock back until another thread calls, for a while at most.
    fn rest<'m>(&'m self, guard: Self::Guard<'m>) -> Self::Guard<'m>;
    /// Wakes one of the threads that rest.
    fn wake_one(&self);
    /// Wakes all of them.
    fn wake_all(&self);
    /// The word that counts messages, with what the thread that set it did before.
    fn messages(&self) -> u32;
    /// Sets it; one thread at a time does.
    fn set_messages(&self, messages: u32);
    /// What the watch has found.
    fn is_behind(&self) -> bool;
    /// Sets it.
    fn set_behind(&self, is_behind: bool);
    /// Counts one stand-in more, unless there are as many as may be.
    fn take_place(&self) -> bool;
    /// Counts so many more, modulo 2^32.
    fn add_places(&self, more: u32);
    /// Whether the watch looks at the connection.
    fn is_listed(&self) -> bool;
    /// It does from now on; whether this thread is the one that has to list it.
    fn list(&self) -> bool;
    /// It does not.
    fn unlist(&self);
    /// A connection was listed: the watch looks.
    fn expect_upcalls(&self);
}

/// A token.
pub trait TryTake {
    /// It is taken until this is dropped.
    type Taken<'t>
    where
        Self: 't;

    /// Takes it, unless a thread has it.
    fn try_take(&self) -> Option<Self::Taken<'_>>;
}

impl<T> TryTake for PlainToken<T> {
    type Taken<'t>
        = MutexGuard<'t, T>
    where
        T: 't;

    #[inline]
    fn try_take(&self) -> Option<MutexGuard<'_, T>> {
        PlainToken::try_take(self)
    }
}

/// The stand-ins of one ORB: threads beyond the first of each connection, but for those that take
/// the place of a thread that waits for a call of its own.
pub struct StandIns {
    count: AtomicU32,
    /// The most that the watch has started.
    most: u32,
    /// Looks for requests that wait behind upcalls.
    watch: Lookout,
}

impl StandIns {
    /// With them, one connection has at most `threads`.
    pub fn new(threads: u32, watch: Lookout) -> Self {
        StandIns { count: AtomicU32::new(0), most: threads.saturating_sub(1), watch }
    }

    /// Whether the watch may start another one.
    pub fn has_place(&self) -> bool {
        self.count.load(Ordering::Acquire) < self.most
    }

    /// The ORB shuts down.
    pub fn close(&self) {
        self.watch.close();
    }
}

/// Of the standard library.
pub struct Threads {
    state: Ranked<rank::Leaf, Roster>,
    called: Signal,
    /// Twice the messages taken so far, changed by the thread that has the token; and `KEPT`.
    messages: AtomicU32,
    /// Whether requests waited behind upcalls at the last look of the watch.
    is_behind: AtomicBool,
    /// Whether the watch looks at the connection.
    listed: Awake<AtomicBool>,
    stand_ins: Arc<StandIns>,
}

impl ConnectionThreads {
    /// A connection without threads, of an ORB with these stand-ins.
    pub fn new(stand_ins: Arc<StandIns>) -> Self {
        ConnectionThreads::of(Threads {
            state: Ranked::default(),
            called: Signal::new(),
            messages: AtomicU32::new(0),
            is_behind: AtomicBool::new(false),
            listed: Awake::default(),
            stand_ins,
        })
    }
}

impl Means for Threads {
    type Guard<'m> = Guard<'m, rank::Leaf, Roster>;

    fn lock(&self) -> Self::Guard<'_> {
        self.state.lock()
    }

    fn rest<'m>(&'m self, guard: Self::Guard<'m>) -> Self::Guard<'m> {
        self.called.wait_while_until(guard, Some(Instant::now() + PATIENCE), Roster::is_idle)
    }

    fn wake_one(&self) {
        self.called.wake_one();
    }

    fn wake_all(&self) {
        self.called.wake_all();
    }

    #[inline]
    fn messages(&self) -> u32 {
        self.messages.load(Ordering::Acquire)
    }

    #[inline]
    fn set_messages(&self, messages: u32) {
        self.messages.store(messages, Ordering::Release);
    }

    #[inline]
    fn is_behind(&self) -> bool {
        self.is_behind.load(Ordering::Relaxed)
    }

    fn set_behind(&self, is_behind: bool) {
        self.is_behind.store(is_behind, Ordering::Relaxed);
    }

    fn take_place(&self) -> bool {
        let most = self.stand_ins.most;
        let more = |count: u32| (count < most).then_some(count + 1);
        self.stand_ins.count.fetch_update(Ordering::AcqRel, Ordering::Acquire, more).is_ok()
    }

    fn add_places(&self, more: u32) {
        self.stand_ins.count.fetch_add(more, Ordering::AcqRel);
    }

    #[inline]
    fn is_listed(&self) -> bool {
        self.listed.holds()
    }

    fn list(&self) -> bool {
        self.listed.begin()
    }

    fn unlist(&self) {
        self.listed.end_at_once();
    }

    fn expect_upcalls(&self) {
        self.stand_ins.watch.expect();
    }
}
