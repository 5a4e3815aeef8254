//! A connection as a source of an event loop: how every strategy but thread-per-connection serves.
//!
//! A turn takes one message, lets go of the connection, and dispatches on the spot; what follows is
//! another turn, of this thread or of another. Replies are sent without waiting: what the peer does
//! not take is queued, and a connection whose queue is full is not read until it was taken.

use crate::Orb;
use crate::reactor::{Reactor, Turn};
use crate::server::connection::Taken;
use crate::server::{ServerConnection, dispatch, due_responses, held, thread_per_request, turn};
use corbie_giop::OwnedMessage;
use corbie_settings::ServerConcurrency;
use corbie_threads::reactor::{Next, Source};
use corbie_threads::thread::{enter_upcall, serve_for_a_while, upcalls};
use std::io;
use std::os::fd::BorrowedFd;
use std::sync::Arc;

/// Serves `connection` in `reactor` from now on.
///
/// # Errors
/// What the system says.
pub(crate) fn add(reactor: &Arc<Reactor>, connection: &Arc<ServerConnection>) -> io::Result<()> {
    let source: Arc<dyn Source<Orb>> = Arc::clone(connection) as _;
    let registration = reactor.add(source)?;
    connection.registration.get_or_init(|| registration);
    Ok(())
}

impl Source<Orb> for ServerConnection {
    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        self.link.descriptor()
    }

    fn handle_output(&self, orb: &Orb) {
        self.flush();
        held::resume_if_eased(orb);
        due_responses::resume_if_eased(orb, self);
    }

    fn handle_input(self: Arc<Self>, orb: &Orb, turn: &mut Turn<'_>) -> Next {
        if self.is_closing() {
            return self.end_of_closing(orb, turn);
        }
        if self.life.has_declined() || due_responses::pause_if_full(orb, &self, turn) {
            return Next::Wait;
        }
        if is_too_deep(orb) {
            tracing::debug!("a request waits, as upcalls are nested nested_upcalls_max deep");
            turn.postpone();
            return Next::Wait;
        }
        match self.try_receive(orb, turn.has_end()) {
            Ok(Taken::NotYet) => Next::Wait,
            Ok(Taken::Message(message, more)) => {
                if orb.settings().server_concurrency == ServerConcurrency::ThreadPerRequest {
                    thread_per_request::serve(orb, &self, message, more, turn)
                } else {
                    serve(orb, &self, message, more, turn)
                }
            }
            Err(failure) => {
                turn::end(&self, &failure);
                if self.sender.has_last_word() {
                    self.end_of_closing(orb, turn)
                } else {
                    leave(orb, &self)
                }
            }
        }
    }
}

/// Whether this thread must not begin another upcall: each nested one takes a piece of the stack.
#[inline]
pub(crate) fn is_too_deep(orb: &Orb) -> bool {
    upcalls() >= orb.settings().nested_upcalls_max
}

impl ServerConnection {
    /// The connection closes; while its last words wait for the peer to take them, it stays.
    fn end_of_closing(&self, orb: &Orb, turn: &Turn<'_>) -> Next {
        if turn.has_end() || !self.sender.waits() { leave(orb, self) } else { Next::Wait }
    }
}

/// The connection is closed: it is no source any more. What still waits is lost, and those who want
/// to know learn it now: later it would be where the last of its responses is dropped.
fn leave(orb: &Orb, connection: &ServerConnection) -> Next {
    if connection.sender.waits() {
        connection.shut();
    }
    orb.server().forget(connection.id);
    Next::Remove
}

/// Dispatches `message` on this thread. `more`: there may be input that follows it.
fn serve(
    orb: &Orb,
    connection: &Arc<ServerConnection>,
    message: OwnedMessage,
    more: bool,
    turn: &mut Turn<'_>,
) -> Next {
    let pool = orb.server().pool.get();
    let mut held_here = None;
    let mut has_begun = false;
    let _serving = serve_for_a_while();
    let _upcall = enter_upcall();
    dispatch::message(orb, connection, &message, |may_be_overtaken| {
        if let Some(pool) = pool {
            pool.leave_the_idle(orb);
            has_begun = true;
        }
        if may_be_overtaken {
            turn.release(more);
        } else {
            held_here = Some(turn.hold(more));
        }
    });
    drop(held_here);
    if let Some(pool) = pool.filter(|_| has_begun) {
        pool.return_to_the_idle();
    }
    drop(message);
    connection.flush_batch();
    after(orb, connection, more)
}

/// What becomes of a connection after a message.
pub(crate) fn after(orb: &Orb, connection: &ServerConnection, more: bool) -> Next {
    if connection.is_closing() && !connection.sender.waits() {
        return leave(orb, connection);
    }
    if more { Next::Again } else { Next::Wait }
}
