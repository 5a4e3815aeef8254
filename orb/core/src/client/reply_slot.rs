//! What the thread that waits for a reply shares with the one that delivers it.
//!
//! A thread that waits reads the connection itself if no other thread does (wait-on-read), and
//! delivers what is for others; else it sleeps until its outcome is here or it is to read on. Of
//! synchronous calls over shared connections, and of deferred ones, of which the application has
//! the [`PendingReply`]: pollers, futures and the DII are made of it. Paper AMI §2.2, §3.1; CORBA
//! Messaging §22.9.

use crate::client::own_loop;
use crate::connection::Connection;
use crate::{Orb, Reply};
use corbie_connection::Lease;
use corbie_settings::ReplyWait;
use corbie_threads::lock::{Guard, Ranked, Signal, rank};
use corbie_threads::thread::{Loop, Sleeper, loop_to_run};
use corbie_types::{CompletionStatus, SystemException, minor};
use std::cell::RefCell;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Weak};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

thread_local! {
    /// What this thread waited with last, to be used again.
    static SLOT: RefCell<Option<Arc<ReplySlot>>> = const { RefCell::new(None) };
}

/// The outcome of a call.
pub(crate) type Outcome = Result<Reply, SystemException>;

/// See the module.
#[derive(Default)]
pub(crate) struct ReplySlot {
    state: Ranked<rank::ReplySlot, State>,
    changed: Signal,
    /// Whether the thread that sent the request may do much else before it waits for the reply.
    is_deferred: bool,
}

#[derive(Default)]
struct State {
    outcome: Option<Outcome>,
    /// Whether the outcome was there and was taken.
    is_taken: bool,
    /// Whether the application gave the call up.
    is_cancelled: bool,
    /// Where the request was sent last; `None` between two attempts, too.
    sent: Option<Sent>,
    waker: Option<Waker>,
    /// Whether the event loop has to read the reply, as no thread waits for it.
    is_watched: bool,
    /// The thread that waits is to look again.
    is_called: bool,
    sleepers: u32,
    /// The thread that waits in the event loop.
    in_event_loop: Option<(Arc<dyn Loop>, Arc<Sleeper>)>,
}

/// Where a request is.
#[derive(Clone)]
struct Sent {
    connection: Weak<Connection>,
    id: u32,
    deadline: Option<Instant>,
}

impl State {
    fn is_ready(&self) -> bool {
        self.outcome.is_some() || self.is_taken
    }
}

impl ReplySlot {
    /// That of a call whose reply is asked for later.
    pub(crate) fn deferred() -> Arc<Self> {
        Arc::new(ReplySlot { is_deferred: true, ..ReplySlot::default() })
    }

    /// Runs `call` with the slot of this thread, or with another one if that is in use.
    pub(crate) fn with_one<T>(call: impl FnOnce(&Arc<Self>) -> T) -> T {
        let mut slot = SLOT.take().unwrap_or_default();
        let outcome = call(&slot);
        // Not where another thread has it still.
        if let Some(used) = Arc::get_mut(&mut slot) {
            *used = ReplySlot::default();
            SLOT.set(Some(slot));
        }
        outcome
    }

    /// Whether it may be that no thread reads the reply.
    pub(crate) fn is_deferred(&self) -> bool {
        self.is_deferred
    }

    /// The outcome is here.
    pub(crate) fn complete(&self, outcome: Outcome) {
        let mut state = self.state.lock();
        state.outcome = Some(outcome);
        state.sent = None;
        let waker = state.waker.take();
        let in_event_loop = state.in_event_loop.take();
        self.call(state);
        if let Some((reactor, sleeper)) = in_event_loop {
            reactor.unblock(&sleeper);
        }
        // A waker that panics fails its own executor, not the thread that reads for others.
        if let Some(waker) = waker
            && catch_unwind(AssertUnwindSafe(|| waker.wake())).is_err()
        {
            tracing::error!("the waker of a future that waits for a reply panicked");
        }
    }

    /// The request is about to be sent over `connection`; whether the event loop has to read it.
    pub(crate) fn note_sent(
        &self,
        connection: &Weak<Connection>,
        id: u32,
        deadline: Option<Instant>,
    ) -> bool {
        let mut state = self.state.lock();
        state.sent = Some(Sent { connection: Weak::clone(connection), id, deadline });
        let is_watched = state.is_watched;
        self.call(state);
        is_watched
    }

