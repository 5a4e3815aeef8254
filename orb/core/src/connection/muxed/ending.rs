//! How requests of a shared connection end without a reply: in time-out, cancel, close, break,
//! shutdown. Each is taken out of the pending first, so that no other thread ends it too.

use super::MuxedConnection;
use crate::client::AwaitedCall;
use crate::client::deliver;
use crate::connection::{Awaited, ConnectionFault};
use corbie_cdr::{ByteOrder, Version};
use corbie_connection::ReceiveFailure;
use corbie_giop::cancel_request;
use std::sync::atomic::Ordering;
use std::time::Instant;

impl MuxedConnection {
    /// The call of `id` was given up: forgets it, and tells the server. Its sink, if it was still
    /// pending, gets nothing.
    pub(crate) fn cancel(&self, id: u32) {
        if self.pending.abandon(id).is_some() {
            self.tell_cancelled(id);
        }
    }

    fn tell_cancelled(&self, id: u32) {
        let version = Version { minor: self.giop_minor.load(Ordering::Relaxed), ..Version::V1_2 };
        self.sender.post(&self.link, &cancel_request(version, ByteOrder::NATIVE, id));
    }

    /// Ends the requests whose time is over at `now`.
    pub(crate) fn expire(&self, now: Instant) {
        for (id, request) in self.pending.take_expired(now) {
            self.tell_cancelled(id);
            deliver::failed(request, ConnectionFault::TimedOut(Awaited::Reply(None)));
        }
    }

    /// Breaks the connection when the server has taken nothing of what waits for `message_timeout`:
    /// threads that never wait for it would go on for ever. Called once a second.
    pub(crate) fn break_if_stuck(&self, now: Instant) {
        let stuck = self.sender.stuck_for(now);
        if self.message_timeout.is_some_and(|timeout| stuck > timeout) {
            tracing::warn!(endpoint = %self.endpoint, "connection closed: requests are not taken");
            self.broke(&ReceiveFailure::TooSlow);
        }
    }

    /// The server closed in order: nothing that is pending was served (CORBA 3.3 P2 §9.4.7).
    #[cold]
    pub(super) fn closed_orderly(&self, unserved: Vec<AwaitedCall>) {
        for request in unserved {
            deliver::failed(request, ConnectionFault::ClosedInOrder);
        }
    }

    /// The connection broke: what became of the pending requests is unknown.
    #[cold]
    pub(super) fn broke(&self, failure: &ReceiveFailure) {
        for request in self.close() {
            deliver::failed(request, ConnectionFault::broken(failure));
        }
    }

    /// The ORB is shut down: all pending calls are told so.
    pub(crate) fn shut_down(&self) {
        for request in self.close() {
            deliver::failed(request, ConnectionFault::ShutDown);
        }
    }

    /// Closes the connection unless a request is pending; whether it did. A thread about to send
    /// one opens another.
    pub(crate) fn close_if_idle(&self) -> bool {
        let closed = self.pending.close_if_empty();
        if closed {
            tracing::debug!(endpoint = %self.endpoint, "unused shared connection closed");
            drop(self.close());
        }
        closed
    }

    /// Sends nothing and takes nothing any more; what was pending.
    pub(super) fn close(&self) -> Vec<AwaitedCall> {
        self.life.gone();
        // First: who reads sees the link closed, and must not take that for a break.
        let pending = self.pending.close();
        self.sender.close(&self.link);
        pending
    }
}
