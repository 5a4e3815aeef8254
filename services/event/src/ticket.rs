//! What lets a supplier go on: answers its push, or asks it for the next event, when the last
//! clone of its `Arc` is gone.
//!
//! Made for every event by its proxy; kept by those consumers that make the supplier wait, and by
//! the log of a durable channel until the event is on the disk.

use corbie::SystemException;
use std::sync::{Mutex, MutexGuard, PoisonError};

type Then = Box<dyn FnOnce(Result<(), SystemException>) + Send>;

/// Kept while the supplier of an event is to wait.
#[derive(Default)]
pub struct Ticket {
    /// Lock "ticket": held to put something in.
    state: Mutex<TicketState>,
}

#[derive(Default)]
struct TicketState {
    then: Option<Then>,
    failure: Option<Box<SystemException>>,
}

impl Ticket {
    /// What is done when the last one who keeps the ticket lets it go: with the reason why the
    /// event was not taken, if it was not. It is done by that thread: it should be brief.
    pub fn then(&self, then: impl FnOnce(Result<(), SystemException>) + Send + 'static) {
        self.lock().then = Some(Box::new(then));
    }

    /// The event was not taken; the first reason counts.
    pub fn fail(&self, why: SystemException) {
        self.lock().failure.get_or_insert_with(|| Box::new(why));
    }

    /// Why the event was not taken, if it was not.
    pub(crate) fn take_failure(&mut self) -> Option<SystemException> {
        let state = self.state.get_mut().unwrap_or_else(PoisonError::into_inner);
        state.failure.take().map(|failure| *failure)
    }

    fn lock(&self) -> MutexGuard<'_, TicketState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        let state = self.state.get_mut().unwrap_or_else(PoisonError::into_inner);
        if let Some(then) = state.then.take() {
            then(state.failure.take().map_or(Ok(()), |failure| Err(*failure)));
        }
    }
}

impl std::fmt::Debug for Ticket {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Ticket")
    }
}
