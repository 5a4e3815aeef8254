//! The threads that serve what a queue lets go: those of the ORB's `server_concurrency`, as for a
//! connection.
//!
//! Where connections are sources of event loops, the queue is a source, too, of one of these loops;
//! where they have threads, threads are started for the queue. Requests that must not be overtaken
//! (oneways) keep the queue until their upcall ends or waits for a call of its own.

use super::HeldRequest;
use super::queue::{Flight, Reason, Shared};
use super::request::given_up;
use crate::Orb;
use crate::reactor::Turn;
use crate::server::{dispatch, turn};
use corbie_settings::ServerConcurrency;
use corbie_threads::lock::{Ranked, rank};
use corbie_threads::reactor::{Next, Source};
use corbie_threads::thread::{Registration, begin_serving};
use std::cell::RefCell;
use std::io;
use std::os::fd::BorrowedFd;
use std::sync::atomic::{AtomicBool, Ordering, fence};
use std::sync::{Arc, Weak};

/// Where a queue is a source; until dropped.
pub(super) struct Registered(Registration);

impl Drop for Registered {
    fn drop(&mut self) {
        self.0.remove();
    }
}

impl Shared {
    /// Sees to it that what may be served is.
    pub(super) fn wake(self: &Arc<Self>) {
        if !self.has_next() {
            return;
        }
        let Some(orb) = self.orb() else { return };
        if self.reason == Reason::ForMainThread {
            return orb.server().main_thread.wake(&orb);
        }
        let woken = match orb.settings().server_concurrency {
            ServerConcurrency::ThreadPerConnection => self.start_thread(&orb),
            _ => self.mark_ready(&orb),
        };
        if let Err(error) = woken {
            tracing::warn!(%error, "requests that were held cannot be served yet");
        }
    }

    fn mark_ready(self: &Arc<Self>, orb: &Orb) -> io::Result<()> {
        let mut registered = self.registered.lock();
        if registered.is_none() {
            let reactor = orb.server().loops.next(orb)?;
            let source = reactor.add_unwatched(Arc::new(Runner(Arc::downgrade(self))));
            *registered = Some(Registered(source));
        }
        if let Some(Registered(source)) = &*registered {
            source.again();
        }
        Ok(())
    }

    /// Starts a thread that empties the queue, unless one does or there are too many.
    fn start_thread(self: &Arc<Self>, orb: &Orb) -> io::Result<()> {
        {
            let mut state = self.lock();
            let most = orb.settings().pool_threads_max;
            if !state.has_next() || state.has_looker || state.threads >= most {
                return Ok(());
            }
            state.threads += 1;
            state.has_looker = true;
        }
        let thread = std::thread::Builder::new().name("corbie-held".to_owned());
        let (queue, orb) = (Arc::clone(self), orb.clone());
        let started = thread.spawn(move || {
            begin_serving();
            queue.empty(&orb);
        });
        started.map(drop).inspect_err(|_| {
            let mut state = self.lock();
            state.threads -= 1;
            state.has_looker = false;
        })
    }

    fn empty(self: &Arc<Self>, orb: &Orb) {
        loop {
            while let Some((held, flight)) = self.take() {
                serve(orb, held, flight, |_| {});
                if std::mem::replace(&mut self.lock().has_looker, true) {
                    self.lock().threads -= 1;
                    return; // Another thread has taken this one's place.
                }
            }
            let mut state = self.lock();
            if !state.has_next() {
                state.threads -= 1;
                state.has_looker = false;
                return;
            }
        }
    }
}

/// A queue as a source that is marked ready by hand.
struct Runner(Weak<Shared>);

impl Source<Orb> for Runner {
    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    fn handle_input(self: Arc<Self>, orb: &Orb, in_hand: &mut Turn<'_>) -> Next {
        let Some(queue) = self.0.upgrade() else { return Next::Remove };
        if turn::is_too_deep(orb) {
            in_hand.postpone();
            return Next::Wait;
        }
        let Some((held, flight)) = queue.take() else { return Next::Wait };
        turn::serve_held(orb, held, flight, in_hand)
    }
}

