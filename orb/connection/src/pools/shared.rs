//! The connections to one endpoint that several calls use at once, or that the event loop reads.
//!
//! The half of a pool for asynchronous calls, and for synchronous ones where
//! `transport_multiplexing` or `reply_wait` say so. Paper AMI §3.1, transport multiplexing.

use super::back::Ways;
use super::line::Line;
use super::{Lease, Opening, Opens, Pool};
use crate::connection::{Bounds, Connection, Context as _};
use crate::{Awaited, Clock, ConnectionFault, Limits, ReceiveFailure};
use corbie_giop::Roles;
use corbie_threads::lock::{Guard, Ranked, Signal, rank};
use corbie_transport::{Link, Waiter};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// So many connections to one endpoint are opened at once for calls that want their own.
const OPENING_MAX: usize = 8;

/// What a pool has of connections that calls share.
pub(super) struct Sharing<U: Opens> {
    /// Held for a look, and not while a connection is opened.
    connections: Ranked<rank::SharedConnections, Open<U>>,
    /// Threads wait here while another one opens the connection that calls share.
    pub(super) opened: Signal,
    /// Requests that went over the common connection since it was found idle.
    pub(super) uses: AtomicU64,
}

/// Connections that the event loop can read.
pub(super) struct Open<U: Opens> {
    /// The one that calls share.
    pub(super) common: Option<Arc<Connection<U>>>,
    /// Those that one call uses at a time.
    pub(super) own: Vec<Arc<Connection<U>>>,
    /// A thread opens the common one, or sends what stands in its line.
    pub(super) is_opening: bool,
    /// Calls that wait for the common one.
    pub(super) line: Line<U::Call>,
    /// Calls that wait for a connection of their own.
    pub(super) own_line: Line<U::Call>,
    /// Connections that are being opened for them: one for each call, up to [`OPENING_MAX`].
    pub(super) own_opening: usize,
    /// One that a client opened, and that leads back to this place.
    pub(super) back: Ways<U>,
    /// The common one is offered to the server for requests the other way.
    pub(super) is_offered: bool,
}

/// What calls share, locked.
pub(super) type SharedGuard<'l, U> = Guard<'l, rank::SharedConnections, Open<U>>;

impl<U: Opens> Default for Sharing<U> {
    fn default() -> Self {
        let (common, own, is_opening) = (None, Vec::new(), false);
        let (line, own_line) = (Line::default(), Line::default());
        let (back, is_offered) = (Ways::default(), false);
        let open =
            Open { common, own, is_opening, line, own_line, own_opening: 0, back, is_offered };
        let (opened, uses) = (Signal::new(), AtomicU64::new(0));
        Sharing { connections: Ranked::new(open), opened, uses }
    }
}

impl<U: Opens> Open<U> {
    fn connections(&self) -> impl Iterator<Item = &Arc<Connection<U>>> {
        self.common.iter().chain(&self.own)
    }

    /// One that can take a request now.
    pub(super) fn find(&self, lease: Lease) -> Option<Arc<Connection<U>>> {
        if let Some(back) = self.open_back() {
            return Some(back);
        }
        let is_usable = |connection: &&Arc<Connection<U>>| {
            connection.is_open() && (!self.is_offered || connection.is_bidirectional())
        };
        let found = match lease {
            // While its line is being sent, nothing goes past that.
            Lease::Shared if self.is_opening => None,
            Lease::Shared => self.common.as_ref().filter(is_usable),
            Lease::Exclusive | Lease::Reserved => {
                self.own.iter().find(|connection| connection.reserve())
            }
        };
        found.cloned()
    }

    /// The connection that leads back to this place, if it is open.
    pub(super) fn open_back(&self) -> Option<Arc<Connection<U>>> {
        self.back.open()
    }

    /// The common connection is this from now on. One that was opened before connections were
    /// offered ends when it is not used.
    pub(super) fn set_common(&mut self, connection: &Arc<Connection<U>>) {
        let before = self.common.replace(Arc::clone(connection));
        self.own.extend(before.filter(|before| before.is_open()));
    }

