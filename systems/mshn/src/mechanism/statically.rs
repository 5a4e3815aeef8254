//! Static invocation (SII): generated stubs; the thread that calls waits.
//!
//! Where no caller is to wait, threads make the calls: so many at a time to one target, and targets
//! take turns, so that what is for one component does not wait behind a burst for another, nor
//! behind one that does not answer.

use super::{Link, Mechanism};
use crate::messages::{Done, Reply, Request};
use corbie::{Object, SystemException, minor};
use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// Calls of one target that are under way at a time for callers that do not wait.
const CALLS_AT_A_TIME: usize = 16;

/// The same of all targets together.
const THREADS_MAX: usize = 128;

/// Calls that wait for one target; one more is refused with `NO_RESOURCES`.
const WAITING_MAX: usize = 200_000;

/// Makes the call, or is told that it is not made.
type Call = Box<dyn FnOnce(Result<(), SystemException>) + Send>;

/// See the module.
#[derive(Default)]
pub struct Static {
    calls: Arc<CallThreads>,
}

/// The calls that no caller waits for. Their threads end when this is dropped.
#[derive(Default)]
struct CallThreads(Arc<Queue>);

/// What the threads take calls from.
#[derive(Default)]
struct Queue {
    /// Lock "static calls": not held while a call is made.
    state: Mutex<CallState>,
    ready: Condvar,
}

#[derive(Default)]
struct CallState {
    /// By target: those that have calls, waiting or under way.
    targets: HashMap<u64, Target>,
    /// Targets of which a call may begin, the next one first; each once.
    turns: VecDeque<u64>,
    /// Calls that may begin.
    due: usize,
    threads: usize,
    /// Threads that wait for a call.
    idle: usize,
    is_ending: bool,
}

#[derive(Default)]
struct Target {
    waiting: VecDeque<Call>,
    under_way: usize,
}

impl Target {
    fn may_begin(&self) -> bool {
        !self.waiting.is_empty() && self.under_way < CALLS_AT_A_TIME
    }
}

impl CallState {
    /// Gives the call back when too many wait.
    fn put(&mut self, target: u64, call: Call) -> Result<(), Call> {
        let at = self.targets.entry(target).or_default();
        if at.waiting.len() >= WAITING_MAX {
            return Err(call);
        }
        let (had_turn, all) = (at.may_begin(), at.waiting.len() + at.under_way);
        at.waiting.push_back(call);
        if all < CALLS_AT_A_TIME {
            self.due += 1;
        }
        if !had_turn && at.may_begin() {
            self.turns.push_back(target);
        }
        Ok(())
    }

    fn take(&mut self) -> Option<(u64, Call)> {
        let target = self.turns.pop_front()?;
        let at = self.targets.get_mut(&target)?;
        let call = at.waiting.pop_front()?;
        at.under_way += 1;
        self.due -= 1;
        if at.may_begin() {
            self.turns.push_back(target);
        }
        Some((target, call))
    }

    fn ended(&mut self, target: u64) {
        let Some(at) = self.targets.get_mut(&target) else { return };
        let had_turn = at.may_begin();
        if at.waiting.len() + at.under_way > CALLS_AT_A_TIME {
            self.due += 1;
        }
        at.under_way -= 1;
        if at.may_begin() && !had_turn {
            self.turns.push_back(target);
        } else if at.under_way == 0 && at.waiting.is_empty() {
            self.targets.remove(&target);
        }
    }
}

impl Static {
    /// Without threads yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }
}

impl CallThreads {
    fn put(&self, target: u64, call: Call) -> Result<(), Call> {
        let mut state = self.0.lock();
        state.put(target, call)?;
        // Those that are idle may have been woken for calls before this one.
        let is_short = state.idle < state.due && state.threads < THREADS_MAX;
        state.threads += usize::from(is_short);
        drop(state);
        if is_short {
            let queue = Arc::clone(&self.0);
            std::thread::spawn(move || queue.work());
        } else {
            self.0.ready.notify_one();
        }
        Ok(())
    }
}

impl Drop for CallThreads {
    fn drop(&mut self) {
        self.0.lock().is_ending = true;
        self.0.ready.notify_all();
    }
}

