//! An asynchronous call never blocks the thread that makes or polls it: not for an address that
//! answers nothing, not for a peer that takes nothing, not to be sent again. It is queued, bounded,
//! and ends in time. And replies wait for no connect.

#![allow(clippy::unwrap_used)] // also in the functions that the tests share

mod echo;
mod script;

use corbie::Interface as _;
use corbie::codegen::Marshal;
use corbie::policy::{Policy, SetOverrideType, SyncScope};
use corbie::{
    CompletionStatus, DynamicObject as _, Operation, PendingReply, Reply, ReplySink,
    SystemException, SystemExceptionKind as Kind,
};
use corbie_testkit::{MessageKind, message_header};
use echo::{Echo, as_client, loopback_orb, serve};
use script::{PATIENCE, accept, answer_all, client, id_of, is, message, reply, scripted};
use std::io::Write;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::pin::pin;
use std::sync::{Arc, mpsc};
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};

const DOUBLE: Operation = Operation::twoway("double");
const OCTETS: Operation = Operation::twoway("octets");
const MANY: usize = 1000;

/// An address that drops what asks for a connection, as one behind a firewall does: a listener that
/// accepts nothing, with all places taken.
struct BlackHole {
    listener: TcpListener,
    waiting: Vec<TcpStream>,
}

impl BlackHole {
    fn new() -> Self {
        Self::of(TcpListener::bind("127.0.0.1:0").unwrap())
    }

    fn of(listener: TcpListener) -> Self {
        let mut hole = BlackHole { listener, waiting: Vec::new() };
        let soon = Duration::from_millis(200);
        while let Ok(stream) = TcpStream::connect_timeout(&hole.address(), soon) {
            hole.waiting.push(stream);
        }
        hole
    }

    fn address(&self) -> SocketAddr {
        self.listener.local_addr().unwrap()
    }

    fn url(&self) -> String {
        format!("corbaloc:iiop:1.2@{}/Nothing", self.address())
    }
}

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

fn with_time(echo: &Echo, time: Duration) -> Echo {
    echo.set_policy_overrides(&[Policy::RelativeRoundtripTimeout(time)], SetOverrideType::Add)
        .unwrap()
}

fn end_of(outcome: &mpsc::Receiver<Outcome>) -> SystemException {
    outcome.recv_timeout(PATIENCE).unwrap().unwrap_err()
}

/// Wakes the thread of an executor.
struct Woken(mpsc::SyncSender<()>);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        let _ = self.0.try_send(());
    }
}

/// An executor of one thread: runs `future` to its end, and a timer that rings every ten
/// milliseconds. The outcome, and how often the timer rang in its time.
fn run_with_timer<T>(future: impl Future<Output = T>) -> (T, u32) {
    const PERIOD: Duration = Duration::from_millis(10);
    let (sender, woken) = mpsc::sync_channel(1);
    let waker = Waker::from(Arc::new(Woken(sender)));
    let mut future = pin!(future);
    let (mut rang, mut next) = (0, Instant::now() + PERIOD);
    loop {
        if let Poll::Ready(outcome) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return (outcome, rang);
        }
        if let Some(late) = Instant::now().checked_duration_since(next) {
            // One that comes late by a whole second was not rung in its time.
            rang += u32::from(late < Duration::from_secs(1));
            next = Instant::now() + PERIOD;
        }
        let _ = woken.recv_timeout(next.saturating_duration_since(Instant::now()));
    }
}

/// The calls of `make`, made and awaited by one thread.
async fn awaited(make: impl FnOnce() -> PendingReply) -> Result<Reply, SystemException> {
    let mut pending = make();
    std::future::poll_fn(move |context| pending.poll_reply(context)).await
}

#[test]
fn a_runtime_of_one_thread_goes_on_while_an_address_answers_nothing() {
    for event_loop in ["background", "application"] {
        let hole = BlackHole::new();
        let (orb, echo) = client(&hole.url(), &["-ORBEventLoop", event_loop]);
        let echo = with_time(&echo, Duration::from_millis(1500));
        let (outcome, rang) = run_with_timer(awaited(|| deferred(&echo, 21)));
        is(&outcome.err().unwrap(), Kind::Timeout, CompletionStatus::No);
        assert!(rang >= 10, "its timer rang {rang} times");
        orb.shutdown(true);
    }
}

