//! The event loops of a server and their threads: how every strategy but thread-per-connection
//! serves (papers POA §2.5, AMI §3.1, AMH §1).
//!
//! `thread-pool`: one loop, at which all idle threads of the `pool` wait. `thread-per-request`: one
//! loop, whose thread only reads (`in_loop`). `reactor-per-thread`: several loops with a thread
//! each, among which the connections are divided. `reactive`: the ORB's one loop, run by the
//! threads that the application lends it; the listening sockets are sources of it, too.

use super::in_loop::Places;
use super::pool::{self, Pool};
use crate::Orb;
use crate::reactor::{self, Pollers, Reactor, Turn};
use crate::server::listener;
use crate::server::listening::Listening;
use corbie_settings::{ServerConcurrency, WhenFull};
use corbie_threads::lock::{Ranked, rank};
use corbie_threads::reactor::{Next, Source};
use corbie_threads::thread::{Registration, begin_serving};
use corbie_types::SystemException;
use std::io;
use std::os::fd::BorrowedFd;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

/// See the module.
#[derive(Default)]
pub(crate) struct Loops {
    /// Those with threads of the ORB.
    loops: OnceLock<Vec<Arc<Reactor>>>,
    next: AtomicUsize,
    pub(super) pool: Pool,
    pub(super) places: Places,
    /// The listening sockets of a reactive server.
    listening: Ranked<rank::Registry, Vec<Registration>>,
}

impl Loops {
    /// The first loop with threads of the ORB, if there is one.
    pub(super) fn first(&self) -> Option<&Arc<Reactor>> {
        self.loops.get()?.first()
    }

    /// The loop for the next connection, or for requests that were held.
    ///
    /// # Errors
    /// What the system says.
    pub(crate) fn next(&self, orb: &Orb) -> io::Result<Arc<Reactor>> {
        let next = self.next.fetch_add(1, Ordering::Relaxed);
        match self.loops.get() {
            Some(loops) => Ok(Arc::clone(&loops[next % loops.len()])),
            None => orb.reactor().cloned().map_err(io::Error::other),
        }
    }

    /// A connection has gone: a listener that waited for a place has one.
    pub(crate) fn note_place(&self) {
        for listener in &*self.listening.lock() {
            listener.again();
        }
    }

    /// The loops of threads end, when they have served what they serve.
    pub(crate) fn close(&self) {
        for reactor in self.loops.get().into_iter().flatten() {
            reactor.close();
        }
        let listening = std::mem::take(&mut *self.listening.lock());
        for listener in listening {
            listener.remove();
        }
    }
}

/// Makes the loops that the strategy needs, and starts their threads.
///
/// # Errors
/// What the system says when there are no descriptors or threads.
pub(crate) fn start(orb: &Orb) -> io::Result<()> {
    use ServerConcurrency as C;
    let settings = orb.settings();
    let (count, pollers) = match settings.server_concurrency {
        C::ThreadPerConnection | C::Reactive => return Ok(()),
        C::ThreadPool => (1, Pollers::Many),
        C::ThreadPerRequest => (1, Pollers::OneAtATime),
        C::ReactorPerThread => match settings.reactor_threads {
            0 => (std::thread::available_parallelism()?.get(), Pollers::OneAtATime),
            count => (count as usize, Pollers::OneAtATime),
        },
    };
    let made: io::Result<Vec<_>> = (0..count).map(|_| reactor::new(orb, pollers)).collect();
    let loops = orb.server().loops.loops.get_or_init({
        let made = made?;
        || made
    });
    for reactor in loops {
        if pollers == Pollers::Many {
            (0..settings.pool_threads_min).try_for_each(|_| pool::start(orb, reactor))?;
            continue;
        }
        let (orb, reactor) = (orb.clone(), Arc::clone(reactor));
        std::thread::Builder::new().name("corbie-loop".to_owned()).spawn(move || {
            begin_serving();
            reactor.run_until(&orb, &|| reactor.is_closed(), None);
        })?;
    }
    Ok(())
}

/// Accepts the connections of `one` in the ORB's event loop.
///
/// # Errors
/// What the system says, or what [`Orb::reactor`] does.
pub(crate) fn listen(orb: &Orb, one: &Arc<Listening>) -> Result<(), SystemException> {
    let reactor = orb.reactor()?;
    let failed = |error| listener::cannot_start(&one.acceptor.endpoint(), &error);
    one.acceptor.set_nonblocking().map_err(failed)?;
    let listener = reactor.add(Arc::new(Listener(Arc::clone(one)))).map_err(failed)?;
    orb.server().loops.listening.lock().push(listener);
    Ok(())
}

/// A listening socket in an event loop.
struct Listener(Arc<Listening>);

impl Source<Orb> for Listener {
    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        self.0.acceptor.descriptor()
    }

    fn handle_input(self: Arc<Self>, orb: &Orb, _turn: &mut Turn<'_>) -> Next {
        if orb.server().closing.load(Ordering::Acquire) {
            return Next::Remove;
        }
        if orb.settings().when_full == WhenFull::Wait && !listener::has_place(orb) {
            return Next::Wait; // See `note_place`.
        }
        match self.0.acceptor.try_accept() {
            Ok(Some(link)) => {
                listener::admit(orb, link, self.0.protocol.messages);
                Next::Again
            }
            Ok(None) => Next::Wait,
            Err(error) => {
                // For want of descriptors, mostly: the next connection that goes makes room.
                tracing::warn!(endpoint = %self.0.acceptor.endpoint(), %error, "accept failed");
                Next::Wait
            }
        }
    }
}
