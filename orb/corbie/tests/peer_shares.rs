//! One peer has a share of the connections of a server, and of its time: others find a place,
//! whatever it does. The peer that takes all it can comes over TCP here, the honest one over a
//! unix-domain socket.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod echo;

use corbie::codegen::Marshal;
use corbie::{Orb, ResponseHandler, Servant, ServerRequest, SystemException, TypedServant};
use corbie_testkit::{CapturedLog, RawPeer, RawRequest, object_key_in};
use echo::{Echo, lend_a_thread, loopback_orb};
use std::sync::Mutex;
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(60);

/// Answers `double`; a `pull` waits for ever.
#[derive(Default)]
struct Source(Mutex<Vec<ResponseHandler>>);

impl Servant for Source {
    fn _interfaces(&self) -> &'static [&'static str] {
        &["IDL:Test/Echo:1.0"]
    }

    fn _dispatch(&self, request: &mut ServerRequest<'_>) -> Result<(), SystemException> {
        match request.operation() {
            "double" => {
                let value = request.arguments().read_longlong()? * 2;
                request.reply(&|e| i64::encode(&value, e))
            }
            "pull" => {
                self.0.lock().unwrap().push(request.defer());
                Ok(())
            }
            _ => Err(request.unknown_operation()),
        }
    }
}

impl TypedServant for Source {
    type Reference = Echo;
}

/// A server over TCP and over a unix-domain socket, and its object.
fn serve(more: &[&str]) -> (Orb, Echo) {
    let both = ["-ORBListenEndpoints", "iiop://127.0.0.1:0,uiop://"];
    let server = Orb::init(both.iter().chain(more).copied()).unwrap();
    lend_a_thread(&server);
    let poa = server.root_poa().unwrap();
    poa.the_poa_manager().activate().unwrap();
    let echo = poa.activate(Source::default()).unwrap();
    (server, echo)
}

/// A new client of `echo` that calls over `scheme`; its first call.
fn first_call(echo: &Echo, scheme: &str) -> Result<i64, SystemException> {
    let client = loopback_orb(&["-ORBProtocolPreference", scheme, "-ORBRequestTimeout", "20s"]);
    Echo(client.string_to_object(&echo.0.to_string()).unwrap()).double(4)
}

/// So many connections over TCP; those that the server closed are closed.
fn greedy(server: &Orb, connections: usize) -> Vec<RawPeer> {
    let address = server.listen_addresses()[0];
    (0..connections).map(|_| RawPeer::connect(address).unwrap()).collect()
}

#[test]
fn a_peer_has_its_share_of_connections_and_no_more() {
    let log = CapturedLog::install();
    let options = ["-ORBServerConnectionsMax", "8", "-ORBConnectionsPerPeerMax", "5"];
    let (server, echo) = serve(&[&options[..], &["-ORBWhenFull", "refuse"]].concat());
    let _peers = greedy(&server, 8);
    let refused = log.line_with(&["connection refused", "connections_per_peer_max"], PATIENCE);
    assert!(refused.is_some());
    assert_eq!(first_call(&echo, "uiop").unwrap(), 8);
    let statistics = server.statistics();
    assert!(statistics.connections.now <= 6, "{statistics:?}");
    assert!(statistics.refused_connections > 0, "{statistics:?}");
    assert_eq!(statistics.evicted_connections, 0);
    server.shutdown(true);
}

#[test]
fn the_last_places_are_for_peers_that_have_none() {
    let log = CapturedLog::install();
    let options = ["-ORBServerConnectionsMax", "32", "-ORBWhenFull", "refuse"];
    let (server, echo) = serve(&options);
    let _peers = greedy(&server, 40);
    let refused = log.line_with(&["connection refused", "server_connections_max"], PATIENCE);
    assert!(refused.is_some());
    assert_eq!(first_call(&echo, "uiop").unwrap(), 8);
    server.shutdown(true);
}

