//! How asynchronous calls end when not by a reply: time-outs, cancel, closed and broken
//! connections, forwards, too many of them. Against servers that follow a script.

#![allow(clippy::unwrap_used)] // also in the functions that the tests share

mod echo;
mod script;

use corbie::Interface as _;
use corbie::codegen::Marshal;
use corbie::policy::{Policy, SetOverrideType};
use corbie::{
    CompletionStatus, ForwardServant, Operation, PendingReply, Reply, ReplySink, Servant,
    SystemException, SystemExceptionKind as Kind, minor,
};
use corbie_testkit::{MessageKind, message_header};
use echo::{Echo, as_client, loopback_orb, serve};
use script::{PATIENCE, accept, answer_all, client, id_of, is, message, reply, scripted};
use std::io::Write;
use std::net::TcpStream;
use std::sync::{Arc, mpsc};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

const DOUBLE: Operation = Operation::twoway("double");
const CANCEL_REQUEST: u8 = 2;
const MESSAGE_ERROR: u8 = 6;
const FORTY_TWO: i64 = 42;

type Outcome = Result<i64, SystemException>;

fn decode(reply: Result<Reply, SystemException>) -> Outcome {
    reply.and_then(|mut reply| reply.results_only(i64::decode))
}

/// Sends a call whose outcome goes to the receiver.
fn send(echo: &Echo, value: i64) -> mpsc::Receiver<Outcome> {
    let (sender, outcome) = mpsc::channel();
    let sink = ReplySink::function(move |reply| sender.send(decode(reply)).unwrap());
    echo.0.invoke_async(&DOUBLE, &|e| i64::encode(&value, e), sink).unwrap();
    outcome
}

fn deferred(echo: &Echo, value: i64) -> PendingReply {
    echo.0.invoke_deferred(&DOUBLE, &|e| i64::encode(&value, e)).unwrap()
}

#[test]
fn a_call_that_takes_too_long_is_cancelled_and_its_connection_stays() {
    let (url, server) = scripted(|listener| {
        let mut stream = accept(listener);
        let late = id_of(&message(&mut stream).unwrap());
        let cancel = message(&mut stream).unwrap();
        assert_eq!((cancel[7], id_of(&cancel)), (CANCEL_REQUEST, late));
        // The reply comes all the same, and no call takes it.
        stream.write_all(&reply(late, 0, &1i64.to_be_bytes())).unwrap();
        answer_all(&mut stream)
    });
    let (orb, echo) = client(&url, &[]);
    // The calls after it have the time that a busy machine needs.
    let soon = [Policy::RelativeRoundtripTimeout(Duration::from_millis(200))];
    let hasty = echo.set_policy_overrides(&soon, SetOverrideType::Add).unwrap();
    let exception = send(&hasty, 21).recv_timeout(PATIENCE).unwrap().unwrap_err();
    is(&exception, Kind::Timeout, CompletionStatus::Maybe);
    for _ in 0..3 {
        assert_eq!(send(&echo, 21).recv_timeout(PATIENCE).unwrap().unwrap(), FORTY_TWO);
    }
    orb.shutdown(true);
    assert_eq!(server.join().unwrap(), 3, "over the same connection");
}

#[test]
fn a_thread_that_waits_for_a_late_reply_ends_in_time() {
    let (url, server) = scripted(|listener| {
        let mut stream = accept(listener);
        message(&mut stream).unwrap();
        message(&mut stream).unwrap()[7]
    });
    // Long enough for what is asked before it, on a busy machine too.
    let (orb, echo) = client(&url, &["-ORBRequestTimeout", "2s"]);
    let pending = deferred(&echo, 21);
    assert!(!pending.wait(Some(Duration::from_millis(1))), "not so soon");
    is(&pending.take().err().unwrap(), Kind::NoResponse, CompletionStatus::Maybe);
    assert!(pending.wait(None));
    is(&pending.take().err().unwrap(), Kind::Timeout, CompletionStatus::Maybe);
    assert_eq!(server.join().unwrap(), CANCEL_REQUEST);
    orb.shutdown(true);
}

