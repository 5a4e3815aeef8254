//! The event loop: waits for many sources at once and has each handled by the thread that waited.
//!
//! Sources are connections and listeners ([`EventHandler`]). They are registered once,
//! edge-triggered, so an event costs no system call beyond the wait; who is handling a source and
//! what came meanwhile is kept in `source`. `turn` is one handling: it can be released before an
//! upcall, so that others (or a nested loop of the same thread) handle what follows. `lead` lets
//! several threads use one loop: one waits, the others follow (leader/followers). `deadlines` ends
//! waits in time. Papers: AMI §3.1 (wait-on-reactor, leader/followers), POA §2.5.

mod deadlines;
mod flushing;
mod lead;
mod source;
#[cfg(test)]
mod tests;
mod turn;

pub(crate) use lead::Sleeper;
pub(crate) use turn::{Turn, let_go};

use crate::Orb;
use crate::orb::OrbInner;
use deadlines::Deadlines;
use flushing::Flushing;
use lead::Lead;
use source::{Bits, Source, Sources};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::io;
use std::os::fd::BorrowedFd;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use corbie_transport::{Events, Readiness};

/// Names a source of a reactor; never used again for another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Token(u64);

/// What a handler wants next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// To be called when something comes. All that was there has been taken.
    Wait,
    /// To be called again soon, after the other sources that are ready: there may be more.
    Again,
    /// Nothing now: the turn was detached, and another thread ends it.
    Elsewhere,
    /// Nothing: the source is to be forgotten.
    Remove,
}

/// What a reactor watches and calls. No lock of the reactor is held during these calls.
pub(crate) trait EventHandler: Send + Sync {
    /// What is watched; the same until the handler is dropped. `None`: it cannot be.
    fn descriptor(&self) -> Option<BorrowedFd<'_>>;

    /// Something may be there to receive (or to accept), or the peer has closed. One thread at a
    /// time is in here until it calls [`Turn::release`]; input that comes meanwhile leads to
    /// another call.
    fn handle_input(self: Arc<Self>, orb: &Orb, turn: &mut Turn<'_>) -> Next;

    /// There may be room for sending again. Called with nearly every event, so it should see at
    /// one look whether anything waits to be sent.
    fn handle_output(&self, _orb: &Orb) {}

    /// When [`EventHandler::handle_timeout`] is to be called at the latest.
    fn next_deadline(&self) -> Option<Instant> {
        None
    }

    /// The deadline has passed, or that of another source has.
    fn handle_timeout(self: Arc<Self>, _orb: &Orb, _now: Instant) {}

    /// The thread is about to wait, and [`Reactor::flush_before_waiting`] was asked for: sends what
    /// was kept back.
    fn before_waiting(&self) {}

    /// Waits for input of this source alone, `timeout` (until about `until`) at most, and handles
    /// it; `false`: it cannot, or another thread does. Spares the wait for many sources where there
    /// is one.
    fn wait_here(&self, _orb: &Orb, _timeout: Duration, _until: Instant) -> bool {
        false
    }
}

/// How many threads wait for events at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Waiting {
    /// One: the others follow and are woken when they are needed or have what they waited for.
    OneAtATime,
    /// Any number: the system picks one for each event. For threads that are all alike.
    Many,
}

/// So many sources are handled before the system is asked what else has come.
const TURNS_BEFORE_LOOK: u32 = 16;

/// One event loop. Lock order: "lead", "sources", "ready", "flushing"; none is held while handling
/// or waiting.
pub(crate) struct Reactor {
    me: Weak<Reactor>,
    readiness: Readiness,
    waiting: Waiting,
    /// Lock "sources".
    sources: Mutex<Sources>,
    /// Lock "ready": sources with events to handle, the first one next.
    ready: Mutex<VecDeque<Arc<Source>>>,
    ready_count: AtomicUsize,
    /// Sources handled so far.
    turns: AtomicU32,
    /// Threads that run the loop and do not wait.
    awake: AtomicU32,
    /// Threads that wait.
    asleep: AtomicU32,
    lead: Lead,
    deadlines: Deadlines,
    flushing: Flushing,
    closed: AtomicBool,
}

impl Reactor {
    /// A loop without sources, run by nobody.
    ///
    /// # Errors
    /// What the system says, for example that there are no descriptors left.
    pub(crate) fn new(waiting: Waiting) -> io::Result<Arc<Self>> {
        let readiness = Readiness::new()?;
        Ok(Arc::new_cyclic(|me| Reactor {
            me: Weak::clone(me),
            readiness,
            waiting,
            sources: Mutex::default(),
            ready: Mutex::default(),
            ready_count: AtomicUsize::new(0),
            turns: AtomicU32::new(1),
            awake: AtomicU32::new(0),
            asleep: AtomicU32::new(0),
            lead: Lead::default(),
            deadlines: Deadlines::new(),
            flushing: Flushing::default(),
            closed: AtomicBool::new(false),
        }))
    }