    /// Whether another connection is to be opened for the line of calls that want their own, which
    /// is counted then.
    pub(super) fn opens_own(&mut self) -> bool {
        let opens = self.own_opening < self.own_line.len().min(OPENING_MAX);
        self.own_opening += usize::from(opens);
        opens
    }

    fn forget_closed(&mut self) {
        self.own.retain(|connection| connection.is_open());
        self.common.take_if(|connection| !connection.is_open());
    }
}

impl<U: Opens> Pool<U> {
    /// A connection that calls can share: the one of this endpoint, or one that no request uses;
    /// opened when there is none. To be given back with [`Connection::release`].
    ///
    /// # Errors
    /// As [`Pool::take`].
    pub fn shared(
        self: &Arc<Self>,
        context: &U::Context,
        clock: &mut Clock,
        lease: Lease,
        opening: Opening,
    ) -> Result<Arc<Connection<U>>, ConnectionFault> {
        let mut shared = self.lock_shared();
        loop {
            if let Some(connection) = shared.find(lease) {
                return Ok(connection);
            }
            clock.has_waited = true;
            if self.lock().closed {
                return Err(ConnectionFault::ShutDown);
            }
            if lease != Lease::Shared || !shared.is_opening {
                break;
            }
            shared = self.wait_for_opening(shared, clock)?;
        }
        self.may_open(&mut shared, opening)?;
        shared.is_opening |= lease == Lease::Shared;
        drop(shared);
        self.open_shared(context, clock, lease)
    }

    /// Whether a connection may be opened, now that what is here is closed, or in use.
    pub(super) fn may_open(
        &self,
        shared: &mut Open<U>,
        opening: Opening,
    ) -> Result<(), ConnectionFault> {
        let is_closed = |connection: &&Arc<Connection<U>>| !connection.is_open();
        let lost = shared.connections().filter(is_closed).count();
        self.losses.fetch_add(u32::try_from(lost).unwrap_or(0), Ordering::Relaxed);
        shared.forget_closed();
        opening.check(self)
    }

    /// Opens a connection that the event loop can read, with no lock held.
    fn open_shared(
        self: &Arc<Self>,
        context: &U::Context,
        clock: &Clock,
        lease: Lease,
    ) -> Result<Arc<Connection<U>>, ConnectionFault> {
        let opened = self.connect_link(context, clock);
        let opened = opened.and_then(|link| self.share(context, lease, link));
        match (lease, opened) {
            (Lease::Shared, Ok(connection)) => {
                self.send_line(context, &connection);
                Ok(connection)
            }
            (Lease::Shared, Err(fault)) => {
                self.could_not_open(context);
                Err(fault)
            }
            (Lease::Exclusive | Lease::Reserved, opened) => {
                let connection = opened?;
                connection.reserve();
                self.lock_shared().own.push(Arc::clone(&connection));
                Ok(connection)
            }
        }
    }

    /// The connection over `link`, for several calls.
    pub(super) fn share(
        &self,
        context: &U::Context,
        lease: Lease,
        link: Link,
    ) -> Result<Arc<Connection<U>>, ConnectionFault> {
        if !link.can_be_watched() {
            return Err(ConnectionFault::CannotBeWatched);
        }
        // The thread that closes the pool looks here after that, for what is to be closed.
        if self.lock().closed {
            return Err(ConnectionFault::ShutDown);
        }
        let settings = context.settings();
        let bounds = Bounds {
            queue: Limits {
                queued_octets_max: settings.queued_octets_max,
                batch_octets: settings.batch_octets,
                small_octets: 0,
            },
            pending_requests_max: settings.pending_requests_max as usize,
        };
        let is_offered = lease == Lease::Shared && self.lock_shared().is_offered;
        let roles = if is_offered { Roles::both(true) } else { Roles::CLIENT };
        let state = U::opened(context, (&self.endpoint, self.code_sets), &link, roles);
        let (speaks, waiter) = ((roles, self.protocol), Waiter::new(U::wait(context)));
        let connection = Connection::new(context, speaks, link, waiter, &bounds, state);
        if is_offered {
            U::serve(context, &connection).map_err(ConnectionFault::Unreachable)?;
        }
        Ok(connection)
    }

