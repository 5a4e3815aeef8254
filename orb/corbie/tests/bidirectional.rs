//! Bidirectional GIOP over real sockets (CORBA 3.3 P2 §9.8): clients that nothing can connect to are
//! called back over the connections that they opened, in each server concurrency of both ends; what
//! may be claimed, and what becomes of calls when such a connection goes.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod echo;
#[path = "bidirectional/namespaces.rs"]
mod namespaces;
#[path = "bidirectional/offers.rs"]
mod offers;

use corbie::access::{AccessRules, EgressRules, Otherwise};
use corbie::policy::{BufferingConstraint, Policy, SetOverrideType, SyncScope};
use corbie::{
    Bidirectional, CompletionStatus, Interface as _, Operation, Orb, PoaError, ReplySink,
    ResponseHandler, Servant, ServerRequest, SystemException, SystemExceptionKind, TypedServant,
    minor,
};
use echo::{
    Echo, EchoServant, IN_ORDER, STRATEGIES, as_client, lend_a_thread, loopback_orb, orb, serve,
};
use std::sync::{Mutex, mpsc};
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(60);
const BOTH: [&str; 2] = ["-ORBBidirectional", "both"];

/// A server that takes offers.
fn server(more: &[&str]) -> (Orb, Echo) {
    let (server, echo, _noted) = serve(&[&BOTH, more].concat());
    (server, echo)
}

/// A client that listens nowhere, and an object of it that is called back.
fn client(more: &[&str]) -> (Orb, Echo, mpsc::Receiver<i64>) {
    let nowhere = ["-ORBListenEndpoints", "none", "-ORBCollocation", "none"];
    let client = orb(&[&nowhere, &BOTH[..], more].concat());
    lend_a_thread(&client);
    let (own, noted) = called_back(&client, "called back");
    (client, own, noted)
}

/// An object in a POA of this name with the policy.
fn called_back(client: &Orb, name: &str) -> (Echo, mpsc::Receiver<i64>) {
    let root = client.root_poa().unwrap();
    let manager = root.the_poa_manager();
    let poa = root.create_poa(name, Some(&manager), &[Bidirectional::Both.into()]).unwrap();
    manager.activate().unwrap();
    let (servant, noted) = EchoServant::new();
    (poa.activate(servant).unwrap(), noted)
}

/// How many connections `server` has accepted.
fn accepted(server: &Orb) -> usize {
    server.statistics().connections.now
}

#[test]
fn a_client_that_listens_nowhere_is_called_back_whichever_threads_serve() {
    for strategy in STRATEGIES {
        let (server, echo) = server(&["-ORBServerConcurrency", strategy]);
        for of_client in STRATEGIES {
            let at = format!("{strategy}, client {of_client}");
            let (client, own, noted) = client(&["-ORBServerConcurrency", of_client]);
            assert!(client.listen_endpoints().is_empty(), "{at}");
            let theirs = as_client(&client, &echo);
            assert_eq!(theirs.call_back(&own, 21).unwrap(), 42, "{at}: during a call");
            assert_eq!(theirs.bounce(&own, &theirs, 7).unwrap(), 7, "{at}: nested");
            let back = as_client(&server, &own);
            assert_eq!(back.double(4).unwrap(), 8, "{at}: after it");
            back.note(5).unwrap();
            assert_eq!(noted.recv_timeout(PATIENCE).unwrap(), 5, "{at}: oneway");
            assert_eq!(asynchronously(&back, 6), 12, "{at}: asynchronous");
            assert_eq!(deferred(&back, 7), 14, "{at}: deferred");
            back.0.locate().unwrap();
            client.shutdown(true);
        }
        server.shutdown(true);
    }
}

const DOUBLE: Operation = Operation::twoway("double");

fn asynchronously(echo: &Echo, value: i64) -> i64 {
    let (done, is_done) = mpsc::channel();
    let sink = ReplySink::function(move |outcome| {
        let doubled = outcome.and_then(|mut reply| reply.results_only(|d| d.read_longlong()));
        done.send(doubled).unwrap();
    });
    let arguments = |e: &mut corbie::Encoder<'_>| {
        e.write_longlong(value);
        Ok(())
    };
    echo.0.invoke_async(&DOUBLE, &arguments, sink).unwrap();
    is_done.recv_timeout(PATIENCE).unwrap().unwrap()
}