#[test]
fn a_runtime_of_one_thread_goes_on_while_a_peer_takes_nothing() {
    for is_connected in [false, true] {
        let (url, server) = scripted(accept);
        let (orb, echo) = client(&url, &[]);
        let echo = with_time(&echo, Duration::from_millis(1500));
        let first = is_connected.then(|| deferred(&echo, 21));
        let octets = vec![7; 20 << 20];
        let make = || echo.0.invoke_deferred(&OCTETS, &|e| e.write_octet_sequence(&octets));
        let (outcome, rang) = run_with_timer(awaited(|| make().unwrap()));
        // It was begun to be sent, and may still be taken.
        is(&outcome.err().unwrap(), Kind::Timeout, CompletionStatus::Maybe);
        assert!(rang >= 10, "its timer rang {rang} times");
        // No more are queued behind it than is allowed.
        is(&make().err().unwrap(), Kind::Transient, CompletionStatus::No);
        orb.shutdown(true);
        drop((first, server.join().unwrap()));
    }
}

#[test]
fn each_kind_of_asynchronous_call_ends_in_time_without_a_connection() {
    let hole = BlackHole::new();
    let (orb, echo) = client(&hole.url(), &["-ORBRequestTimeout", "1s"]);
    // All are made before the first can end: none of them waits.
    let callback = send(&echo, 21);
    let poller = deferred(&echo, 21);
    let mut dynamic = echo.0.request("double");
    dynamic.add_in::<i64>("value", &21).unwrap();
    dynamic.send_deferred().unwrap();
    let (sender, apart) = mpsc::channel();
    let sink = ReplySink::function(move |reply| sender.send(decode(reply)).unwrap());
    echo.0.invoke_async_apart(&DOUBLE, &|e| i64::encode(&21, e), sink).unwrap();
    assert!(callback.try_recv().is_err() && apart.try_recv().is_err());
    assert!(!poller.is_ready() && !dynamic.poll_response().unwrap());
    is(&end_of(&callback), Kind::Timeout, CompletionStatus::No);
    is(&end_of(&apart), Kind::Timeout, CompletionStatus::No);
    assert!(poller.wait(Some(PATIENCE)));
    is(&poller.take().err().unwrap(), Kind::Timeout, CompletionStatus::No);
    let text = dynamic.get_response().unwrap_err().to_string();
    assert!(text.contains("TIMEOUT") && text.contains("COMPLETED_NO"), "{text}");
    orb.shutdown(true);
}

#[test]
fn a_call_waits_for_the_connect_of_another_no_longer_than_its_own_time() {
    let hole = BlackHole::new();
    let (orb, echo) = client(&hole.url(), &[]);
    let first = send(&echo, 1); // A connection is being opened for it.
    let begun = Instant::now();
    let second = with_time(&echo, Duration::from_millis(50));
    let error = second.0.invoke(&DOUBLE, &|e| i64::encode(&2, e)).err().unwrap();
    is(&error, Kind::Timeout, CompletionStatus::No);
    assert!(begun.elapsed() < Duration::from_secs(5) && first.try_recv().is_err());
    orb.shutdown(true);
}

#[test]
fn a_oneway_that_waits_for_nothing_waits_for_no_connect() {
    let hole = BlackHole::new();
    let (orb, echo) = client(&hole.url(), &[]);
    let none = [Policy::SyncScope(SyncScope::None)];
    let echo = echo.set_policy_overrides(&none, SetOverrideType::Add).unwrap();
    let begun = Instant::now();
    echo.0.invoke_oneway(&DOUBLE, &|e| i64::encode(&1, e)).unwrap();
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    orb.shutdown(true);
}

#[test]
fn the_line_of_an_address_that_answers_nothing_is_bounded() {
    let hole = BlackHole::new();
    let (orb, echo) = client(&hole.url(), &["-ORBPendingRequestsMax", "8"]);
    let waiting: Vec<_> = (0..32).map(|value| send(&echo, value)).collect();
    let refused = echo.0.invoke_async(&DOUBLE, &|_| Ok(()), ReplySink::discard()).unwrap_err();
    is(&refused, Kind::Transient, CompletionStatus::No);
    assert_eq!(refused.minor, corbie::minor::TRANSIENT_OVERLOAD);
    // Shutdown ends them, as surely not sent.
    orb.shutdown(true);
    for outcome in waiting {
        is(&end_of(&outcome), Kind::BadInvOrder, CompletionStatus::No);
    }
}

#[test]
fn octets_in_line_are_bounded_but_for_one_call_alone() {
    let hole = BlackHole::new();
    let (orb, echo) = client(&hole.url(), &["-ORBQueuedOctetsMax", "1024"]);
    let octets = vec![7; 1 << 20];
    let call =
        || echo.0.invoke_async(&OCTETS, &|e| e.write_octet_sequence(&octets), ReplySink::discard());
    call().unwrap();
    is(&call().unwrap_err(), Kind::Transient, CompletionStatus::No);
    orb.shutdown(true);
}

