//! A few threads for what may take long: connecting to consumers and suppliers, and trying again
//! after a while.
//!
//! Used by `channel`; a dead host holds up at most as many threads as its connect time-out allows,
//! and no event of anybody else.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

type Job = Box<dyn FnOnce() + Send>;

/// The threads. They end when it is closed.
pub(crate) struct Workers {
    /// Lock "jobs": not held while a job runs.
    jobs: Mutex<Jobs>,
    changed: Condvar,
    most: usize,
}

#[derive(Default)]
struct Jobs {
    heap: BinaryHeap<Later>,
    /// Numbers jobs, so that those of one time run in the order they came in.
    next: u64,
    threads: usize,
    idle: usize,
    is_closed: bool,
}

struct Later {
    at: Instant,
    number: u64,
    job: Job,
}

impl Later {
    fn key(&self) -> (Instant, u64) {
        (self.at, self.number)
    }
}

impl PartialEq for Later {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for Later {}

impl PartialOrd for Later {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Later {
    /// The earliest is the greatest: a heap gives that first.
    fn cmp(&self, other: &Self) -> Ordering {
        other.key().cmp(&self.key())
    }
}

impl Workers {
    pub(crate) fn new(most: usize) -> Arc<Self> {
        Arc::new(Self { jobs: Mutex::default(), changed: Condvar::new(), most: most.max(1) })
    }

    /// Runs `job` soon, on a thread where it may wait.
    pub(crate) fn soon(self: &Arc<Self>, job: impl FnOnce() + Send + 'static) {
        self.after(Duration::ZERO, job);
    }

    /// Runs `job` after `delay`. Jobs that are left when the workers are closed are dropped.
    pub(crate) fn after(self: &Arc<Self>, delay: Duration, job: impl FnOnce() + Send + 'static) {
        let mut jobs = self.lock();
        if jobs.is_closed {
            return;
        }
        let number = jobs.next;
        jobs.next += 1;
        jobs.heap.push(Later { at: Instant::now() + delay, number, job: Box::new(job) });
        self.wake(jobs);
    }

    /// Has a thread look at the jobs: one that is idle, else a new one, if there may be one more.
    fn wake(self: &Arc<Self>, mut jobs: MutexGuard<'_, Jobs>) {
        let needs_thread = jobs.idle == 0 && jobs.threads < self.most;
        if needs_thread {
            jobs.threads += 1;
        }
        drop(jobs);
        self.changed.notify_one();
        if needs_thread {
            let workers = Arc::clone(self);
            let thread = std::thread::Builder::new().name("corbie-events".to_owned());
            if let Err(error) = thread.spawn(move || workers.work()) {
                tracing::error!(%error, "a thread that delivers events cannot start");
                self.lock().threads -= 1;
            }
        }
    }

    /// Nothing is run any more, but for what runs already.
    pub(crate) fn close(&self) {
        let mut jobs = self.lock();
        jobs.is_closed = true;
        let left = std::mem::take(&mut jobs.heap);
        drop(jobs);
        drop(left);
        self.changed.notify_all();
    }

    fn work(self: &Arc<Self>) {
        let mut jobs = self.lock();
        while !jobs.is_closed {
            let now = Instant::now();
            match jobs.heap.peek().map(|job| job.at.saturating_duration_since(now)) {
                Some(Duration::ZERO) => {
                    let next = jobs.heap.pop();
                    // This one may take long. The next is not to wait for it: it may have woken
                    // the same thread, or be due later, when no thread looks.
                    match jobs.heap.peek() {
                        Some(_) => self.wake(jobs),
                        None => drop(jobs),
                    }
                    if let Some(next) = next {
                        run(next.job);
                    }
                    jobs = self.lock();
                }
                wait => {
                    jobs.idle += 1;
                    jobs = match wait {
                        None => self.changed.wait(jobs).unwrap_or_else(PoisonError::into_inner),
                        Some(wait) => {
                            let waited = self.changed.wait_timeout(jobs, wait);
                            waited.unwrap_or_else(PoisonError::into_inner).0
                        }
                    };
                    jobs.idle -= 1;
                }
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Jobs> {
        self.jobs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn run(job: Job) {
    if std::panic::catch_unwind(std::panic::AssertUnwindSafe(job)).is_err() {
        tracing::error!("a job of the event service panicked");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    #[test]
    fn a_job_does_not_wait_for_one_that_came_at_the_same_time() {
        for _ in 0..200 {
            let workers = Workers::new(2);
            workers.soon(|| {});
            while workers.lock().idle == 0 {
                std::thread::yield_now();
            }
            // One thread is idle, and both jobs find it so.
            let ((done, is_done), (go, gate)) = (mpsc::channel(), mpsc::channel::<()>());
            let again = done.clone();
            workers.soon(move || {
                let _ = gate.recv_timeout(Duration::from_secs(60));
                let _ = again.send("first");
            });
            workers.soon(move || {
                let _ = done.send("second");
            });
            assert_eq!(is_done.recv(), Ok("second"));
            drop(go);
            assert_eq!(is_done.recv(), Ok("first"));
            workers.close();
        }
    }

    #[test]
    fn a_job_does_not_wait_for_one_that_was_due_before_it() {
        let workers = Workers::new(2);
        workers.soon(|| {});
        while workers.lock().idle == 0 {
            std::thread::yield_now();
        }
        let ((done, is_done), (go, gate)) = (mpsc::channel(), mpsc::channel::<()>());
        // One thread is idle, and waits for the first.
        workers.after(Duration::from_millis(20), move || {
            let _ = done.send(gate.recv_timeout(Duration::from_secs(60)).is_ok());
        });
        workers.after(Duration::from_millis(50), move || {
            let _ = go.send(());
        });
        assert_eq!(is_done.recv(), Ok(true), "the second ran meanwhile");
        workers.close();
    }
}
