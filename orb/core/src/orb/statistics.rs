//! What an ORB can be asked about its load, for operators and tests: a look at counters, without a
//! lock that a call takes.

use crate::Orb;
use corbie_cdr::budget;
use std::sync::atomic::Ordering;

/// An ORB at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Statistics {
    /// Connections that peers have open to it.
    pub connections: usize,
    /// Connections that were refused a place, by `server_connections_max` or
    /// `connections_per_peer_max`.
    pub refused_connections: u64,
    /// Connections that were closed to make room for others (`when_full`).
    pub evicted_connections: u64,
    /// What peers make the process hold, over all its ORBs.
    pub memory: budget::Statistics,
}

impl Orb {
    /// What the ORB holds now, and what it refused so far.
    pub fn statistics(&self) -> Statistics {
        let server = self.server();
        Statistics {
            connections: server.open_connections(),
            refused_connections: server.refused_connections.load(Ordering::Relaxed),
            evicted_connections: server.evicted_connections.load(Ordering::Relaxed),
            memory: budget::statistics(),
        }
    }
}
