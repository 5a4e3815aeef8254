//! The lines of a pool: calls that wait for a connection while a thread of the connector opens one.
//!
//! A line is sent in its order before the connection is there for all: so what one thread sends to
//! an object keeps its order. No lock is held while calls are sent or end.

use super::{Lease, Opening, Opens, Pool};
use crate::connection::{Call as _, Connection, Context as _};
use crate::{Awaited, ConnectionFault};
use corbie_transport::Link;
use std::io;
use std::sync::Arc;
use std::time::Instant;

/// A line may be so many times as long as what one connection takes from threads that may wait.
const OVERDRAFT: usize = 4;

/// Why a call does not stand in a line.
#[derive(Debug)]
pub enum NotInLine {
    /// There is a connection now.
    Opened,
    /// It ends, or goes elsewhere.
    Fault(ConnectionFault),
}

impl<U: Opens> Pool<U> {
    /// A connection that can take a request now, without waiting. To be given back with
    /// [`Connection::release`].
    #[inline]
    pub fn shared_now(&self, lease: Lease) -> Option<Arc<Connection<U>>> {
        self.lock_shared().find(lease)
    }

    /// The call waits until a connection is open, which the connector sees to. Its outcome goes to
    /// its sink.
    ///
    /// # Errors
    /// The call comes back.
    pub fn stand_in_line(
        self: &Arc<Self>,
        context: &U::Context,
        call: U::Call,
        lease: Lease,
        opening: Opening,
    ) -> Result<(), (U::Call, NotInLine)> {
        let deadline = call.deadline();
        let mut shared = self.lock_shared();
        if lease == Lease::Shared && shared.find(lease).is_some() {
            return Err((call, NotInLine::Opened));
        }
        let begins = lease != Lease::Shared || !shared.is_opening;
        let may_open = match self.lock().closed {
            true => Err(ConnectionFault::ShutDown),
            false if begins => self.may_open(&mut shared, opening),
            false => Ok(()),
        };
        if let Err(fault) = may_open {
            return Err((call, NotInLine::Fault(fault)));
        }
        let settings = context.settings();
        let calls_max = (settings.pending_requests_max as usize).saturating_mul(OVERDRAFT);
        let octets_max = settings.queued_octets_max.saturating_mul(OVERDRAFT);
        let line = match lease {
            Lease::Shared => &mut shared.line,
            Lease::Exclusive | Lease::Reserved => &mut shared.own_line,
        };
        if let Err(call) = line.push(call, calls_max, octets_max) {
            return Err((call, NotInLine::Fault(ConnectionFault::Full)));
        }
        let opens = match lease {
            Lease::Shared => {
                self.note_shared_use();
                !std::mem::replace(&mut shared.is_opening, true)
            }
            Lease::Exclusive | Lease::Reserved => shared.opens_own(),
        };
        drop(shared);
        if let Some(deadline) = deadline {
            U::pools(context).line_clock().expect(context, deadline);
        }
        if opens {
            U::pools(context).connector().open(context, self, lease);
        }
        Ok(())
    }

    /// The connector has connected for a line, or could not.
    pub(super) fn connected(
        self: &Arc<Self>,
        context: &U::Context,
        lease: Lease,
        link: io::Result<Link>,
    ) {
        let opened = link.map_err(ConnectionFault::Unreachable).and_then(|link| {
            tracing::debug!(endpoint = %self.endpoint, "connection opened for calls that wait");
            U::note_opened(context);
            self.share(context, lease, link)
        });
        match (lease, opened) {
            (Lease::Shared, Ok(connection)) => self.send_line(context, &connection),
            (Lease::Shared, Err(fault)) => self.fail_line(&fault),
            (Lease::Exclusive | Lease::Reserved, opened) => {
                self.lock_shared().own_opening -= 1;
                match opened {
                    Ok(connection) => self.send_own(&connection),
                    Err(fault) => {
                        let call = self.lock_shared().own_line.pop();
                        call.into_iter().for_each(|call| U::failed(call, fault.again()));
                    }
                }
                if self.lock_shared().opens_own() {
                    U::pools(context).connector().open(context, self, lease);
                }
            }
        }
    }

    /// The common connection is open: sends what stands in its line; then it is there for all.
    pub(super) fn send_line(
        self: &Arc<Self>,
        context: &U::Context,
        connection: &Arc<Connection<U>>,
    ) {
        let mut shared = self.lock_shared();
        // From here on the thread that closes the pool finds it.
        shared.set_common(connection);
        if self.lock().closed {
            drop(shared);
            connection.shut_down();
            return self.fail_line(&ConnectionFault::ShutDown);
        }
        let mut has_sent = false;
        while connection.is_open() {
            let calls = shared.line.take();
            if calls.is_empty() {
                shared.is_opening = false;
                return self.shared.opened.wake_all();
            }
            drop(shared);
            for call in calls {
                U::send_over(call, self, connection);
            }
            has_sent = true;
            shared = self.lock_shared();
        }
        drop(shared);
        if has_sent {
            // What the server did not serve before it closed stands in line again.
            return self.could_not_open(context);
        }
        self.fail_line(&ConnectionFault::closed());
    }

    /// The common connection cannot be opened.
    fn fail_line(&self, fault: &ConnectionFault) {
        let mut shared = self.lock_shared();
        shared.is_opening = false;
        self.shared.opened.wake_all();
        let calls = shared.line.take();
        drop(shared);
        calls.into_iter().for_each(|call| U::failed(call, fault.again()));
    }

    /// There is no common connection, as a thread could not open it in the time of its own call, or
    /// it is closed again: the connector goes on for the calls in the line.
    pub(super) fn could_not_open(self: &Arc<Self>, context: &U::Context) {
        let mut shared = self.lock_shared();
        if shared.line.is_empty() {
            shared.is_opening = false;
            return self.shared.opened.wake_all();
        }
        drop(shared);
        U::pools(context).connector().open(context, self, Lease::Shared);
    }

    /// The call that waits longest for a connection of its own gets this one.
    fn send_own(&self, connection: &Arc<Connection<U>>) {
        connection.reserve();
        let mut shared = self.lock_shared();
        shared.own.push(Arc::clone(connection));
        let call = shared.own_line.pop();
        let is_closed = self.lock().closed;
        drop(shared);
        match call {
            Some(call) => U::send_over(call, self, connection),
            None => connection.release(),
        }
        if is_closed {
            connection.shut_down();
        }
    }

    /// Ends the calls in line whose time is over at `now`; when that of the next one is.
    pub(super) fn expire_lines(&self, now: Instant) -> Option<Instant> {
        let mut shared = self.lock_shared();
        let mut expired = shared.line.take_expired(now);
        expired.extend(shared.own_line.take_expired(now));
        let lines = [&shared.line, &shared.own_line];
        let next = lines.iter().filter_map(|line| line.next_deadline()).min();
        drop(shared);
        for call in expired {
            U::failed(call, ConnectionFault::TimedOut(Awaited::Connection));
        }
        next
    }

    /// The ORB is shut down: calls in line end.
    pub(super) fn close_lines(&self) {
        let mut shared = self.lock_shared();
        let mut calls = shared.line.take();
        calls.append(&mut shared.own_line.take());
        drop(shared);
        calls.into_iter().for_each(|call| U::failed(call, ConnectionFault::ShutDown));
    }
}
