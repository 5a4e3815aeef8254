//! Pushes letters into one channel, so many at a time: a channel that has no room keeps its answer
//! back, and what comes meanwhile waits here, in order.
//!
//! Used for requests (one for each target) and for answers (one for each caller).

use super::Form;
use super::letter::Letter;
use corbie::{Object, Reply, ReplySink, SystemException, minor};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What hears how a push went, by correlation.
pub(super) type Pushed = Box<dyn Fn(u64, Result<(), SystemException>) + Send + Sync>;

pub(super) struct Outlet {
    object: Object,
    form: Form,
    window: usize,
    pushed: Pushed,
    /// Lock "outlet": not held in calls.
    state: Mutex<OutletState>,
}

#[derive(Default)]
struct OutletState {
    /// Pushes that are not answered.
    under_way: usize,
    waiting: VecDeque<Letter>,
}

impl Outlet {
    pub(super) fn new(object: Object, form: Form, window: usize, pushed: Pushed) -> Arc<Self> {
        Arc::new(Self { object, form, window, pushed, state: Mutex::default() })
    }

    /// Pushes a letter, now or when there is room.
    pub(super) fn send(self: &Arc<Self>, letter: Letter) {
        {
            let mut state = self.lock();
            if state.under_way >= self.window {
                state.waiting.push_back(letter);
                return;
            }
            state.under_way += 1;
        }
        self.push(letter);
    }

    /// Pushes a letter on this thread, and returns when the channel has taken it.
    ///
    /// # Errors
    /// What the push said.
    pub(super) fn send_now(&self, letter: &Letter) -> Result<(), SystemException> {
        let operation = letter.operation(self.form);
        let outcome = self.object.invoke(operation, &|e| letter.encode(self.form, e))?;
        taken(outcome)
    }

    /// Pushes a letter past those that wait. What comes of it goes to `outcome`.
    pub(super) fn send_past(
        &self,
        letter: &Letter,
        outcome: impl FnOnce(Result<(), SystemException>) + Send + 'static,
    ) -> Result<(), SystemException> {
        let sink = ReplySink::function(move |reply| outcome(reply.and_then(taken)));
        let operation = letter.operation(self.form);
        self.object.invoke_async(operation, &|e| letter.encode(self.form, e), sink)
    }

    fn push(self: &Arc<Self>, letter: Letter) {
        let mut next = Some(letter);
        while let Some(letter) = next {
            let (outlet, correlation) = (Arc::clone(self), letter.head.correlation);
            let begun = self.send_past(&letter, move |outcome| {
                (outlet.pushed)(correlation, outcome);
                if let Some(next) = outlet.next() {
                    outlet.push(next);
                }
            });
            let Err(exception) = begun else { return };
            (self.pushed)(correlation, Err(exception));
            next = self.next();
        }
    }

    /// One push less is under way, or the next one begins.
    fn next(&self) -> Option<Letter> {
        let mut state = self.lock();
        let next = state.waiting.pop_front();
        if next.is_none() {
            state.under_way -= 1;
        }
        next
    }

    fn lock(&self) -> MutexGuard<'_, OutletState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A channel that disconnected us is gone for us.
fn taken(mut reply: Reply) -> Result<(), SystemException> {
    match reply.user_exception() {
        None => Ok(()),
        Some(raised) => {
            let text = format!("the event channel does not take events from us: {raised}");
            let no = corbie::CompletionStatus::No;
            Err(SystemException::object_not_exist(minor::OBJECT_NOT_EXIST_DISCONNECTED, no)
                .with_detail(text))
        }
    }
}
