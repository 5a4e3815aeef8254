//! Static invocation (SII): generated stubs; the thread that calls waits.
//!
//! Where nobody is to wait, a few threads make the calls, so many at a time.

use super::{Link, Mechanism};
use crate::messages::{Done, Reply, Request};
use corbie::{Object, SystemException};
use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};

/// Calls that are under way at a time for callers that do not wait.
const CALLS_AT_A_TIME: usize = 16;

type Call = (Object, Request, Done);

/// See the module.
#[derive(Default)]
pub struct Static {
    calls: Arc<Calls>,
}

/// The threads for callers that do not wait.
#[derive(Default)]
struct Calls {
    /// Made by the first such call. The threads end when this is dropped.
    queue: OnceLock<Arc<Queue>>,
}

/// What the threads take calls from.
#[derive(Default)]
struct Queue {
    /// Lock "static calls": not held while a call is made.
    state: Mutex<State>,
    ready: Condvar,
}

#[derive(Default)]
struct State {
    calls: VecDeque<Call>,
    /// Threads that wait for a call: nobody is woken when there is none.
    idle: usize,
    is_ending: bool,
}

impl Static {
    /// Without threads yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }
}

impl Calls {
    fn put(&self, call: Call) {
        let queue = self.queue.get_or_init(|| {
            let queue = Arc::new(Queue::default());
            for _ in 0..CALLS_AT_A_TIME {
                let queue = Arc::clone(&queue);
                std::thread::spawn(move || queue.work());
            }
            queue
        });
        let mut state = queue.lock();
        state.calls.push_back(call);
        let has_idle = state.idle > 0;
        drop(state);
        if has_idle {
            queue.ready.notify_one();
        }
    }
}

impl Drop for Calls {
    fn drop(&mut self) {
        let Some(queue) = self.queue.get() else { return };
        queue.lock().is_ending = true;
        queue.ready.notify_all();
    }
}

impl Queue {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn work(&self) {
        while let Some((target, request, done)) = self.next() {
            done(request.invoke(&target));
        }
    }

    /// What is still to be called is called, also when nobody can ask for more.
    fn next(&self) -> Option<Call> {
        let mut state = self.lock();
        loop {
            if let Some(call) = state.calls.pop_front() {
                return Some(call);
            }
            if state.is_ending {
                return None;
            }
            state.idle += 1;
            state = self.ready.wait(state).unwrap_or_else(PoisonError::into_inner);
            state.idle -= 1;
        }
    }
}

impl Mechanism for Static {
    fn link(&self, target: &Object) -> Arc<dyn Link> {
        Arc::new(To { target: target.clone(), calls: Arc::clone(&self.calls) })
    }
}

struct To {
    target: Object,
    calls: Arc<Calls>,
}

impl Link for To {
    fn call(&self, request: &Request) -> Result<Reply, SystemException> {
        request.invoke(&self.target)
    }

    fn start(&self, request: &Request, done: Done) {
        self.calls.put((self.target.clone(), request.clone(), done));
    }
}