#[test]
fn a_cancelled_call_tells_the_server() {
    let (came, is_there) = mpsc::channel();
    let (url, server) = scripted(move |listener| {
        let mut stream = accept(listener);
        let id = id_of(&message(&mut stream).unwrap());
        came.send(()).unwrap();
        let cancel = message(&mut stream).unwrap();
        assert_eq!((cancel[7], id_of(&cancel)), (CANCEL_REQUEST, id));
        answer_all(&mut stream)
    });
    let (orb, echo) = client(&url, &[]);
    let given_up = deferred(&echo, 21);
    is_there.recv_timeout(PATIENCE).unwrap();
    given_up.cancel();
    let pending = deferred(&echo, 21);
    assert!(pending.wait(Some(PATIENCE)));
    assert_eq!(decode(pending.take()).unwrap(), FORTY_TWO);
    orb.shutdown(true);
    assert_eq!(server.join().unwrap(), 1);
}

#[test]
fn a_broken_connection_leaves_the_outcome_open_for_all() {
    let (url, server) = scripted(|listener| {
        let mut stream = accept(listener);
        for _ in 0..3 {
            message(&mut stream).unwrap();
        }
        drop(stream);
        answer_all(&mut accept(listener))
    });
    let (orb, echo) = client(&url, &[]);
    let outcomes: Vec<_> = (0..3).map(|value| send(&echo, value)).collect();
    for outcome in outcomes {
        let exception = outcome.recv_timeout(PATIENCE).unwrap().unwrap_err();
        is(&exception, Kind::CommFailure, CompletionStatus::Maybe);
    }
    assert_eq!(send(&echo, 21).recv_timeout(PATIENCE).unwrap().unwrap(), FORTY_TWO);
    orb.shutdown(true);
    assert_eq!(server.join().unwrap(), 1, "over a new connection");
}

#[test]
fn a_server_that_sends_no_giop_is_told_so() {
    let (url, server) = scripted(|listener| {
        let mut stream = accept(listener);
        message(&mut stream).unwrap();
        stream.write_all(b"HTTP/1.1 400 Bad").unwrap();
        let word = message(&mut stream).unwrap();
        (word[7], word.len(), message(&mut stream))
    });
    let (orb, echo) = client(&url, &[]);
    let exception = send(&echo, 21).recv_timeout(PATIENCE).unwrap().unwrap_err();
    assert_eq!(exception.completed, CompletionStatus::Maybe, "{exception}");
    assert_eq!(server.join().unwrap(), (MESSAGE_ERROR, 12, None), "then the end");
    orb.shutdown(true);
}

#[test]
fn what_a_closing_server_did_not_serve_is_sent_again() {
    let (url, server) = scripted(|listener| {
        let mut stream = accept(listener);
        for _ in 0..2 {
            message(&mut stream).unwrap();
        }
        let farewell = message_header(MessageKind::CloseConnection, false, 0);
        stream.write_all(&farewell).unwrap();
        drop(stream);
        answer_all(&mut accept(listener))
    });
    let (orb, echo) = client(&url, &[]);
    let outcomes = [send(&echo, 1), send(&echo, 2)];
    let pending_too = outcomes.map(|outcome| outcome.recv_timeout(PATIENCE).unwrap().unwrap());
    assert_eq!(pending_too, [FORTY_TWO; 2]);
    orb.shutdown(true);
    assert_eq!(server.join().unwrap(), 2);
}

#[test]
fn a_forwarded_call_goes_on_with_its_arguments() {
    let (server, echo, _noted) = serve(&[]);
    let there = loopback_orb(&[]);
    let forward: Arc<dyn Servant> = Arc::new(ForwardServant::new(echo.0.clone()));
    let poa = there.root_poa().unwrap();
    poa.the_poa_manager().activate().unwrap();
    let id = poa.activate_object(forward).unwrap();
    let forwarded = Echo(poa.id_to_reference(&id).unwrap());
    let client = loopback_orb(&[]);
    let echo = as_client_unchecked(&client, &forwarded);
    for value in 1..4 {
        assert_eq!(send(&echo, value).recv_timeout(PATIENCE).unwrap().unwrap(), value * 2);
        let pending = deferred(&echo, value);
        assert!(pending.wait(Some(PATIENCE)));
        assert_eq!(decode(pending.take()).unwrap(), value * 2);
    }
    for orb in [client, there, server] {
        orb.shutdown(true);
    }
}

