//! Peers that send garbage, halves, lies or too much, over real sockets: each is told or closed
//! within its limits, the log says what was seen and from whom, memory stays bounded, and the server
//! goes on serving others. With both ways of serving.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod echo;

use corbie::{Any, Marshal, Orb, Servant, ServerRequest, SystemException, TypedServant, buffers};
use corbie_testkit::{
    AllocationCounts, Answered, CapturedLog, CountingAllocator, MessageKind, RawPeer, RawRequest,
    Seed, fragment_of_1_2, message_header, object_key_in,
};
use echo::{Echo, STRATEGIES, as_client, lend_a_thread, loopback_orb};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

/// Far more than any of the times waited for here.
const PATIENCE: Duration = Duration::from_secs(60);

/// Answers what the tests here need, and `double` for the client that must go on being served.
#[derive(Default)]
struct Target {
    /// How many requests for a mebibyte came.
    crowd: Mutex<u32>,
    came: Condvar,
}

impl Servant for Target {
    fn _interfaces(&self) -> &'static [&'static str] {
        &["IDL:Test/Echo:1.0"]
    }

    fn _dispatch(&self, request: &mut ServerRequest<'_>) -> Result<(), SystemException> {
        let mut d = request.arguments();
        match request.operation() {
            "double" => {
                let value = d.read_longlong()?.wrapping_mul(2);
                request.reply(&|e| i64::encode(&value, e))
            }
            "text" => {
                let length = d.read_string()?.len() as i64;
                request.reply(&|e| i64::encode(&length, e))
            }
            "octets" => {
                let length = d.read_octet_sequence()?.len() as i64;
                request.reply(&|e| i64::encode(&length, e))
            }
            "any" => {
                let any = Any::decode(&mut d)?;
                request.reply(&|e| e.write_string(&format!("{:?}", any.type_code().kind())))
            }
            "much" => {
                let octets = vec![7; 4 << 20];
                request.reply(&|e| e.write_octet_sequence(&octets))
            }
            "mebibyte" => {
                let all = d.read_ulong()?;
                let mut crowd = self.crowd.lock().unwrap();
                *crowd += 1;
                self.came.notify_all();
                drop(self.came.wait_timeout_while(crowd, PATIENCE, |crowd| *crowd < all).unwrap());
                let octets = vec![7; 1 << 20];
                request.reply(&|e| e.write_octet_sequence(&octets))
            }
            _ => Err(request.unknown_operation()),
        }
    }
}

impl TypedServant for Target {
    type Reference = Echo;
}

/// A server under attack, and a good client of it.
struct Scene {
    server: Orb,
    client: Orb,
    echo: Echo,
    object_key: Vec<u8>,
    log: &'static CapturedLog,
    _alone: Option<MutexGuard<'static, ()>>,
}

/// Memory is counted for the process, so one test plays at a time.
static STAGE: Mutex<()> = Mutex::new(());

fn stage() -> MutexGuard<'static, ()> {
    STAGE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Plays `test` with every strategy at once: for tests that wait more than they work.
fn with_all_strategies_at_once(more: &[&str], test: impl Fn(&Scene, &str) + Sync) {
    let _alone = stage();
    std::thread::scope(|threads| {
        for strategy in STRATEGIES {
            let test = &test;
            threads.spawn(move || test(&Scene::among_others(strategy, more), strategy));
        }
    });
}

impl Scene {
    fn new(strategy: &str, more: &[&str]) -> Self {
        let alone = stage();
        let mut scene = Self::among_others(strategy, more);
        scene._alone = Some(alone);
        scene
    }

    /// Without the stage for itself.
    fn among_others(strategy: &str, more: &[&str]) -> Self {
        let log = CapturedLog::install().with_panics();
        let options = [&["-ORBServerConcurrency", strategy][..], more].concat();
        let server = loopback_orb(&options);
        lend_a_thread(&server);
        let poa = server.root_poa().unwrap();
        poa.the_poa_manager().activate().unwrap();
        let reference = poa.activate(Target::default()).unwrap();
        let client = loopback_orb(&[]);
        let echo = as_client(&client, &reference);
        let object_key = object_key_in(&reference.0.to_string());
        let scene = Self { server, client, echo, object_key, log, _alone: None };
        scene.still_serves();
        scene
    }

    fn peer(&self) -> RawPeer {
        RawPeer::connect_to(&self.server.listen_endpoints()[0]).unwrap()
    }

