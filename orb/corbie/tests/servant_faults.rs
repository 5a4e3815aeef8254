//! What an operator reads about requests that fail in the server: where a servant panicked, and
//! which operation was refused at which octet.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod echo;

use corbie::codegen::{Decoder, Error, member};
use corbie::{Servant, ServerRequest, SystemException, SystemExceptionKind as Kind};
use corbie::{TypedServant, minor};
use corbie_testkit::{CapturedLog, RawPeer, RawRequest, object_key_in};
use echo::{Echo, STRATEGIES, as_client, lend_a_thread, loopback_orb, serve};
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(60);

#[test]
fn the_place_of_a_panic_reaches_the_log_and_its_code_the_caller() {
    let log = CapturedLog::install();
    for strategy in STRATEGIES {
        let (server, echo, _noted) = serve(&["-ORBServerConcurrency", strategy]);
        let client = loopback_orb(&[]);
        let exception = as_client(&client, &echo).panic().unwrap_err();
        assert_eq!(
            (exception.kind, exception.minor),
            (Kind::Unknown, minor::UNKNOWN_SERVANT_PANIC)
        );
        let parts = ["ERROR", "a servant panicked", "tests/echo/mod.rs:", "as asked"];
        assert!(log.line_with(&parts, PATIENCE).is_some(), "{:#?}", log.lines_with("panicked"));
        client.shutdown(true);
        server.shutdown(true);
    }
}

#[test]
fn a_caller_in_the_process_gets_the_place_as_well() {
    let server = loopback_orb(&["-ORBCollocation", "global"]);
    lend_a_thread(&server);
    let (servant, _noted) = echo::EchoServant::new();
    let poa = server.root_poa().unwrap();
    poa.the_poa_manager().activate().unwrap();
    let exception = poa.activate(servant).unwrap().panic().unwrap_err();
    assert_eq!((exception.kind, exception.minor), (Kind::Unknown, minor::UNKNOWN_SERVANT_PANIC));
    assert!(exception.to_string().contains("tests/echo/mod.rs:"), "{exception}");
    server.shutdown(true);
}

#[test]
fn a_refused_request_is_a_warning_with_operation_and_octet() {
    let log = CapturedLog::install();
    for strategy in STRATEGIES {
        let (server, echo, _noted) = serve(&["-ORBServerConcurrency", strategy]);
        let object_key = &object_key_in(&echo.0.to_string());
        let mut peer = RawPeer::connect_to(&server.listen_endpoints()[0]).unwrap();
        let (operation, request_id, arguments) = ("double", 1, &[0; 4][..]);
        let request = RawRequest { object_key, operation, request_id, arguments };
        peer.send(&request.octets()).unwrap();
        let reply = peer.receive_message(PATIENCE).unwrap();
        assert!(reply.escape_ascii().to_string().contains("MARSHAL"));
        let address = peer.name();
        let parts = ["WARN", address, "refused", "double", "long long at octet"];
        assert!(log.line_with(&parts, PATIENCE).is_some(), "{:#?}", log.lines_with(address));
        server.shutdown(true);
    }
}

/// Reads as generated code does: a parameter that is a struct.
struct Orders;

struct Order {
    price: i64,
}

impl Order {
    fn decode(d: &mut Decoder<'_>) -> Result<Self, Error> {
        Ok(Order { price: member!("price", d.read_longlong()) })
    }
}

impl Servant for Orders {
    fn _interfaces(&self) -> &'static [&'static str] {
        &["IDL:Test/Echo:1.0"]
    }

    fn _dispatch(&self, request: &mut ServerRequest<'_>) -> Result<(), SystemException> {
        let order = member!("order", Order::decode(&mut request.arguments()));
        request.reply(&|e| {
            e.write_longlong(order.price);
            Ok(())
        })
    }
}

impl TypedServant for Orders {
    type Reference = Echo;
}

#[test]
fn the_warning_names_the_member() {
    let log = CapturedLog::install();
    let server = loopback_orb(&[]);
    let poa = server.root_poa().unwrap();
    poa.the_poa_manager().activate().unwrap();
    let orders = poa.activate(Orders).unwrap();
    let object_key = &object_key_in(&orders.0.to_string());
    let mut peer = RawPeer::connect_to(&server.listen_endpoints()[0]).unwrap();
    let (operation, request_id, arguments) = ("place", 1, &[0; 4][..]);
    let request = RawRequest { object_key, operation, request_id, arguments };
    peer.send(&request.octets()).unwrap();
    peer.receive_message(PATIENCE).unwrap();
    let address = peer.name();
    let parts = ["WARN", address, "place", "long long of order.price at octet"];
    assert!(log.line_with(&parts, PATIENCE).is_some(), "{:#?}", log.lines_with(address));
    server.shutdown(true);
}
