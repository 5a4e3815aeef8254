//! One thread reads, dispatches and answers everything of one connection: no hand-over between
//! threads and, in steady state, one receive and one send for each request (paper POA §2.5).
//!
//! `stand_in` starts more threads for a connection whose servants make calls of their own; of the
//! threads of one connection (its `connection_threads`) one at a time reads and serves.

use crate::Orb;
use crate::server::{ServerConnection, dispatch, due_responses, stand_in};
use corbie_connection::ReceiveFailure;
use std::sync::Arc;

/// Starts a thread that serves `connection` until it closes.
pub(crate) fn spawn(orb: &Orb, connection: &Arc<ServerConnection>) {
    connection.threads.join();
    let thread = std::thread::Builder::new().name("corbie-connection".to_owned());
    let started = thread.spawn({
        let (orb, connection) = (orb.clone(), Arc::clone(connection));
        move || serve(&orb, &connection)
    });
    if let Err(error) = started {
        tracing::warn!(peer = %connection.peer(), %error, "no thread to be had for a connection");
        if connection.threads.leave() {
            connection.close_when_served();
            orb.server().forget(connection.id);
        }
    }
}

fn serve(orb: &Orb, connection: &Arc<ServerConnection>) {
    stand_in::begin_duty(orb, connection);
    while serve_one(orb, connection) {}
    stand_in::end_duty();
    if connection.threads.leave() {
        connection.finish();
        orb.server().forget(connection.id);
    }
}

/// Serves one message; whether the connection is still open.
#[inline]
fn serve_one(orb: &Orb, connection: &Arc<ServerConnection>) -> bool {
    connection.threads.rest_if_another_serves();
    connection.wait_until_taken();
    due_responses::wait_for_room(orb, connection);
    match connection.receive(orb) {
        Ok(message) => {
            dispatch::message(orb, connection, &message, |_| {});
            drop(message);
            connection.flush_batch();
            !connection.life.has_declined() && !connection.is_closing()
        }
        Err(failure) => {
            end(connection, &failure);
            false
        }
    }
}

/// Says why the connection ends, and ends it.
#[cold]
pub(crate) fn end(connection: &ServerConnection, failure: &ReceiveFailure) {
    if connection.is_closing() {
        return; // We closed it ourselves, and said why.
    }
    let peer = connection.peer();
    match failure {
        ReceiveFailure::Closed => connection.close(None),
        ReceiveFailure::NothingCame => {
            tracing::debug!(%peer, "idle connection closed");
            connection.close_when_served();
        }
        ReceiveFailure::TooSlow => {
            tracing::warn!(%peer, "connection closed: a message took too long to arrive");
            connection.close(None);
        }
        ReceiveFailure::Giop(error) => connection.refuse(error),
        ReceiveFailure::Io(error) => {
            tracing::debug!(%peer, %error, "connection broke");
            connection.close(None);
        }
    }
}
