//! A thread for each request (papers POA §2.5, AMH §1): one event loop reads, and every message is
//! served by a thread of its own, which ends with it.
//!
//! For few requests that take long; starting a thread costs more than most requests. At most
//! `pool_threads_max` run at once: beyond that nothing is read. Oneways of a connection are served
//! one after the other, as elsewhere.

use crate::Orb;
use crate::reactor::{self, Pollers, Reactor, Turn};
use crate::server::held::{self, Flight, HeldRequest};
use crate::server::{ServerConnection, dispatch, event_driven};
use corbie_connection::ConnectionFault;
use corbie_giop::{Incoming, OwnedMessage};
use corbie_settings::ServerConcurrency;
use corbie_threads::lock::{Ranked, Signal, rank};
use corbie_threads::reactor::Next;
use corbie_threads::thread::begin_serving;
use std::io;
use std::sync::{Arc, OnceLock};

/// The event loop and the places for threads.
#[derive(Default)]
pub(crate) struct ThreadPerRequest {
    reactor: OnceLock<Arc<Reactor>>,
    /// How many run.
    running: Ranked<rank::Leaf, u32>,
    /// Signalled when one ends.
    ended: Signal,
}

impl ThreadPerRequest {
    /// The loop; `None` with another strategy.
    pub(crate) fn reactor(&self) -> Option<&Arc<Reactor>> {
        self.reactor.get()
    }

    /// No more requests are read.
    pub(crate) fn close(&self) {
        if let Some(reactor) = self.reactor.get() {
            reactor.close();
        }
    }

    fn take_place(&self, most: u32) {
        let running = self.running.lock();
        let full = |running: &mut u32| *running >= most;
        *self.ended.wait_while(running, full) += 1;
    }

    fn give_place_back(&self) {
        *self.running.lock() -= 1;
        self.ended.wake_one();
    }
}

/// Starts the thread that reads.
///
/// # Errors
/// What the system says when there are no descriptors or threads.
pub(crate) fn start(orb: &Orb) -> io::Result<()> {
    debug_assert_eq!(orb.settings().server_concurrency, ServerConcurrency::ThreadPerRequest);
    let reactor = reactor::new(orb, Pollers::OneAtATime)?;
    let _ = orb.server().thread_per_request.reactor.set(Arc::clone(&reactor));
    let thread = std::thread::Builder::new().name("corbie-requests".to_owned());
    let orb = orb.clone();
    let run = move || {
        reactor.run_until(&orb, &|| reactor.is_closed(), None);
    };
    thread.spawn(run).map(drop)
}

/// Has a new thread serve a request that was held, when there is a place for one.
pub(crate) fn serve_held(orb: &Orb, held: HeldRequest, flight: Flight) -> Next {
    orb.server().thread_per_request.take_place(orb.settings().pool_threads_max);
    let thread = std::thread::Builder::new().name("corbie-request".to_owned());
    let started = thread.spawn({
        let orb = orb.clone();
        move || {
            begin_serving();
            held::serve(&orb, held, flight, |_| {});
            orb.server().thread_per_request.give_place_back();
        }
    });
    if let Err(error) = started {
        tracing::warn!(%error, "no thread to be had for a request that was held: refused");
        orb.server().thread_per_request.give_place_back();
    }
    Next::Wait
}

/// Has a new thread serve `message`, when there is a place for one.
pub(crate) fn serve(
    orb: &Orb,
    connection: &Arc<ServerConnection>,
    (message, incoming): (OwnedMessage, Incoming),
    more: bool,
    turn: &mut Turn<'_>,
) -> Next {
    orb.server().thread_per_request.take_place(orb.settings().pool_threads_max);
    let held = turn.detach(more);
    let thread = std::thread::Builder::new().name("corbie-request".to_owned());
    let started = thread.spawn({
        let (orb, connection) = (orb.clone(), Arc::clone(connection));
        move || {
            begin_serving();
            let mut held = Some(held);
            dispatch::message(&orb, &connection, &message, incoming, |overtaken| {
                if overtaken {
                    held = None;
                }
            });
            connection.flush_batch();
            event_driven::after(&orb, &connection, false);
            drop(held);
            orb.server().thread_per_request.give_place_back();
        }
    });
    if let Err(error) = started {
        tracing::warn!(peer = %connection.peer(), %error, "no thread to be had for a request");
        orb.server().thread_per_request.give_place_back();
        connection.close(&ConnectionFault::gone);
    }
    Next::Detached
}
