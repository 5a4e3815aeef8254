//! What lets a supplier go on: answers its push, or asks it for the next event, when the last
//! clone of its `Arc` is gone.
//!
//! Made for every event by its proxy; kept by those consumers that make the supplier wait, and by
//! the log of a durable channel until the event is on the disk.

use corbie::cdr::Error;
use corbie::{CompletionStatus, Encoder, ServerRequest, SystemException};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

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

/// Answers with `results` when no consumer keeps `ticket` of so many events any more.
pub(crate) fn answer(
    mut ticket: Arc<Ticket>,
    request: &mut ServerRequest<'_>,
    events: usize,
    results: impl Fn(&mut Encoder<'_>) -> Result<(), Error> + Send + 'static,
) -> Result<(), SystemException> {
    if let Some(ticket) = Arc::get_mut(&mut ticket) {
        return match ticket.take_failure() {
            None => request.reply(&|e| results(e)),
            Some(failure) => Err(not_taken(failure, events)),
        };
    }
    let response = request.defer();
    ticket.then(move |outcome| {
        let answered = match outcome {
            Ok(()) => response.reply(&|e| results(e)),
            Err(failure) => response.raise(&not_taken(failure, events)),
        };
        if let Err(gone) = answered {
            tracing::debug!(%gone, "a supplier went while it waited for its answer");
        }
    });
    Ok(())
}

/// What a supplier is told of whose events one was not taken, for this reason.
fn not_taken(mut why: SystemException, events: usize) -> SystemException {
    // Others may have been, before it and behind it.
    if events > 1 && why.completed == CompletionStatus::No {
        why.completed = CompletionStatus::Maybe;
    }
    why
}

#[cfg(test)]
mod tests {
    use super::*;
    use corbie::minor;

    #[test]
    fn of_many_events_some_may_have_been_taken() {
        use CompletionStatus::{Maybe, No};
        for (events, completed) in [(1, No), (2, Maybe)] {
            let told =
                not_taken(SystemException::no_resources(minor::NO_RESOURCES_EVENTS, No), events);
            assert_eq!(told.completed, completed);
        }
    }
}
