//! What a client makes of servers that close, stall, forward in circles or want to be addressed
//! otherwise: scripted servers over real sockets. And the connections that it keeps.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod echo;
mod script;

use corbie::{CompletionStatus, SystemExceptionKind, minor};
use corbie_testkit::{MessageKind, message_header};
use echo::{Echo, EchoServant, as_client, loopback_orb, serve};
use script::{PATIENCE, accept, answer_all, client, id_of, is, message, reply, scripted};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::thread;
use std::time::{Duration, Instant};

const NEEDS_ADDRESSING_MODE: u32 = 5;

#[test]
fn a_request_that_met_a_closing_connection_is_sent_again() {
    let (url, server) = scripted(|listener| {
        let mut first = accept(listener);
        message(&mut first).unwrap();
        first.write_all(&message_header(MessageKind::CloseConnection, false, 0)).unwrap();
        drop(first);
        answer_all(&mut accept(listener))
    });
    let (client, echo) = client(&url, &[]);
    assert_eq!(echo.double(1).unwrap(), 42);
    client.shutdown(true);
    assert_eq!(server.join().unwrap(), 1);
}

#[test]
fn a_connection_that_breaks_in_a_call_leaves_the_outcome_open() {
    let (url, server) = scripted(|listener| message(&mut accept(listener)).is_some());
    let (client, echo) = client(&url, &[]);
    let exception = echo.double(1).unwrap_err();
    is(&exception, SystemExceptionKind::CommFailure, CompletionStatus::Maybe);
    assert!(server.join().unwrap());
    client.shutdown(true);
}

#[test]
fn message_error_in_answer_to_a_request_is_a_comm_failure() {
    let (url, server) = scripted(|listener| {
        let mut stream = accept(listener);
        message(&mut stream).unwrap();
        stream.write_all(&message_header(MessageKind::MessageError, false, 0)).unwrap();
        message(&mut stream).is_none()
    });
    let (client, echo) = client(&url, &[]);
    let exception = echo.double(1).unwrap_err();
    is(&exception, SystemExceptionKind::CommFailure, CompletionStatus::Maybe);
    assert!(exception.to_string().contains("MessageError"), "{exception}");
    assert!(server.join().unwrap(), "the client closes the connection");
    client.shutdown(true);
}

#[test]
fn a_call_ends_in_time_whatever_the_server_sends() {
    let stalls = |stream: &mut TcpStream, request: &[u8]| {
        let octets = reply(id_of(request), 0, &[0; 8]);
        stream.write_all(&octets[..20]).is_ok()
    };
    let answers_others = |stream: &mut TcpStream, _: &[u8]| {
        while stream.write_all(&reply(999, 0, &[0; 8])).is_ok() {
            thread::yield_now();
        }
        true
    };
    let says_nothing = |_: &mut TcpStream, _: &[u8]| true;
    let scripts: [fn(&mut TcpStream, &[u8]) -> bool; 3] = [stalls, answers_others, says_nothing];
    for (number, script) in scripts.into_iter().enumerate() {
        let (url, server) = scripted(move |listener| {
            let mut stream = accept(listener);
            let request = message(&mut stream).unwrap();
            let sent = script(&mut stream, &request);
            // Until the client closes; it may reset what it does not want.
            let _ = stream.read_to_end(&mut Vec::new());
            sent
        });
        let (client, echo) = client(&url, &["-ORBRequestTimeout", "300ms"]);
        let begun = Instant::now();
        let exception = echo.double(1).unwrap_err();
        is(&exception, SystemExceptionKind::Timeout, CompletionStatus::Maybe);
        assert!(begun.elapsed() < PATIENCE, "script {number}: {:?}", begun.elapsed());
        client.shutdown(true);
        assert!(server.join().unwrap(), "script {number}");
    }
}

#[test]
fn a_request_that_is_not_taken_ends_in_time() {
    let (url, server) = scripted(accept);
    let (client, echo) = client(&url, &["-ORBRequestTimeout", "300ms"]);
    let octets = vec![7; 32 << 20];
    let begun = Instant::now();
    let exception = echo.octets(&octets).unwrap_err();
    is(&exception, SystemExceptionKind::Timeout, CompletionStatus::No);
    assert!(begun.elapsed() < PATIENCE, "{:?}", begun.elapsed());
    drop(server.join().unwrap());
    client.shutdown(true);
}

#[test]
fn waiting_for_a_connection_is_part_of_the_call() {
    let (server, echo, noted) = serve(&[]);
    let client = loopback_orb(&["-ORBConnectionsPerEndpoint", "1", "-ORBRequestTimeout", "3500ms"]);
    let echo = as_client(&client, &echo);
    thread::scope(|scope| {
        let first = scope.spawn(|| echo.wait(Duration::from_millis(2000)));
        assert_eq!(noted.recv_timeout(PATIENCE), Ok(echo::WAITING));
        // Two seconds for the connection and three for the call are more than there is; either
        // would be in time, and a second and a half may be lost on a busy machine.
        let exception = echo.wait(Duration::from_millis(3000)).unwrap_err();
        assert_eq!(exception.kind, SystemExceptionKind::Timeout, "{exception}");
        assert_eq!(first.join().unwrap().unwrap(), 2000);
    });
    server.shutdown(false);
    client.shutdown(true);
}

