//! The connections to one endpoint that several calls use at once, or that the event loop reads.
//!
//! The half of a pool for asynchronous calls, and for synchronous ones where
//! `transport_multiplexing` or `reply_wait` say so. Paper AMI §3.1, transport multiplexing.

use super::{ConnectionPool, Lease, Opening};
use crate::Orb;
use crate::connection::Call;
use crate::connection::Connection;
use corbie_connection::Clock;
use corbie_connection::{Awaited, Bounds, ConnectionFault, Limits, Line, ReceiveFailure};
use corbie_giop::Roles;
use corbie_transport::{Link, Waiter};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::Instant;

/// What a pool has of connections that calls share.
#[derive(Default)]
pub(super) struct Sharing {
    /// Lock "shared": held for a look, and not while a connection is opened.
    connections: Mutex<Shared>,
    /// Threads wait here while another one opens the connection that calls share.
    pub(super) opened: Condvar,
    /// Requests that went over the common connection since it was found idle.
    pub(super) uses: AtomicU64,
}

/// Connections that the event loop can read.
#[derive(Default)]
pub(super) struct Shared {
    /// The one that calls share.
    pub(super) common: Option<Arc<Connection>>,
    /// Those that one call uses at a time.
    pub(super) own: Vec<Arc<Connection>>,
    /// A thread opens the common one, or sends what stands in its line.
    pub(super) is_opening: bool,
    /// Calls that wait for the common one.
    pub(super) line: Line<Call>,
    /// Calls that wait for a connection of their own; one is being opened for each.
    pub(super) own_line: Line<Call>,
}

impl Shared {
    fn connections(&self) -> impl Iterator<Item = &Arc<Connection>> {
        self.common.iter().chain(&self.own)
    }

    /// One that can take a request now.
    pub(super) fn find(&self, lease: Lease) -> Option<Arc<Connection>> {
        let found = match lease {
            // While its line is being sent, nothing goes past that.
            Lease::Shared if self.is_opening => None,
            Lease::Shared => self.common.as_ref().filter(|connection| connection.is_open()),
            Lease::Exclusive | Lease::Reserved => {
                self.own.iter().find(|connection| connection.reserve())
            }
        };
        found.cloned()
    }

    fn forget_closed(&mut self) {
        self.own.retain(|connection| connection.is_open());
        self.common.take_if(|connection| !connection.is_open());
    }
}

impl ConnectionPool {
    /// A connection that calls can share: the one of this endpoint, or one that no request uses;
    /// opened when there is none. To be given back with [`Connection::release`].
    ///
    /// # Errors
    /// As [`ConnectionPool::take`].
    pub(crate) fn shared(
        self: &Arc<Self>,
        orb: &Orb,
        clock: &mut Clock,
        lease: Lease,
        opening: Opening,
    ) -> Result<Arc<Connection>, ConnectionFault> {
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
        self.open_shared(orb, clock, lease)
    }

    /// Whether a connection may be opened, now that what is here is closed, or in use.
    pub(super) fn may_open(
        &self,
        shared: &mut Shared,
        opening: Opening,
    ) -> Result<(), ConnectionFault> {
        let is_closed = |connection: &&Arc<Connection>| !connection.is_open();
        let lost = shared.connections().filter(is_closed).count();
        self.losses.fetch_add(u32::try_from(lost).unwrap_or(0), Ordering::Relaxed);
        shared.forget_closed();
        opening.check(self)
    }

