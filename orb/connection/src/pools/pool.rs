//! The connections to one endpoint: those that wait for a call, and how many there are.
//!
//! A call takes a connection out and puts it back; no lock is held meanwhile (invariant 8). The
//! one used last is taken first, so that a thread's calls in a row go over one connection and keep
//! their order, and the others age and are closed. Paper AMI §3.1, exclusive multiplexing.

use super::Opens;
use super::shared::Sharing;
use crate::connection::Context as _;
use crate::exclusive::ExclusiveConnection;
use crate::{Awaited, Clock, ConnectionFault};
use corbie_cdr::CodeSets;
use corbie_giop::{Protocol, Roles};
use corbie_threads::lock::{Guard, Ranked, Signal, rank};
use corbie_threads::thread::is_serving;
use corbie_transport::{Endpoint, Link};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// A connection that waited idle at least this long is looked at before it is used: a server that
/// restarted meanwhile has closed it. In a row of calls the look, a system call, is spared.
const STALE_AFTER: Duration = Duration::from_millis(50);

/// How a call has its connection (paper AMI §3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lease {
    /// For itself; its thread reads it.
    Exclusive,
    /// For itself, as one that an event loop can read.
    Reserved,
    /// With others.
    Shared,
}

/// Whether a call may open a connection (`RebindPolicy`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opening {
    /// It may.
    Free,
    /// As long as the pool has lost no more connections than this.
    WithoutLoss(u32),
    /// It may not.
    Forbidden,
    /// It may not, for whatever policy: the place is reached over a connection that was opened from
    /// there, or not at all.
    OnlyBack,
}

impl Opening {
    #[inline]
    pub(super) fn check<U: Opens>(self, pool: &Pool<U>) -> Result<(), ConnectionFault> {
        match self {
            Opening::Free => Ok(()),
            Opening::WithoutLoss(losses) if losses == pool.losses() => Ok(()),
            Opening::OnlyBack => Err(ConnectionFault::NoWayBack),
            _ => Err(ConnectionFault::MayNotOpen),
        }
    }
}

/// See the module.
pub struct Pool<U: Opens> {
    pub(super) endpoint: Endpoint,
    pub(super) protocol: Protocol,
    pub(super) code_sets: CodeSets,
    /// Held for a push or a pop.
    state: Ranked<rank::Pool, Stock>,
    /// Connections that were closed since the pool was made, for `RebindPolicy`.
    pub(super) losses: AtomicU32,
    /// Threads wait here for a connection when `connections_per_endpoint` are in use.
    returned: Signal,
    /// The connections that calls share.
    pub(super) shared: Sharing<U>,
}

#[derive(Default)]
pub(super) struct Stock {
    #[expect(
        clippy::vec_box,
        reason = "moved out and in by every call: a pointer, not 400 octets"
    )]
    idle: Vec<Box<ExclusiveConnection>>,
    /// Idle, but replies to calls that were given up are still to come: taken last.
    #[expect(clippy::vec_box, reason = "as above")]
    indebted: Vec<Box<ExclusiveConnection>>,
    /// Idle and in use; more than `connections_per_endpoint` only while nested calls need them.
    open: u32,
    waiting: u32,
    pub(super) closed: bool,
}

impl<U: Opens> Pool<U> {
    pub(super) fn new(endpoint: Endpoint, protocol: Protocol, code_sets: CodeSets) -> Self {
        Pool {
            endpoint,
            protocol,
            code_sets,
            state: Ranked::default(),
            losses: AtomicU32::new(0),
            returned: Signal::new(),
            shared: Sharing::default(),
        }
    }

    /// Where its connections lead.
    #[inline]
    pub fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// What text is encoded in.
    pub fn code_sets(&self) -> CodeSets {
        self.code_sets
    }

    /// Whether a synchronous call has to go over the connection that calls share, as requests that
    /// it must not overtake do. In the usual case one look.
    #[inline]
    pub fn has_shared_requests(&self) -> bool {
        self.shared.uses.load(Ordering::Relaxed) != 0 && self.is_shared_in_use()
    }

    /// Whether a synchronous call has to go over a connection that it shares: because of such
    /// requests, or as the other end sends requests over it, too. In the usual case one look.
    #[inline]
    pub fn has_to_share(&self) -> bool {
        self.shared.uses.load(Ordering::Relaxed) != 0
            && (self.is_bidirectional() || self.is_shared_in_use())
    }

