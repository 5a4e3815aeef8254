//! The event loop: waits for many sources at once and has each handled by the thread that waited.
//!
//! Sources ([`Source`]) are connections and listeners. They are registered once, edge-triggered,
//! so an event costs no system call beyond the wait; `entry` keeps which thread handles a source
//! and what came meanwhile. `turn` is one handling: it can be released before an upcall, so that
//! others (or a nested loop of the same thread) handle what follows. `lead` lets several threads
//! use one loop: one waits, the others follow (leader/followers). `deadlines` ends waits in time.
//! Papers: AMI §3.1 (wait-on-reactor, leader/followers), POA §2.5.

mod deadlines;
mod entry;
mod flushing;
mod lead;
#[cfg(test)]
mod tests;
mod turn;

pub use turn::{HeldHere, HeldTurn, Turn, before_waiting};

use crate::flusher::Flush;
use crate::lock::{Ranked, assert_none_held, rank};
use crate::thread::{Loop, Registration, Sleeper, SourceId, is_current_loop, replace_loop};
use deadlines::Deadlines;
use entry::{Bits, Entries, Entry};
use flushing::Flushing;
use lead::Lead;
use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd as _, BorrowedFd};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use corbie_transport::{Events, Readiness};

/// What a handler wants next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// To be called when something comes. All that was there has been taken.
    Wait,
    /// To be called again soon, after the other sources that are ready: there may be more.
    Again,
    /// Nothing now: the turn was detached, and another thread ends it.
    Detached,
    /// Nothing: the source is to be forgotten.
    Remove,
}

/// What a reactor watches and calls. No lock of the reactor is held during these calls.
pub trait Source<C: 'static>: Send + Sync {
    /// What is watched; the same until the handler is dropped. `None`: it cannot be.
    fn descriptor(&self) -> Option<BorrowedFd<'_>>;

    /// Something may be there to receive (or to accept), or the peer has closed. One thread at a
    /// time is in here until it calls [`Turn::release`]; input that comes meanwhile leads to
    /// another call.
    fn handle_input(self: Arc<Self>, context: &C, turn: &mut Turn<'_, C>) -> Next;

    /// There may be room for sending again. Called with nearly every event, so it should see at
    /// one look whether anything waits to be sent.
    fn handle_output(&self, _context: &C) {}

    /// When [`Source::handle_timeout`] is to be called at the latest.
    fn next_deadline(&self) -> Option<Instant> {
        None
    }

    /// The deadline has passed, or that of another source has.
    fn handle_timeout(self: Arc<Self>, _context: &C, _now: Instant) {}

    /// Waits for input of this source alone, `timeout` (until about `until`) at most, and handles
    /// it; `false`: it cannot, or another thread does. Spares the wait for many sources where there
    /// is one.
    fn wait_here(self: Arc<Self>, _context: &C, _timeout: Duration, _until: Instant) -> bool {
        false
    }
}

/// How many threads wait for events at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pollers {
    /// One: the others follow and are woken when they are needed or have what they waited for.
    OneAtATime,
    /// Any number: the system picks one for each event. For threads that are all alike.
    Many,
    /// One, and always the same: the thread that the loop belongs to. There is no leader.
    Owner,
}

/// So many sources are handled before the system is asked what else has come.
const TURNS_BEFORE_LOOK: u32 = 16;

/// One event loop. No lock of it is held while a source is handled, or while a thread waits.
pub struct Reactor<C: 'static> {
    me: Weak<Reactor<C>>,
    readiness: Readiness,
    pollers: Pollers,
    /// The context, while there is one.
    context: Box<dyn Fn() -> Option<C> + Send + Sync>,
    sources: Ranked<rank::Reactor, Entries<C>>,
    /// Sources with events to handle, the first one next.
    ready: Ranked<rank::Leaf, VecDeque<Arc<Entry<C>>>>,
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

