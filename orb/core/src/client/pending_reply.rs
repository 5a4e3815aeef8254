//! The reply to a deferred call: looked for, waited for, or awaited as a future.
//!
//! Pollers, futures and the DII's deferred requests are made of it. The thread that delivers the
//! reply completes the `Waiting` that both sides share. Paper AMI §2.2; CORBA Messaging §22.9.

use crate::client::Waiting;
use crate::{Orb, Reply};
use corbie_types::SystemException;
use std::fmt;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

/// A reply that may not be here yet. Dropped, it forgets the reply; the call goes on.
pub struct PendingReply {
    orb: Orb,
    waiting: Arc<Waiting>,
}

impl PendingReply {
    pub(crate) fn new(orb: &Orb, waiting: Arc<Waiting>) -> Self {
        PendingReply { orb: orb.clone(), waiting }
    }

    /// Whether [`PendingReply::take`] has an outcome. Never waits.
    pub fn is_ready(&self) -> bool {
        self.waiting.is_ready() || self.waiting.look(&self.orb)
    }

    /// Waits for the outcome, at most for `timeout` (`None`: as long as the call may take); whether
    /// it is here. Replies to other calls that arrive meanwhile may be delivered by this thread.
    pub fn wait(&self, timeout: Option<Duration>) -> bool {
        let deadline = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        self.waiting.wait(&self.orb, deadline)
    }

    /// The outcome, once: the reply, or the system exception that [`crate::Object::invoke`] would
    /// have returned.
    ///
    /// # Errors
    /// That exception; `NO_RESPONSE` (`COMPLETED_MAYBE`) when there is no outcome yet, and
    /// `BAD_INV_ORDER` when it was taken already.
    pub fn take(&self) -> Result<Reply, SystemException> {
        self.waiting.take()
    }

    /// The reply is not wanted any more: tells the server so (`CancelRequest`) unless the reply is
    /// here already. The server may have carried the call out.
    pub fn cancel(self) {
        self.waiting.cancel();
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
        if self.waiting.watch(Some(context.waker())) {
            return Poll::Ready(());
        }
        if let Err(exception) = self.waiting.ensure_read(&self.orb, true) {
            tracing::warn!(%exception, "nobody reads the reply to a call that is polled");
        }
        Poll::Pending
    }
}

impl Drop for PendingReply {
    fn drop(&mut self) {
        // The reply is of no interest, but has to be read, as those behind it.
        if !self.waiting.watch(None) {
            let _ = self.waiting.ensure_read(&self.orb, false);
        }
    }
}

impl fmt::Debug for PendingReply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_ready = self.waiting.is_ready();
        f.debug_struct("PendingReply").field("is_ready", &is_ready).finish()
    }
}