    /// The request is not pending any more: its outcome is about to come, or another attempt.
    pub(crate) fn note_taken(&self) {
        self.state.lock().sent = None;
    }

    /// Whether the request is pending on `connection`.
    fn is_pending_on(&self, connection: &Connection) -> bool {
        let state = self.state.lock();
        let sent = state.sent.as_ref();
        sent.is_some_and(|sent| std::ptr::eq(sent.connection.as_ptr(), connection))
    }

    /// No thread reads the connection any more: the one that waits here may.
    pub(crate) fn wake(&self) {
        self.call(self.state.lock());
    }

    /// Has the thread that waits here look again.
    fn call(&self, mut state: Guard<'_, rank::ReplySlot, State>) {
        state.is_called = true;
        if state.sleepers > 0 {
            drop(state);
            self.changed.wake_all();
        }
    }

    pub(crate) fn is_ready(&self) -> bool {
        self.state.lock().is_ready()
    }

    /// Takes what has arrived, and looks at the clock; whether the outcome is here then.
    pub(crate) fn look(&self, orb: &Orb) -> bool {
        let sent = self.state.lock().sent.clone();
        if let Some(sent) = sent
            && let Some(connection) = sent.connection.upgrade()
        {
            match connection.is_bidirectional() {
                false => connection.read_available(orb, false),
                true => self.look_in_event_loop(orb),
            }
            if sent.deadline.is_some() {
                connection.expire(Instant::now());
            }
        }
        self.is_ready()
    }

    /// A connection whose ends both ask is read by its own threads or an event loop alone: runs the
    /// one of the ORB where only the application does.
    fn look_in_event_loop(&self, orb: &Orb) {
        if orb.is_driven_by_application()
            && let Ok(reactor) = orb.reactor()
        {
            reactor.run_once(orb, Some(Duration::ZERO));
        }
    }

    /// Waits there until the outcome may be here.
    fn wait_for_reader(&self, orb: &Orb, until: Option<Instant>) {
        if !orb.is_driven_by_application() {
            return self.sleep(until);
        }
        let Ok(reactor) = orb.reactor() else { return self.sleep(until) };
        let reactor: Arc<dyn Loop> = Arc::clone(reactor) as _;
        self.state.lock().in_event_loop = Some((Arc::clone(&reactor), Sleeper::current()));
        reactor.run_here(&|| self.is_ready(), until);
        self.state.lock().in_event_loop = None;
    }

    /// Waits until the outcome is here or `deadline` has passed; whether it is here.
    pub(crate) fn wait(self: &Arc<Self>, orb: &Orb, deadline: Option<Instant>) -> bool {
        // The connection that this thread may have been called to read.
        let mut called = Called(None);
        loop {
            let (sent, is_ready) = {
                let mut state = self.state.lock();
                state.is_called = false;
                (state.sent.clone(), state.is_ready())
            };
            if is_ready {
                return true;
            }
            let passed = |time: Option<Instant>| time.is_some_and(|time| time <= Instant::now());
            if passed(deadline) {
                return self.is_ready();
            }
            let open = sent.and_then(|sent| Some((sent.connection.upgrade()?, sent.deadline)));
            let Some((connection, over)) = open.filter(|(connection, _)| connection.is_open())
            else {
                // Another thread is about to tell the outcome, or to send it again.
                self.sleep(deadline);
                continue;
            };
            if passed(over) {
                connection.expire(Instant::now());
                // If it is not among those, another thread is about to tell the outcome.
                self.sleep(deadline);
                continue;
            }
            let until = deadline.into_iter().chain(over).min();
            if connection.is_bidirectional() {
                self.wait_for_reader(orb, until);
                continue;
            }
            called.reads(&connection);
            if !connection.read_one(orb, until, || self.is_pending_on(&connection))
                && let Some(_follower) = connection.follow(self)
            {
                self.sleep(until);
                called = Called(Some(Arc::clone(&connection)));
            }
        }
    }

