//! What becomes of the advisor when its thread panics, which is a fault of the program: it refuses
//! all requests from then on, so that none is accepted that no thread works off, and says so to
//! its process. What it accepted is in its journal for the one that takes its place.

use corbie::{CompletionStatus, SystemException, minor};
use std::any::Any;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// See the module.
#[derive(Default)]
pub(super) struct Failure(Mutex<FailureState>);

/// Hears why.
pub(super) type Then = Box<dyn FnOnce(&str) + Send>;

#[derive(Default)]
struct FailureState {
    why: Option<String>,
    /// The callers that want to hear of it.
    then: Vec<Then>,
}

impl Failure {
    /// Why the advisor cannot go on.
    pub(super) fn why(&self) -> Option<String> {
        self.lock().why.clone()
    }

    /// Calls `then` when it happens; at once, when it has happened.
    pub(super) fn then(&self, then: Then) {
        let mut state = self.lock();
        match state.why.clone() {
            None => state.then.push(then),
            Some(why) => {
                drop(state);
                then(&why);
            }
        }
    }

    /// The thread has panicked with this.
    pub(super) fn happened(&self, panic: &(dyn Any + Send)) {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let said = text.or_else(|| panic.downcast_ref::<&str>().copied());
        let why =
            format!("the advisor's thread panicked: {}", said.unwrap_or("it does not say why"));
        tracing::error!(why, "the advisor refuses all requests from now on; start it again");
        let then = {
            let mut state = self.lock();
            state.why = Some(why.clone());
            std::mem::take(&mut state.then)
        };
        then.into_iter().for_each(|then| then(&why));
    }

    fn lock(&self) -> MutexGuard<'_, FailureState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Another replica, or the one that takes its place, may answer.
pub(super) fn refusal(why: &str) -> SystemException {
    SystemException::transient(minor::TRANSIENT_NOT_NOW, CompletionStatus::No).with_detail(why)
}