    fn still_serves(&self) {
        assert_eq!(self.echo.double(21).unwrap(), 42, "the good client is served");
    }

    /// The log names this peer and says all these words, as a warning.
    #[track_caller]
    fn logged(&self, peer: &RawPeer, words: &[&str]) {
        let address = peer.name();
        let parts = [&["WARN", address][..], words].concat();
        let found = self.log.line_with(&parts, PATIENCE);
        assert!(found.is_some(), "{parts:?} in {:#?}", self.log.lines_with(address));
    }

    fn request(&self, operation: &str, arguments: &[u8]) -> Vec<u8> {
        RawRequest { object_key: &self.object_key, operation, request_id: 1, arguments }.octets()
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        self.server.shutdown(true);
        self.client.shutdown(true);
        // A test that fails says so itself.
        if !std::thread::panicking() {
            assert_eq!(self.log.lines_with("panic of corbie-"), [""; 0]);
        }
    }
}

/// Sends octets that must be answered by MessageError and the end of the connection.
#[track_caller]
fn refused(scene: &Scene, octets: &[u8], words: &[&str]) {
    let mut peer = scene.peer();
    // The server may have closed before the last octet was sent.
    let _ = peer.send(octets);
    assert_eq!(peer.answered(PATIENCE), Answered::MessageError, "{words:?}");
    scene.logged(&peer, words);
    scene.still_serves();
}

