//! Keeps a connection served while its thread waits for a call of its own.
//!
//! With a thread per connection, a servant that calls back its client while the client, inside that
//! call, calls the server again over the same connection would wait for itself. So before a serving
//! thread waits for a reply, another one of the [`ConnectionThreads`] stands in for it. Costs the
//! ordinary call one look at a thread-local.
//!
//! [`ConnectionThreads`]: crate::server::connection_threads::ConnectionThreads

use crate::Orb;
use crate::server::{ServerConnection, held, thread_per_connection};
use corbie_threads::reactor;
use corbie_threads::thread::begin_serving;
use std::cell::RefCell;
use std::sync::Arc;

struct Duty {
    orb: Orb,
    connection: Arc<ServerConnection>,
}

thread_local! {
    /// The connection that this thread serves, if any.
    static DUTY: RefCell<Option<Duty>> = const { RefCell::new(None) };
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
pub(crate) fn before_waiting() -> WhileWaiting {
    reactor::before_waiting();
    held::let_go();
    WhileWaiting(DUTY.with(|slot| {
        let slot = slot.borrow();
        slot.as_ref().map(|duty| call_stand_in(&duty.orb, &duty.connection))
    }))
}

#[cold]
fn call_stand_in(orb: &Orb, connection: &Arc<ServerConnection>) -> Arc<ServerConnection> {
    connection.flush();
    if connection.threads.begin_waiting(orb.settings().pool_threads_max) {
        thread_per_connection::spawn(orb, connection);
    }
    Arc::clone(connection)
}

impl Drop for WhileWaiting {
    #[inline]
    fn drop(&mut self) {
        if let Some(connection) = &self.0 {
            connection.threads.end_waiting();
        }
    }
}
