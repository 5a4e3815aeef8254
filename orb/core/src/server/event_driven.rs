//! A connection as a source of an event loop: how every strategy but thread-per-connection serves.
//!
//! A turn takes one message, lets go of the connection, and dispatches on the spot; what follows is
//! another turn, of this thread or of another. Replies are sent without waiting: what the peer does
//! not take is queued, and a connection whose queue is full is not read until it was taken.

use crate::Orb;
use crate::reactor::Turn;
use crate::server::{ServerConnection, dispatch};
use corbie_giop::{Incoming, OwnedMessage};
use corbie_threads::reactor::Next;
use corbie_threads::thread::{enter_upcall, serve_for_a_while, upcalls};
use std::sync::Arc;

/// Whether this thread must not begin another upcall: each nested one takes a piece of the stack.
#[inline]
pub(crate) fn is_too_deep(orb: &Orb) -> bool {
    upcalls() >= orb.settings().nested_upcalls_max
}

/// Dispatches `message` on this thread. `more`: there may be input that follows it.
pub(super) fn serve(
    orb: &Orb,
    connection: &Arc<ServerConnection>,
    (message, incoming): (OwnedMessage, Incoming),
    more: bool,
    turn: &mut Turn<'_>,
) -> Next {
    let pool = orb.server().pool.get();
    let mut held_here = None;
    let mut has_begun = false;
    let _serving = serve_for_a_while();
    let _upcall = enter_upcall();
    dispatch::message(orb, connection, &message, incoming, |may_be_overtaken| {
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
    if connection.is_ending() && !connection.sender().waits() {
        return connection.leave_when_said(orb, false);
    }
    if more { Next::Again } else { Next::Wait }
}