    /// A connection for one call: an idle one, else a new one, else one that still owes a reply,
    /// else the next that is put back. `clock` notes when that took time.
    ///
    /// # Errors
    /// `Unreachable`; `TimedOut` when the time of the call ends before there is a connection;
    /// `ShutDown`; `MayNotOpen` when one would have to be opened and `opening` forbids it.
    #[inline]
    pub fn take(
        self: &Arc<Self>,
        context: &U::Context,
        clock: &mut Clock,
        opening: Opening,
    ) -> Result<PooledConnection<U>, ConnectionFault> {
        let most = context.settings().connections_per_endpoint;
        let mut state = self.lock();
        loop {
            if let Some(mut connection) = state.idle.pop() {
                drop(state);
                let idle = clock.start.saturating_duration_since(connection.last_used);
                // After a failure the other connections are suspect, too.
                if (idle < STALE_AFTER && !clock.has_waited) || !connection.link().is_stale() {
                    connection.last_used = clock.start;
                    return Ok(self.taken(connection, most));
                }
                drop(connection);
                self.forget_one();
                state = self.lock();
                continue;
            }
            clock.has_waited = true;
            if state.closed {
                return Err(ConnectionFault::ShutDown);
            }
            if !state.indebted.is_empty() {
                state = self.settle_debts(state);
                if !state.idle.is_empty() {
                    continue;
                }
            }
            if state.open < most || is_serving() {
                opening.check(self)?;
                state.open += 1;
                drop(state);
                return self.open(context, clock, most);
            }
            if let Some(mut connection) = state.indebted.pop() {
                drop(state);
                connection.last_used = clock.start;
                return Ok(self.taken(connection, most));
            }
            state = self.wait_for_one(state, most, clock.deadline())?;
        }
    }

    /// Makes those connections idle whose late replies have come, and drops those that are broken.
    #[cold]
    fn settle_debts<'l>(
        &'l self,
        mut state: Guard<'l, rank::Pool, Stock>,
    ) -> Guard<'l, rank::Pool, Stock> {
        let mut indebted = std::mem::take(&mut state.indebted);
        drop(state);
        let (mut settled, before) = (Vec::new(), indebted.len());
        indebted.retain_mut(|connection| connection.settle().is_ok());
        let broken = before - indebted.len();
        settled.extend(indebted.extract_if(.., |connection| !connection.owes_replies()));
        (0..broken).for_each(|_| self.forget_one());
        let mut state = self.lock();
        if state.closed {
            let owned = u32::try_from(settled.len() + indebted.len()).unwrap_or(0);
            state.open -= owned;
            return state;
        }
        state.idle.extend(settled);
        state.indebted.extend(indebted);
        state
    }

    #[inline]
    fn taken(
        self: &Arc<Self>,
        connection: Box<ExclusiveConnection>,
        most: u32,
    ) -> PooledConnection<U> {
        let connection = Some(connection);
        PooledConnection { connection, pool: Arc::clone(self), most, reusable: false }
    }

    /// Opens a connection, for which `open` was counted up already.
    #[cold]
    fn open(
        self: &Arc<Self>,
        context: &U::Context,
        clock: &Clock,
        most: u32,
    ) -> Result<PooledConnection<U>, ConnectionFault> {
        match self.connect(context, clock) {
            Ok(connection) => Ok(self.taken(Box::new(connection), most)),
            Err(failure) => {
                self.forget_one();
                Err(failure)
            }
        }
    }

    fn connect(
        &self,
        context: &U::Context,
        clock: &Clock,
    ) -> Result<ExclusiveConnection, ConnectionFault> {
        let link = self.connect_link(context, clock)?;
        let reader = context.reader(Roles::CLIENT, self.protocol);
        Ok(ExclusiveConnection::new(link, self.code_sets, reader, U::wait(context)))
    }

    pub(super) fn connect_link(
        &self,
        context: &U::Context,
        clock: &Clock,
    ) -> Result<Link, ConnectionFault> {
        let deadline = clock.deadline();
        let link = Link::connect(&self.endpoint, context.settings().connect_timeout, deadline)
            .map_err(|error| match clock.left() {
                Some(Duration::ZERO) => ConnectionFault::TimedOut(Awaited::Connection),
                _ => ConnectionFault::Unreachable(error),
            })?;
        tracing::debug!(endpoint = %self.endpoint, protocol = %self.protocol, "connection opened");
        U::note_opened(context);
        Ok(link)
    }

    #[cold]
    fn wait_for_one<'l>(
        &'l self,
        mut state: Guard<'l, rank::Pool, Stock>,
        most: u32,
        deadline: Option<Instant>,
    ) -> Result<Guard<'l, rank::Pool, Stock>, ConnectionFault> {
        state.waiting += 1;
        let mut state = match deadline {
            None => self.returned.wait(state),
            Some(deadline) => {
                let left = deadline.saturating_duration_since(Instant::now());
                self.returned.wait_for(state, left)
            }
        };
        state.waiting -= 1;
        let passed = deadline.is_some_and(|deadline| Instant::now() >= deadline);
        let none = state.idle.is_empty() && state.indebted.is_empty();
        if passed && none && state.open >= most && !state.closed {
            return Err(ConnectionFault::TimedOut(Awaited::OneOf(state.open)));
        }
        Ok(state)
    }

    #[inline]
    fn put_back(&self, connection: Box<ExclusiveConnection>, most: u32) {
        let mut state = self.lock();
        // One too many was opened for a nested call; who waits may have it.
        if state.closed || (state.open > most && state.waiting == 0) {
            state.open -= 1;
            drop(state);
            return drop(connection);
        }
        if connection.owes_replies() {
            state.indebted.push(connection);
        } else {
            state.idle.push(connection);
        }
        if state.waiting > 0 {
            drop(state);
            self.returned.wake_one();
        }
    }

    /// A connection was closed.
    fn forget_one(&self) {
        self.losses.fetch_add(1, Ordering::Relaxed);
        let mut state = self.lock();
        state.open -= 1;
        if state.waiting > 0 {
            drop(state);
            self.returned.wake_one();
        }
    }

    /// Closes what was idle since before `cutoff`.
    pub(super) fn purge(&self, cutoff: Instant) {
        let mut state = self.lock();
        // The one used last is at the end, so the old ones are in front.
        let old = state.idle.iter().take_while(|c| c.last_used < cutoff).count();
        let mut old: Vec<_> = state.idle.drain(..old).collect();
        old.extend(state.indebted.extract_if(.., |c| c.last_used < cutoff));
        let closed = u32::try_from(old.len()).unwrap_or(0);
        state.open -= closed;
        drop(state);
        drop(old);
        let closed = closed + self.purge_shared(cutoff);
        self.losses.fetch_add(closed, Ordering::Relaxed);
    }

    /// What was not used since `cutoff` holds no buffers any more.
    pub(super) fn rest(&self, cutoff: Instant) {
        let mut state = self.lock();
        let Stock { idle, indebted, .. } = &mut *state;
        let all = idle.iter_mut().chain(indebted);
        all.filter(|connection| connection.last_used < cutoff).for_each(|c| c.rest());
    }

    /// When the connection that waits longest was used last.
    pub(super) fn oldest_idle(&self) -> Option<Instant> {
        let state = self.lock();
        let idle = state.idle.first().into_iter().chain(&state.indebted);
        let exclusive = idle.map(|connection| connection.last_used).min();
        drop(state);
        self.shared_idle_since().into_iter().chain(exclusive).min()
    }

    /// How many connections are open, idle or in use.
    pub(super) fn open_connections(&self) -> u32 {
        let shared = self.open_shared_connections();
        self.lock().open + shared
    }

    /// Whether any connection is open, for one call or shared.
    pub fn is_connected(&self) -> bool {
        self.lock().open > 0 || self.shared_connections().iter().any(|c| c.is_open())
    }

    /// The ORB is shut down.
    pub fn is_closed(&self) -> bool {
        self.lock().closed
    }

    /// How many connections were closed until now; wraps around.
    pub fn losses(&self) -> u32 {
        self.losses.load(Ordering::Relaxed)
    }

    /// Closes idle connections now and those in use when their calls end.
    pub(super) fn close(&self) {
        let mut state = self.lock();
        state.closed = true;
        let mut idle = std::mem::take(&mut state.idle);
        idle.append(&mut state.indebted);
        state.open -= u32::try_from(idle.len()).unwrap_or(0);
        drop(state);
        self.returned.wake_all();
        drop(idle);
        for connection in self.shared_connections() {
            connection.shut_down();
        }
        self.close_lines();
    }

    #[inline]
    pub(super) fn lock(&self) -> Guard<'_, rank::Pool, Stock> {
        self.state.lock()
    }
}