    /// Watches `handler` from now on; what is there already is its first event. May be called by
    /// any thread, also one that is inside the loop.
    ///
    /// # Errors
    /// What the system says.
    pub(crate) fn add(&self, handler: Arc<dyn EventHandler>) -> io::Result<Token> {
        if let Some(deadline) = handler.next_deadline() {
            self.expect_deadline(deadline);
        }
        let source = lock(&self.sources).insert(handler);
        let token = source.token;
        let unwatchable = || io::Error::new(io::ErrorKind::Unsupported, "it cannot be watched");
        let descriptor = source.handler.descriptor().ok_or_else(unwatchable);
        match descriptor.and_then(|descriptor| self.readiness.add(descriptor, token.0)) {
            Ok(()) => Ok(token),
            Err(error) => {
                lock(&self.sources).remove(token);
                Err(error)
            }
        }
    }

    /// Adds a source to which nothing ever comes: it is handled after [`Reactor::again`].
    pub(crate) fn add_unwatched(&self, handler: Arc<dyn EventHandler>) -> Token {
        lock(&self.sources).insert(handler).token
    }

    /// Forgets a source. A call of its handler that is under way goes on.
    pub(crate) fn remove(&self, token: Token) {
        let removed = lock(&self.sources).remove(token);
        if let Some(descriptor) = removed.as_ref().and_then(|source| source.handler.descriptor()) {
            self.readiness.remove(descriptor);
        }
    }

    /// Has the handler called although no event came: somebody left input of it behind.
    pub(crate) fn again(&self, token: Token) {
        let source = lock(&self.sources).get(token);
        if let Some(source) = source {
            self.mark(&source, Bits::INPUT);
            self.wake_for_ready();
        }
    }

    /// Some thread runs the loop and does not wait; before it does, it calls `before_waiting` of
    /// those that asked for it.
    #[cfg_attr(not(test), allow(dead_code))]
    pub(crate) fn is_awake(&self) -> bool {
        self.awake.load(Ordering::SeqCst) > 0
    }

    /// Has `before_waiting` of `handler` called once, before the loop waits the next time. Of use
    /// only if [`Reactor::is_awake`] holds afterwards; else the caller flushes itself.
    pub(crate) fn flush_before_waiting(&self, handler: Arc<dyn EventHandler>) {
        self.flushing.add(handler);
    }

    /// Ends the wait of one thread, now or as soon as one waits.
    pub(crate) fn wake(&self) {
        self.readiness.wake();
    }

    /// Every run of the loop ends, and none begins any more. Sources are forgotten.
    pub(crate) fn close(&self) {
        self.closed.store(true, Ordering::SeqCst);
        let sources = std::mem::take(&mut *lock(&self.sources));
        drop(sources);
        lock(&self.ready).clear();
        self.ready_count.store(0, Ordering::SeqCst);
        self.wake();
        self.lead.wake_all();
    }

    pub(crate) fn downgrade(&self) -> Weak<Reactor> {
        Weak::clone(&self.me)
    }