    /// Waits for the reply to a synchronous call, which has its connection by `lease`, as the
    /// setting `reply_wait` says; but inside an upcall of an event loop that no other thread runs,
    /// in that loop.
    pub(crate) fn wait_for_reply(self: &Arc<Self>, orb: &Orb, lease: Lease) {
        let of_orb = || {
            orb.reactor().is_ok_and(|of_orb| {
                let reactor: Arc<dyn Loop> = Arc::clone(of_orb) as _;
                self.wait_in_event_loop(orb, &reactor)
            })
        };
        let is_ready = match (loop_to_run(), orb.settings().reply_wait) {
            (Some(reactor), _) => self.wait_in_event_loop(orb, &reactor),
            (None, ReplyWait::Read) => false,
            (None, ReplyWait::Reactor) => self.wait_in_own_loop(orb, lease),
            (None, ReplyWait::LeaderFollowers) => of_orb(),
        };
        if !is_ready {
            // Ends with the call's own time at the latest.
            self.wait(orb, None);
        }
    }

    /// Runs an event loop, or follows the thread that does, until the outcome is here; whether it
    /// is. The call's own time ends it at the latest.
    /// The ORB of `reactor` may be another one than that of the call.
    fn wait_in_event_loop(&self, orb: &Orb, reactor: &Arc<dyn Loop>) -> bool {
        self.watch(None);
        // Where it is not this loop that reads the reply, a thread of the ORB has to.
        let reads_elsewhere = !orb
            .reactor()
            .is_ok_and(|ours| std::ptr::addr_eq(Arc::as_ptr(ours), Arc::as_ptr(reactor)));
        if self.ensure_read(orb, reads_elsewhere).is_err() {
            return false;
        }
        self.state.lock().in_event_loop = Some((Arc::clone(reactor), Sleeper::current()));
        reactor.run_here(&|| self.is_ready(), None);
        self.state.lock().in_event_loop = None;
        self.is_ready()
    }

    /// Runs the event loop of this thread, which has the connection of the call as a source where
    /// the call has one for itself, until the outcome is here; whether it is.
    fn wait_in_own_loop(&self, orb: &Orb, lease: Lease) -> bool {
        let Ok(own) = own_loop::of_this_thread(orb) else { return false };
        // What is sent again is read by the loop of the ORB.
        self.watch(None);
        let sent = self.state.lock().sent.clone();
        if let Some(Sent { connection, deadline, .. }) = sent
            && let Some(connection) = connection.upgrade()
        {
            let is_read = match lease {
                Lease::Shared => connection.ensure_read(orb).is_ok(),
                _ if connection.is_bidirectional() => true,
                Lease::Exclusive | Lease::Reserved => connection.read_in(&own).is_ok(),
            };
            if !is_read {
                return false;
            }
            if let Some(deadline) = deadline {
                own.expect_deadline(deadline);
            }
        }
        self.state.lock().in_event_loop = Some((Arc::clone(&own) as _, Sleeper::current()));
        own_loop::run(orb, &own, &|| self.is_ready());
        self.state.lock().in_event_loop = None;
        self.is_ready()
    }

    /// Sleeps until something changes.
    fn sleep(&self, until: Option<Instant>) {
        let mut state = self.state.lock();
        state.sleepers += 1;
        let waits = |state: &mut State| !state.is_called && !state.is_ready();
        let mut state = self.changed.wait_while_until(state, until, waits);
        state.sleepers -= 1;
    }

    /// The outcome, once.
    ///
    /// # Errors
    /// The exception that the call ended with; `NO_RESPONSE`, `BAD_INV_ORDER`.
    pub(crate) fn take(&self) -> Outcome {
        let mut state = self.state.lock();
        match state.outcome.take() {
            Some(outcome) => {
                state.is_taken = true;
                outcome
            }
            None if state.is_taken => Err(taken_already()),
            None => Err(minor::NO_RESPONSE_NOT_YET.raise(
                CompletionStatus::Maybe,
                "the reply is not here yet; wait for it, or poll again later",
            )),
        }
    }

    /// The application does not want the outcome any more.
    pub(crate) fn cancel(&self) {
        let mut state = self.state.lock();
        state.is_cancelled = true;
        let sent = state.sent.take();
        drop(state);
        if let Some(Sent { connection, id, .. }) = sent
            && let Some(connection) = connection.upgrade()
        {
            connection.cancel(id);
        }
    }

    /// Whether the application gave the call up: it is not sent (again).
    pub(crate) fn is_cancelled(&self) -> bool {
        self.state.lock().is_cancelled
    }

    /// No thread waits from now on: `waker` is to be woken. Whether the outcome is here.
    pub(crate) fn watch(&self, waker: Option<&Waker>) -> bool {
        let mut state = self.state.lock();
        if state.is_ready() {
            return true;
        }
        state.is_watched = true;
        match (&mut state.waker, waker) {
            (Some(slot), Some(waker)) => slot.clone_from(waker),
            (slot, waker) => *slot = waker.cloned(),
        }
        false
    }