#[test]
fn garbage_is_answered_by_message_error() {
    for strategy in STRATEGIES {
        let scene = Scene::new(strategy, &[]);
        refused(&scene, b"GET / HTTP/1.1\r\nHost: example.org\r\n\r\n", &["GET / HTTP"]);
        refused(&scene, b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", &["not a GIOP message"]);
        refused(&scene, b"G?", &["not a GIOP message"]);
        let mut seed = Seed::new(1);
        for _ in 0..20 {
            let garbage: Vec<u8> = (0..1000).map(|_| seed.next_u64() as u8 | 0x80).collect();
            refused(&scene, &garbage, &["not a GIOP message"]);
        }
    }
}

#[test]
fn bad_headers_are_answered_by_message_error() {
    for strategy in STRATEGIES {
        let scene = Scene::new(strategy, &[]);
        let mut header = message_header(MessageKind::Request, false, 0);
        header[5] = 9;
        refused(&scene, &header, &["version", "1.9"]);
        let mut header = message_header(MessageKind::Request, false, 0);
        header[7] = 88;
        refused(&scene, &header, &["message type is unknown", "88"]);
        let reply = message_header(MessageKind::Reply, false, 12);
        refused(&scene, &reply, &["in its role", "Reply"]);
        // A key that is longer than its message.
        let mut request = scene.request("double", &[0; 8]);
        request[24..28].copy_from_slice(&0x00ff_ffff_u32.to_be_bytes());
        refused(&scene, &request, &["object_key"]);
    }
}

#[test]
fn huge_lengths_in_headers_are_refused_at_once() {
    for strategy in STRATEGIES {
        let scene = Scene::new(strategy, &["-ORBMessageOctetsMax", "1MiB"]);
        for claim in [u32::MAX, 0x7fff_ffff, 1 << 20] {
            let before = CountingAllocator::of_all_threads();
            let header = message_header(MessageKind::Request, false, claim);
            refused(&scene, &header, &["larger than the limit", &claim.to_string()]);
            let grown = CountingAllocator::of_all_threads().since(before).held_octets();
            assert!(grown < 1 << 20, "{claim} claimed, {grown} octets more in use");
        }
    }
}

#[test]
fn huge_lengths_in_arguments_fail_the_request_only() {
    for strategy in STRATEGIES {
        let scene = Scene::new(strategy, &[]);
        let mut peer = scene.peer();
        for operation in ["text", "octets", "any"] {
            for claim in [u32::MAX, 0x8000_0000, 0x0400_0000, 7777] {
                let before = CountingAllocator::of_all_threads();
                let arguments = [claim.to_be_bytes(), *b"abcd"].concat();
                let (reply, status) = reply_to(&mut peer, &scene.request(operation, &arguments));
                let text = reply.escape_ascii().to_string();
                assert_eq!(status, SYSTEM_EXCEPTION, "{text}");
                let named = ["MARSHAL", "IMP_LIMIT", "BAD_TYPECODE", "BAD_PARAM"];
                assert!(named.iter().any(|name| text.contains(name)), "{text}");
                let grown = CountingAllocator::of_all_threads().since(before).held_octets();
                assert!(grown < 1 << 20, "{claim} claimed, {grown} octets more in use");
            }
        }
        // The connection goes on too.
        let request = scene.request("double", &21i64.to_be_bytes());
        assert_eq!(reply_to(&mut peer, &request).1, NO_EXCEPTION);
        scene.still_serves();
    }
}

/// The octets of a reply and its status; the server answers in its own byte order.
fn reply_to(peer: &mut RawPeer, request: &[u8]) -> (Vec<u8>, u32) {
    peer.send(request).unwrap();
    let reply = peer.receive_message(PATIENCE).unwrap();
    assert_eq!(reply[7], MessageKind::Reply as u8);
    let status = *reply[16..].first_chunk().unwrap();
    let little = reply[6] & 1 == 1;
    (reply, if little { u32::from_le_bytes(status) } else { u32::from_be_bytes(status) })
}

const NO_EXCEPTION: u32 = 0;
const SYSTEM_EXCEPTION: u32 = 2;

/// An any whose TypeCode is a sequence of sequences, so many deep; each level is an encapsulation.
fn nested(depth: usize) -> Vec<u8> {
    let mut inner = 3u32.to_be_bytes().to_vec(); // tk_long
    for _ in 0..depth {
        // tk_sequence, an encapsulation of: byte order, padding, element type, bound.
        let mut outer = 19u32.to_be_bytes().to_vec();
        let length = u32::try_from(4 + inner.len() + 4).unwrap();
        outer.extend_from_slice(&length.to_be_bytes());
        outer.extend_from_slice(&[0; 4]);
        outer.append(&mut inner);
        outer.extend_from_slice(&[0; 4]);
        inner = outer;
    }
    inner.extend_from_slice(&[0; 4]); // the value: an empty sequence
    inner
}

#[test]
fn deep_nesting_fails_the_request_only() {
    for strategy in STRATEGIES {
        let scene = Scene::new(strategy, &[]);
        let mut peer = scene.peer();
        for (depth, accepted) in [(5, true), (100, false), (3000, false)] {
            let (reply, status) = reply_to(&mut peer, &scene.request("any", &nested(depth)));
            let text = reply.escape_ascii().to_string();
            assert_eq!(status == NO_EXCEPTION, accepted, "{depth} levels: {text}");
            assert!(accepted || text.contains("IMP_LIMIT"), "{depth} levels: {text}");
        }
        scene.still_serves();
    }
}

#[test]
fn a_million_fragments_end_at_the_limit() {
    for strategy in STRATEGIES {
        let scene = Scene::new(strategy, &["-ORBFragmentsMax", "5000"]);
        let before = CountingAllocator::of_all_threads();
        let mut peer = scene.peer();
        peer.send(&fragment_of_1_2(MessageKind::Request, 1, &[0; 100])).unwrap();
        let thousand = fragment_of_1_2(MessageKind::Fragment, 1, b"").repeat(1000);
        let sent = (0..1000).take_while(|_| peer.send(&thousand).is_ok()).count();
        assert!(sent < 1000, "the server closed before the million was complete");
        assert!(peer.answered(PATIENCE).is_closed());
        scene.logged(&peer, &["more fragments than the limit", "5000"]);
        let grown = CountingAllocator::of_all_threads().since(before).held_octets();
        assert!(grown < 1 << 20, "{grown} octets more in use");
        scene.still_serves();
    }
}

#[test]
fn fragments_without_end_are_bounded_by_octets_and_by_number() {
    for strategy in STRATEGIES {
        let limits = [
            "-ORBMessageOctetsMax",
            "256KiB",
            "-ORBReassemblyOctetsMax",
            "512KiB",
            "-ORBReassemblyMessagesMax",
            "4",
        ];
        let scene = Scene::new(strategy, &limits);
        let begins: Vec<u8> =
            (0..5).flat_map(|id| fragment_of_1_2(MessageKind::Request, id, &[0; 8])).collect();
        refused(&scene, &begins, &["incomplete messages", "number 5"]);

        let before = CountingAllocator::of_all_threads();
        let mut peer = scene.peer();
        for id in 0..3 {
            peer.send(&fragment_of_1_2(MessageKind::Request, id, &[0; 100])).unwrap();
        }
        let fragment = |id| fragment_of_1_2(MessageKind::Fragment, id, &[0; 8192]);
        let sent = (0..10_000).take_while(|n| peer.send(&fragment(n % 3)).is_ok()).count();
        assert!(sent < 10_000);
        assert!(peer.answered(PATIENCE).is_closed());
        scene.logged(&peer, &["hold more than the limit"]);
        let grown = CountingAllocator::of_all_threads().since(before).held_octets();
        assert!(grown < 4 << 20, "{grown} octets more in use");

        let unknown = fragment_of_1_2(MessageKind::Fragment, 77, b"data");
        refused(&scene, &unknown, &["belongs to no message", "77"]);
    }
}

#[test]
fn one_octet_after_the_other_is_ended_by_the_message_timeout() {
    with_all_strategies_at_once(&["-ORBMessageTimeout", "500ms"], |scene, strategy| {
        let mut peer = scene.peer();
        let request = scene.request("double", &21i64.to_be_bytes());
        let begun = Instant::now();
        // The whole request would take eighty seconds; the pool looks once a second.
        let sent = peer.send_slowly(&request, Duration::from_secs(1));
        assert!(sent < request.len(), "{strategy}: all of it was waited for");
        assert!(begun.elapsed() < PATIENCE, "{strategy}: {:?}", begun.elapsed());
        scene.logged(&peer, &["took too long"]);
        scene.still_serves();
    });
}

#[test]
fn a_message_in_fragments_has_its_own_time_whatever_else_comes() {
    with_all_strategies_at_once(&["-ORBMessageTimeout", "2s"], |scene, strategy| {
        let mut peer = scene.peer();
        peer.send(&fragment_of_1_2(MessageKind::Request, 7, &[0; 1000])).unwrap();
        let begun = Instant::now();
        let tiny = scene.request("double", &21i64.to_be_bytes());
        // A whole request now and then, each of which is answered.
        while peer.send(&tiny).is_ok() && peer.receive_message(PATIENCE).is_ok() {
            assert!(begun.elapsed() < PATIENCE, "{strategy}: other messages give it more time");
            // tidy: sleep: the peer takes its time
            std::thread::sleep(Duration::from_millis(100));
        }
        assert!(begun.elapsed() >= Duration::from_secs(2), "{strategy}: {:?}", begun.elapsed());
        scene.logged(&peer, &["took too long"]);
        scene.still_serves();
    });
}

#[test]
fn half_a_message_and_then_the_end_is_noticed_at_once() {
    for strategy in STRATEGIES {
        let scene = Scene::new(strategy, &[]);
        let request = scene.request("double", &21i64.to_be_bytes());
        for len in [1, 3, 11, 12, 13, 40, request.len() - 1] {
            let mut peer = scene.peer();
            peer.send(&request[..len]).unwrap();
            peer.finish().unwrap();
            assert!(peer.answered(PATIENCE).is_closed(), "{strategy}: {len} octets");
            scene.logged(&peer, &["in the middle of a message"]);
        }
        scene.still_serves();
    }
}

#[test]
fn a_peer_that_vanishes_in_a_large_message_leaves_nothing_behind() {
    for strategy in STRATEGIES {
        let scene = Scene::new(strategy, &[]);
        let arguments = vec![0; 8 << 20];
        let request = scene.request("octets", &arguments);
        let before = CountingAllocator::of_all_threads();
        for _ in 0..4 {
            let mut peer = scene.peer();
            peer.send(&request[..6 << 20]).unwrap();
            drop(peer);
        }
        nothing_is_left(before, || scene.still_serves());
    }
}

/// Waits until the process holds hardly more than `before`, while the test does `meanwhile`.
#[track_caller]
fn nothing_is_left(before: AllocationCounts, meanwhile: impl Fn()) {
    let deadline = Instant::now() + PATIENCE;
    loop {
        // What the pools hold for other requests is nothing that was left behind. A thread trims
        // its own pool when it next gives a buffer back.
        buffers::trim();
        meanwhile();
        let grown = CountingAllocator::of_all_threads().since(before).held_octets();
        if grown < 4 << 20 {
            return;
        }
        assert!(Instant::now() < deadline, "{grown} octets more in use");
        // tidy: sleep: the server notices the end of the stream in its own time
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn many_connections_with_half_messages_stay_within_the_bound() {
    const PEERS: usize = 20;
    const LIMIT: usize = 256 << 10;
    for strategy in STRATEGIES {
        let scene = Scene::new(strategy, &["-ORBMessageOctetsMax", "256KiB"]);
        let mut peers: Vec<RawPeer> = (0..PEERS).map(|_| scene.peer()).collect();
        scene.still_serves();
        let claim = u32::try_from(LIMIT - 12).unwrap();
        let octets = [&message_header(MessageKind::Request, false, claim)[..], &[0; 200 << 10]];
        let octets = octets.concat();
        let before = CountingAllocator::of_all_threads();
        let mut most = 0;
        for peer in &mut peers {
            peer.send(&octets).unwrap();
            scene.still_serves();
            let now = CountingAllocator::of_all_threads().since(before).held_octets();
            most = most.max(now);
        }
        let bound = (PEERS * (LIMIT + (64 << 10)) + (1 << 20)) as i64;
        assert!(most < bound, "{strategy}: {most} octets, the bound is {bound}");
        drop(peers);
        scene.still_serves();
    }
}

/// That it is no later than said, either, whatever the time is, is shown in virtual time
/// (`orb/core/src/server/untaken.rs`).
#[test]
fn a_peer_that_never_reads_is_ended_by_the_message_timeout() {
    const SAID: Duration = Duration::from_secs(2);
    with_all_strategies_at_once(&["-ORBMessageTimeout", "2s"], |scene, strategy| {
        let mut peer = scene.peer();
        let begun = Instant::now();
        let request = scene.request("much", b"");
        // Replies of 4 MiB each, which the client does not take.
        for _ in 0..6 {
            peer.send(&request).unwrap();
        }
        scene.still_serves();
        let address = peer.name();
        let line = scene.log.line_with(&[address, "could not be sent"], PATIENCE);
        assert!(line.is_some(), "{strategy}: {:#?}", scene.log.lines_with(address));
        let took = begun.elapsed();
        // Peers of a unix-domain socket have one name, so the line may be of another strategy.
        let is_its_own = !address.contains("unix");
        assert!(!is_its_own || took >= SAID, "{strategy}: {took:?}, {line:?}");
        scene.still_serves();
    });
}

#[test]
fn a_client_that_reads_slowly_loses_no_reply() {
    const REQUESTS: u32 = 50;
    with_all_strategies_at_once(&[], |scene, strategy| {
        // Where threads serve one connection at once all replies are written at once, else one
        // after the other, with pauses when the client has much to take.
        let is_crowd = ["thread-pool", "thread-per-request"].contains(&strategy);
        let crowd = if is_crowd { REQUESTS } else { 1 };
        let mut peer = scene.peer();
        for id in 0..REQUESTS {
            let (object_key, arguments) = (&scene.object_key, &crowd.to_be_bytes());
            let operation = "mebibyte";
            let request = RawRequest { object_key, operation, request_id: id, arguments };
            peer.send(&request.octets()).unwrap();
        }
        let deadline = Instant::now() + PATIENCE;
        // More waits than a thread may queue for a request.
        while is_crowd && scene.server.statistics().memory.sending < 17 << 20 {
            assert!(Instant::now() < deadline, "{strategy}: {:?}", scene.server.statistics());
            std::thread::yield_now();
        }
        for number in 0..REQUESTS {
            let reply = peer.receive_message(PATIENCE);
            let length = reply.as_ref().map(Vec::len).map_err(|e| format!("{strategy}: {e}"));
            assert!(length.is_ok_and(|length| length > 1 << 20), "{strategy}: {number} came");
            // tidy: sleep: the client takes its time
            std::thread::sleep(Duration::from_millis(5));
        }
        scene.still_serves();
    });
}

#[test]
fn a_crowd_of_bad_peers_does_not_stop_the_good_one() {
    for strategy in STRATEGIES {
        let scene = Scene::new(strategy, &["-ORBMessageTimeout", "1s"]);
        let request = scene.request("double", &21i64.to_be_bytes());
        let mut seed = Seed::new(9);
        let mut peers = Vec::new();
        for round in 0..60 {
            let mut octets = request.clone();
            match round % 4 {
                0 => octets.truncate(seed.below(octets.len())),
                1 => {
                    let at = seed.below(octets.len());
                    octets[at] ^= 1 << seed.below(8);
                }
                2 => octets.iter_mut().for_each(|octet| *octet = seed.next_u64() as u8),
                _ => octets.splice(0..0, request[..seed.below(60)].to_vec()).for_each(drop),
            }
            let mut peer = scene.peer();
            let _ = peer.send(&octets);
            peers.push(peer);
            scene.still_serves();
        }
        drop(peers);
        scene.still_serves();
    }
}