fn deferred(echo: &Echo, value: i64) -> i64 {
    let arguments = |e: &mut corbie::Encoder<'_>| {
        e.write_longlong(value);
        Ok(())
    };
    let pending = echo.0.invoke_deferred(&DOUBLE, &arguments).unwrap();
    assert!(pending.wait(Some(PATIENCE)));
    pending.take().unwrap().results_only(|d| d.read_longlong()).unwrap()
}

#[test]
fn one_connection_is_opened_and_used_both_ways_by_all_threads() {
    let (server, echo) = server(&[]);
    let (client, own, _noted) = client(&[]);
    let theirs = as_client(&client, &echo);
    assert_eq!(theirs.call_back(&own, 1).unwrap(), 2);
    let back = as_client(&server, &own);
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let (theirs, own, back) = (&theirs, &own, &back);
            scope.spawn(move || {
                for number in 0..50 {
                    let value = thread * 1_000 + number;
                    assert_eq!(theirs.call_back(own, value).unwrap(), 2 * value);
                    assert_eq!(back.double(value).unwrap(), 2 * value);
                }
            });
        }
    });
    let large = vec![7; 3 << 20];
    assert_eq!(back.octets(&large).unwrap(), large, "more than fits into the sockets");
    assert_eq!(accepted(&server), 1);
    client.shutdown(true);
    server.shutdown(true);
}

#[test]
fn an_object_of_another_poa_is_not_called_back_and_says_so() {
    let (server, echo) = server(&[]);
    let (client, own, _noted) = client(&[]);
    let normal = client.root_poa().unwrap().activate(EchoServant::new().0).unwrap();
    let theirs = as_client(&client, &echo);
    assert_eq!(theirs.call_back(&own, 1).unwrap(), 2);
    for refused in [theirs.call_back(&normal, 1).map(drop), as_client(&server, &normal).0.locate()]
    {
        let refused = refused.unwrap_err();
        assert_eq!(refused.minor, minor::OBJ_ADAPTER_NOT_BIDIRECTIONAL, "{refused}");
        assert_eq!(refused.completed, CompletionStatus::No);
    }
    client.shutdown(true);
    server.shutdown(true);
}

#[test]
fn both_ends_have_to_want_it() {
    let (normal, echo, _) = serve(&[]);
    let (client, own, _noted) = client(&[]);
    let theirs = as_client(&client, &echo);
    let none = theirs.call_back(&own, 1).unwrap_err();
    assert_eq!(none.minor, minor::TRANSIENT_NO_WAY_BACK, "{none}");
    assert_eq!(theirs.double(1).unwrap(), 2, "calls go on");
    let policy = normal.root_poa().unwrap().create_poa("both", None, &[Bidirectional::Both.into()]);
    assert!(matches!(policy, Err(PoaError::InvalidPolicy { index: 0, .. })), "{policy:?}");
    let mut arguments: Vec<String> = ["-ORBListenEndpoints", "none"].map(str::to_owned).into();
    let nowhere = Orb::builder().arguments(&mut arguments).build().unwrap_err();
    assert!(
        nowhere.to_string().contains("bidirectional (-ORBBidirectional) is normal"),
        "{nowhere}"
    );
    client.shutdown(true);
    normal.shutdown(true);
}

/// Answers `double` when the test does.
struct Deferring(Mutex<mpsc::Sender<ResponseHandler>>);

impl Servant for Deferring {
    fn _interfaces(&self) -> &'static [&'static str] {
        &["IDL:Test/Echo:1.0"]
    }

    fn _dispatch(&self, request: &mut ServerRequest<'_>) -> Result<(), SystemException> {
        self.0.lock().unwrap().send(request.defer()).unwrap();
        Ok(())
    }
}

impl TypedServant for Deferring {
    type Reference = Echo;
}

