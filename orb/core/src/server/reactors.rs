//! Reactive servers: event loops whose threads read, dispatch and answer, one request after the
//! other (papers AMI §3.1, AMH §1).
//!
//! `reactive`: the ORB's one loop, run by the threads that the application lends it; the listening
//! sockets are sources of it, too. `reactor-per-thread`: several loops with a thread each, among
//! which the connections are divided.

use crate::Orb;
use crate::reactor::{self, Pollers, Reactor, Turn};
use crate::server::listening::Listening;
use crate::server::{ServerConnection, listener};
use corbie_settings::WhenFull;
use corbie_threads::lock::{Ranked, rank};
use corbie_threads::reactor::{Next, Source};
use corbie_threads::thread::{Registration, begin_serving};
use corbie_types::SystemException;
use std::io;
use std::os::fd::BorrowedFd;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

/// The loops of `reactor-per-thread`.
#[derive(Default)]
pub(crate) struct Reactors {
    loops: OnceLock<Vec<Arc<Reactor>>>,
    next: AtomicUsize,
    /// The listening sockets of a reactive server.
    listening: Ranked<rank::Registry, Vec<Registration>>,
}

impl Reactors {
    /// Serves `connection` in the next loop.
    ///
    /// # Errors
    /// What the system says.
    pub(crate) fn add(&self, connection: &Arc<ServerConnection>) -> io::Result<()> {
        let loops = self.loops.get().map_or(&[][..], Vec::as_slice);
        let next = self.next.fetch_add(1, Ordering::Relaxed);
        match loops.get(next % loops.len().max(1)) {
            Some(reactor) => connection.read_by(reactor),
            None => Err(io::Error::other("no event loop was started")),
        }
    }

    /// One of the loops.
    pub(crate) fn any(&self) -> Option<Arc<Reactor>> {
        let loops = self.loops.get()?;
        loops.get(self.next.load(Ordering::Relaxed) % loops.len().max(1)).cloned()
    }

    /// A connection has gone: a listener that waited for a place has one.
    pub(crate) fn note_place(&self) {
        for listener in &*self.listening.lock() {
            listener.again();
        }
    }

    /// The loops of threads end.
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

/// Starts a loop and its thread for each processor, or as many as `reactor_threads` says.
///
/// # Errors
/// What the system says when there are no descriptors or threads.
pub(crate) fn start_threads(orb: &Orb) -> io::Result<()> {
    let count = match orb.settings().reactor_threads {
        0 => std::thread::available_parallelism()?.get(),
        count => count as usize,
    };
    let new = |_| reactor::new(orb, Pollers::OneAtATime);
    let loops: io::Result<Vec<_>> = (0..count).map(new).collect();
    let loops = loops?;
    let _ = orb.server().reactors.loops.set(loops.clone());
    for reactor in loops {
        let thread = std::thread::Builder::new().name("corbie-loop".to_owned());
        let orb = orb.clone();
        thread.spawn(move || {
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
    let mut listening = orb.server().reactors.listening.lock();
    listening.push(listener);
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