#[test]
fn calls_in_line_are_sent_in_their_order_and_the_cancelled_are_not() {
    let hole = BlackHole::new();
    let (orb, echo) = client(&hole.url(), &[]);
    let outcomes: Vec<_> = (0..20).map(|value| send(&echo, value)).collect();
    deferred(&echo, 99).cancel();
    let last = send(&echo, 20);
    // The places become free: what asked before asks again, and is let in.
    let BlackHole { listener, waiting } = hole;
    drop(waiting);
    let values = std::thread::spawn(move || {
        loop {
            let mut stream = accept(&listener);
            let mut values = Vec::new();
            while let Some(request) = message(&mut stream) {
                let value = *request.last_chunk().unwrap();
                values.push(i64::from_ne_bytes(value));
                let answer = script::reply(script::id_of(&request), 0, &42i64.to_be_bytes());
                stream.write_all(&answer).unwrap();
            }
            if !values.is_empty() {
                return values;
            }
        }
    });
    for outcome in outcomes.into_iter().chain([last]) {
        assert_eq!(outcome.recv_timeout(PATIENCE).unwrap().unwrap(), 42);
    }
    orb.shutdown(true);
    assert_eq!(values.join().unwrap(), (0..=20).collect::<Vec<i64>>());
}

/// A thousand calls of `echo` are answered, all of them.
fn a_thousand_are_answered(echo: &Echo) {
    let outcomes: Vec<_> = (0..MANY as i64).map(|value| send(echo, value)).collect();
    for (value, outcome) in (0..).zip(outcomes) {
        let doubled: i64 = outcome.recv_timeout(PATIENCE).unwrap().unwrap();
        assert_eq!(doubled, 2 * value);
    }
}

#[test]
fn a_forward_to_an_address_that_answers_nothing_holds_no_other_reply() {
    let (server, echo, _noted) = serve(&[]);
    let hole = BlackHole::new();
    server.bind_object_key("Hole", &server.string_to_object(&hole.url()).unwrap());
    let orb = loopback_orb(&[]);
    let echo = as_client(&orb, &echo);
    let address = server.listen_addresses()[0];
    let url = format!("corbaloc:iiop:1.2@{address}/Hole");
    let forwarded = Echo(orb.string_to_object(&url).unwrap());
    let forwarded = with_time(&forwarded, Duration::from_secs(8));
    let outcome = send(&forwarded, 21);
    // Whatever the loop does with the forward, it does it before this reply or after.
    a_thousand_are_answered(&echo);
    a_thousand_are_answered(&echo);
    assert!(outcome.try_recv().is_err(), "the replies waited for the connect");
    is(&end_of(&outcome), Kind::Timeout, CompletionStatus::No);
    orb.shutdown(true);
    server.shutdown(true);
}

#[test]
fn a_server_that_closes_in_order_and_answers_nothing_then_holds_no_other_reply() {
    let (server, echo, _noted) = serve(&[]);
    let (closed, is_closed) = mpsc::channel();
    let (url, script) = scripted(move |listener| {
        let mut stream = accept(listener);
        message(&mut stream).unwrap();
        // From now on it is an address that answers nothing.
        let hole = BlackHole::of(listener.try_clone().unwrap());
        stream.write_all(&message_header(MessageKind::CloseConnection, false, 0)).unwrap();
        drop(stream);
        closed.send(()).unwrap();
        hole
    });
    let (orb, closing) = client(&url, &[]);
    let echo = as_client(&orb, &echo);
    let outcome = send(&with_time(&closing, Duration::from_secs(8)), 21);
    is_closed.recv_timeout(PATIENCE).unwrap();
    a_thousand_are_answered(&echo);
    a_thousand_are_answered(&echo);
    assert!(outcome.try_recv().is_err(), "the replies waited for the connect");
    // The server said that it served nothing.
    is(&end_of(&outcome), Kind::Timeout, CompletionStatus::No);
    drop(script.join().unwrap());
    orb.shutdown(true);
    server.shutdown(true);
}

#[test]
fn a_synchronous_call_follows_what_stands_in_line_before_it() {
    let (url, server) = scripted(|listener| {
        let mut stream = accept(listener);
        // Answered earlier, the first would keep no call from a connection of its own.
        let both = [(); 2].map(|()| message(&mut stream).unwrap());
        for request in &both {
            stream.write_all(&reply(id_of(request), 0, &42i64.to_be_bytes())).unwrap();
        }
        answer_all(&mut stream)
    });
    let (orb, echo) = client(&url, &[]);
    let first = send(&echo, 1);
    assert_eq!(echo.double(2).unwrap(), 42);
    assert_eq!(first.recv_timeout(PATIENCE).unwrap().unwrap(), 42);
    orb.shutdown(true);
    assert_eq!(server.join().unwrap(), 0, "both over one connection, so one behind the other");
}