    /// Whether a thread of it that waits for something else may leave it without anybody.
    pub(crate) fn is_run_by_few(&self) -> bool {
        self.waiting == Waiting::OneAtATime
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::SeqCst)
    }

    /// Whether something is there to be handled; waits for nothing.
    pub(crate) fn has_work(&self) -> bool {
        self.ready_count.load(Ordering::SeqCst) > 0
            || self.deadlines.have_passed()
            || self.gather(&mut Events::default(), Some(Duration::ZERO)) > 0
    }

    /// Handles at most one event, waiting for it at most `timeout` (`None`: for ever; also ended by
    /// [`Reactor::wake`]); whether there was one. Another thread that leads is not disturbed.
    pub(crate) fn run_once(&self, orb: &Orb, timeout: Option<Duration>) -> bool {
        let Some(_lead) = self.try_lead() else { return false };
        let _running = self.enter(orb.downgrade());
        self.handle_next(orb)
            || self.lead_again() && {
                self.wait(timeout);
                self.handle_next(orb)
            }
    }

    /// Runs the loop until `done` or `deadline`; whether `done` holds. With [`Waiting::OneAtATime`]
    /// this thread leads, or follows while another leads: whoever makes `done` true for a thread
    /// calls [`Reactor::unblock`] with that thread's [`Sleeper`].
    pub(crate) fn run_until(
        &self,
        orb: &Orb,
        done: &dyn Fn() -> bool,
        deadline: Option<Instant>,
    ) -> bool {
        let passed = || deadline.is_some_and(|deadline| Instant::now() >= deadline);
        let _running = self.enter(orb.downgrade());
        loop {
            if done() {
                return true;
            }
            if self.is_closed() || passed() {
                return done();
            }
            match self.try_lead() {
                Some(_lead) => self.run_as_leader(orb, done, deadline),
                None => self.follow(done, deadline),
            }
        }
    }

    /// Handles what comes until nothing has come for `patience` or the reactor is closed.
    pub(crate) fn run_while_busy(&self, orb: &Orb, patience: Duration) {
        let _running = self.enter(orb.downgrade());
        while !self.is_closed() {
            if !self.handle_next(orb) {
                let begun = Instant::now();
                self.wait(Some(patience));
                if self.ready_count.load(Ordering::SeqCst) == 0 && begun.elapsed() >= patience {
                    return;
                }
            }
        }
    }

    /// Handles what comes until the reactor is closed or there is no ORB any more; the ORB is held
    /// only while something is handled. For a thread that must not keep its ORB alive.
    pub(crate) fn run_while(&self, orb: &Weak<OrbInner>) {
        let _running = self.enter(Weak::clone(orb));
        while !self.is_closed() {
            let Some(_lead) = self.try_lead() else {
                self.follow(&|| false, None);
                continue;
            };
            while !self.is_closed() && self.lead_again() {
                self.wait(None);
                let Some(orb) = Orb::upgrade(orb) else { return };
                while self.handle_next(&orb) && self.lead_again() {}
            }
        }
    }

    /// Waits at the only source, `timeout` (until about `until`) at most, and handles what comes;
    /// `false` when there are more, or that one cannot be waited at. [`Reactor::wake`] does not end
    /// this, so it is for short waits.
    pub(crate) fn wait_at_only_source(&self, orb: &Orb, timeout: Duration, until: Instant) -> bool {
        let only = lock(&self.sources).only();
        only.is_some_and(|handler| handler.wait_here(orb, timeout, until))
    }

    /// Wakes the thread of `sleeper` if it waits in [`Reactor::run_until`], leading or following.
    pub(crate) fn unblock(&self, sleeper: &Sleeper) {
        if sleeper.wake() {
            self.wake();
        }
    }

    /// Handles what comes until `done`, `deadline`, or another thread leads.
    fn run_as_leader(&self, orb: &Orb, done: &dyn Fn() -> bool, deadline: Option<Instant>) {
        while !done() && !self.is_closed() {
            // Also when something always comes.
            let left = deadline.map(|end| end.saturating_duration_since(Instant::now()));
            if left == Some(Duration::ZERO) {
                return;
            }
            if !self.handle_next(orb) {
                // Whoever unblocks us from here on wakes the wait; whoever did before is seen.
                if !self.lead_again() || !self.waits_for_nobody() || done() {
                    return;
                }
                self.wait(left);
            }
            // A handler may have given the lead away.
            if !self.lead_again() {
                return;
            }
        }
    }

    /// Sleeps until `done`, `deadline`, or there is nobody who leads.
    fn follow(&self, done: &dyn Fn() -> bool, deadline: Option<Instant>) {
        self.fall_asleep();
        self.lead.follow(done, deadline, || self.is_closed());
        self.awake.fetch_add(1, Ordering::SeqCst);
    }

    /// Handles the next source that is ready; whether there was one.
    fn handle_next(&self, orb: &Orb) -> bool {
        if self.deadlines.have_passed() {
            self.handle_timeouts(orb);
        }
        let Some(source) = self.pop_ready() else { return false };
        // Sources that always have more must not keep the others waiting. Where many threads wait,
        // another one sees to those.
        if self.waiting == Waiting::OneAtATime
            && self.turns.fetch_add(1, Ordering::Relaxed).is_multiple_of(TURNS_BEFORE_LOOK)
        {
            self.gather(&mut Events::default(), Some(Duration::ZERO));
        }
        turn::handle(self, orb, &source);
        true
    }

    fn handle_timeouts(&self, orb: &Orb) {
        let now = Instant::now();
        self.deadlines.forget();
        let due = lock(&self.sources).all();
        for handler in due {
            if handler.next_deadline().is_some_and(|deadline| deadline <= now) {
                // Upcalls may follow, which must not stop the others.
                self.give_lead_away();
                Arc::clone(&handler).handle_timeout(orb, now);
            }
            if let Some(deadline) = handler.next_deadline() {
                self.deadlines.note(deadline);
            }
        }
    }

    /// A source is to be handled at `deadline` at the latest.
    pub(crate) fn expect_deadline(&self, deadline: Instant) {
        if self.deadlines.note(deadline) && self.asleep.load(Ordering::SeqCst) > 0 {
            self.wake(); // It waits for longer than that.
        }
    }

    /// Waits for events and puts them among the ready.
    fn wait(&self, timeout: Option<Duration>) {
        let mut events = Events::default();
        // In this order: who adds to the ready, or keeps something back to be flushed, looks
        // afterwards whether we sleep.
        self.asleep.fetch_add(1, Ordering::SeqCst);
        self.fall_asleep();
        let is_due = self.ready_count.load(Ordering::SeqCst) > 0 || self.is_closed();
        let least = self.deadlines.left().into_iter().chain(timeout).min();
        self.gather(&mut events, if is_due { Some(Duration::ZERO) } else { least });
        self.awake.fetch_add(1, Ordering::SeqCst);
        self.asleep.fetch_sub(1, Ordering::SeqCst);
        if self.is_closed() {
            self.wake(); // The next thread that waits.
        }
    }

    /// Takes events from the system; how many.
    fn gather(&self, events: &mut Events, timeout: Option<Duration>) -> usize {
        // Threads that are alike share the events; one thread alone takes all.
        let most = if self.waiting == Waiting::Many { 1 } else { 64 };
        let came = match self.readiness.wait(events, most, timeout) {
            Ok(came) => came,
            Err(error) => {
                tracing::error!(%error, "the event loop cannot wait");
                return 0;
            }
        };
        let mut count = 0;
        let sources = lock(&self.sources);
        for event in came {
            if let Some(source) = sources.get(Token(event.token)) {
                self.mark(&source, Bits::of(&event));
                count += 1;
            }
        }
        count
    }

    /// Notes what came to `source`, and puts it among the ready unless it is there or in hand.
    fn mark(&self, source: &Arc<Source>, bits: Bits) {
        if source.mark(bits) {
            self.push_ready(Arc::clone(source));
        }
    }

    fn push_ready(&self, source: Arc<Source>) {
        let mut ready = lock(&self.ready);
        ready.push_back(source);
        self.ready_count.store(ready.len(), Ordering::SeqCst);
    }

    fn pop_ready(&self) -> Option<Arc<Source>> {
        if self.ready_count.load(Ordering::SeqCst) == 0 {
            return None;
        }
        let mut ready = lock(&self.ready);
        let source = ready.pop_front();
        self.ready_count.store(ready.len(), Ordering::SeqCst);
        source
    }

    /// Something is among the ready: a thread that waits shall see it.
    fn wake_for_ready(&self) {
        if self.asleep.load(Ordering::SeqCst) > 0 && self.ready_count.load(Ordering::SeqCst) > 0 {
            self.wake();
        }
    }

    /// This thread does nothing more for now: what it and others kept back is sent.
    fn fall_asleep(&self) {
        self.awake.fetch_sub(1, Ordering::SeqCst);
        self.flushing.flush();
    }

    /// This thread runs the loop until the guard is dropped.
    fn enter(&self, orb: Weak<OrbInner>) -> Running<'_> {
        let outer = RUNNING.replace((Weak::clone(&self.me), orb));
        let is_nested = Weak::ptr_eq(&outer.0, &self.me);
        if !is_nested {
            self.awake.fetch_add(1, Ordering::SeqCst);
        }
        Running { reactor: self, outer, is_nested }
    }

    /// The loop that this thread is inside of: a call made by this thread is made by a handler, and
    /// while it waits nothing else of the loop is done unless it runs it.
    pub(crate) fn of_this_thread() -> Option<Arc<Reactor>> {
        RUNNING.with_borrow(|(reactor, _)| reactor.upgrade())
    }

    /// As [`Reactor::of_this_thread`], with the ORB whose loop it is: not always that of a call
    /// which is made inside of it.
    pub(crate) fn with_orb_of_this_thread() -> Option<(Arc<Reactor>, Orb)> {
        RUNNING.with_borrow(|(reactor, orb)| Some((reactor.upgrade()?, Orb::upgrade(orb)?)))
    }
}

/// A loop, and whose it is.
type Run = (Weak<Reactor>, Weak<OrbInner>);

thread_local! {
    static RUNNING: RefCell<Run> = const { RefCell::new((Weak::new(), Weak::new())) };
}

/// This thread runs a loop; dropped, it leaves it and flushes.
struct Running<'r> {
    reactor: &'r Reactor,
    outer: Run,
    /// In an upcall of the same loop, so that this is not a second thread.
    is_nested: bool,
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        RUNNING.set(std::mem::take(&mut self.outer));
        if !self.is_nested {
            self.reactor.fall_asleep();
        }
        // What is left is for others.
        self.reactor.wake_for_ready();
    }
}

/// Whether this thread runs a loop: it is inside a handler.
pub(crate) fn runs_here() -> bool {
    RUNNING.with_borrow(|(reactor, _)| reactor.strong_count() > 0)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