#[test]
fn clients_whose_pulls_wait_make_room() {
    let (server, echo) = serve(&["-ORBServerConnectionsMax", "8"]);
    let object_key = object_key_in(&echo.0.to_string());
    let pull =
        RawRequest { object_key: &object_key, operation: "pull", request_id: 1, arguments: b"" };
    let mut waiting = greedy(&server, 8);
    for peer in &mut waiting {
        peer.send(&pull.octets()).unwrap();
    }
    // Of the peer that has most; the honest client comes from the same address.
    for _ in 0..3 {
        assert_eq!(first_call(&echo, "iiop").unwrap(), 8);
    }
    let statistics = server.statistics();
    assert!(statistics.evicted_connections >= 1, "{statistics:?}");
    assert_eq!(statistics.refused_connections, 0);
    server.shutdown(false);
}

#[test]
fn a_peer_that_opens_connections_too_fast_is_refused_and_no_other() {
    let log = CapturedLog::install();
    let (server, echo) = serve(&["-ORBConnectionRatePerPeer", "5"]);
    let begun = Instant::now();
    let _peers = greedy(&server, 40);
    let refused = || log.lines_with("connection_rate_per_peer").len() as u64;
    // Those that it may open meanwhile, and at once.
    let most = 6 + 5 * begun.elapsed().as_secs();
    let deadline = begun + PATIENCE;
    while server.statistics().hasty_connections < 40 - most {
        assert!(Instant::now() < deadline, "{:?}", server.statistics());
        std::thread::yield_now();
    }
    assert_eq!(first_call(&echo, "uiop").unwrap(), 8);
    // Its time comes again, and each refusal was logged and counted once.
    while first_call(&echo, "iiop").is_err() {
        assert!(Instant::now() < deadline, "{:?}", server.statistics());
    }
    let statistics = server.statistics();
    assert_eq!(refused(), statistics.hasty_connections, "{statistics:?}");
    assert_eq!(statistics.refused_connections, 0);
    server.shutdown(true);
}

/// A peer over shared memory is a user of this machine, whatever process it is.
#[test]
fn a_user_that_opens_connections_over_shared_memory_too_fast_is_refused() {
    let alone = ["-ORBListenEndpoints", "shmiop://", "-ORBConnectionRatePerPeer", "2"];
    let server = Orb::init(alone).unwrap();
    let poa = server.root_poa().unwrap();
    poa.the_poa_manager().activate().unwrap();
    let echo = poa.activate(Source::default()).unwrap();
    let deadline = Instant::now() + PATIENCE;
    while server.statistics().hasty_connections == 0 {
        assert!(Instant::now() < deadline, "{:?}", server.statistics());
        std::thread::scope(|threads| {
            (0..12).for_each(|_| drop(threads.spawn(|| first_call(&echo, "shmiop"))));
        });
    }
    // Its time comes again.
    while first_call(&echo, "shmiop").is_err() {
        assert!(Instant::now() < deadline, "{:?}", server.statistics());
    }
    server.shutdown(true);
}

#[test]
fn a_peer_that_sends_too_fast_waits_and_no_other() {
    std::thread::scope(|threads| {
        for strategy in echo::STRATEGIES {
            threads.spawn(move || one_that_sends_too_fast(strategy));
        }
    });
}

/// 200 requests at once where 100 a second are allowed take a second more; others wait for nothing.
fn one_that_sends_too_fast(strategy: &str) {
    let options = ["-ORBRequestRatePerPeer", "100", "-ORBServerConcurrency", strategy];
    let (server, echo) = serve(&options);
    let object_key = object_key_in(&echo.0.to_string());
    let requests = |request_id| {
        let arguments = &21_i64.to_be_bytes();
        let object_key = &object_key;
        RawRequest { object_key, operation: "double", request_id, arguments }.octets()
    };
    let mut peer = RawPeer::connect(server.listen_addresses()[0]).unwrap();
    let begun = Instant::now();
    let octets: Vec<u8> = (0..200).flat_map(requests).collect();
    peer.send(&octets).unwrap();
    let mut honest = Duration::ZERO;
    for reply in 0..200 {
        peer.receive_message(PATIENCE).unwrap();
        if reply % 20 == 0 {
            let begun = Instant::now();
            assert_eq!(first_call(&echo, "uiop").unwrap(), 8);
            honest = honest.max(begun.elapsed());
        }
    }
    let took = begun.elapsed();
    assert!(took > Duration::from_millis(900), "{strategy}: {took:?}");
    assert!(honest < Duration::from_millis(800), "{strategy}: {honest:?}");
    assert!(server.statistics().hasty_requests > 0, "{strategy}: {:?}", server.statistics());
    server.shutdown(true);
}
