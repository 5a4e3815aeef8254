//! The smallest executor that `async` servants can run on: one thread and a queue.
//!
//! `tier.rs` hands it to the ORB. A task is polled where it is spawned, so that it gets as far as
//! its first call at once, and from then on by the thread of the queue.

use corbie::Executor;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

type Boxed = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Hands tasks to its thread, which ends with it.
pub(crate) struct QueueExecutor {
    queue: Sender<Arc<SpawnedTask>>,
}

impl QueueExecutor {
    /// Starts the thread.
    ///
    /// # Errors
    /// When the system has none left.
    pub(crate) fn start() -> io::Result<QueueExecutor> {
        let (queue, tasks) = channel::<Arc<SpawnedTask>>();
        let thread = std::thread::Builder::new().name("executor".into());
        thread.spawn(move || tasks.iter().for_each(|task| task.poll()))?;
        Ok(QueueExecutor { queue })
    }
}

impl Executor for QueueExecutor {
    fn spawn(&self, future: Boxed) {
        let (queue, future) = (self.queue.clone(), Mutex::new(Some(future)));
        Arc::new(SpawnedTask { future, queued: AtomicBool::new(true), queue }).poll();
    }
}

/// A future until it is done.
struct SpawnedTask {
    future: Mutex<Option<Boxed>>,
    /// Whether it will be polled anyway.
    queued: AtomicBool,
    queue: Sender<Arc<SpawnedTask>>,
}

impl SpawnedTask {
    fn poll(self: Arc<SpawnedTask>) {
        let waker = Waker::from(Arc::clone(&self));
        let mut future = self.future.lock().unwrap_or_else(PoisonError::into_inner);
        // A waker from here on has it polled once more.
        self.queued.store(false, Ordering::Release);
        let Some(running) = future.as_mut() else { return };
        if let Poll::Ready(()) = running.as_mut().poll(&mut Context::from_waker(&waker)) {
            *future = None;
        }
    }
}

impl Wake for SpawnedTask {
    fn wake(self: Arc<Self>) {
        if !self.queued.swap(true, Ordering::AcqRel) {
            let queue = self.queue.clone();
            // Without its thread the executor is gone, and so is the one that waits.
            let _ = queue.send(self);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_run_to_their_end_through_many_wakes() {
        let executor = QueueExecutor::start().unwrap();
        let (done, all) = channel();
        for number in 0..100 {
            let done = done.clone();
            let mut left = 5;
            let yielding = std::future::poll_fn(move |context| {
                if left == 0 {
                    return Poll::Ready(());
                }
                left -= 1;
                context.waker().wake_by_ref();
                Poll::Pending
            });
            executor.spawn(Box::pin(async move {
                yielding.await;
                done.send(number).unwrap();
            }));
        }
        let mut seen: Vec<i32> = all.iter().take(100).collect();
        seen.sort_unstable();
        assert!(seen.into_iter().eq(0..100));
    }
}
