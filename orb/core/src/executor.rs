//! Where `async fn` servants run: a hook for the application's runtime.
//!
//! Corbie has no runtime of its own. A servant of the `async` mapping gives its future to the
//! [`Executor`] of its ORB; any runtime does, as the futures of replies need none in particular.

use crate::Orb;
use corbie_types::{CompletionStatus, SystemException, minor};
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, PoisonError, RwLock};

/// A future that answers one request.
pub type Task = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Runs futures to their end.
///
/// ```
/// use corbie_core::Executor;
/// use std::{future::Future, pin::Pin};
///
/// /// Runs each future on a thread of its own.
/// struct Threads;
///
/// impl Executor for Threads {
///     fn spawn(&self, task: Pin<Box<dyn Future<Output = ()> + Send>>) {
///         std::thread::spawn(move || {
///             // block_on(task), from the runtime of your choice.
///             # let _ = task;
///         });
///     }
/// }
/// ```
pub trait Executor: Send + Sync {
    /// Runs `task`; does not wait for it. A task that is dropped unfinished answers its request
    /// with `NO_RESPONSE`.
    fn spawn(&self, task: Task);
}

/// The executor of an ORB, if it has one. Lock "executor": never held across a call.
#[derive(Default)]
pub(crate) struct ExecutorSlot(RwLock<Option<Arc<dyn Executor>>>);

impl fmt::Debug for ExecutorSlot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ExecutorSlot").finish_non_exhaustive()
    }
}

impl Orb {
    /// Runs the futures of `async` servants on `executor` from now on.
    pub fn set_executor(&self, executor: Arc<dyn Executor>) {
        let slot = &self.executor_slot().0;
        *slot.write().unwrap_or_else(PoisonError::into_inner) = Some(executor);
    }

    /// What runs the futures of `async` servants.
    #[must_use]
    pub fn executor(&self) -> Option<Arc<dyn Executor>> {
        self.executor_slot().0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Runs `task` on the executor.
    ///
    /// # Errors
    /// `BAD_INV_ORDER` (`COMPLETED_NO`) when the ORB has none.
    pub fn spawn(&self, task: Task) -> Result<(), SystemException> {
        self.executor_for_servants()?.spawn(task);
        Ok(())
    }

    /// The executor, which async servants cannot do without.
    pub(crate) fn executor_for_servants(&self) -> Result<Arc<dyn Executor>, SystemException> {
        self.executor().ok_or_else(|| {
            SystemException::bad_inv_order(minor::BAD_INV_ORDER_NO_EXECUTOR, CompletionStatus::No)
                .with_detail(
                    "an async servant was called, but the ORB has no executor: call \
                 Orb::set_executor with that of your runtime before activating the servant",
                )
        })
    }
}