#[test]
fn replies_are_read_when_no_more_requests_may_be_and_those_are_refused_meanwhile() {
    for strategy in STRATEGIES {
        let few = ["-ORBPendingResponsesMax", "1", "-ORBServerConcurrency", strategy];
        let (server, echo) = server(&few);
        let (handlers, deferred) = mpsc::channel();
        let poa = server.root_poa().unwrap();
        let deferring = poa.activate(Deferring(Mutex::new(handlers))).unwrap();
        let (client, own, _noted) = client(&[]);
        let (theirs, deferring) = (as_client(&client, &echo), as_client(&client, &deferring));
        assert_eq!(theirs.call_back(&own, 1).unwrap(), 2, "{strategy}");
        let back = as_client(&server, &own);
        let held = std::thread::spawn(move || deferring.double(1));
        let handler = deferred.recv_timeout(PATIENCE).unwrap();
        assert_eq!(back.double(5).unwrap(), 10, "{strategy}: the reply comes");
        let refused = back.bounce(&echo, &own, 1).unwrap_err();
        assert_eq!(refused.minor, minor::TRANSIENT_OVERLOAD, "{strategy}: {refused}");
        let nine = |e: &mut corbie::Encoder<'_>| {
            e.write_longlong(9);
            Ok(())
        };
        handler.reply(&nine).unwrap();
        assert_eq!(held.join().unwrap().unwrap(), 9, "{strategy}");
        assert_eq!(theirs.double(3).unwrap(), 6, "{strategy}: requests are read again");
        client.shutdown(true);
        server.shutdown(true);
    }
}

#[test]
fn oneways_that_are_kept_back_go_back_in_their_order() {
    let (server, echo) = server(&[]);
    let (client, own, noted) = client(&IN_ORDER);
    assert_eq!(as_client(&client, &echo).call_back(&own, 1).unwrap(), 2);
    let constraint = BufferingConstraint { count: Some(7), ..Default::default() };
    let policies = [Policy::SyncScope(SyncScope::None), Policy::BufferingConstraint(constraint)];
    let back = as_client(&server, &own);
    let back = back.set_policy_overrides(&policies, SetOverrideType::Set).unwrap();
    (0..100).for_each(|number| back.note(number).unwrap());
    server.flush();
    let all: Vec<_> = (0..100).map(|_| noted.recv_timeout(PATIENCE).unwrap()).collect();
    assert_eq!(all, (0..100).collect::<Vec<_>>());
    client.shutdown(true);
    server.shutdown(true);
}

#[test]
fn a_client_that_listens_is_called_over_its_connection_all_the_same() {
    let (server, echo) = server(&[]);
    let listening = loopback_orb(&BOTH);
    let (own, _noted) = called_back(&listening, "both");
    assert_eq!(as_client(&listening, &echo).call_back(&own, 1).unwrap(), 2);
    assert_eq!(as_client(&server, &own).double(2).unwrap(), 4);
    assert_eq!(accepted(&listening), 0, "no connection is opened to it");
    listening.shutdown(true);
    server.shutdown(true);
}

#[test]
fn over_tls_places_of_tls_are_claimed_and_no_others() {
    let both = ["-ORBListenEndpoints", "iiop://127.0.0.1:0,ssliop://127.0.0.1:0"];
    let apart = ["-ORBCollocation", "none"];
    let server = orb(&[&both[..], &apart, &BOTH].concat());
    let poa = server.root_poa().unwrap();
    poa.the_poa_manager().activate().unwrap();
    let echo = poa.activate(EchoServant::new().0).unwrap();
    let client =
        orb(&[&["-ORBListenEndpoints", "ssliop://127.0.0.1:0"], &apart[..], &BOTH].concat());
    let (own, _noted) = called_back(&client, "both");
    assert_eq!(as_client(&client, &echo).call_back(&own, 1).unwrap(), 2);
    assert_eq!(as_client(&server, &own).double(2).unwrap(), 4);
    assert_eq!(accepted(&client), 0, "no connection is opened to it");
    let place = client.listen_endpoints()[0].to_string().replace("ssliop://", "");
    let key = String::from_utf8_lossy(b"x").into_owned();
    let plain = server.string_to_object(&format!("corbaloc:iiop:1.2@{place}/{key}")).unwrap();
    assert!(Echo(plain).double(1).is_err(), "plain text to a place of TLS goes over no TLS");
    offers::does_not_get_calls_that_go_over_tls(&server, &echo, &place, &own);
    client.shutdown(true);
    server.shutdown(true);
}

#[test]
fn a_client_has_access_rules_for_what_comes_back() {
    let (server, echo) = server(&[]);
    let (client, own, _noted) = client(&[]);
    client.set_access(AccessRules::none());
    let refused = as_client(&client, &echo).call_back(&own, 1).unwrap_err();
    assert_eq!(refused.minor, minor::NO_PERMISSION_ACCESS, "{refused}");
    client.set_access(AccessRules::local());
    assert_eq!(as_client(&client, &echo).call_back(&own, 1).unwrap(), 2);
    client.shutdown(true);
    server.shutdown(true);
}

