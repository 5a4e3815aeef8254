//! What lets a supplier go on: answers its push, or asks it for the next event, when the last
//! clone of its `Arc` is gone.
//!
//! Made for every event by its proxy; kept by those consumers that make the supplier wait.

use std::sync::{Mutex, PoisonError};

type Then = Box<dyn FnOnce() + Send>;

/// Kept while the supplier of an event is to wait.
#[derive(Default)]
pub struct Ticket {
    /// Lock "ticket": held to put it in.
    then: Mutex<Option<Then>>,
}

impl Ticket {
    /// What is done when the last one who keeps the ticket lets it go. It is done by that thread:
    /// it should be brief.
    pub fn then(&self, then: impl FnOnce() + Send + 'static) {
        *self.then.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(then));
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        if let Some(then) = self.then.get_mut().unwrap_or_else(PoisonError::into_inner).take() {
            then();
        }
    }
}

impl std::fmt::Debug for Ticket {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Ticket")
    }
}
