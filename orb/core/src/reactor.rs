//! The event loop as this crate uses it: its sources work for an ORB. The loop itself is in
//! `orb/threads`; connections and listeners of both sides are its sources.

use crate::Orb;
use corbie_threads::reactor;
use std::io;
use std::sync::Arc;

pub(crate) use corbie_threads::reactor::Pollers;

pub(crate) type Reactor = reactor::Reactor<Orb>;
pub(crate) type Turn<'t> = reactor::Turn<'t, Orb>;

/// A loop for `orb`, which it does not keep alive.
///
/// # Errors
/// What the system says, for example that there are no descriptors left.
pub(crate) fn new(orb: &Orb, pollers: Pollers) -> io::Result<Arc<Reactor>> {
    let weak = orb.downgrade();
    Reactor::new(pollers, move || Orb::upgrade(&weak))
}