#[test]
fn a_server_may_ask_to_be_addressed_otherwise() {
    for (mode, name) in [(1u16, "profile"), (2, "reference")] {
        let (url, server) = scripted(move |listener| {
            let mut stream = accept(listener);
            let request = message(&mut stream).unwrap();
            assert_eq!(request[20..22], [0, 0], "by key at first");
            let asks = reply(id_of(&request), NEEDS_ADDRESSING_MODE, &mode.to_be_bytes());
            stream.write_all(&asks).unwrap();
            let mut modes = Vec::new();
            while let Some(request) = message(&mut stream) {
                modes.push(request[20..22].iter().sum::<u8>());
                stream.write_all(&reply(id_of(&request), 0, &42i64.to_be_bytes())).unwrap();
            }
            modes
        });
        let (client, echo) = client(&url, &[]);
        assert_eq!(echo.double(1).unwrap(), 42, "{name}");
        assert_eq!(echo.double(1).unwrap(), 42, "{name}, remembered");
        client.shutdown(true);
        assert_eq!(server.join().unwrap(), [mode as u8; 2]);
    }
}

#[test]
fn forwarding_in_a_circle_ends() {
    let (server, _echo, _noted) = serve(&[]);
    let port = server.listen_addresses()[0].port();
    let object = server.string_to_object(&format!("corbaloc::127.0.0.1:{port}/Loop")).unwrap();
    server.bind_object_key("Loop", &object);
    let exception = Echo(object.clone()).double(1).unwrap_err();
    is(&exception, SystemExceptionKind::Transient, CompletionStatus::No);
    assert_eq!(exception.minor, minor::TRANSIENT_TOO_MANY_FORWARDS);
    assert!(exception.to_string().contains("circle"), "{exception}");
    let exception = object.locate().unwrap_err();
    is(&exception, SystemExceptionKind::Transient, CompletionStatus::No);
    server.shutdown(true);
}

#[test]
fn a_place_that_is_gone_leads_back_to_the_original_reference() {
    let (server, echo, noted) = serve(&[]);
    let poa = server.root_poa().unwrap();
    poa.the_poa_manager().activate().unwrap();
    server.bind_object_key("Moves", &echo.0);
    let port = server.listen_addresses()[0].port();
    let (client, moves) = client(&format!("corbaloc::127.0.0.1:{port}/Moves"), &[]);
    assert_eq!(moves.double(1).unwrap(), 2);
    poa.deactivate_object(&poa.reference_to_id(&echo.0).unwrap()).unwrap();
    drop(noted);
    let (servant, noted) = EchoServant::new();
    let next = poa.activate(servant).unwrap();
    server.bind_object_key("Moves", &next.0);
    assert_eq!(moves.double(2).unwrap(), 4, "the new place was asked for");
    moves.0.locate().unwrap();
    moves.note(3).unwrap();
    assert_eq!(noted.recv_timeout(PATIENCE), Ok(3));
    server.unbind_object_key("Moves");
    poa.deactivate_object(&poa.reference_to_id(&next.0).unwrap()).unwrap();
    let exception = moves.double(2).unwrap_err();
    is(&exception, SystemExceptionKind::ObjectNotExist, CompletionStatus::No);
    server.shutdown(true);
    client.shutdown(true);
}

#[test]
fn a_locate_request_on_a_connection_that_closed_is_sent_again() {
    let (server, echo, _noted) = serve(&[]);
    let client = loopback_orb(&[]);
    let theirs = as_client(&client, &echo);
    theirs.0.locate().unwrap();
    let address = server.listen_addresses()[0];
    let (url, relay) = scripted(move |listener| {
        let mut first = accept(listener);
        message(&mut first).unwrap();
        first.write_all(&message_header(MessageKind::CloseConnection, false, 0)).unwrap();
        drop(first);
        let mut stream = accept(listener);
        let mut real = TcpStream::connect(address).unwrap();
        real.write_all(&message(&mut stream).unwrap()).unwrap();
        stream.write_all(&message(&mut real).unwrap()).unwrap();
    });
    server.bind_object_key("Echo", &echo.0);
    Echo(client.string_to_object(&url).unwrap()).0.locate().unwrap();
    relay.join().unwrap();
    server.shutdown(true);
    client.shutdown(true);
}

#[test]
fn an_unused_connection_is_closed_in_time() {
    let (url, server) = scripted(|listener| answer_all(&mut accept(listener)));
    let (client, echo) = client(&url, &["-ORBClientIdleTimeout", "100ms"]);
    assert_eq!(echo.double(1).unwrap(), 42);
    // The server's thread ends when the client closes, which it does of itself.
    assert_eq!(server.join().unwrap(), 1);
    client.shutdown(true);
}

#[test]
fn beyond_the_most_connections_the_one_unused_longest_is_closed() {
    let options = ["-ORBClientConnectionsMax", "2", "-ORBConnectionsPerEndpoint", "1"];
    let servers: Vec<_> =
        (0..3).map(|_| scripted(|listener| answer_all(&mut accept(listener)))).collect();
    let client = loopback_orb(&options);
    for (url, _) in &servers {
        assert_eq!(Echo(client.string_to_object(url).unwrap()).double(1).unwrap(), 42);
    }
    let begun = Instant::now();
    while !servers[0].1.is_finished() {
        assert!(begun.elapsed() < PATIENCE, "nothing was closed");
        thread::yield_now();
    }
    assert!(!servers[2].1.is_finished(), "the one used last stays open");
    client.shutdown(true);
    for (_, server) in servers {
        assert_eq!(server.join().unwrap(), 1);
    }
}
