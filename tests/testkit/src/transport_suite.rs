//! The conformance suite of transports: what every one has to do, whatever carries the octets.
//!
//! A transport says how it is listened on ([`TransportSubject`]), and `transport_suite!` makes a
//! test of each check. Instantiated for TCP, unix-domain sockets and shared memory in
//! `transport/tests`, and for the example's in `examples/transport`. The checks only use what
//! `orb/core` uses: `Link`, `Acceptor`, `Waiter` and `Readiness`.

mod death;
mod ends;
mod events;
mod octets;
mod waits;

pub use death::{a_peer_that_dies_is_noticed, be_the_peer};
pub use ends::{
    a_dead_endpoint_refuses_in_time, an_idle_link_is_stale_when_anything_came,
    closing_an_acceptor_wakes_a_thread_that_accepts, half_closed_links_still_send,
    octets_come_before_the_end, sending_to_a_closed_peer_is_an_error,
    shutdown_wakes_a_thread_that_receives, the_peer_has_a_name,
};
pub use events::{
    a_full_link_tells_when_there_is_room, acceptors_can_be_watched, what_comes_is_told_once,
};
pub use octets::{
    both_directions_at_once, more_than_the_buffers_hold_arrives_whole,
    octets_arrive_in_both_directions, thousands_of_random_chunks,
};
pub use waits::{
    a_slow_reader_does_not_hold_a_sender, every_way_of_waiting_gets_what_comes,
    receiving_ends_in_time_and_goes_on, sending_ends_in_time, sending_ends_when_it_was_said,
    sending_goes_on_when_there_is_room,
};

use corbie_transport::{Acceptor, Endpoint, Link};
use std::time::{Duration, Instant};

/// Far more than any of the times waited for.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);
/// A time-out that is waited for.
pub(crate) const SOON: Duration = Duration::from_millis(50);

/// A transport that the suite is run on.
pub trait TransportSubject: Sync {
    /// Listens at a place where nothing else does.
    fn listen(&self) -> Acceptor;

    /// What another process is told in order to connect.
    fn write(&self, endpoint: &Endpoint) -> String;

    /// What [`TransportSubject::write`] wrote.
    fn read(&self, text: &str) -> Endpoint;

    /// An endpoint that no acceptor listens on.
    fn dead_endpoint(&self) -> Endpoint {
        let acceptor = self.listen();
        acceptor.close();
        acceptor.endpoint()
    }

    /// Ends the sending direction of `link` alone; `false`: the transport has no such thing.
    fn end_sending(&self, link: &Link) -> bool {
        let _ = link;
        false
    }

    /// Whether what comes makes an event although what came before was not taken; `false`: only
    /// what comes after everything was taken, so that a reader that has not looked yet is not told
    /// again.
    fn tells_of_more(&self) -> bool {
        true
    }

    /// More octets than fit between two ends of which one does not read.
    fn too_much(&self) -> usize {
        48 << 20
    }

    /// Two ends of a connection: who connected, and who accepted.
    fn pair(&self) -> (Link, Link) {
        let acceptor = self.listen();
        let endpoint = acceptor.endpoint();
        std::thread::scope(|scope| {
            let accepted = scope.spawn(|| acceptor.accept());
            let ours = Link::connect(&endpoint, Some(PATIENCE), None).expect("to connect");
            (ours, accepted.join().expect("no panic").expect("to accept"))
        })
    }
}

/// Octets that tell their place, so that none can be lost, doubled or swapped unnoticed.
pub(crate) fn pattern(octets: usize) -> Vec<u8> {
    (0..octets).map(|i| (i as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes()[1]).collect()
}

/// All that comes until the peer closes.
pub(crate) fn receive_to_the_end(link: &Link) -> Vec<u8> {
    let mut received = Vec::new();
    let mut space = vec![0; 1 << 20];
    loop {
        match link.receive(&mut space).expect("to receive") {
            0 => return received,
            octets => received.extend_from_slice(&space[..octets]),
        }
    }
}

/// Looks until `holds`, for what another thread or the system brings about.
#[track_caller]
pub(crate) fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < PATIENCE, "it never held that {what}");
        std::thread::yield_now();
    }
}

/// Makes a test of each check of the suite for one transport.
///
/// ```ignore
/// corbie_testkit::transport_suite!(tcp, Tcp);
/// ```
#[macro_export]
macro_rules! transport_suite {
    ($name:ident, $subject:expr) => {
        mod $name {
            use super::*;

            /// What the suite starts as another process; nothing when run as a test.
            #[test]
            fn peer_of_the_suite() {
                $crate::transport_suite::be_the_peer(&$subject);
            }

            #[test]
            fn a_peer_that_dies_is_noticed() {
                let peer = concat!(module_path!(), "::peer_of_the_suite");
                $crate::transport_suite::a_peer_that_dies_is_noticed(&$subject, peer);
            }

            $crate::transport_suite!(@tests $subject,
                a_dead_endpoint_refuses_in_time,
                a_full_link_tells_when_there_is_room,
                a_slow_reader_does_not_hold_a_sender,
                acceptors_can_be_watched,
                an_idle_link_is_stale_when_anything_came,
                both_directions_at_once,
                closing_an_acceptor_wakes_a_thread_that_accepts,
                every_way_of_waiting_gets_what_comes,
                half_closed_links_still_send,
                more_than_the_buffers_hold_arrives_whole,
                octets_arrive_in_both_directions,
                octets_come_before_the_end,
                receiving_ends_in_time_and_goes_on,
                sending_ends_in_time,
                sending_ends_when_it_was_said,
                sending_goes_on_when_there_is_room,
                sending_to_a_closed_peer_is_an_error,
                shutdown_wakes_a_thread_that_receives,
                the_peer_has_a_name,
                thousands_of_random_chunks,
                what_comes_is_told_once,
            );
        }
    };
    (@tests $subject:expr, $($check:ident,)+) => {
        $(
            #[test]
            fn $check() {
                $crate::transport_suite::$check(&$subject);
            }
        )+
    };
}