/// A connection taken out of its pool. Dropped, it goes back when the call ended well, and is
/// closed when not, since a reply to the failed call could arrive on it next.
pub struct PooledConnection<U: Opens> {
    /// `Some` until dropped.
    connection: Option<Box<ExclusiveConnection>>,
    pool: Arc<Pool<U>>,
    /// `connections_per_endpoint`.
    most: u32,
    reusable: bool,
}

impl<U: Opens> PooledConnection<U> {
    /// The call ended well: the connection may serve the next one.
    #[inline]
    pub fn set_reusable(&mut self) {
        self.reusable = true;
    }

    /// Where it leads.
    pub fn endpoint(&self) -> &Endpoint {
        &self.pool.endpoint
    }

    /// The connection.
    ///
    /// # Errors
    /// It was given back, which does not happen.
    #[inline]
    pub fn get(&mut self) -> Result<&mut ExclusiveConnection, ConnectionFault> {
        self.connection.as_deref_mut().ok_or_else(ConnectionFault::gone)
    }

    /// The connection, unless it was given back, which does not happen.
    #[inline]
    pub fn peek(&self) -> Option<&ExclusiveConnection> {
        self.connection.as_deref()
    }
}

impl<U: Opens> Drop for PooledConnection<U> {
    #[inline]
    fn drop(&mut self) {
        let Some(connection) = self.connection.take() else { return };
        if self.reusable {
            self.pool.put_back(connection, self.most);
        } else {
            drop(connection);
            self.pool.forget_one();
        }
    }
}
