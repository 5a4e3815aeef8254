//! Calls over real IIOP on loopback: every way of waiting, every concurrency strategy, every GIOP
//! version; forwarding, nested calls, restarts, panics.

#![allow(clippy::unwrap_used)] // also in the functions that the tests share

mod echo;

use corbie::{
    IdAssignment, Interface, Lifespan, ObjectId, Orb, Servant, SystemExceptionKind, minor,
};
use echo::{
    Echo, EchoServant, STRATEGIES, as_client, corbaloc, lend_a_thread, loopback_orb, serve,
    to_listen_again,
};
use std::sync::Arc;

fn call_everything(more: &[&str]) {
    let (server, echo, noted) = serve(more);
    let client = loopback_orb(more);
    let echo = as_client(&client, &echo);
    for value in [0, 21, -1, i64::MAX] {
        assert_eq!(echo.double(value).unwrap(), value.wrapping_mul(2));
    }
    for value in 0..100 {
        echo.note(value).unwrap();
    }
    let noted: Vec<i64> = noted.iter().take(100).collect();
    assert_eq!(noted, (0..100).collect::<Vec<_>>(), "oneways keep their order");
    assert_eq!(echo.fail().unwrap(), "IDL:Test/Failed:1.0");
    let octets: Vec<u8> = (0..3_000_000u32).map(|i| i as u8).collect();
    assert!(echo.octets(&octets).unwrap() == octets);
    assert_eq!(echo.double(4).unwrap(), 8);
    assert!(echo.0.is_a("IDL:omg.org/CORBA/Object:1.0").unwrap());
    assert!(!echo.0.is_a("IDL:Test/Other:1.0").unwrap());
    assert!(!echo.0.non_existent().unwrap());
    assert_eq!(echo.0.repository_id().unwrap(), "IDL:Test/Echo:1.0");
    echo.0.locate().unwrap();
    server.shutdown(true);
    client.shutdown(true);
}

#[test]
fn calls_with_a_thread_per_connection() {
    call_everything(&[]);
}

#[test]
fn calls_with_every_server_concurrency() {
    for concurrency in STRATEGIES {
        call_everything(&["-ORBServerConcurrency", concurrency]);
    }
}

#[test]
fn calls_with_blocking_waits() {
    call_everything(&["-ORBWaitStrategy", "block", "-ORBServerWaitStrategy", "block"]);
}

#[test]
fn calls_with_spinning_waits() {
    call_everything(&["-ORBWaitStrategy", "spin", "-ORBServerWaitStrategy", "spin"]);
}

#[test]
fn calls_in_every_version_and_in_fragments() {
    for version in ["1.0", "1.1", "1.2"] {
        call_everything(&["-ORBGIOPVersion", version]);
    }
    call_everything(&["-ORBFragmentOctets", "1024"]);
}

#[test]
fn a_panicking_servant_fails_its_request_only() {
    let (server, echo, _noted) = serve(&[]);
    let exception = echo.panic().unwrap_err();
    assert_eq!(exception.kind, SystemExceptionKind::Unknown);
    assert_eq!(echo.double(1).unwrap(), 2, "the server goes on");
    server.shutdown(true);
}

#[test]
fn a_servant_may_call_back_its_client_over_the_same_connection() {
    for concurrency in STRATEGIES {
        let options = ["-ORBServerConcurrency", concurrency, "-ORBRequestTimeout", "60s"];
        let (server, echo, _noted) = serve(&options);
        // The middle object calls the server again, which is the nested call of `stand_in`.
        let client = loopback_orb(&options);
        lend_a_thread(&client);
        let (middle, _) = EchoServant::new();
        let poa = client.root_poa().unwrap();
        poa.the_poa_manager().activate().unwrap();
        let middle = poa.activate(middle).unwrap();
        let echo = as_client(&client, &echo);
        for value in 0..50 {
            assert_eq!(echo.call_back(&middle, value).unwrap(), value * 2);
        }
        server.shutdown(true);
        client.shutdown(true);
    }
}

#[test]
fn nested_calls_never_wait_for_each_other() {
    let options = ["-ORBConnectionsPerEndpoint", "1", "-ORBRequestTimeout", "60s"];
    for concurrency in STRATEGIES {
        let options = [&options[..], &["-ORBServerConcurrency", concurrency]].concat();
        let (one, first, _noted) = serve(&options);
        let (other, second, _noted) = serve(&options);
        let first = as_client(&other, &first);
        let second = as_client(&one, &second);
        assert_eq!(second.bounce(&first, &second, 12).unwrap(), 12, "{concurrency}");
        one.shutdown(true);
        other.shutdown(true);
    }
}

