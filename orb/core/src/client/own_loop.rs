//! The event loop of one thread, which waits in it for its replies (`reply_wait = reactor`; paper
//! AMI §3.1, wait-on-reactor): no other thread runs it, so there is no leader.
//!
//! A connection that a call has for itself is a source of the loop of the calling thread. Where
//! only the application runs the loop of the ORB, that loop is a source, too: so a program with
//! one thread serves nested calls while it waits, and reads the connections that calls share.

use crate::Orb;
use crate::handles::OrbInner;
use crate::reactor::{self, Pollers, Reactor, Turn};
use corbie_threads::reactor::{Next, Source};
use std::cell::RefCell;
use std::io;
use std::os::fd::BorrowedFd;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

thread_local! {
    /// The loops of this thread, one for each ORB that it called with.
    static LOOPS: RefCell<Vec<(Weak<OrbInner>, Arc<Reactor>)>> = const { RefCell::new(Vec::new()) };
}

/// The loop of this thread for calls of `orb`.
///
/// # Errors
/// What the system says when there are no descriptors.
pub(super) fn of_this_thread(orb: &Orb) -> io::Result<Arc<Reactor>> {
    let weak = orb.downgrade();
    let made = LOOPS.with_borrow(|loops| {
        let made = loops.iter().find(|(of, _)| Weak::ptr_eq(of, &weak));
        made.map(|(_, reactor)| Arc::clone(reactor))
    });
    if let Some(made) = made {
        return Ok(made);
    }
    let reactor = reactor::new(orb, Pollers::Owner)?;
    if orb.is_driven_by_application() {
        let of_orb = orb.reactor().map_err(io::Error::other)?;
        reactor.add(Arc::new(LoopOfOrb(Arc::clone(of_orb))))?;
    }
    LOOPS.with_borrow_mut(|loops| {
        loops.retain(|(of, _)| of.strong_count() > 0);
        loops.push((weak, Arc::clone(&reactor)));
    });
    Ok(reactor)
}

/// Runs the loop `own` of this thread until `done` holds or the call's time is over.
pub(super) fn run(orb: &Orb, own: &Reactor, done: &dyn Fn() -> bool) {
    let of_orb = orb.reactor().ok().filter(|_| orb.is_driven_by_application());
    let _watching = of_orb.map(|of_orb| of_orb.watch());
    if let Some(deadline) = of_orb.and_then(|of_orb| of_orb.next_deadline()) {
        own.expect_deadline(deadline);
    }
    own.run_until(orb, done, None);
}

/// The loop of the ORB as a source of the loop of a thread.
struct LoopOfOrb(Arc<Reactor>);

impl Source<Orb> for LoopOfOrb {
    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        Some(self.0.descriptor())
    }

    fn handle_input(self: Arc<Self>, orb: &Orb, _turn: &mut Turn<'_>) -> Next {
        // Nothing, too, while another thread runs it.
        if self.0.run_once(orb, Some(Duration::ZERO)) { Next::Again } else { Next::Wait }
    }

    fn next_deadline(&self) -> Option<Instant> {
        self.0.next_deadline()
    }

    fn handle_timeout(self: Arc<Self>, orb: &Orb, _now: Instant) {
        self.0.run_once(orb, Some(Duration::ZERO));
    }
}