    /// Has the event loop read the reply; `even_so`: also where only the application runs it.
    ///
    /// # Errors
    /// As [`Connection::ensure_read`].
    pub(crate) fn ensure_read(&self, orb: &Orb, even_so: bool) -> Result<(), SystemException> {
        let sent = self.state.lock().sent.clone();
        if let Some(connection) = sent.and_then(|sent| sent.connection.upgrade()) {
            connection.ensure_read(orb)?;
        }
        if even_so { orb.ensure_event_loop(true) } else { Ok(()) }
    }
}

/// A connection that a thread followed. Unless the thread reads it then, another one is called when
/// this is dropped: the call may have been for this thread, and there is only one for each reading.
struct Called(Option<Arc<Connection>>);

impl Called {
    /// This thread tries to read `connection` now.
    fn reads(&mut self, connection: &Arc<Connection>) {
        self.0.take_if(|called| Arc::ptr_eq(called, connection));
    }
}

impl Drop for Called {
    fn drop(&mut self) {
        if let Some(connection) = &self.0 {
            connection.call_another();
        }
    }
}

/// A reply that may not be here yet. Dropped, it forgets the reply; the call goes on.
pub struct PendingReply {
    orb: Orb,
    slot: Arc<ReplySlot>,
}

impl PendingReply {
    pub(crate) fn new(orb: &Orb, slot: Arc<ReplySlot>) -> Self {
        PendingReply { orb: orb.clone(), slot }
    }

    /// Whether [`PendingReply::take`] has an outcome. Never waits.
    pub fn is_ready(&self) -> bool {
        self.slot.is_ready() || self.slot.look(&self.orb)
    }

    /// Waits for the outcome, at most for `timeout` (`None`: as long as the call may take); whether
    /// it is here. Replies to other calls that arrive meanwhile may be delivered by this thread.
    pub fn wait(&self, timeout: Option<Duration>) -> bool {
        let deadline = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        self.slot.wait(&self.orb, deadline)
    }

    /// The outcome, once: the reply, or the system exception that [`Object::invoke`] would have
    /// returned.
    ///
    /// [`Object::invoke`]: crate::Object::invoke
    ///
    /// # Errors
    /// That exception; `NO_RESPONSE` (`COMPLETED_MAYBE`) when there is no outcome yet, and
    /// `BAD_INV_ORDER` when it was taken already.
    pub fn take(&self) -> Result<Reply, SystemException> {
        self.slot.take()
    }

    /// The reply is not wanted any more: tells the server so (`CancelRequest`) unless the reply is
    /// here already. The server may have carried the call out.
    pub fn cancel(self) {
        self.slot.cancel();
    }

    /// As a future's `poll`: the outcome, or the promise to wake `context` when it is here.
    /// After it was ready once: `BAD_INV_ORDER`.
    pub fn poll_reply(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Result<Reply, SystemException>> {
        self.poll_ready(context).map(|()| self.take())
    }

    /// As [`PendingReply::poll_reply`], but leaves the outcome where it is: whether
    /// [`PendingReply::take`] has one. Only the `context` given last is woken. The ORB's event loop
    /// reads the reply from now on; with `event_loop = application`, where no thread may be running
    /// it, a thread of the ORB stands by.
    pub fn poll_ready(&self, context: &mut Context<'_>) -> Poll<()> {
        if self.slot.watch(Some(context.waker())) {
            return Poll::Ready(());
        }
        if let Err(exception) = self.slot.ensure_read(&self.orb, true) {
            tracing::warn!(%exception, "no thread reads the reply to a call that is polled");
        }
        Poll::Pending
    }
}

impl Drop for PendingReply {
    fn drop(&mut self) {
        // The reply is of no interest, but has to be read, as those behind it.
        if !self.slot.watch(None) {
            let _ = self.slot.ensure_read(&self.orb, false);
        }
    }
}

impl fmt::Debug for PendingReply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_ready = self.slot.is_ready();
        f.debug_struct("PendingReply").field("is_ready", &is_ready).finish()
    }
}

#[cold]
fn taken_already() -> SystemException {
    minor::BAD_INV_ORDER_RESULT_TAKEN
        .raise(CompletionStatus::Yes, "the reply was taken already; it is handed out once")
}
