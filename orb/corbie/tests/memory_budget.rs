//! One budget for all that peers make the process hold: when it is used up, the connection that
//! holds most is closed, and small honest clients notice nothing.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod echo;

use corbie::{Operation, Orb, ReplySink};
use corbie_testkit::{
    CapturedLog, CountingAllocator, MessageKind, RawPeer, RawRequest, fragment_of_1_2,
    message_header, object_key_in,
};
use echo::{Echo, STRATEGIES, as_client, loopback_orb, serve};
use std::net::TcpListener;
use std::time::{Duration, Instant};

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

const MIB: usize = 1 << 20;
const PATIENCE: Duration = Duration::from_secs(60);

fn peer(server: &Orb) -> RawPeer {
    RawPeer::connect_to(&server.listen_endpoints()[0]).unwrap()
}

/// Waits until nothing is drawn any more.
#[track_caller]
fn wait_until_given_back(server: &Orb) {
    let deadline = Instant::now() + PATIENCE;
    while {
        let memory = server.statistics().memory;
        memory.reading + memory.sending > 0
    } {
        assert!(Instant::now() < deadline, "{:?}", server.statistics());
        // tidy: sleep: the server notices the end of the streams in its own time
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// The honest client's worst time of a few calls.
fn worst_call(echo: &Echo) -> Duration {
    let call = || {
        let begin = Instant::now();
        assert_eq!(echo.double(21).unwrap(), 42);
        begin.elapsed()
    };
    (0..20).map(|_| call()).max().unwrap()
}

/// Forty peers that begin 4 MiB each and go on no further, where 32 MiB may be held. The budget is
/// one for the process, so all of it is one test.
#[test]
fn what_peers_make_the_process_hold_stays_within_the_budget() {
    let log = CapturedLog::install();
    a_peer_with_many_connections_is_refused_before_one_with_a_larger_one();
    requests_that_are_not_answered();
    for strategy in STRATEGIES.into_iter().filter(|strategy| *strategy != "reactive") {
        let options = ["-ORBMemoryMax", "32MiB", "-ORBServerConcurrency", strategy];
        let (server, echo, _noted) = serve(&options);
        let echo = as_client(&loopback_orb(&options[..2]), &echo);
        worst_call(&echo);
        let claim = u32::try_from(8 * MIB).unwrap();
        let plain = [&message_header(MessageKind::Request, false, claim)[..], &vec![0; 4 * MIB]];
        let plain = plain.concat();
        let fragments: Vec<u8> = (0..4)
            .flat_map(|id| fragment_of_1_2(MessageKind::Request, id, &vec![0; MIB]))
            .collect();
        let refused = server.statistics().memory.refused;
        let before = CountingAllocator::of_all_threads();
        let (mut peers, mut most, mut worst) = (Vec::new(), 0, Duration::ZERO);
        for number in 0..40 {
            let mut peer = peer(&server);
            // The server may close meanwhile.
            let _ = peer.send(if number % 2 == 0 { &plain } else { &fragments });
            peers.push(peer);
            worst = worst.max(worst_call(&echo));
            let memory = server.statistics().memory;
            most = most.max(memory.reading + memory.sending);
        }
        let held = CountingAllocator::of_all_threads().since(before).held_octets();
        // What a closed connection holds is on its way back for a moment. Beside what is drawn:
        // memory of which no octet has come, and the free shares.
        assert!(most <= 56 * MIB, "{strategy}: {most} octets drawn");
        assert!(held < 160 * MIB as i64, "{strategy}: {held} octets more in use");
        // Threads may still read what the last peers sent.
        let closed = || server.statistics().memory.refused - refused;
        let deadline = Instant::now() + PATIENCE;
        while closed() < 20 {
            assert!(
                Instant::now() < deadline,
                "{strategy}: {} closed, {:?}",
                closed(),
                server.statistics()
            );
            std::thread::yield_now();
        }
        assert!(worst < Duration::from_secs(5), "{strategy}: {worst:?} for an honest call");
        assert!(log.line_with(&["WARN", "memory_max"], PATIENCE).is_some());
        drop(peers);
        wait_until_given_back(&server);
        replies_that_are_not_taken(&server, &echo, strategy);
        server.shutdown(true);
    }
}

/// Twelve connections of one peer hold 2 MiB each, one of another 6 MiB: who needs more then gets it
/// from the former.
fn a_peer_with_many_connections_is_refused_before_one_with_a_larger_one() {
    let options = ["-ORBMemoryMax", "32MiB", "-ORBServerConcurrency", "thread-pool"];
    let (server, echo, _noted) = serve(&options);
    let begun = |octets: usize| {
        let claim = u32::try_from(octets + 1).unwrap();
        [&message_header(MessageKind::Request, false, claim)[..], &vec![0; octets]].concat()
    };
    let wait_for = |what: &str, holds: &dyn Fn(usize) -> bool| {
        let deadline = Instant::now() + PATIENCE;
        while !holds(server.statistics().memory.reading) {
            assert!(Instant::now() < deadline, "{what}: {:?}", server.statistics());
            std::thread::yield_now();
        }
    };
    let from = |host| RawPeer::connect_from(host, server.listen_addresses()[0]).unwrap();
    let mut single = from(2);
    single.send(&begun(6 * MIB)).unwrap();
    wait_for("one", &|reading| reading >= 5 * MIB);
    let mut many: Vec<_> = (0..12).map(|_| from(3)).collect();
    for (place, peer) in many.iter_mut().enumerate() {
        peer.send(&begun(2 * MIB)).unwrap();
        let all = (6 + 2 * (place + 1)) * MIB;
        wait_for("many", &|reading| reading >= all - all / 8);
    }
    let refused = server.statistics().memory.refused;
    let mut newcomer = from(4);
    newcomer.send(&begun(4 * MIB)).unwrap();
    wait_for("newcomer", &|_| server.statistics().memory.refused > refused);
    let is_closed = |peer: &mut RawPeer| peer.answered(Duration::from_millis(1)).is_closed();
    let deadline = Instant::now() + PATIENCE;
    while !many.iter_mut().any(is_closed) {
        assert!(Instant::now() < deadline, "{:?}", server.statistics());
    }
    assert!(!is_closed(&mut single) && !is_closed(&mut newcomer));
    assert_eq!(echo.double(21).unwrap(), 42);
    drop((single, many, newcomer));
    wait_until_given_back(&server);
    server.shutdown(true);
}

/// A server that takes all requests and answers none: the client's calls are refused when what it
/// keeps for them is as much as may be.
fn requests_that_are_not_answered() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            std::thread::spawn(move || std::io::copy(&mut stream, &mut std::io::sink()));
        }
    });
    let client = loopback_orb(&["-ORBMemoryMax", "32MiB"]);
    let silent = client.string_to_object(&format!("corbaloc:iiop:1.2@{address}/silent")).unwrap();
    let octets = vec![7; 48 << 10];
    static TAKE: Operation = Operation::twoway("take");
    let ask = || {
        let sink = ReplySink::function(|_| {});
        silent.invoke_async(&TAKE, &|e| e.write_octet_sequence(&octets), sink)
    };
    let deadline = Instant::now() + PATIENCE;
    let (mut refused, mut most) = (false, 0);
    while !refused {
        assert!(Instant::now() < deadline, "{:?}", client.statistics());
        // Others are refused while the server has not taken what was sent.
        let is_asked = ask().is_ok();
        let memory = client.statistics().memory;
        most = most.max(memory.waiting + memory.sending);
        refused = !is_asked && memory.waiting > 12 * MIB;
    }
    // What a refused connection holds is on its way back for a moment.
    assert!(most <= 56 * MIB, "{most}");
    client.shutdown(false);
    while client.statistics().memory.waiting > 0 {
        assert!(Instant::now() < deadline, "{:?}", client.statistics());
        std::thread::yield_now();
    }
}

/// Peers ask for much and take nothing.
fn replies_that_are_not_taken(server: &Orb, echo: &Echo, strategy: &str) {
    let object_key = object_key_in(&echo.0.to_string());
    let octets = vec![7; 3 * MIB];
    let length = u32::try_from(octets.len()).unwrap().to_be_bytes();
    let arguments = [&length[..], &octets].concat();
    let (operation, arguments) = ("octets", &arguments[..]);
    let request = RawRequest { object_key: &object_key, operation, request_id: 1, arguments };
    let request = request.octets();
    let (mut peers, mut most) = (Vec::new(), 0);
    for _ in 0..20 {
        let mut peer = peer(server);
        let _ = peer.send(&request);
        peers.push(peer);
        worst_call(echo);
        most = most.max(server.statistics().memory.sending);
    }
    assert!(most <= 56 * MIB, "{strategy}: {most} octets wait for peers");
    drop(peers);
    wait_until_given_back(server);
}
