//! Upcalls with the requests of connections that are sources of an event loop, and with requests
//! that were held: by the thread that runs the loop, or by a thread for each request.
//!
//! A turn takes one message, lets go of the connection, and dispatches on the spot; what follows is
//! another turn, of this thread or of another. Replies are sent without waiting: what the peer does
//! not take is queued, and a connection whose queue is full is not read until it was taken.
//!
//! A thread for each request is for few requests that take long, as starting it costs more than
//! most requests. At most `pool_threads_max` run at once: beyond that nothing is read.

use super::pool::Pool;
use crate::Orb;
use crate::reactor::Turn;
use crate::server::held::{self, Flight, HeldRequest};
use crate::server::{ServerConnection, dispatch};
use corbie_connection::ConnectionFault;
use corbie_giop::{Incoming, OwnedMessage};
use corbie_settings::ServerConcurrency;
use corbie_threads::lock::{Ranked, Signal, rank};
use corbie_threads::reactor::Next;
use corbie_threads::thread::{
    Serving, Upcall, begin_serving, enter_upcall, serve_for_a_while, upcalls,
};
use std::cell::Cell;
use std::sync::Arc;

/// Whether this thread must not begin another upcall: each nested one takes a piece of the stack.
#[inline]
pub(crate) fn is_too_deep(orb: &Orb) -> bool {
    upcalls() >= orb.settings().nested_upcalls_max
}

/// This thread, which runs a loop, serves a request until this is dropped.
struct InLoop<'o> {
    orb: &'o Orb,
    /// The pool that it left for its upcall.
    left: Cell<Option<&'o Pool>>,
    _upcall: Upcall,
    _serving: Serving,
}

impl<'o> InLoop<'o> {
    fn new(orb: &'o Orb) -> Self {
        let (_serving, _upcall) = (serve_for_a_while(), enter_upcall());
        InLoop { orb, left: Cell::new(None), _upcall, _serving }
    }

    /// The upcall begins.
    fn begin(&self) {
        if matches!(self.orb.settings().server_concurrency, ServerConcurrency::ThreadPool) {
            let pool = &self.orb.server().loops.pool;
            pool.leave_the_idle(self.orb);
            self.left.set(Some(pool));
        }
    }
}

impl Drop for InLoop<'_> {
    fn drop(&mut self) {
        if let Some(pool) = self.left.get() {
            pool.return_to_the_idle();
        }
    }
}

fn has_thread_per_request(orb: &Orb) -> bool {
    matches!(orb.settings().server_concurrency, ServerConcurrency::ThreadPerRequest)
}

/// Dispatches `message`. `more`: there may be input that follows it.
pub(crate) fn serve(
    orb: &Orb,
    connection: &Arc<ServerConnection>,
    (message, incoming): (OwnedMessage, Incoming),
    more: bool,
    turn: &mut Turn<'_>,
) -> Next {
    if has_thread_per_request(orb) {
        let mut held = Some(turn.detach(more));
        let theirs = Arc::clone(connection);
        let serve = move |orb: &Orb| {
            let begins = |may_be_overtaken: bool| held = held.take().filter(|_| !may_be_overtaken);
            dispatch::message(orb, &theirs, &message, incoming, begins);
            theirs.flush_batch();
            after(orb, &theirs, false);
            drop(held);
        };
        if !in_new_thread(orb, serve) {
            connection.close(&ConnectionFault::gone);
        }
        return Next::Detached;
    }
    let upcall = InLoop::new(orb);
    let mut held_here = None;
    dispatch::message(orb, connection, &message, incoming, |may_be_overtaken| {
        upcall.begin();
        if may_be_overtaken {
            turn.release(more);
        } else {
            held_here = Some(turn.hold(more));
        }
    });
    drop(held_here);
    drop(message);
    connection.flush_batch();
    after(orb, connection, more)
}

/// What becomes of a connection after a message.
fn after(orb: &Orb, connection: &ServerConnection, more: bool) -> Next {
    if connection.is_ending() && !connection.sender().waits() {
        return connection.leave_when_said(orb, false);
    }
    if more { Next::Again } else { Next::Wait }
}

/// Serves a request that was held.
pub(crate) fn serve_held(
    orb: &Orb,
    held: HeldRequest,
    flight: Flight,
    turn: &mut Turn<'_>,
) -> Next {
    if has_thread_per_request(orb) {
        in_new_thread(orb, |orb| held::serve(orb, held, flight, |_| {}));
        return Next::Wait;
    }
    let upcall = InLoop::new(orb);
    held::serve(orb, held, flight, |_| {
        upcall.begin();
        turn.release(false);
    });
    Next::Wait
}

/// The places for threads of one request each.
#[derive(Default)]
pub(super) struct Places {
    /// How many are taken.
    taken: Ranked<rank::Leaf, u32>,
    /// Signalled when a thread ends.
    ended: Signal,
}

impl Places {
    fn give_back(&self) {
        *self.taken.lock() -= 1;
        self.ended.wake_one();
    }
}

/// Has a new thread serve a request, when there is a place for one; whether one was to be had. If
/// not, the request is refused.
fn in_new_thread(orb: &Orb, serve: impl FnOnce(&Orb) + Send + 'static) -> bool {
    let (places, most) = (&orb.server().loops.places, orb.settings().pool_threads_max);
    *places.ended.wait_while(places.taken.lock(), |taken| *taken >= most) += 1;
    let thread = std::thread::Builder::new().name("corbie-request".to_owned());
    let started = thread.spawn({
        let orb = orb.clone();
        move || {
            begin_serving();
            serve(&orb);
            orb.server().loops.places.give_back();
        }
    });
    if let Err(error) = &started {
        tracing::warn!(%error, "no thread to be had for a request");
        places.give_back();
    }
    started.is_ok()
}
