//! An executor of a few lines: one thread polls what is ready. Used by the servants of `futures`,
//! which await values that other threads give.

use super::lock;
use corbie::{Executor, Task};
use std::future::Future;
use std::pin::Pin;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};

/// Runs tasks on one thread until it is dropped and all of them are done.
pub(super) struct OneThread {
    ready: Sender<Arc<Spawned>>,
}

struct Spawned {
    task: Mutex<Option<Task>>,
    ready: Sender<Arc<Spawned>>,
}

impl Wake for Spawned {
    fn wake(self: Arc<Self>) {
        let to = self.ready.clone();
        // The thread is there as long as a task is.
        let _ = to.send(self);
    }
}

impl OneThread {
    pub(super) fn start() -> OneThread {
        let (ready, woken) = channel();
        std::thread::spawn(move || poll_all(&woken));
        OneThread { ready }
    }
}

impl Executor for OneThread {
    fn spawn(&self, task: Task) {
        Arc::new(Spawned { task: Mutex::new(Some(task)), ready: self.ready.clone() }).wake();
    }
}

fn poll_all(woken: &Receiver<Arc<Spawned>>) {
    for spawned in woken {
        let waker = Waker::from(spawned.clone());
        let mut slot = lock(&spawned.task);
        let Some(mut task) = slot.take() else { continue };
        if task.as_mut().poll(&mut Context::from_waker(&waker)).is_pending() {
            *slot = Some(task);
        }
    }
}

/// A value that another thread gives.
pub(super) struct Given<T>(Arc<Mutex<Slot<T>>>);

/// Gives it.
pub(super) struct Giver<T>(Arc<Mutex<Slot<T>>>);

struct Slot<T> {
    value: Option<T>,
    waker: Option<Waker>,
}

/// The two ends.
pub(super) fn given<T>() -> (Giver<T>, Given<T>) {
    let slot = Arc::new(Mutex::new(Slot { value: None, waker: None }));
    (Giver(slot.clone()), Given(slot))
}

/// What `act` returns on a thread of its own.
pub(super) fn elsewhere<T: Send + 'static>(act: impl FnOnce() -> T + Send + 'static) -> Given<T> {
    let (giver, given) = given();
    std::thread::spawn(move || giver.give(act()));
    given
}

impl<T> Giver<T> {
    pub(super) fn give(self, value: T) {
        let waker = {
            let mut slot = lock(&self.0);
            slot.value = Some(value);
            slot.waker.take()
        };
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

impl<T> Future for Given<T> {
    type Output = T;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        let mut slot = lock(&self.0);
        match slot.value.take() {
            Some(value) => Poll::Ready(value),
            None => {
                slot.waker = Some(context.waker().clone());
                Poll::Pending
            }
        }
    }
}
