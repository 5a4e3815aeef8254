//! What an ORB can be asked about its load, for operators and tests: a look at counters, without a
//! lock that a call takes.

use crate::Orb;
use corbie_cdr::budget;

/// An ORB at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Statistics {
    /// Connections that peers have open to it.
    pub connections: usize,
    /// What peers make the process hold, over all its ORBs.
    pub memory: budget::Statistics,
}

impl Orb {
    /// What the ORB holds now, and what it refused so far.
    pub fn statistics(&self) -> Statistics {
        Statistics { connections: self.server().open_connections(), memory: budget::statistics() }
    }
}
