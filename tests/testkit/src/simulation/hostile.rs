//! One end of a connection whose peer sends whatever it is given: for the fuzz targets. The
//! connection is the one that ships, with requests under way and in service.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use corbie_cdr::Version;
use corbie_connection::{Limits, When};
use corbie_giop::{Protocol, Roles};
use corbie_transport::PluggedLink as _;

use super::Seed;
use super::end::{AnsweredWith, Asked, Call, Came, Dialect, End, Minds, Sending};
use super::wire::{Conditions, Wire, WireEnd, lock};

/// Requests that wait at an end that asks.
const REQUESTS: usize = 8;

/// What has become of the requests of both ends.
#[derive(Default)]
struct Outcomes {
    ended: Vec<Call>,
    in_service: Vec<(u32, Asked)>,
}

impl Outcomes {
    fn take(&mut self, minds: &Minds) {
        while let Some((_, _, came)) = lock(&minds.log).pop_front() {
            match came {
                Came::Request { id, asked, .. } => self.in_service.push((id, asked)),
                Came::Reply(call, _) | Came::Failed(call, _) | Came::Expired(call) => {
                    self.ended.push(call);
                }
                Came::Declined | Came::Late | Came::Unasked | Came::Cancel => {}
            }
        }
    }
}

/// Gives `octets` to an end with these `roles`, in pieces as `seed` says, and answers, cancels and
/// closes in between.
///
/// # Panics
/// When a request does not end, or ends twice.
pub fn hostile_peer(roles: Roles, protocol: Protocol, mut octets: &[u8], seed: &mut Seed) {
    let now_us = Arc::<AtomicU64>::default();
    let conditions = Conditions {
        latency_us: 1,
        jitter_us: 0,
        chunk_octets_max: usize::MAX,
        window_octets: 1 << 20,
        short_send_in: 0,
    };
    let wire = Wire::new(Arc::clone(&now_us), conditions, None, Seed::new(0));
    let limits = Limits { queued_octets_max: 1 << 16, batch_octets: 1_000, small_octets: 100 };
    let sending = Sending { limits, when: When::Now };
    let version = match protocol {
        Protocol::Giop => Version::V1_2,
        _ => protocol.version(),
    };
    let (dialect, minds) =
        (Dialect { protocol, version, fragment_octets: None }, Minds::new(&sending));
    let mut end = End::new(&wire, roles, dialect, sending, REQUESTS, minds.of((0, 0)));
    let peer = WireEnd { wire: Arc::clone(&wire), end: 1 };
    let begin = Instant::now() + Duration::from_secs(3600);
    let asked = if roles.asks { REQUESTS } else { 0 };
    let mut ids = Vec::new();
    for call in 0..asked {
        let deadline = begin + Duration::from_secs(1 + call as u64);
        ids.extend(end.ask(call, Asked::Twoway, 0, Some(deadline), begin).expect("room"));
    }
    let mut seen = Outcomes::default();
    while !octets.is_empty() && !end.connection.is_ending() {
        let (now, rest) = octets.split_at(1 + seed.below(octets.len()));
        octets = rest;
        let _ = peer.try_send(now);
        now_us.fetch_add(10, Ordering::Relaxed);
        end.look();
        seen.take(&minds);
        match seed.below(8) {
            0 => {
                if let Some((id, asked)) = seen.in_service.pop() {
                    end.answer(id, asked, AnsweredWith::Done, 1);
                }
            }
            1 if !ids.is_empty() => {
                let cancelled = end.connection.cancel(ids.swap_remove(seed.below(ids.len())));
                seen.ended.extend(cancelled.map(|waits| waits.call()));
            }
            2 => end.connection.expire(begin + Duration::from_secs(seed.below(REQUESTS) as u64)),
            3 if seed.below(4) == 0 => end.connection.close_when_served(),
            _ => {}
        }
    }
    for (id, asked) in std::mem::take(&mut seen.in_service) {
        end.answer(id, asked, AnsweredWith::Done, 1);
    }
    end.connection.cut();
    seen.take(&minds);
    seen.ended.sort_unstable();
    assert_eq!(seen.ended, (0..asked).collect::<Vec<_>>(), "each request ends once");
    assert_eq!(end.connection.life().in_service(), 0, "requests are in service for ever");
}
