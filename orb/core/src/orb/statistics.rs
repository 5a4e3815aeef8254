//! What an ORB can be asked about its load, for operators and tests: a look at counters, without a
//! lock that a call takes: what is used of the limits of connections, held requests and deferred
//! answers, and how often limits refused.

use crate::Orb;
use corbie_cdr::budget;
use corbie_transport::Handshakes;
use std::sync::atomic::Ordering;

/// What is used of a limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Used {
    /// As much is used now.
    pub now: usize,
    /// As much may be; `usize::MAX`: there is no limit.
    pub most: usize,
}

/// An ORB at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Statistics {
    /// Connections that peers have open to it (`server_connections_max`).
    pub connections: Used,
    /// Connections of the peer that has most (`connections_per_peer_max`).
    pub connections_per_peer: Used,
    /// Peers that have connections open.
    pub peers: usize,
    /// Connections that were refused a place, by `server_connections_max` or
    /// `connections_per_peer_max`.
    pub refused_connections: u64,
    /// Connections that were refused since their peer opened too many a second
    /// (`connection_rate_per_peer`).
    pub hasty_connections: u64,
    /// Connections that were closed to make room for others (`when_full`).
    pub evicted_connections: u64,
    /// How often a connection was not read for a while, since its peer sent too many requests a
    /// second (`request_rate_per_peer`).
    pub hasty_requests: u64,
    /// How often requests of a connection waited behind long upcalls (`pool_threads_max`): the
    /// watch looks every 20 ms, and counts each connection that has such requests. Only where each
    /// connection has threads of its own.
    pub requests_behind: u64,
    /// Requests that POA managers hold (`held_requests_max`).
    pub held_requests: Used,
    /// Octets of these requests (`held_octets_max`).
    pub held_octets: Used,
    /// Octets of requests that wait for their turn (`held_octets_max`).
    pub turn_octets: Used,
    /// Requests whose answers servants have deferred (`pending_responses_total_max`).
    pub pending_responses: Used,
    /// Handshakes of TLS, and of transports of the application that have some.
    pub handshakes: Handshakes,
    /// What peers make the process hold, over all its ORBs.
    pub memory: budget::Statistics,
}

impl Orb {
    /// What the ORB holds now, and what it refused so far.
    pub fn statistics(&self) -> Statistics {
        let (server, settings) = (self.server(), self.settings());
        let count = |counter: &std::sync::atomic::AtomicU64| counter.load(Ordering::Relaxed);
        let connections = server.open_connections();
        let (peers, of_largest) = server.peers();
        let (held, due) = server.waiting();
        let (requests, octets, turn_octets) = held.held();
        let of = |now: usize, most: usize| Used { now, most };
        Statistics {
            connections: of(connections, settings.server_connections_max as usize),
            connections_per_peer: of(of_largest, settings.connections_per_peer_max as usize),
            peers,
            refused_connections: count(&server.refused_connections),
            hasty_connections: count(&server.hasty_connections),
            evicted_connections: count(&server.evicted_connections),
            hasty_requests: due.hasty(),
            requests_behind: count(&server.requests_behind),
            held_requests: of(requests, settings.held_requests_max as usize),
            held_octets: of(octets, settings.held_octets_max),
            turn_octets: of(turn_octets, settings.held_octets_max),
            pending_responses: of(
                due.total() as usize,
                settings.pending_responses_total_max as usize,
            ),
            handshakes: self
                .transports()
                .iter()
                .fold(Handshakes::default(), |all, transport| all + transport.handshakes()),
            memory: budget::statistics(),
        }
    }
}
