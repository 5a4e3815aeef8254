//! An executor of one thread, for `tier_async.rs`. Any other runtime does as well: an application
//! hands over its own with `Orb::set_executor`.

use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

use corbie::{Executor, Task};

/// Runs tasks in the order in which they are woken.
pub(crate) struct OneThread {
    queue: Sender<Arc<Running>>,
}

impl OneThread {
    /// Starts the thread, which ends when the executor and its tasks do.
    pub(crate) fn start() -> OneThread {
        let (queue, woken) = channel::<Arc<Running>>();
        std::thread::spawn(move || woken.into_iter().for_each(Running::poll));
        OneThread { queue }
    }
}

impl Executor for OneThread {
    fn spawn(&self, task: Task) {
        Arc::new(Running { task: Mutex::new(Some(task)), queue: self.queue.clone() }).wake();
    }
}

/// A task until it is done.
struct Running {
    task: Mutex<Option<Task>>,
    queue: Sender<Arc<Running>>,
}

impl Running {
    fn poll(self: Arc<Self>) {
        let waker = Waker::from(Arc::clone(&self));
        let mut task = self.task.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(running) = task.as_mut() else { return };
        if let Poll::Ready(()) = running.as_mut().poll(&mut Context::from_waker(&waker)) {
            *task = None;
        }
    }
}

impl Wake for Running {
    fn wake(self: Arc<Self>) {
        let queue = self.queue.clone();
        // Without its thread no task runs any more; this one is dropped with the others.
        let _ = queue.send(self);
    }
}