impl Queue {
    fn lock(&self) -> MutexGuard<'_, CallState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is still to be called is called, also when no caller can ask for more.
    fn work(&self) {
        let mut state = self.lock();
        loop {
            if let Some((target, call)) = state.take() {
                drop(state);
                call(Ok(()));
                state = self.lock();
                state.ended(target);
            } else if state.is_ending {
                return;
            } else {
                state.idle += 1;
                state = self.ready.wait(state).unwrap_or_else(PoisonError::into_inner);
                state.idle -= 1;
            }
        }
    }
}

impl Mechanism for Static {
    fn link(&self, target: &Object) -> Arc<dyn Link> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        Arc::new(StaticLink { target: target.clone(), number, calls: Arc::clone(&self.calls) })
    }
}

struct StaticLink {
    target: Object,
    number: u64,
    calls: Arc<CallThreads>,
}

impl Link for StaticLink {
    fn call(&self, request: &Request) -> Result<Reply, SystemException> {
        request.invoke(&self.target)
    }

    fn start(&self, request: &Request, done: Done) {
        let (target, request) = (self.target.clone(), request.clone());
        let call = move |may: Result<(), SystemException>| {
            done(may.and_then(|()| request.invoke(&target)));
        };
        if let Err(call) = self.calls.put(self.number, Box::new(call)) {
            call(Err(too_many()));
        }
    }
}

fn too_many() -> SystemException {
    minor::NO_RESOURCES_REQUESTS
        .no(format!("{WAITING_MAX} requests wait for this component already"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::{Receiver, channel};
    use std::time::Duration;

    const PATIENCE: Duration = Duration::from_secs(60);

    #[test]
    fn a_target_that_does_not_answer_keeps_no_other_waiting() {
        let calls = CallThreads::default();
        let (began, begun) = channel();
        let mut releases = Vec::new();
        for number in 0..CALLS_AT_A_TIME + 10 {
            let (began, (release, released)) = (began.clone(), channel::<()>());
            let released: Receiver<()> = released;
            releases.push(release);
            let call = move |_| {
                began.send(number).unwrap();
                // Until the sender is dropped.
                let _ = released.recv();
            };
            assert!(calls.put(1, Box::new(call)).is_ok());
        }
        let mut first: Vec<_> =
            (0..CALLS_AT_A_TIME).map(|_| begun.recv_timeout(PATIENCE).unwrap()).collect();
        first.sort_unstable();
        assert!(first.into_iter().eq(0..CALLS_AT_A_TIME), "in their order, so many at a time");
        let (other, answered) = channel();
        assert!(calls.put(2, Box::new(move |_| other.send(()).unwrap())).is_ok());
        answered.recv_timeout(PATIENCE).unwrap();
        assert!(begun.try_recv().is_err(), "the limit of the first target holds");
        // Those that waited are made too, also when no caller can ask for more.
        drop(calls);
        releases.clear();
        for _ in 0..10 {
            begun.recv_timeout(PATIENCE).unwrap();
        }
    }

    #[test]
    fn targets_take_turns() {
        let mut state = CallState::default();
        let numbers = Arc::new(Mutex::new(Vec::new()));
        let call = |number: u32| -> Call {
            let numbers = Arc::clone(&numbers);
            Box::new(move |_| numbers.lock().unwrap().push(number))
        };
        (0..40).for_each(|number| assert!(state.put(1, call(number)).is_ok()));
        assert!(state.put(2, call(100)).is_ok());
        while let Some((target, call)) = state.take() {
            call(Ok(()));
            state.ended(target);
        }
        let numbers = numbers.lock().unwrap();
        assert_eq!(numbers[1], 100);
        assert!(numbers.iter().filter(|&&number| number < 100).copied().eq(0..40));
        assert_eq!((state.due, state.targets.len(), state.turns.len()), (0, 0, 0));
    }

    #[test]
    fn what_waits_for_a_target_has_a_bound() {
        let mut state = CallState::default();
        for _ in 0..WAITING_MAX {
            assert!(state.put(1, Box::new(|_| ())).is_ok());
        }
        assert!(state.put(1, Box::new(|_| ())).is_err());
        assert_eq!(too_many().minor, minor::NO_RESOURCES_REQUESTS);
        assert!(state.put(2, Box::new(|_| ())).is_ok(), "it is of each target");
        assert!(state.take().is_some());
        assert!(state.put(1, Box::new(|_| ())).is_ok());
    }
}