    /// Another thread opens the common connection: waits for that, as long as the call may take.
    #[cold]
    fn wait_for_opening<'l>(
        &'l self,
        shared: SharedGuard<'l, U>,
        clock: &Clock,
    ) -> Result<SharedGuard<'l, U>, ConnectionFault> {
        let Some(left) = clock.left() else {
            return Ok(self.shared.opened.wait(shared));
        };
        if left.is_zero() {
            return Err(ConnectionFault::TimedOut(Awaited::Connection));
        }
        Ok(self.shared.opened.wait_for(shared, left))
    }

    #[cold]
    pub(super) fn is_shared_in_use(&self) -> bool {
        let uses = self.shared.uses.load(Ordering::SeqCst);
        let shared = self.lock_shared();
        let (common, is_opening) = (shared.common.clone(), shared.is_opening);
        let (back, is_offered) = (shared.open_back(), shared.is_offered);
        drop(shared);
        if back.is_some() || is_offered {
            // It stays so, and the number of uses above zero.
            let mut used = back.iter().chain(&common);
            return is_opening || used.any(|connection| connection.is_in_use());
        }
        if is_opening || common.is_some_and(|connection| connection.is_in_use()) {
            return true;
        }
        // A call since the load above counts as use: the next purge looks again.
        let reset = self.shared.uses.compare_exchange(uses, 0, Ordering::SeqCst, Ordering::SeqCst);
        reset.is_err()
    }

    /// A request was put on the connection that calls share; after it was.
    #[inline]
    pub fn note_shared_use(&self) {
        self.shared.uses.fetch_add(1, Ordering::SeqCst);
    }

    pub(super) fn purge_shared(&self, cutoff: Instant) -> u32 {
        let mut shared = self.lock_shared();
        // The other end of one that is offered has no other way here.
        let is_old = |c: &Arc<Connection<U>>| {
            !c.is_bidirectional() && c.idle_since().is_some_and(|since| since < cutoff)
        };
        let closed = shared.connections().filter(|c| is_old(c) && c.close_if_idle()).count();
        shared.forget_closed();
        u32::try_from(closed).unwrap_or(0)
    }

    /// Since when the one is idle that waits longest.
    pub(super) fn shared_idle_since(&self) -> Option<Instant> {
        let shared = self.lock_shared();
        let ours_alone = shared.connections().filter(|c| !c.is_bidirectional());
        ours_alone.filter_map(|c| c.idle_since()).min()
    }

    /// How many are open, or are being opened.
    pub(super) fn open_shared_connections(&self) -> u32 {
        let shared = self.lock_shared();
        let open = shared.connections().filter(|connection| connection.is_open()).count();
        u32::try_from(open).unwrap_or(0) + u32::from(shared.is_opening)
    }

    /// Ends the asynchronous calls whose time is over at `now`.
    pub(super) fn expire(&self, context: &U::Context, now: Instant) {
        // One that is missed, as the list changes, has its turn the next time.
        for index in 0.. {
            let Some(connection) = self.shared_connection(index) else { break };
            connection.expire(now);
            if connection.is_stuck(context, now) {
                connection.broke(&ReceiveFailure::TooSlow);
            }
        }
        if let Some(back) = self.back() {
            back.expire(now);
        }
    }

    /// Sends what was kept back.
    pub(super) fn flush(&self) {
        for connection in self.shared_connections().into_iter().chain(self.back()) {
            connection.flush_all();
        }
    }

    fn shared_connection(&self, index: usize) -> Option<Arc<Connection<U>>> {
        self.lock_shared().connections().nth(index).cloned()
    }

    pub(super) fn shared_connections(&self) -> Vec<Arc<Connection<U>>> {
        self.lock_shared().connections().cloned().collect()
    }

    pub(super) fn lock_shared(&self) -> SharedGuard<'_, U> {
        self.shared.connections.lock()
    }
}
