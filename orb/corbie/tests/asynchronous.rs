//! Asynchronous calls over real IIOP on loopback: functions, pending replies, futures, forwards,
//! time-outs, broken connections.

#![allow(clippy::unwrap_used)] // also in the functions that the tests share

mod echo;

use corbie::codegen::Marshal;
use corbie::{Operation, Reply, ReplySink, SystemException};
use echo::{Echo, IN_ORDER, as_client, loopback_orb, serve};
use std::sync::mpsc;

const DOUBLE: Operation = Operation::twoway("double");

type Outcome = Result<i64, SystemException>;

fn decode(reply: Result<Reply, SystemException>) -> Outcome {
    reply.and_then(|mut reply| reply.results_only(i64::decode))
}

fn send_double(echo: &Echo, value: i64, outcomes: &mpsc::Sender<Outcome>) {
    let outcomes = outcomes.clone();
    let sink = ReplySink::function(move |reply| outcomes.send(decode(reply)).unwrap());
    echo.0.invoke_async(&DOUBLE, &|e| i64::encode(&value, e), sink).unwrap();
}

#[test]
fn functions_get_the_replies() {
    for version in ["1.0", "1.1", "1.2"] {
        let options = ["-ORBGIOPVersion", version];
        let (server, echo, _noted) = serve(&options);
        let client = loopback_orb(&options);
        let echo = as_client(&client, &echo);
        let (sender, outcomes) = mpsc::channel();
        for value in 0..1000 {
            send_double(&echo, value, &sender);
        }
        let mut values: Vec<i64> = outcomes.iter().take(1000).map(Result::unwrap).collect();
        values.sort_unstable();
        assert_eq!(values, (0..1000).map(|value| value * 2).collect::<Vec<_>>());
        server.shutdown(true);
        client.shutdown(true);
    }
}

#[test]
fn a_pending_reply_is_handed_out_once() {
    let (server, echo, _noted) = serve(&[]);
    let pending = echo.0.invoke_deferred(&DOUBLE, &|e| i64::encode(&21, e)).unwrap();
    assert!(pending.wait(None));
    assert!(pending.is_ready());
    assert_eq!(decode(pending.take()).unwrap(), 42);
    assert_eq!(pending.take().err().unwrap().kind, corbie::SystemExceptionKind::BadInvOrder);
    server.shutdown(true);
}

/// Every way in which a client's synchronous call can wait over a connection that can be shared.
const WAYS: [&[&str]; 7] = [
    &["-ORBTransportMultiplexing", "muxed"],
    &["-ORBTransportMultiplexing", "muxed", "-ORBReplyWait", "reactor"],
    &["-ORBTransportMultiplexing", "muxed", "-ORBReplyWait", "leader-followers"],
    &["-ORBReplyWait", "reactor"],
    &["-ORBReplyWait", "leader-followers"],
    &["-ORBReplyWait", "leader-followers", "-ORBEventLoop", "application"],
    &["-ORBTransportMultiplexing", "muxed", "-ORBEventLoop", "application"],
];

#[test]
fn synchronous_calls_wait_in_every_way() {
    for way in WAYS {
        let (server, echo, _noted) = serve(&[]);
        let client = loopback_orb(way);
        let echo = as_client(&client, &echo);
        for value in [0, 21, -1, i64::MAX] {
            assert_eq!(echo.double(value).unwrap(), value.wrapping_mul(2), "{way:?}");
        }
        let octets: Vec<u8> = (0..300_000u32).map(|i| i as u8).collect();
        assert!(echo.octets(&octets).unwrap() == octets, "{way:?}");
        assert_eq!(echo.fail().unwrap(), "IDL:Test/Failed:1.0");
        std::thread::scope(|scope| {
            for thread in 0..8 {
                let echo = &echo;
                scope.spawn(move || {
                    for value in 0..200 {
                        let value = thread * 1000 + value;
                        assert_eq!(echo.double(value).unwrap(), value * 2, "{way:?}");
                    }
                });
            }
        });
        client.shutdown(true);
        server.shutdown(true);
    }
}

#[test]
fn a_synchronous_call_does_not_overtake_asynchronous_ones() {
    let (server, echo, noted) = serve(&IN_ORDER);
    let client = loopback_orb(&[]);
    let echo = as_client(&client, &echo);
    const NOTE: Operation = Operation::twoway("note");
    for round in 0..50 {
        for value in 0..20 {
            let value = round * 21 + value;
            echo.0.invoke_async(&NOTE, &|e| i64::encode(&value, e), ReplySink::discard()).unwrap();
        }
        let last = round * 21 + 20;
        // The servant does not answer "note": what counts is that it came.
        echo.0.invoke(&NOTE, &|e| i64::encode(&last, e)).err();
    }
    let values: Vec<i64> = noted.iter().take(50 * 21).collect();
    assert_eq!(values, (0..50 * 21).collect::<Vec<_>>());
    client.shutdown(true);
    server.shutdown(true);
}

#[test]
fn large_deferred_calls_do_not_wait_for_each_other() {
    const ECHO: Operation = Operation::twoway("octets");
    for event_loop in ["background", "application"] {
        let (server, echo, _noted) = serve(&[]);
        // All of them may be queued at once, as none waits for room.
        let client = loopback_orb(&[
            "-ORBEventLoop",
            event_loop,
            "-ORBRequestTimeout",
            "30s",
            "-ORBQueuedOctetsMax",
            "16777216",
        ]);
        let echo = as_client(&client, &echo);
        let octets: Vec<u8> = (0..4_000_000u32).map(|i| i as u8).collect();
        // Far more than the sockets hold: request and reply are sent at the same time.
        let send = |_| echo.0.invoke_deferred(&ECHO, &|e| e.write_octet_sequence(&octets)).unwrap();
        let pending: Vec<_> = (0..8).map(send).collect();
        for pending in pending {
            assert!(pending.wait(None));
            let mut reply = pending.take().unwrap();
            assert!(reply.results_only(|d| Ok(d.read_octet_sequence()? == octets)).unwrap());
        }
        client.shutdown(true);
        server.shutdown(true);
    }
}
