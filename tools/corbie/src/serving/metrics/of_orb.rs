//! What the ORB of a server holds, what it refused, and how near it is to each of its limits: read
//! from `Orb::statistics` when it is asked for.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use corbie::{Orb, Statistics};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::DescriptorEncoder;

use super::{Kind, Sample, write, write_all};

pub(super) struct OfOrb {
    orb: Orb,
    is_ready: Arc<AtomicBool>,
}

impl fmt::Debug for OfOrb {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OfOrb")
    }
}

impl Collector for OfOrb {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        // Once for all, so that no line of a page contradicts another.
        let s = self.orb.statistics();
        write_all(&mut encoder, &self.samples(&s))?;
        encode_limits(&s, &mut encoder)?;
        encode_memory(&s, &mut encoder)?;
        self.encode_tls(&s, &mut encoder)
    }
}

fn size(octets: usize) -> u64 {
    octets as u64
}

impl OfOrb {
    pub(super) fn new(orb: &Orb, is_ready: &Arc<AtomicBool>) -> Self {
        Self { orb: orb.clone(), is_ready: Arc::clone(is_ready) }
    }

    /// Whether the server takes requests: not while it starts or ends.
    fn is_up(&self) -> bool {
        self.is_ready.load(Ordering::Relaxed) && !self.orb.is_shut_down()
    }

    fn samples(&self, s: &Statistics) -> [Sample; 12] {
        let counter = |name, help, value| (name, help, Kind::Counter, value);
        let gauge = |name, help, value| (name, help, Kind::Gauge, size(value));
        [
            gauge("corbie_connections", "Connections that peers have open", s.connections.now),
            gauge("corbie_peers", "Peers that have connections open", s.peers),
            counter(
                "corbie_connections_refused",
                "Connections that were refused a place",
                s.refused_connections,
            ),
            counter(
                "corbie_connections_hasty",
                "Connections that were refused since their peer opened too many a second",
                s.hasty_connections,
            ),
            counter(
                "corbie_connections_evicted",
                "Connections that were closed to make room for others",
                s.evicted_connections,
            ),
            counter(
                "corbie_reading_paused",
                "Times that a connection was not read since its peer sent too much",
                s.hasty_requests,
            ),
            counter(
                "corbie_requests_behind",
                "Times that requests of a connection were found waiting behind long upcalls",
                s.requests_behind,
            ),
            gauge("corbie_requests_held", "Requests that POA managers hold", s.held_requests.now),
            gauge(
                "corbie_requests_deferred",
                "Requests whose answers servants have deferred",
                s.pending_responses.now,
            ),
            gauge(
                "corbie_memory_limit_octets",
                "What peers may make the process hold",
                s.memory.limit,
            ),
            counter("corbie_memory_refused", "Times that memory was refused", s.memory.refused),
            (
                "corbie_up",
                "1 while the server takes requests",
                Kind::Gauge,
                u64::from(self.is_up()),
            ),
        ]
    }

    fn encode_tls(
        &self,
        s: &Statistics,
        encoder: &mut DescriptorEncoder<'_>,
    ) -> Result<(), fmt::Error> {
        let handshakes = s.handshakes;
        let role = |role| Some(("role", role));
        let done = [(role("server"), handshakes.accepted), (role("client"), handshakes.opened)];
        let help = "Handshakes of TLS that came to their end";
        write(encoder, "corbie_tls_handshakes", help, Kind::Counter, done.into_iter())?;
        let failed = [
            (role("server"), handshakes.accept_failures),
            (role("client"), handshakes.open_failures),
        ];
        let help = "Handshakes of TLS that did not: a side refused the other, or went away";
        write(encoder, "corbie_tls_handshake_failures", help, Kind::Counter, failed.into_iter())?;
        let end = self.orb.certificate_expiry().map(|end| (None, since_1970(end)));
        let help = "When the first certificate of the server ends, in seconds since 1970";
        let name = "corbie_tls_certificate_expiry_timestamp_seconds";
        write(encoder, name, help, Kind::Gauge, end.into_iter())
    }
}

/// How much is used of each limit, and how much may be.
fn encode_limits(s: &Statistics, encoder: &mut DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
    let limits = [
        ("server_connections_max", s.connections),
        ("connections_per_peer_max", s.connections_per_peer),
        ("held_requests_max", s.held_requests),
        ("held_octets_max", s.held_octets),
        ("pending_responses_total_max", s.pending_responses),
    ];
    let used = limits.iter().map(|(setting, used)| (Some(("setting", *setting)), size(used.now)));
    let help = "How much is used of a limit";
    write(encoder, "corbie_limit_used", help, Kind::Gauge, used)?;
    let most = limits.iter().map(|(setting, used)| (Some(("setting", *setting)), size(used.most)));
    write(encoder, "corbie_limit_most", "How much a limit allows", Kind::Gauge, most)
}

fn encode_memory(s: &Statistics, encoder: &mut DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
    let memory = s.memory;
    let purposes = [
        ("reading", memory.reading),
        ("sending", memory.sending),
        ("services", memory.services),
        ("waiting", memory.waiting),
    ];
    let held = purposes.map(|(purpose, octets)| (Some(("purpose", purpose)), size(octets)));
    let help = "What peers make the process hold";
    write(encoder, "corbie_memory_octets", help, Kind::Gauge, held.into_iter())
}

fn since_1970(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs())
}