    /// Opens a connection that the event loop can read, with no lock held.
    fn open_shared(
        self: &Arc<Self>,
        orb: &Orb,
        clock: &Clock,
        lease: Lease,
    ) -> Result<Arc<Connection>, ConnectionFault> {
        let opened = self.connect_link(orb, clock).and_then(|link| self.share(orb, link));
        match (lease, opened) {
            (Lease::Shared, Ok(connection)) => {
                self.send_line(orb, &connection);
                Ok(connection)
            }
            (Lease::Shared, Err(fault)) => {
                self.could_not_open(orb);
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
    pub(super) fn share(&self, orb: &Orb, link: Link) -> Result<Arc<Connection>, ConnectionFault> {
        if !link.can_be_watched() {
            return Err(ConnectionFault::CannotBeWatched);
        }
        // The thread that closes the pool looks here after that, for what is to be closed.
        if self.lock().closed {
            return Err(ConnectionFault::ShutDown);
        }
        let settings = orb.settings();
        let bounds = Bounds {
            queue: Limits {
                queued_octets_max: settings.queued_octets_max,
                batch_octets: settings.batch_octets,
                small_octets: 0,
            },
            pending_requests_max: settings.pending_requests_max as usize,
        };
        let state = (self.endpoint.clone(), self.code_sets).into();
        let (roles, waiter) = ((Roles::CLIENT, self.protocol), Waiter::new(orb.client_wait()));
        Ok(Connection::new(orb, roles, link, waiter, &bounds, state))
    }

    /// Another thread opens the common connection: waits for that, as long as the call may take.
    #[cold]
    fn wait_for_opening<'l>(
        &'l self,
        shared: MutexGuard<'l, Shared>,
        clock: &Clock,
    ) -> Result<MutexGuard<'l, Shared>, ConnectionFault> {
        let Some(left) = clock.left() else {
            return Ok(self.shared.opened.wait(shared).unwrap_or_else(|p| p.into_inner()));
        };
        if left.is_zero() {
            return Err(ConnectionFault::TimedOut(Awaited::Connection));
        }
        let waited = self.shared.opened.wait_timeout(shared, left);
        Ok(waited.unwrap_or_else(|p| p.into_inner()).0)
    }

    #[cold]
    pub(super) fn is_shared_in_use(&self) -> bool {
        let uses = self.shared.uses.load(Ordering::SeqCst);
        let shared = self.lock_shared();
        let (common, is_opening) = (shared.common.clone(), shared.is_opening);
        drop(shared);
        if is_opening || common.is_some_and(|connection| connection.is_in_use()) {
            return true;
        }
        // A call since the load above counts as use: the next purge looks again.
        let reset = self.shared.uses.compare_exchange(uses, 0, Ordering::SeqCst, Ordering::SeqCst);
        reset.is_err()
    }

    /// A request was put on the connection that calls share; after it was.
    #[inline]
    pub(crate) fn note_shared_use(&self) {
        self.shared.uses.fetch_add(1, Ordering::SeqCst);
    }

    pub(super) fn purge_shared(&self, cutoff: Instant) -> u32 {
        let mut shared = self.lock_shared();
        let is_old = |c: &Arc<Connection>| c.idle_since().is_some_and(|since| since < cutoff);
        let closed = shared.connections().filter(|c| is_old(c) && c.close_if_idle()).count();
        shared.forget_closed();
        u32::try_from(closed).unwrap_or(0)
    }

    /// Since when the one is idle that waits longest.
    pub(super) fn shared_idle_since(&self) -> Option<Instant> {
        self.lock_shared().connections().filter_map(|c| c.idle_since()).min()
    }

    /// How many are open, or are being opened.
    pub(super) fn open_shared_connections(&self) -> u32 {
        let shared = self.lock_shared();
        let open = shared.connections().filter(|connection| connection.is_open()).count();
        u32::try_from(open).unwrap_or(0) + u32::from(shared.is_opening)
    }

    /// Ends the asynchronous calls whose time is over at `now`.
    pub(crate) fn expire(&self, orb: &Orb, now: Instant) {
        // One that is missed, as the list changes, has its turn the next time.
        for index in 0.. {
            let Some(connection) = self.shared_connection(index) else { return };
            connection.expire(now);
            if connection.is_stuck(orb, now) {
                connection.broke(&ReceiveFailure::TooSlow);
            }
        }
    }

    /// Sends what was kept back.
    pub(crate) fn flush(&self) {
        for connection in self.shared_connections() {
            connection.flush_all();
        }
    }

    fn shared_connection(&self, index: usize) -> Option<Arc<Connection>> {
        self.lock_shared().connections().nth(index).cloned()
    }

    pub(super) fn shared_connections(&self) -> Vec<Arc<Connection>> {
        self.lock_shared().connections().cloned().collect()
    }

    pub(super) fn lock_shared(&self) -> MutexGuard<'_, Shared> {
        self.shared.connections.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

#[cfg(test)]
mod tests {
    use crate::Orb;
    use crate::connection::Lease;
    use crate::connection::Opening;
    use crate::connection::cache::ConnectionCache;
    use corbie_cdr::CodeSets;
    use corbie_connection::Clock;
    use corbie_connection::{Awaited, ConnectionFault};
    use corbie_giop::Protocol;
    use corbie_settings::Settings;
    use corbie_transport::Endpoint;
    use std::time::Duration;

    #[test]
    fn nobody_waits_for_a_connect_beyond_his_own_time() {
        let cache = ConnectionCache::default();
        let pool = cache.pool(Endpoint::tcp("127.0.0.1", 1), Protocol::Giop, CodeSets::DEFAULT);
        // As while another thread connects, which never ends here.
        pool.lock_shared().is_opening = true;
        cache.purge(Some(Duration::ZERO), 0);
        let orb = Orb::new(Settings::default());
        cache.expire(&orb, &mut Vec::new());
        cache.flush();
        assert_eq!(pool.open_connections(), 1, "the one that is being opened");
        let mut clock = Clock::start(Some(Duration::from_millis(1)));
        let failed = pool.shared(&orb, &mut clock, Lease::Shared, Opening::Free).err();
        assert!(matches!(failed, Some(ConnectionFault::TimedOut(Awaited::Connection))));
        cache.close();
    }
}
