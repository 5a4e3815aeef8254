//! Where `async fn` servants run: a hook for the application's runtime.
//!
//! Corbie has no runtime of its own. A servant of the `async` mapping gives its future to the
//! [`Executor`] of its ORB; any runtime does, as the futures of replies need none in particular.

use corbie_threads::lock::{RankedRw, rank};
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

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

/// The executor of an ORB, if it has one.
#[derive(Default)]
pub(crate) struct ExecutorSlot(RankedRw<rank::Leaf, Option<Arc<dyn Executor>>>);

impl fmt::Debug for ExecutorSlot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ExecutorSlot").finish_non_exhaustive()
    }
}

impl ExecutorSlot {
    /// Keeps `executor` from now on.
    pub(crate) fn set(&self, executor: Arc<dyn Executor>) {
        *self.0.write() = Some(executor);
    }

    /// The executor, if there is one.
    pub(crate) fn get(&self) -> Option<Arc<dyn Executor>> {
        self.0.read().clone()
    }
}
