//! What `…_async` operations return: the reply as a Rust future.
//!
//! The request was sent before the future is handed out, so it borrows nothing; the thread that
//! reads the reply wakes it, under any executor. Paper AMI §1 (futures and promises).

use corbie_cdr::Encoder;
use corbie_core::stubs::{Raised, Results, finish};
use corbie_core::{Object, Operation, PendingReply, Reply};
use corbie_types::{CompletionStatus, SystemException, minor};
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

/// The outcome of a call that was sent already. Dropped, it forgets the outcome; the call goes on.
///
/// Polled again after it was ready it is `BAD_INV_ORDER`.
pub struct ReplyFuture<T, E> {
    state: Progress,
    read: fn(&mut Reply) -> Result<T, E>,
}

enum Progress {
    /// On its way.
    Sent(PendingReply),
    /// It could not be sent.
    Failed(SystemException),
    /// The outcome was handed out.
    Done,
}

impl<T, E> ReplyFuture<T, E> {
    /// The future of what `Object::invoke_deferred` returned; `read` takes the results out of the
    /// reply.
    #[must_use]
    pub fn new(
        sent: Result<PendingReply, SystemException>,
        read: fn(&mut Reply) -> Result<T, E>,
    ) -> Self {
        let state = match sent {
            Ok(pending) => Progress::Sent(pending),
            Err(exception) => Progress::Failed(exception),
        };
        ReplyFuture { state, read }
    }

    /// Calls an operation whose results are `R`, as the synchronous stub does.
    #[must_use]
    pub fn send<'a, R>(
        object: &Object,
        operation: &Operation,
        arguments: &dyn Fn(&mut Encoder<'a>) -> Result<(), corbie_cdr::Error>,
    ) -> Self
    where
        R: Results<Value = T>,
        E: Raised,
    {
        Self::new(object.invoke_deferred(operation, arguments), finish::<R, E>)
    }

    /// Gives the outcome up and tells the server so, as [`PendingReply::cancel`].
    pub fn cancel(self) {
        if let Progress::Sent(pending) = self.state {
            pending.cancel();
        }
    }
}

impl<T, E: From<SystemException>> Future for ReplyFuture<T, E> {
    type Output = Result<T, E>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<T, E>> {
        if let Progress::Sent(pending) = &mut self.state
            && pending.poll_ready(context).is_pending()
        {
            return Poll::Pending;
        }
        Poll::Ready(match std::mem::replace(&mut self.state, Progress::Done) {
            Progress::Sent(pending) => match pending.take() {
                Ok(mut reply) => (self.read)(&mut reply),
                Err(exception) => Err(exception.into()),
            },
            Progress::Failed(exception) => Err(exception.into()),
            Progress::Done => Err(polled_again().into()),
        })
    }
}

#[cold]
fn polled_again() -> SystemException {
    minor::BAD_INV_ORDER_RESULT_TAKEN.raise(
        CompletionStatus::Yes,
        "the outcome of the call was handed out already, by an earlier poll",
    )
}

impl<T, E> fmt::Debug for ReplyFuture<T, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match &self.state {
            Progress::Sent(_) => "ReplyFuture(sent)",
            Progress::Failed(_) => "ReplyFuture(not sent)",
            Progress::Done => "ReplyFuture(done)",
        })
    }
}
