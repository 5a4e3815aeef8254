//! A call that ran out of time sends CancelRequest and leaves its connection usable: what servers
//! see of it, and which connections are taken while a late reply is still to come.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod echo;
mod script;

use corbie::policy::{Policy, SetOverrideType};
use corbie::{CompletionStatus, Interface, SystemExceptionKind};
use corbie_testkit::{MessageKind, message_header};
use echo::{Echo, as_client, loopback_orb, serve};
use script::{accept, client, id_of, is, message, reply, scripted};
use std::io::Write;
use std::net::TcpStream;
use std::sync::mpsc;
use std::time::Duration;

const REQUEST: u8 = 0;
const CANCEL_REQUEST: u8 = 2;
const LOCATE_REQUEST: u8 = 3;

fn impatient(echo: &Echo) -> Echo {
    let policy = Policy::RelativeRoundtripTimeout(Duration::from_millis(50));
    echo.set_policy_overrides(&[policy], SetOverrideType::Add).unwrap()
}

fn times_out(echo: &Echo) {
    let exception = impatient(echo).double(1).unwrap_err();
    is(&exception, SystemExceptionKind::Timeout, CompletionStatus::Maybe);
}

/// Reads a request and its cancellation; the id of both.
fn cancelled(stream: &mut TcpStream, kind: u8) -> u32 {
    let request = message(stream).unwrap();
    assert_eq!(request[7], kind);
    let cancel = message(stream).unwrap();
    assert_eq!((cancel[7], id_of(&cancel)), (CANCEL_REQUEST, id_of(&request)));
    id_of(&request)
}

fn answer(stream: &mut TcpStream, id: u32, value: i64) {
    stream.write_all(&reply(id, 0, &value.to_be_bytes())).unwrap();
}

#[test]
fn a_late_reply_is_passed_over_on_the_connection_that_is_kept() {
    let (url, server) = scripted(|listener| {
        let mut stream = accept(listener);
        let first = cancelled(&mut stream, REQUEST);
        let second = cancelled(&mut stream, REQUEST);
        let third = message(&mut stream).unwrap();
        answer(&mut stream, first, 1);
        answer(&mut stream, second, 2);
        answer(&mut stream, id_of(&third), 3);
        let fourth = message(&mut stream).unwrap();
        answer(&mut stream, id_of(&fourth), 4);
        assert!(message(&mut stream).is_none());
    });
    let (orb, echo) = client(&url, &["-ORBConnectionsPerEndpoint", "1"]);
    times_out(&echo);
    times_out(&echo);
    assert_eq!(echo.double(1).unwrap(), 3, "its own reply, behind the late ones");
    assert_eq!(echo.double(1).unwrap(), 4);
    orb.shutdown(true);
    server.join().unwrap();
}

#[test]
fn half_a_late_reply_is_completed_and_passed_over() {
    let (url, server) = scripted(|listener| {
        let mut stream = accept(listener);
        let request = message(&mut stream).unwrap();
        let late = reply(id_of(&request), 0, &1i64.to_be_bytes());
        stream.write_all(&late[..20]).unwrap();
        assert_eq!(message(&mut stream).unwrap()[7], CANCEL_REQUEST);
        let second = message(&mut stream).unwrap();
        stream.write_all(&late[20..]).unwrap();
        answer(&mut stream, id_of(&second), 2);
        assert!(message(&mut stream).is_none());
    });
    let (orb, echo) = client(&url, &["-ORBConnectionsPerEndpoint", "1"]);
    times_out(&echo);
    assert_eq!(echo.double(1).unwrap(), 2);
    orb.shutdown(true);
    server.join().unwrap();
}

#[test]
fn a_connection_that_owes_a_reply_is_taken_last() {
    let (settled, is_settled) = mpsc::channel();
    let (url, server) = scripted(move |listener| {
        let mut first = accept(listener);
        let late = cancelled(&mut first, REQUEST);
        // The next call has a connection of its own, as this server may be busy.
        let mut second = accept(listener);
        let request = message(&mut second).unwrap();
        answer(&mut second, id_of(&request), 2);
        answer(&mut first, late, 1);
        settled.send(()).unwrap();
        // While the second is in use, another call takes the first again.
        let held = message(&mut second).unwrap();
        let request = message(&mut first).unwrap();
        answer(&mut first, id_of(&request), 3);
        answer(&mut second, id_of(&held), 4);
        assert!(message(&mut first).is_none() && message(&mut second).is_none());
    });
    let (orb, echo) = client(&url, &["-ORBConnectionsPerEndpoint", "2"]);
    times_out(&echo);
    assert_eq!(echo.double(1).unwrap(), 2);
    is_settled.recv().unwrap();
    let mut values = std::thread::scope(|scope| {
        let calls = [scope.spawn(|| echo.double(1)), scope.spawn(|| echo.double(1))];
        calls.map(|call| call.join().unwrap().unwrap())
    });
    values.sort_unstable();
    assert_eq!(values, [3, 4]);
    orb.shutdown(true);
    server.join().unwrap();
}

#[test]
fn a_question_where_the_object_is_may_be_given_up_too() {
    let (url, server) = scripted(|listener| {
        let mut stream = accept(listener);
        let id = cancelled(&mut stream, LOCATE_REQUEST);
        let request = message(&mut stream).unwrap();
        let here = message_header(MessageKind::LocateReply, false, 8);
        let late = [&here[..], &id.to_be_bytes(), &1u32.to_be_bytes()].concat();
        stream.write_all(&late).unwrap();
        answer(&mut stream, id_of(&request), 2);
        assert!(message(&mut stream).is_none());
    });
    let (orb, echo) = client(&url, &["-ORBConnectionsPerEndpoint", "1"]);
    let exception = impatient(&echo).0.locate().unwrap_err();
    is(&exception, SystemExceptionKind::Timeout, CompletionStatus::Maybe);
    assert_eq!(echo.double(1).unwrap(), 2);
    orb.shutdown(true);
    server.join().unwrap();
}

#[test]
fn a_server_that_closes_instead_of_a_late_reply_is_connected_to_anew() {
    let (url, server) = scripted(|listener| {
        let mut stream = accept(listener);
        cancelled(&mut stream, REQUEST);
        stream.write_all(&message_header(MessageKind::CloseConnection, false, 0)).unwrap();
        drop(stream);
        let mut stream = accept(listener);
        let request = message(&mut stream).unwrap();
        answer(&mut stream, id_of(&request), 2);
    });
    let (orb, echo) = client(&url, &["-ORBConnectionsPerEndpoint", "1"]);
    times_out(&echo);
    assert_eq!(echo.double(1).unwrap(), 2);
    server.join().unwrap();
    orb.shutdown(true);
}

#[test]
fn calls_that_run_out_of_time_do_not_use_connections_up() {
    for concurrency in ["thread-per-connection", "thread-pool"] {
        let (server, echo, _noted) = serve(&[
            "-ORBServerConcurrency",
            concurrency,
            "-ORBServerConnectionsMax",
            "2",
            "-ORBWhenFull",
            "refuse",
        ]);
        let orb = loopback_orb(&["-ORBConnectionsPerEndpoint", "2"]);
        let echo = as_client(&orb, &echo);
        let impatient = impatient(&echo);
        for _ in 0..3 {
            let exception = impatient.wait(Duration::from_millis(600)).unwrap_err();
            is(&exception, SystemExceptionKind::Timeout, CompletionStatus::Maybe);
            assert_eq!(echo.double(4).unwrap(), 8, "{concurrency}");
        }
        orb.shutdown(true);
        server.shutdown(true);
    }
}
