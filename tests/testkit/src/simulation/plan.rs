//! What one seed makes: how the network behaves, which servers there are, what is called, and which
//! faults occur. Made for `world`, and printed when a run fails.

use corbie_cdr::Version;
use corbie_connection::{Limits, When};
use corbie_giop::{Protocol, ReplyTable};

use super::Seed;
use super::end::{Asked, Dialect, Sending};
use super::wire::Conditions;

/// A server of the plan.
#[derive(Clone, Copy, Debug)]
pub struct ServerPlan {
    /// It forwards every request to this server.
    pub forwards_to: Option<usize>,
    /// It takes no connection from the beginning.
    pub is_dead: bool,
    /// How long a servant takes at most, in microseconds.
    pub service_us: u64,
}

/// A call of the plan.
#[derive(Clone, Debug)]
pub struct CallPlan {
    /// When it begins.
    pub start_us: u64,
    /// The servers of its reference, in the order in which they are tried.
    pub servers: Vec<usize>,
    /// How it is asked.
    pub(super) asked: Asked,
    /// Octets of its arguments.
    pub padding: usize,
    /// How long it may take; `u64::MAX`: for ever.
    pub timeout_us: u64,
    /// When the application gives it up, after its beginning.
    pub cancel_after_us: Option<u64>,
    /// A server calls back over a connection that its client opened.
    pub is_callback: bool,
}

/// What happens besides calls.
#[derive(Clone, Copy, Debug)]
pub(super) enum Fault {
    /// A server closes its connections in order.
    Close(usize),
    /// A server dies: its connections break, and it takes no new ones.
    Kill(usize),
    /// It is there again.
    Revive(usize),
    /// A client closes the connections that it does not use.
    CloseIdle,
    /// Octets that are no GIOP go out on a connection, from this end.
    Garbage(usize, usize),
    /// A server closes in order and still serves: against the rules, to test the checks.
    #[cfg(test)]
    Lie(usize),
}

/// See the module.
#[derive(Clone, Debug)]
pub struct Plan {
    pub(super) conditions: Conditions,
    pub(super) dialect: Dialect,
    pub(super) sending: Sending,
    /// The servers.
    pub servers: Vec<ServerPlan>,
    /// The calls.
    pub calls: Vec<CallPlan>,
    pub(super) faults: Vec<(u64, Fault)>,
    /// Requests that may wait for replies on one connection.
    pub pending_max: usize,
    /// One connection in so many breaks, at a random octet; 0: none.
    pub(super) break_in: usize,
    /// One reply in so many is sent twice; 0: none.
    pub(super) twice_in: usize,
    /// Both ends of connections ask.
    pub(super) is_bidirectional: bool,
}

/// Virtual time in which calls begin, in microseconds.
const SPAN_US: u64 = 20_000;

fn one_in(seed: &mut Seed, number: usize) -> bool {
    seed.below(number) == 0
}

impl Plan {
    /// The plan of a seed.
    #[must_use]
    pub fn of(seed: &mut Seed) -> Self {
        let servers = servers(seed);
        let is_bidirectional = one_in(seed, 4);
        let calls = (0..3 + seed.below(14)).map(|_| call(seed, servers.len(), is_bidirectional));
        let calls = calls.collect();
        let faults = faults(seed, servers.len());
        Plan {
            conditions: conditions(seed),
            dialect: dialect(seed, is_bidirectional),
            sending: sending(seed),
            servers,
            calls,
            faults,
            pending_max: if one_in(seed, 5) { 1 + seed.below(3) } else { 1 << 10 },
            break_in: [0, 2, 4][seed.below(3)],
            twice_in: [0, 0, 3][seed.below(3)],
            is_bidirectional,
        }
    }
}

fn servers(seed: &mut Seed) -> Vec<ServerPlan> {
    let number = 1 + seed.below(4);
    let server = |seed: &mut Seed| ServerPlan {
        // Forwards may lead in a circle, or to the server itself.
        forwards_to: one_in(seed, 4).then(|| seed.below(number)),
        is_dead: one_in(seed, 8),
        service_us: [10, 500, 8_000][seed.below(3)],
    };
    (0..number).map(|_| server(seed)).collect()
}

fn call(seed: &mut Seed, servers: usize, is_bidirectional: bool) -> CallPlan {
    let mut order: Vec<usize> = (0..servers).collect();
    seed.shuffle(&mut order);
    order.truncate(1 + seed.below(3));
    CallPlan {
        start_us: seed.next_u64() % SPAN_US,
        servers: order,
        asked: match seed.below(8) {
            0 => Asked::Oneway,
            1 => Asked::Locate,
            _ => Asked::Twoway,
        },
        padding: [0, 8, 90, 3000][seed.below(4)],
        timeout_us: match seed.below(3) {
            0 => ReplyTable::<usize>::NEVER,
            1 => 1 + seed.next_u64() % 3_000,
            _ => 60_000,
        },
        cancel_after_us: one_in(seed, 8).then(|| seed.next_u64() % 4_000),
        is_callback: is_bidirectional && one_in(seed, 3),
    }
}

fn faults(seed: &mut Seed, servers: usize) -> Vec<(u64, Fault)> {
    let mut faults = Vec::new();
    for _ in 0..seed.below(5) {
        let (at, server) = (seed.next_u64() % SPAN_US, seed.below(servers));
        match seed.below(5) {
            0 | 1 => faults.push((at, Fault::Close(server))),
            2 => {
                faults.push((at, Fault::Kill(server)));
                faults.push((at + seed.next_u64() % 5_000, Fault::Revive(server)));
            }
            3 => faults.push((at, Fault::CloseIdle)),
            _ => faults.push((at, Fault::Garbage(seed.below(4), seed.below(2)))),
        }
    }
    faults
}

fn conditions(seed: &mut Seed) -> Conditions {
    Conditions {
        latency_us: [1, 100, 1_500][seed.below(3)],
        jitter_us: [0, 50, 800][seed.below(3)],
        chunk_octets_max: [usize::MAX, 700, 9][seed.below(3)],
        window_octets: [1 << 20, 2_000, 60][seed.below(3)],
        short_send_in: [0, 3][seed.below(2)],
    }
}

fn dialect(seed: &mut Seed, is_bidirectional: bool) -> Dialect {
    let fragment_octets = [None, Some(256)][seed.below(2)];
    let version = match seed.below(6) {
        // Bidirectional connections are of 1.2.
        _ if is_bidirectional => Version::V1_2,
        0 => Version::V1_0,
        1 => Version::V1_1,
        2 => Version::GIOP_LITE,
        _ => Version::V1_2,
    };
    Dialect { protocol: Protocol::of(version), version, fragment_octets }
}

fn sending(seed: &mut Seed) -> Sending {
    let queued_octets_max = [4_000, 1 << 20][seed.below(2)];
    Sending {
        limits: Limits { queued_octets_max, batch_octets: 1_000, small_octets: 100 },
        when: [When::Now, When::Later][seed.below(2)],
    }
}
