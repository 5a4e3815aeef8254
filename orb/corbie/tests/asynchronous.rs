//! Asynchronous calls over real IIOP on loopback: functions, pending replies, futures, forwards,
//! time-outs, broken connections.

#![allow(clippy::unwrap_used)] // also in the functions that the tests share

mod echo;

use corbie::codegen::Marshal;
use corbie::{Operation, Reply, ReplySink, SystemException};
use echo::{Echo, as_client, loopback_orb, serve};
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
    let mut pending = echo.0.invoke_deferred(&DOUBLE, &|e| i64::encode(&21, e)).unwrap();
    assert!(pending.wait(None));
    assert!(pending.is_ready());
    assert_eq!(decode(pending.take()).unwrap(), 42);
    assert_eq!(pending.take().err().unwrap().kind, corbie::SystemExceptionKind::BadInvOrder);
    server.shutdown(true);
}
