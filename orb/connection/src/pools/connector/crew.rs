//! Threads that do one kind of work: started when there is some, at most so many, and ended soon
//! after.

use corbie_threads::lock::{Ranked, Signal, rank};
use corbie_threads::thread::begin_serving;
use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A thread without work ends after this.
const IDLE: Duration = Duration::from_secs(1);

/// See the module.
pub(super) struct Crew<T> {
    state: Ranked<rank::Leaf, Tasks<T>>,
    /// Threads without work wait here.
    wanted: Signal,
    threads_max: usize,
    work: fn(T),
}

struct Tasks<T> {
    due: VecDeque<T>,
    threads: usize,
    idle: usize,
}

impl<T: Send + 'static> Crew<T> {
    /// No thread yet; `work` is what each does with a task.
    pub(super) fn new(threads_max: usize, work: fn(T)) -> Arc<Self> {
        let state = Ranked::new(Tasks { due: VecDeque::new(), threads: 0, idle: 0 });
        Arc::new(Crew { state, wanted: Signal::new(), threads_max, work })
    }

    /// Has a thread do `task`, as soon as one is free.
    ///
    /// # Errors
    /// There is no thread for it: all tasks come back that wait.
    pub(super) fn add(self: &Arc<Self>, task: T) -> Result<(), (io::Error, VecDeque<T>)> {
        let mut state = self.state.lock();
        state.due.push_back(task);
        if state.idle >= state.due.len() || state.threads >= self.threads_max {
            drop(state);
            self.wanted.wake_one();
            return Ok(());
        }
        state.threads += 1;
        drop(state);
        let crew = Arc::clone(self);
        start(move || crew.run()).or_else(|error| {
            let mut state = self.state.lock();
            state.threads -= 1;
            // Those that there are do it later.
            match state.threads {
                0 => Err((error, std::mem::take(&mut state.due))),
                _ => Ok(()),
            }
        })
    }

    fn run(&self) {
        // Outcomes are delivered here, which may call servants.
        begin_serving();
        while let Some(task) = self.next() {
            (self.work)(task);
        }
    }

    /// What is to be done next; `None`: nothing, and the thread ends.
    fn next(&self) -> Option<T> {
        let mut state = self.state.lock();
        if state.due.is_empty() {
            state.idle += 1;
            let empty = |state: &mut Tasks<T>| state.due.is_empty();
            state = self.wanted.wait_while_until(state, Instant::now().checked_add(IDLE), empty);
            state.idle -= 1;
        }
        let next = state.due.pop_front();
        if next.is_none() {
            state.threads -= 1;
        }
        next
    }
}

/// Starts a thread of the connector.
pub(super) fn start(run: impl FnOnce() + Send + 'static) -> io::Result<()> {
    let thread = std::thread::Builder::new().name("corbie-connector".to_owned());
    thread.spawn(run).map(drop)
}
