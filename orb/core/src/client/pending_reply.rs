//! The reply to a deferred call: looked for, waited for, or awaited as a future.
//!
//! Pollers, futures and the DII's deferred requests are made of it. Whoever delivers the reply
//! completes the [`Waiting`] that both sides share. Paper AMI §2.2; CORBA Messaging §22.9.

use crate::Reply;
use crate::connection::MuxedConnection;
use corbie_types::{CompletionStatus, SystemException, minor};
use std::fmt;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

/// The outcome of a call.
pub(crate) type Outcome = Result<Reply, SystemException>;

/// A reply that may not be here yet. Dropped, it forgets the reply; the call goes on.
pub struct PendingReply {
    waiting: Arc<Waiting>,
}

/// What the one who waits and the one who delivers share.
pub(crate) struct Waiting {
    /// Lock "waiting": held for a look.
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    outcome: Option<Outcome>,
    /// Whether the outcome was there and was taken.
    is_taken: bool,
    waker: Option<Waker>,
    /// Where the request was sent last.
    sent: Option<Sent>,
}

/// Where a request is.
#[derive(Clone)]
struct Sent {
    connection: Weak<MuxedConnection>,
    id: u32,
}

impl Waiting {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Waiting { state: Mutex::default(), changed: Condvar::new() })
    }

    /// The outcome is here.
    pub(crate) fn complete(&self, outcome: Outcome) {
        let mut state = self.lock();
        state.outcome = Some(outcome);
        state.sent = None;
        let waker = state.waker.take();
        drop(state);
        self.changed.notify_all();
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// The request is about to be sent over `connection`.
    pub(crate) fn note_sent(&self, connection: &Weak<MuxedConnection>, id: u32) {
        self.lock().sent = Some(Sent { connection: Weak::clone(connection), id });
    }

    /// Nobody reads the connection any more: the thread that waits here may.
    pub(crate) fn wake(&self) {
        // With the lock held, so that it is not just about to sleep.
        let _state = self.lock();
        self.changed.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl PendingReply {
    pub(crate) fn new(waiting: Arc<Waiting>) -> Self {
        PendingReply { waiting }
    }

    /// Whether [`PendingReply::take`] has an outcome. Never waits.
    pub fn is_ready(&self) -> bool {
        let state = self.waiting.lock();
        state.outcome.is_some() || state.is_taken
    }

    /// Waits for the outcome, at most for `timeout` (`None`: as long as the call may take); whether
    /// it is here.
    pub fn wait(&self, timeout: Option<Duration>) -> bool {
        let deadline = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        let mut state = self.waiting.lock();
        while state.outcome.is_none() && !state.is_taken {
            state = match deadline {
                None => self.waiting.changed.wait(state).unwrap_or_else(PoisonError::into_inner),
                Some(deadline) => {
                    let left = deadline.saturating_duration_since(Instant::now());
                    if left.is_zero() {
                        return false;
                    }
                    let waited = self.waiting.changed.wait_timeout(state, left);
                    waited.unwrap_or_else(PoisonError::into_inner).0
                }
            };
        }
        true
    }

    /// The outcome, once: the reply, or the system exception that [`crate::Object::invoke`] would
    /// have returned.
    ///
    /// # Errors
    /// That exception; `NO_RESPONSE` (`COMPLETED_MAYBE`) when there is no outcome yet, and
    /// `BAD_INV_ORDER` when it was taken already.
    pub fn take(&self) -> Result<Reply, SystemException> {
        let mut state = self.waiting.lock();
        match state.outcome.take() {
            Some(outcome) => {
                state.is_taken = true;
                outcome
            }
            None if state.is_taken => Err(taken_already()),
            None => Err(SystemException::no_response(0, CompletionStatus::Maybe)
                .with_detail("the reply is not here yet; wait for it, or poll again later")),
        }
    }

    /// Nobody wants the reply any more: tells the server so (`CancelRequest`) unless the reply is
    /// here already. The server may have carried the call out.
    pub fn cancel(self) {
        let sent = self.waiting.lock().sent.take();
        if let Some(Sent { connection, id }) = sent
            && let Some(connection) = connection.upgrade()
        {
            connection.cancel(id);
        }
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
    /// [`PendingReply::take`] has one. Only the `context` given last is woken.
    pub fn poll_ready(&self, context: &mut Context<'_>) -> Poll<()> {
        let mut state = self.waiting.lock();
        if state.outcome.is_some() || state.is_taken {
            return Poll::Ready(());
        }
        match &mut state.waker {
            Some(waker) => waker.clone_from(context.waker()),
            slot => *slot = Some(context.waker().clone()),
        }
        Poll::Pending
    }
}

#[cold]
fn taken_already() -> SystemException {
    SystemException::bad_inv_order(minor::BAD_INV_ORDER_RESULT_TAKEN, CompletionStatus::Yes)
        .with_detail("the reply was taken already; it is handed out once")
}

impl fmt::Debug for PendingReply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PendingReply").field("is_ready", &self.is_ready()).finish()
    }
}