fn as_client_unchecked(client: &corbie::Orb, echo: &Echo) -> Echo {
    Echo(client.string_to_object(&echo.0.to_string()).unwrap())
}

/// In GIOP 1.0 the arguments stand where the header ends, which the length of the key shifts.
#[test]
fn arguments_that_do_not_fit_behind_another_header_are_not_sent_on() {
    let (server, echo, _noted) = serve(&[]);
    // Another version can be asked for over TCP only.
    let Some(port) = server.listen_addresses().first().map(|address| address.port()) else {
        return server.shutdown(true);
    };
    let outcomes = ["Move", "MoveMove"].map(|key| {
        server.bind_object_key(key, &echo.0);
        let (orb, moves) = client(&format!("corbaloc:iiop:1.0@127.0.0.1:{port}/{key}"), &[]);
        let outcome = send(&moves, 21).recv_timeout(PATIENCE).unwrap();
        orb.shutdown(true);
        outcome
    });
    assert!(outcomes.contains(&Ok(FORTY_TWO)), "{outcomes:?}");
    let refused = outcomes.iter().find_map(|outcome| outcome.as_ref().err());
    assert_eq!(refused.map(|exception| exception.minor), Some(minor::TRANSIENT_SENT_ON));
    server.shutdown(true);
}

/// A `corbaloc:` says nothing of code sets, and the reference that it leads to does.
#[test]
fn arguments_are_sent_on_to_a_place_of_other_code_sets() {
    let (server, echo, _noted) = serve(&[]);
    let Some(port) = server.listen_addresses().first().map(|address| address.port()) else {
        return server.shutdown(true);
    };
    server.bind_object_key("Moves", &echo.0);
    let length = |text: &'static str| {
        // Each time by a reference that leads nowhere else yet.
        let (orb, moves) = client(&format!("corbaloc:iiop:1.2@127.0.0.1:{port}/Moves"), &[]);
        assert_eq!(send(&moves, -21).recv_timeout(PATIENCE).unwrap(), Ok(-42));
        let (orb_of_text, moves) =
            client(&format!("corbaloc:iiop:1.2@127.0.0.1:{port}/Moves"), &[]);
        let (sender, outcome) = mpsc::channel();
        let sink = ReplySink::function(move |reply| sender.send(decode(reply)).unwrap());
        let operation = Operation::twoway("length");
        moves.0.invoke_async(&operation, &|e| e.write_string(text), sink).unwrap();
        let outcome = outcome.recv_timeout(PATIENCE).unwrap();
        orb.shutdown(true);
        orb_of_text.shutdown(true);
        outcome
    };
    assert_eq!(length("plain"), Ok(5));
    // Without code sets there is no place for other text than ASCII.
    assert_eq!(length("Grüße").unwrap_err().kind, Kind::DataConversion);
    server.shutdown(true);
}

#[test]
fn an_address_that_refuses_is_told_to_the_sink() {
    let (url, server) = scripted(|_listener| ());
    server.join().unwrap();
    let (orb, echo) = client(&url, &[]);
    let refused = send(&echo, 21).recv_timeout(PATIENCE).unwrap().unwrap_err();
    is(&refused, Kind::Transient, CompletionStatus::No);
    orb.shutdown(true);
}

#[test]
fn shutdown_tells_those_who_wait() {
    let (came, is_there) = mpsc::channel();
    let (url, server) = scripted(move |listener| {
        let mut stream = accept(listener);
        message(&mut stream).unwrap();
        came.send(()).unwrap();
        message(&mut stream)
    });
    let (orb, echo) = client(&url, &[]);
    let outcome = send(&echo, 21);
    is_there.recv_timeout(PATIENCE).unwrap();
    orb.shutdown(false);
    is(
        &outcome.recv_timeout(PATIENCE).unwrap().unwrap_err(),
        Kind::BadInvOrder,
        CompletionStatus::Maybe,
    );
    assert_eq!(server.join().unwrap(), None, "the connection is closed");
}