#[test]
fn many_threads_share_a_reference() {
    let (server, echo, _noted) = serve(&[]);
    let client = loopback_orb(&["-ORBConnectionsPerEndpoint", "3"]);
    let echo = as_client(&client, &echo);
    std::thread::scope(|scope| {
        for thread in 0..16i64 {
            let echo = &echo;
            scope.spawn(move || {
                for call in 0..200 {
                    let value = thread * 1_000 + call;
                    assert_eq!(echo.double(value).unwrap(), value * 2);
                }
            });
        }
    });
    server.shutdown(true);
}

#[test]
fn a_deactivated_object_is_gone_and_a_stale_key_finds_nobody() {
    let (server, echo, _noted) = serve(&[]);
    let poa = server.root_poa().unwrap();
    poa.the_poa_manager().activate().unwrap();
    let id = poa.reference_to_id(&echo.0).unwrap();
    poa.deactivate_object(&id).unwrap();
    poa.activate(EchoServant::new().0).unwrap();
    let exception = echo.double(1).unwrap_err();
    assert_eq!(exception.kind, SystemExceptionKind::ObjectNotExist);
    assert!(echo.0.non_existent().unwrap());
    assert_eq!(echo.0.locate().unwrap_err().minor, minor::OBJECT_NOT_EXIST_UNKNOWN);
    server.shutdown(true);
}

#[test]
fn forwarding_and_plain_keys_lead_to_the_object() {
    let (server, echo, _noted) = serve(&[]);
    let poa = server.root_poa().unwrap();
    poa.the_poa_manager().activate().unwrap();
    let forward: Arc<dyn Servant> = Arc::new(corbie::ForwardServant::new(echo.0.clone()));
    let id = poa.activate_object(forward).unwrap();
    let moved = Echo(poa.id_to_reference(&id).unwrap());
    assert_eq!(moved.double(5).unwrap(), 10);
    assert_eq!(moved.double(6).unwrap(), 12);
    server.bind_object_key("Echo", &echo.0);
    let url = corbaloc(&server, "Echo");
    let client = loopback_orb(&["-ORBInitRef", &format!("E={url}")]);
    let found = client.resolve_initial_references("E").unwrap();
    let found = Echo::narrow(&found).unwrap().unwrap();
    assert_eq!(found.double(7).unwrap(), 14);
    server.shutdown(true);
}

#[test]
fn a_client_reconnects_to_a_restarted_server() {
    let activate = |orb: &Orb| {
        let poa = orb.root_poa().unwrap();
        poa.the_poa_manager().activate().unwrap();
        let policies = [Lifespan::Persistent.into(), IdAssignment::UserId.into()];
        let child = poa.create_poa("persistent", Some(&poa.the_poa_manager()), &policies).unwrap();
        let (servant, _) = EchoServant::new();
        child.activate_with_id(ObjectId::from("echo").as_octets(), servant).unwrap()
    };
    let first = loopback_orb(&[]);
    assert_eq!(first.listen_endpoints(), [], "nothing is listened on before there is a POA");
    let echo = activate(&first);
    let endpoint = to_listen_again(&first);
    let client = loopback_orb(&[]);
    let echo = as_client(&client, &echo);
    assert_eq!(echo.double(1).unwrap(), 2);
    first.shutdown(true);
    let second = echo::orb(&["-ORBListenEndpoints", &endpoint]);
    activate(&second);
    assert_eq!(echo.double(2).unwrap(), 4, "the same reference, after the restart");
    second.shutdown(true);
    let exception = echo.double(3).unwrap_err();
    assert_eq!(exception.kind, SystemExceptionKind::Transient, "{exception}");
}

#[test]
fn a_late_reply_is_a_timeout_and_does_not_confuse_the_next_call() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let client = loopback_orb(&["-ORBRequestTimeout", "100ms"]);
    let url = format!("corbaloc::127.0.0.1:{port}/Missing");
    let echo = Echo(client.string_to_object(&url).unwrap());
    let exception = echo.double(1).unwrap_err();
    assert_eq!(exception.kind, SystemExceptionKind::Timeout, "{exception}");
}
