//! Keeps a connection served while its thread waits for a call of its own.
//!
//! With a thread per connection, a servant that calls back its client while the client, inside that
//! call, calls the server again over the same connection would wait for itself. So before a serving
//! thread waits for a reply, another one of the [`ConnectionThreads`] reads in its place. Costs the
//! ordinary call one look at a thread-local.

use super::per_connection;
use crate::Orb;
use crate::server::{ServerConnection, held};
use corbie_threads::connection_threads::ConnectionThreads;
use corbie_threads::reactor;
use corbie_threads::thread::{begin_serving, is_serving};
use std::cell::{Cell, RefCell};
use std::sync::Arc;

struct Duty {
    orb: Orb,
    connection: Arc<ServerConnection>,
}

thread_local! {
    /// The connection that this thread serves, if any.
    static DUTY: RefCell<Option<Duty>> = const { RefCell::new(None) };
    /// The message that this thread serves, if nothing of the connection overtakes it; 0: none.
    static KEPT: Cell<u32> = const { Cell::new(0) };
}

/// From now on this thread serves `connection`.
pub(super) fn begin_duty(orb: &Orb, connection: &Arc<ServerConnection>) {
    begin_serving();
    DUTY.set(Some(Duty { orb: orb.clone(), connection: Arc::clone(connection) }));
}

/// This thread serves no connection any more.
pub(super) fn end_duty() {
    DUTY.set(None);
}

/// Nothing overtakes the message that this thread took until [`end_keeping`], or until this thread
/// waits for a call of its own.
pub(super) fn begin_keeping(threads: &ConnectionThreads) {
    KEPT.set(threads.keep_turn());
}

/// The upcall that was not to be overtaken has ended.
pub(super) fn end_keeping(threads: &ConnectionThreads) {
    threads.end_keeping(KEPT.take());
}

/// To be held while this thread waits for a reply.
pub(crate) struct WhileWaiting(Option<Arc<ServerConnection>>);

/// This thread is about to wait for a reply: sees to it that its connection stays served.
#[inline]
pub(crate) fn before_waiting() -> WhileWaiting {
    // A thread that serves nothing has nothing that others wait for.
    if is_serving() { let_others_serve() } else { WhileWaiting(None) }
}

#[cold]
fn let_others_serve() -> WhileWaiting {
    reactor::before_waiting();
    held::let_go();
    WhileWaiting(DUTY.with_borrow(|duty| duty.as_ref().map(call_stand_in)))
}

#[cold]
fn call_stand_in(Duty { orb, connection }: &Duty) -> Arc<ServerConnection> {
    connection.flush();
    if let Some(threads) = &connection.state().accepted.threads {
        // Order gives way to progress.
        end_keeping(threads);
        if threads.begin_waiting(connection.reading(), orb.settings().pool_threads_max) {
            per_connection::start(orb, connection, threads);
        }
    }
    Arc::clone(connection)
}

impl Drop for WhileWaiting {
    #[inline]
    fn drop(&mut self) {
        if let Some(connection) = self.0.take() {
            serve_again(&connection);
        }
    }
}

#[cold]
fn serve_again(connection: &ServerConnection) {
    if let Some(threads) = &connection.state().accepted.threads {
        threads.end_waiting();
    }
}