#[test]
fn beyond_four_times_the_most_pending_calls_a_call_is_refused_and_none_waits() {
    let (answer, may_answer) = mpsc::channel();
    let (url, server) = scripted(move |listener| {
        let mut stream = accept(listener);
        let answer = |stream: &mut TcpStream, id: u32| {
            stream.write_all(&reply(id, 0, &42i64.to_be_bytes())).unwrap();
        };
        let first = id_of(&message(&mut stream).unwrap());
        answer(&mut stream, first);
        let ids: Vec<u32> = (0..32).map(|_| id_of(&message(&mut stream).unwrap())).collect();
        may_answer.recv_timeout(PATIENCE).unwrap();
        ids.into_iter().for_each(|id| answer(&mut stream, id));
        answer_all(&mut stream)
    });
    let (orb, echo) = client(&url, &["-ORBPendingRequestsMax", "8"]);
    // With this one there is a connection.
    assert_eq!(send(&echo, 0).recv_timeout(PATIENCE).unwrap().unwrap(), FORTY_TWO);
    let (ended, end) = mpsc::channel();
    let again = echo.clone();
    let forty = move || {
        let note = |ended: mpsc::Sender<()>| ReplySink::function(move |_| ended.send(()).unwrap());
        let sent = || again.0.invoke_async(&DOUBLE, &|_| Ok(()), note(ended.clone()));
        (0..40).map(|_| sent()).collect::<Vec<_>>()
    };
    let check = |sent: Vec<Result<(), SystemException>>| {
        assert_eq!(sent.iter().filter(|sent| sent.is_ok()).count(), 32);
        for refused in sent.into_iter().filter_map(Result::err) {
            is(&refused, Kind::Transient, CompletionStatus::No);
        }
    };
    check(forty());
    answer.send(()).unwrap();
    (0..32).for_each(|_| end.recv_timeout(PATIENCE).unwrap());
    // Inside a function that takes a reply it is the same.
    let (sender, accepted) = mpsc::channel();
    let sink = ReplySink::function(move |_| sender.send(forty()).unwrap());
    echo.0.invoke_async(&DOUBLE, &|_| Ok(()), sink).unwrap();
    check(accepted.recv_timeout(PATIENCE).unwrap());
    (0..32).for_each(|_| end.recv_timeout(PATIENCE).unwrap());
    orb.shutdown(true);
    assert_eq!(server.join().unwrap(), 1 + 32);
}

/// Tells a channel that it was woken.
struct Told(mpsc::SyncSender<()>);

impl Wake for Told {
    fn wake(self: Arc<Self>) {
        let _ = self.0.try_send(());
    }
}

#[test]
fn a_future_needs_no_pump() {
    for event_loop in ["background", "application"] {
        let (server, echo, _noted) = serve(&[]);
        let client = loopback_orb(&["-ORBEventLoop", event_loop]);
        let echo = as_client(&client, &echo);
        let (sender, woken) = mpsc::sync_channel(1);
        let waker = Waker::from(Arc::new(Told(sender)));
        let mut pending = deferred(&echo, 21);
        let reply = loop {
            match pending.poll_reply(&mut Context::from_waker(&waker)) {
                Poll::Ready(reply) => break reply,
                Poll::Pending => woken.recv_timeout(PATIENCE).unwrap(),
            }
        };
        assert_eq!(decode(reply).unwrap(), FORTY_TWO);
        client.shutdown(true);
        server.shutdown(true);
    }
}

#[test]
fn an_unused_shared_connection_is_closed_and_another_one_opened() {
    let (sender, closed) = mpsc::channel();
    let (url, server) = scripted(move |listener| {
        sender.send(answer_all(&mut accept(listener))).unwrap();
        answer_all(&mut accept(listener))
    });
    let (orb, echo) = client(&url, &["-ORBClientIdleTimeout", "100ms"]);
    for _ in 0..2 {
        assert_eq!(send(&echo, 21).recv_timeout(PATIENCE).unwrap().unwrap(), FORTY_TWO);
    }
    // The client closes the first connection of itself.
    assert_eq!(closed.recv_timeout(PATIENCE).unwrap(), 2);
    assert_eq!(send(&echo, 21).recv_timeout(PATIENCE).unwrap().unwrap(), FORTY_TWO);
    orb.shutdown(true);
    assert_eq!(server.join().unwrap(), 1);
}
