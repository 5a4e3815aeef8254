//! Keeps a connection served while its thread waits for a call of its own.
//!
//! With a thread per connection, a servant that calls back its client while the client, inside that
//! call, calls the server again over the same connection would wait for itself. So before a
//! serving thread waits for a reply, another one of the connection's [`Crew`] takes its place.
//! Costs the ordinary call one look at a thread-local.
//!
//! [`Crew`]: crate::server::crew::Crew

use crate::Orb;
use crate::reactor::{self, Reactor};
use crate::server::{ServerConnection, held, thread_per_connection};
use std::cell::{Cell, RefCell};
use std::sync::Arc;

struct Duty {
    orb: Orb,
    connection: Arc<ServerConnection>,
}

thread_local! {
    /// The connection that this thread serves, if any.
    static DUTY: RefCell<Option<Duty>> = const { RefCell::new(None) };
    /// Whether this thread was started to serve requests.
    static SERVES: Cell<bool> = const { Cell::new(false) };
}

/// This thread serves requests from now on.
pub(crate) fn begin_serving() {
    SERVES.with(|serves| serves.set(true));
}

/// This thread serves a request until the guard is dropped, and then what it served before.
pub(crate) fn serve_for_a_while() -> Serving {
    Serving { before: SERVES.replace(true) }
}

pub(crate) struct Serving {
    before: bool,
}

impl Drop for Serving {
    fn drop(&mut self) {
        SERVES.set(self.before);
    }
}

/// The event loop that this thread has to run while it waits for a reply, since nobody else does:
/// it serves requests in it, or delivers replies to an application that lends no other thread.
/// With the ORB that it belongs to.
pub(crate) fn loop_to_run() -> Option<(Arc<Reactor>, Orb)> {
    Reactor::with_orb_of_this_thread().filter(|(reactor, _)| reactor.is_run_by_few())
}

/// Whether a call by this thread is made from inside a servant. Such a call must not wait for a
/// connection in use: the call that uses it may be waiting for this one.
pub(crate) fn is_serving() -> bool {
    SERVES.with(Cell::get)
}

/// From now on this thread serves `connection`.
pub(crate) fn begin_duty(orb: &Orb, connection: &Arc<ServerConnection>) {
    begin_serving();
    let duty = Duty { orb: orb.clone(), connection: Arc::clone(connection) };
    DUTY.with(|slot| *slot.borrow_mut() = Some(duty));
}

/// This thread serves no connection any more.
pub(crate) fn end_duty() {
    DUTY.with(|slot| slot.borrow_mut().take());
}

/// To be held while this thread waits for a reply.
pub(crate) struct WhileWaiting(Option<Arc<ServerConnection>>);

/// This thread is about to wait for a reply: sees to it that its connection stays served.
#[inline]
pub(crate) fn while_waiting() -> WhileWaiting {
    reactor::let_go();
    held::let_go();
    WhileWaiting(DUTY.with(|slot| {
        let slot = slot.borrow();
        slot.as_ref().map(|duty| relieve(&duty.orb, &duty.connection))
    }))
}

#[cold]
fn relieve(orb: &Orb, connection: &Arc<ServerConnection>) -> Arc<ServerConnection> {
    connection.flush();
    if connection.crew.begin_waiting(orb.settings().pool_threads_max) {
        thread_per_connection::spawn(orb, connection);
    }
    Arc::clone(connection)
}

impl Drop for WhileWaiting {
    #[inline]
    fn drop(&mut self) {
        if let Some(connection) = &self.0 {
            connection.crew.end_waiting();
        }
    }
}
