//! One thread reads, dispatches and answers everything of one connection: no hand-over between
//! threads and, in steady state, one receive and one send for each request (paper POA §2.5).
//!
//! More threads read while upcalls are long, or wait for calls of their own: see
//! [`ConnectionThreads`].

use super::nested::{begin_duty, begin_keeping, end_duty, end_keeping};
use super::watch;
use crate::Orb;
use crate::server::{ServerConnection, dispatch, due_responses};
use corbie_connection::Arrived;
use corbie_threads::connection_threads::ConnectionThreads;
use std::sync::Arc;

/// Starts the first thread that serves `connection`, until it closes; `false` when it is not for
/// threads of its own.
pub(crate) fn begin(orb: &Orb, connection: &Arc<ServerConnection>) -> bool {
    let Some(threads) = &connection.state().accepted.threads else { return false };
    threads.expect_first();
    start(orb, connection, threads);
    true
}

/// Starts a thread that serves `connection` and is expected by its `threads`.
pub(super) fn start(orb: &Orb, connection: &Arc<ServerConnection>, threads: &ConnectionThreads) {
    let thread = std::thread::Builder::new().name("corbie-connection".to_owned());
    let started = thread.spawn({
        let (orb, connection) = (orb.clone(), Arc::clone(connection));
        move || {
            connection
                .state()
                .accepted
                .threads
                .as_ref()
                .is_some_and(|threads| serve(&orb, &connection, threads))
        }
    });
    if let Err(error) = started {
        tracing::warn!(peer = %connection.peer(), %error, "no thread to be had for a connection");
        threads.arrive();
        if threads.leave() {
            connection.close_when_served();
            orb.server().forget(connection.state().accepted.id);
        }
    }
}

/// Serves `connection` until it closes, or needs this thread no longer; whether it is closed.
fn serve(orb: &Orb, connection: &Arc<ServerConnection>, threads: &ConnectionThreads) -> bool {
    threads.arrive();
    begin_duty(orb, connection);
    while serve_one(orb, connection, threads) {}
    end_duty();
    let is_last = threads.leave();
    if is_last {
        connection.finish();
        orb.server().forget(connection.state().accepted.id);
    }
    is_last
}

/// Serves one message; whether the connection is still open, and needs this thread.
#[inline]
fn serve_one(orb: &Orb, connection: &Arc<ServerConnection>, threads: &ConnectionThreads) -> bool {
    due_responses::wait_for_room(orb, connection);
    let Some(mut reading) = threads.take_turn(connection.reading()) else { return false };
    let arrived = match connection.receive(orb, &mut reading) {
        Ok(arrived) => arrived,
        Err(failure) => {
            drop(reading);
            connection.broke(&failure);
            return false;
        }
    };
    threads.note_message();
    if !arrived.incoming.is_request() {
        connection.handle_other(orb, reading, arrived);
        return !connection.has_stopped();
    }
    let Arrived { message, incoming } = arrived;
    let mut is_kept = false;
    // Not before the connection has what it needs of the message.
    let give_turn_back = |may_be_overtaken| {
        if may_be_overtaken {
            drop(reading);
            if threads.begin_upcall(|| watch::list(orb, connection)) {
                start(orb, connection, threads);
            }
        } else {
            is_kept = true;
            begin_keeping(threads);
            drop(reading);
        }
    };
    dispatch::message(orb, connection, &message, incoming, give_turn_back);
    if is_kept {
        end_keeping(threads);
    }
    drop(message);
    connection.flush_batch();
    !connection.has_stopped()
}