#[test]
fn what_may_not_be_connected_to_is_called_back_while_its_client_is_there() {
    let (server, echo) = server(&[]);
    server.set_egress(EgressRules::otherwise(Otherwise::Refuse));
    let listening = loopback_orb(&BOTH);
    let (own, _noted) = called_back(&listening, "both");
    let normal = loopback_orb(&[]);
    let poa = normal.root_poa().unwrap();
    let unreached = poa.activate(EchoServant::new().0).unwrap();
    let theirs = as_client(&listening, &echo);
    assert_eq!(theirs.call_back(&own, 1).unwrap(), 2);
    let refused = theirs.call_back(&unreached, 1).unwrap_err();
    assert_eq!(refused.minor, minor::NO_PERMISSION_EGRESS, "{refused}");
    assert_eq!(accepted(&listening), 0);
    for orb in [listening, normal, server] {
        orb.shutdown(true);
    }
}

#[test]
fn a_client_that_has_gone_is_not_there() {
    for strategy in STRATEGIES {
        let (server, echo) = server(&["-ORBServerConcurrency", strategy]);
        let (client, own, _noted) = client(&[]);
        assert_eq!(as_client(&client, &echo).call_back(&own, 1).unwrap(), 2, "{strategy}");
        let back = as_client(&server, &own);
        client.shutdown(true);
        // The server may not have read yet that the client is gone.
        let end = Instant::now() + PATIENCE;
        loop {
            let lost = back.double(1).unwrap_err();
            if lost.minor == minor::TRANSIENT_NO_WAY_BACK {
                assert_eq!(lost.completed, CompletionStatus::No, "{strategy}");
                break;
            }
            let kinds = [SystemExceptionKind::CommFailure, SystemExceptionKind::Transient];
            assert!(kinds.contains(&lost.kind) && Instant::now() < end, "{strategy}: {lost}");
            std::thread::yield_now();
        }
        server.shutdown(true);
    }
}

#[test]
fn clients_that_offer_nothing_are_served_and_called_back_as_ever() {
    for strategy in STRATEGIES {
        let (server, echo) = server(&["-ORBServerConcurrency", strategy]);
        let (normal, own, noted) = serve(&[]);
        let theirs = as_client(&normal, &echo);
        for value in 0..9 {
            assert_eq!(theirs.call_back(&own, value).unwrap(), 2 * value, "{strategy}");
            assert_eq!(asynchronously(&theirs, value), 2 * value, "{strategy}");
        }
        theirs.0.locate().unwrap();
        as_client(&server, &own).note(4).unwrap();
        assert_eq!(noted.recv_timeout(PATIENCE).unwrap(), 4, "{strategy}");
        assert_eq!(accepted(&normal), 2, "{strategy}: for calls that wait, and for oneways");
        normal.shutdown(true);
        server.shutdown(true);
    }
}

#[test]
fn a_client_that_listens_nowhere_is_called_back_over_tls_and_over_plain_text() {
    // `none` takes back what stands before it, by which the test gives certificates.
    let certified = ["-ORBListenEndpoints", "ssliop://127.0.0.1:0", "-ORBListenEndpoints", "none"];
    for listens in ["ssliop://127.0.0.1:0", "iiop://127.0.0.1:0"] {
        let at = ["-ORBListenEndpoints", listens, "-ORBCollocation", "none"];
        let server = orb(&[&certified[..], &at, &BOTH].concat());
        let poa = server.root_poa().unwrap();
        poa.the_poa_manager().activate().unwrap();
        let echo = poa.activate(EchoServant::new().0).unwrap();
        let client = orb(&[&certified[..], &["-ORBCollocation", "none"], &BOTH].concat());
        assert!(client.settings().listen_endpoints.is_empty());
        let (own, _noted) = called_back(&client, "nowhere");
        let theirs = as_client(&client, &echo);
        assert_eq!(theirs.call_back(&own, 4).unwrap(), 8, "{listens:?}");
        assert_eq!(as_client(&server, &own).double(5).unwrap(), 10, "{listens:?}");
        client.shutdown(true);
        server.shutdown(true);
    }
}