impl<C: 'static> Reactor<C> {
    /// A loop without sources, which no thread runs yet.
    ///
    /// # Errors
    /// What the system says, for example that there are no descriptors left.
    pub fn new(
        pollers: Pollers,
        context: impl Fn() -> Option<C> + Send + Sync + 'static,
    ) -> io::Result<Arc<Self>> {
        let readiness = Readiness::new()?;
        Ok(Arc::new_cyclic(|me| Reactor {
            me: Weak::clone(me),
            readiness,
            pollers,
            context: Box::new(context),
            sources: Ranked::default(),
            ready: Ranked::default(),
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
    pub fn add(&self, source: Arc<dyn Source<C>>) -> io::Result<Registration> {
        if let Some(deadline) = source.next_deadline() {
            self.expect_deadline(deadline);
        }
        let entry = self.insert(source);
        let unwatchable = || io::Error::new(io::ErrorKind::Unsupported, "it cannot be watched");
        let descriptor = entry.source.descriptor().ok_or_else(unwatchable);
        match descriptor.and_then(|descriptor| self.readiness.add(descriptor, entry.id.0)) {
            Ok(()) => Ok(self.registration(entry.id)),
            Err(error) => {
                drop(self.sources.lock().remove(entry.id));
                Err(error)
            }
        }
    }

    /// Adds a source to which nothing ever comes: it is handled after [`Registration::again`].
    pub fn add_unwatched(&self, source: Arc<dyn Source<C>>) -> Registration {
        let entry = self.insert(source);
        self.registration(entry.id)
    }

    fn insert(&self, source: Arc<dyn Source<C>>) -> Arc<Entry<C>> {
        self.sources.lock().insert(Weak::clone(&self.me), source)
    }

    fn registration(&self, id: SourceId) -> Registration {
        Registration::new(self.downgrade(), id)
    }

    fn downgrade(&self) -> Weak<dyn Loop> {
        Weak::<Reactor<C>>::clone(&self.me)
    }

    /// Forgets a source. A call of its handler that is under way goes on.
    fn remove(&self, id: SourceId) {
        let removed = self.sources.lock().remove(id);
        if let Some(descriptor) = removed.as_ref().and_then(|entry| entry.source.descriptor()) {
            self.readiness.remove(descriptor);
        }
    }

    /// Whether a thread runs the loop and does not wait; before it does, it calls `before_waiting`
    /// of those that asked for it.
    pub fn is_awake(&self) -> bool {
        self.awake.load(Ordering::SeqCst) > 0
    }

    /// Has `before_waiting` of `source` called once, before the loop waits the next time. Of use
    /// only if [`Reactor::is_awake`] holds afterwards; else the caller flushes itself.
    pub fn flush_before_waiting(&self, source: Arc<dyn Flush>) {
        self.flushing.add(source);
    }

    /// Ends the wait of one thread, now or as soon as one waits.
    pub fn wake(&self) {
        self.readiness.wake();
    }

    /// Every run of the loop ends, and none begins any more. Sources are forgotten.
    pub fn close(&self) {
        self.closed.store(true, Ordering::SeqCst);
        let sources = std::mem::take(&mut *self.sources.lock());
        drop(sources);
        let ready = std::mem::take(&mut *self.ready.lock());
        drop(ready);
        self.ready_count.store(0, Ordering::SeqCst);
        self.wake();
        self.lead.wake_all();
    }

    /// Whether a thread of it that waits for something else may leave it without any thread.
    pub fn is_run_by_few(&self) -> bool {
        self.pollers != Pollers::Many
    }

    /// Whether [`Reactor::close`] was called.
    pub fn is_closed(&self) -> bool {
        self.closed.load(Ordering::SeqCst)
    }

    /// Whether something is there to be handled; waits for nothing.
    pub fn has_work(&self) -> bool {
        self.ready_count.load(Ordering::SeqCst) > 0
            || self.deadlines.have_passed()
            || self.gather(&mut Events::default(), Some(Duration::ZERO)) > 0
    }

    /// Handles at most one event, waiting for it at most `timeout` (`None`: for ever; also ended by
    /// [`Reactor::wake`]); whether there was one. Another thread that leads is not disturbed.
    pub fn run_once(&self, context: &C, timeout: Option<Duration>) -> bool {
        let Some(_lead) = self.try_lead() else { return false };
        let _running = self.enter();
        self.handle_next(context)
            || self.lead_again() && {
                self.wait(timeout);
                self.handle_next(context)
            }
    }

    /// Runs the loop until `done` or `deadline`; whether `done` holds. With [`Pollers::OneAtATime`]
    /// this thread leads, or follows while another leads: a thread that makes `done` true for
    /// another one calls [`Reactor::unblock`] with that one's [`Sleeper`].
    pub fn run_until(
        &self,
        context: &C,
        done: &dyn Fn() -> bool,
        deadline: Option<Instant>,
    ) -> bool {
        let passed = || deadline.is_some_and(|deadline| Instant::now() >= deadline);
        let _running = self.enter();
        loop {
            if done() {
                return true;
            }
            if self.is_closed() || passed() {
                return done();
            }
            match self.try_lead() {
                Some(_lead) => self.run_as_leader(context, done, deadline),
                None => self.follow(done, deadline),
            }
        }
    }

    /// Handles what comes until nothing has come for `patience` or the reactor is closed.
    pub fn run_while_busy(&self, context: &C, patience: Duration) {
        let _running = self.enter();
        while !self.is_closed() {
            if !self.handle_next(context) {
                let begun = Instant::now();
                self.wait(Some(patience));
                if self.ready_count.load(Ordering::SeqCst) == 0 && begun.elapsed() >= patience {
                    return;
                }
            }
        }
    }

    /// Handles what comes until the reactor is closed or its context is gone, which is held only
    /// while something is handled. For a thread that must not keep its context alive.
    pub fn run_while_needed(&self) {
        let _running = self.enter();
        while !self.is_closed() {
            let Some(_lead) = self.try_lead() else {
                self.follow(&|| false, None);
                continue;
            };
            while !self.is_closed() && self.lead_again() {
                self.wait(None);
                let Some(context) = (self.context)() else { return };
                while self.handle_next(&context) && self.lead_again() {}
            }
        }
    }

    /// Waits at the only source, `timeout` (until about `until`) at most, and handles what comes;
    /// `false` when there are more, or that one cannot be waited at. [`Reactor::wake`] does not end
    /// this, so it is for short waits.
    pub fn wait_at_only_source(&self, context: &C, timeout: Duration, until: Instant) -> bool {
        let only = self.sources.lock().only();
        only.is_some_and(|handler| handler.wait_here(context, timeout, until))
    }

    /// Wakes the thread of `sleeper` if it waits in [`Reactor::run_until`], leading or following.
    pub fn unblock(&self, sleeper: &Sleeper) {
        // This thread is awake, and looks before it waits.
        let sleeps_elsewhere = !sleeper.is_mine() && sleeper.wake();
        if sleeps_elsewhere || (self.pollers == Pollers::Owner && !sleeper.is_mine()) {
            self.wake();
        }
    }

    /// Handles what comes until `done`, `deadline`, or another thread leads.
    fn run_as_leader(&self, context: &C, done: &dyn Fn() -> bool, deadline: Option<Instant>) {
        while !done() && !self.is_closed() {
            // Also when something always comes.
            let left = deadline.map(|end| end.saturating_duration_since(Instant::now()));
            if left == Some(Duration::ZERO) {
                return;
            }
            if !self.handle_next(context) {
                // A thread that unblocks this one from here on ends the wait.
                if !self.lead_again() || !self.may_wait() || done() {
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

    /// Sleeps until `done`, `deadline`, or no thread leads.
    fn follow(&self, done: &dyn Fn() -> bool, deadline: Option<Instant>) {
        self.fall_asleep();
        self.lead.follow(done, deadline, || self.is_closed());
        self.awake.fetch_add(1, Ordering::SeqCst);
    }

    /// Handles the next source that is ready; whether there was one.
    fn handle_next(&self, context: &C) -> bool {
        if self.deadlines.have_passed() {
            self.handle_timeouts(context);
        }
        let Some(entry) = self.pop_ready() else { return false };
        // Sources that always have more must not keep the others waiting. Where many threads wait,
        // another one sees to those.
        if self.pollers != Pollers::Many
            && self.turns.fetch_add(1, Ordering::Relaxed).is_multiple_of(TURNS_BEFORE_LOOK)
        {
            self.gather(&mut Events::default(), Some(Duration::ZERO));
        }
        turn::handle(self, context, &entry);
        true
    }

    fn handle_timeouts(&self, context: &C) {
        let now = Instant::now();
        self.deadlines.forget();
        let due = self.sources.lock().all();
        for handler in due {
            if handler.next_deadline().is_some_and(|deadline| deadline <= now) {
                // Upcalls may follow, which must not stop the others.
                self.give_lead_away();
                Arc::clone(&handler).handle_timeout(context, now);
            }
            if let Some(deadline) = handler.next_deadline() {
                self.deadlines.note(deadline);
            }
        }
    }

    /// When a source is to be handled at the latest, about; `None`: none has a deadline.
    pub fn next_deadline(&self) -> Option<Instant> {
        self.deadlines.left().and_then(|left| Instant::now().checked_add(left))
    }

    /// What a loop of another kind watches to run this one: readable when something comes here.
    pub fn descriptor(&self) -> BorrowedFd<'_> {
        self.readiness.as_fd()
    }

    /// The calling thread watches [`Reactor::descriptor`] until the guard is dropped: what becomes
    /// ready without an event makes the descriptor readable, too.
    pub fn watch(&self) -> Watching<'_> {
        self.asleep.fetch_add(1, Ordering::SeqCst);
        self.flushing.flush();
        self.wake_for_ready();
        Watching { asleep: &self.asleep }
    }

    /// A source is to be handled at `deadline` at the latest.
    pub fn expect_deadline(&self, deadline: Instant) {
        if self.deadlines.note(deadline) && self.asleep.load(Ordering::SeqCst) > 0 {
            self.wake(); // It waits for longer than that.
        }
    }

    /// Waits for events and puts them among the ready.
    fn wait(&self, timeout: Option<Duration>) {
        let mut events = Events::default();
        // In this order: a thread that adds to the ready, or keeps something back to be flushed,
        // looks afterwards whether this one sleeps.
        assert_none_held("a wait for events");
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
        let most = if self.pollers == Pollers::Many { 1 } else { 64 };
        let came = match self.readiness.wait(events, most, timeout) {
            Ok(came) => came,
            Err(error) => {
                tracing::error!(%error, "the event loop cannot wait");
                return 0;
            }
        };
        let mut count = 0;
        let sources = self.sources.lock();
        for event in came {
            if let Some(entry) = sources.get(SourceId(event.token)) {
                self.mark(&entry, Bits::of(&event));
                count += 1;
            }
        }
        count
    }

    /// Notes what came to a source, and puts it among the ready unless it is there or in hand.
    fn mark(&self, entry: &Arc<Entry<C>>, bits: Bits) {
        if entry.mark(bits) {
            self.push_ready(Arc::clone(entry));
        }
    }

    fn push_ready(&self, entry: Arc<Entry<C>>) {
        let mut ready = self.ready.lock();
        ready.push_back(entry);
        self.ready_count.store(ready.len(), Ordering::SeqCst);
    }

    fn pop_ready(&self) -> Option<Arc<Entry<C>>> {
        if self.ready_count.load(Ordering::SeqCst) == 0 {
            return None;
        }
        let mut ready = self.ready.lock();
        let entry = ready.pop_front();
        self.ready_count.store(ready.len(), Ordering::SeqCst);
        entry
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
    fn enter(&self) -> Running<'_, C> {
        let is_nested = is_current_loop(Weak::as_ptr(&self.me).cast());
        let outer = replace_loop(Some(self.downgrade()));
        if !is_nested {
            self.awake.fetch_add(1, Ordering::SeqCst);
        }
        Running { reactor: self, outer, is_nested }
    }
}

/// See [`Reactor::watch`].
#[must_use]
pub struct Watching<'r> {
    asleep: &'r AtomicU32,
}

impl Drop for Watching<'_> {
    fn drop(&mut self) {
        self.asleep.fetch_sub(1, Ordering::SeqCst);
    }
}

/// This thread runs a loop; dropped, it leaves it and flushes.
struct Running<'r, C: 'static> {
    reactor: &'r Reactor<C>,
    outer: Option<Weak<dyn Loop>>,
    /// In an upcall of the same loop, so that this is not a second thread.
    is_nested: bool,
}

impl<C: 'static> Drop for Running<'_, C> {
    fn drop(&mut self) {
        replace_loop(self.outer.take());
        if !self.is_nested {
            self.reactor.fall_asleep();
        }
        // What is left is for others.
        self.reactor.wake_for_ready();
    }
}

impl<C: 'static> Loop for Reactor<C> {
    fn run_here(&self, done: &dyn Fn() -> bool, deadline: Option<Instant>) -> bool {
        (self.context)().is_some_and(|context| self.run_until(&context, done, deadline))
    }

    fn unblock(&self, sleeper: &Sleeper) {
        self.unblock(sleeper);
    }

    fn again(&self, source: SourceId) {
        let entry = self.sources.lock().get(source);
        if let Some(entry) = entry {
            self.mark(&entry, Bits::INPUT);
            self.wake_for_ready();
        }
    }

    fn remove(&self, source: SourceId) {
        self.remove(source);
    }

    fn is_run_by_few(&self) -> bool {
        self.is_run_by_few()
    }

    fn flush_before_waiting(&self, source: Arc<dyn Flush>) {
        self.flush_before_waiting(source);
    }
}