/// Serves a request that was taken out. `begins` is called before its upcall.
pub(crate) fn serve(orb: &Orb, held: HeldRequest, flight: Flight, begins: impl FnOnce(bool)) {
    let connection = held.connection().cloned();
    let reason = flight.queue().reason;
    let mut flight = Some(flight);
    let mut keeping = None;
    dispatch::held_request(orb, held, |may_be_overtaken| {
        begins(may_be_overtaken);
        if reason != Reason::ForTurn && may_be_overtaken {
            flight = None;
        } else if let Some(flight) = flight.take() {
            keeping = Some(keep(flight));
        }
    });
    drop(keeping);
    drop(flight);
    if let Some(connection) = connection {
        connection.flush_batch();
    }
}

thread_local! {
    /// The request in flight that this thread serves.
    static KEPT: RefCell<Option<Flight>> = const { RefCell::new(None) };
}

/// A request in flight stays so until this is dropped or [`let_go`] is called.
struct Keeping {
    outer: Option<Flight>,
}

fn keep(flight: Flight) -> Keeping {
    Keeping { outer: KEPT.replace(Some(flight)) }
}

impl Drop for Keeping {
    fn drop(&mut self) {
        drop(KEPT.replace(self.outer.take()));
    }
}

/// This thread waits for a call of its own: what waits behind the request that it serves may go
/// on, as the call may lead to one of these. Order gives way to progress.
pub(crate) fn let_go() {
    drop(KEPT.take());
}

/// All queues of one ORB.
#[derive(Default)]
pub(crate) struct Queues {
    all: Ranked<rank::Registry, Vec<Weak<Shared>>>,
    /// Whether a request waits until its client takes replies.
    pub(super) wait_for_room: AtomicBool,
    /// Whether the ORB has ended: what is put in from now on has nothing to wait for.
    pub(super) are_given_up: AtomicBool,
}

impl Queues {
    pub(super) fn add(&self, queue: &Arc<Shared>) {
        let mut queues = self.all.lock();
        queues.retain(|queue| queue.strong_count() > 0);
        queues.push(Arc::downgrade(queue));
    }

    pub(super) fn all(&self) -> Vec<Arc<Shared>> {
        let queues = self.all.lock();
        queues.iter().filter_map(Weak::upgrade).collect()
    }
}

impl Queues {
    /// Refuses all that waits, and what a thread is about to put in: none of it will be served.
    pub(crate) fn give_up_all(&self) {
        use Reason::{ForMainThread, ForServant, ForTurn, UntilActive};
        self.are_given_up.store(true, Ordering::Release);
        for reason in [UntilActive, ForServant, ForTurn, ForMainThread] {
            self.give_up(reason);
        }
    }

    /// Refuses what waits for `reason`: it will not be served any more.
    pub(crate) fn give_up(&self, reason: Reason) {
        for queue in self.all().into_iter().filter(|queue| queue.reason == reason) {
            queue.refuse(&given_up());
        }
    }

    /// Drops requests whose clients have gone. Done each second, nearly always for nothing: so no
    /// list is made. A queue that is passed over as others end has its turn the next time.
    pub(crate) fn drop_orphans(&self) {
        for at in 0.. {
            let queue = match self.all.lock().get(at) {
                Some(queue) => queue.upgrade(),
                None => return,
            };
            if let Some(queue) = queue {
                queue.drop_orphans();
            }
        }
    }
}

/// A peer may take replies again: goes on with what waits for that, if anything does.
#[inline]
pub(crate) fn resume_if_eased(orb: &Orb) {
    let waits = &orb.server().held_queues.wait_for_room;
    // What the peer took comes before this look: see `Shared::take`.
    fence(Ordering::SeqCst);
    if waits.load(Ordering::Relaxed) && waits.swap(false, Ordering::AcqRel) {
        resume(orb);
    }
}

#[cold]
fn resume(orb: &Orb) {
    orb.server().held_queues.all().iter().for_each(Shared::wake);
}
