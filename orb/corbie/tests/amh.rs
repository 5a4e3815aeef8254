//! Asynchronous method handling by `ServerRequest::defer`: the answer leaves the upcall and is
//! given when it suits, from any thread, once; no client waits in vain (paper AMH §2, §3).

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod echo;

use corbie::{
    CompletionStatus, Marshal, Minor, Orb, ResponseHandler, Servant, ServerRequest,
    SystemException, SystemExceptionKind, TypedServant, minor,
};
use corbie_testkit::{RawPeer, RawRequest, object_key_in};
use echo::{Echo, STRATEGIES, as_client, lend_a_thread, loopback_orb};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(60);

/// One request on its way to the thread that answers it.
struct Deferred {
    response: ResponseHandler,
    value: i64,
}

/// Defers everything: what it is asked goes to the test.
struct Deferring {
    requests: mpsc::Sender<Deferred>,
}

impl Servant for Deferring {
    fn _interfaces(&self) -> &'static [&'static str] {
        &["IDL:Test/Echo:1.0"]
    }

    fn _dispatch(&self, request: &mut ServerRequest<'_>) -> Result<(), SystemException> {
        let value = match request.operation() {
            "double" | "note" => request.arguments().read_longlong()?,
            _ => 0,
        };
        let response = request.defer();
        self.requests.send(Deferred { response, value }).unwrap();
        Ok(())
    }
}

impl TypedServant for Deferring {
    type Reference = Echo;
}

fn serve_deferred(options: &[&str]) -> (Orb, Echo, mpsc::Receiver<Deferred>) {
    let orb = loopback_orb(options);
    lend_a_thread(&orb);
    let (requests, deferred) = mpsc::channel();
    let poa = orb.root_poa().unwrap();
    poa.the_poa_manager().activate().unwrap();
    let echo = poa.activate(Deferring { requests }).unwrap();
    (orb, echo, deferred)
}

fn double(deferred: Deferred) -> Result<(), SystemException> {
    let result = deferred.value * 2;
    deferred.response.reply(&|e| i64::encode(&result, e))
}

#[test]
fn the_answer_is_given_after_the_upcall_by_another_thread() {
    let (server, echo, deferred) = serve_deferred(&[]);
    let client = loopback_orb(&[]);
    let echo = as_client(&client, &echo);
    let calling = std::thread::spawn(move || echo.double(21));
    let request = deferred.recv_timeout(PATIENCE).unwrap();
    assert_eq!(request.response.operation(), "double");
    assert!(!request.response.is_client_gone());
    double(request).unwrap();
    assert_eq!(calling.join().unwrap().unwrap(), 42);
    server.shutdown(true);
    client.shutdown(true);
}

#[test]
fn exceptions_are_answers_too() {
    let (server, echo, deferred) = serve_deferred(&[]);
    let client = loopback_orb(&[]);
    let echo = as_client(&client, &echo);
    let theirs = echo.clone();
    let calling = std::thread::spawn(move || theirs.fail());
    let request = deferred.recv_timeout(PATIENCE).unwrap();
    request.response.reply_exception("IDL:Test/Failed:1.0", &|_| Ok(())).unwrap();
    assert_eq!(calling.join().unwrap().unwrap(), "IDL:Test/Failed:1.0");
    let calling = std::thread::spawn(move || echo.double(1));
    let request = deferred.recv_timeout(PATIENCE).unwrap();
    let exception = SystemException::no_resources(Minor::of::<7>(), CompletionStatus::No);
    request.response.raise(&exception).unwrap();
    let raised = calling.join().unwrap().unwrap_err();
    assert_eq!((raised.kind, raised.minor), (SystemExceptionKind::NoResources, Minor::of::<7>()));
    server.shutdown(true);
    client.shutdown(true);
}

#[test]
fn a_response_dropped_unanswered_raises_no_response() {
    let (server, echo, deferred) = serve_deferred(&[]);
    let client = loopback_orb(&[]);
    let echo = as_client(&client, &echo);
    let calling = std::thread::spawn(move || echo.double(1));
    drop(deferred.recv_timeout(PATIENCE).unwrap());
    let raised = calling.join().unwrap().unwrap_err();
    assert_eq!(raised.minor, minor::NO_RESPONSE_UNANSWERED);
    assert_eq!(raised.completed, CompletionStatus::Maybe);
    server.shutdown(true);
    client.shutdown(true);
}

#[test]
fn a_shutdown_waits_for_what_is_deferred() {
    let (server, echo, deferred) = serve_deferred(&[]);
    let client = loopback_orb(&[]);
    let echo = as_client(&client, &echo);
    let calling = std::thread::spawn(move || echo.double(4));
    let request = deferred.recv_timeout(PATIENCE).unwrap();
    let stopping = std::thread::spawn({
        let server = server.clone();
        move || server.shutdown(true)
    });
    double(request).unwrap();
    assert_eq!(calling.join().unwrap().unwrap(), 8);
    stopping.join().unwrap();
    client.shutdown(true);
}

/// A peer that sends `double` of 0, 1, 2 … without waiting, and reads replies when asked.
struct Pipelining {
    peer: RawPeer,
    object_key: Vec<u8>,
}

impl Pipelining {
    fn new(server: &Orb, echo: &Echo) -> Self {
        let peer = RawPeer::connect_to(&server.listen_endpoints()[0]).unwrap();
        Pipelining { peer, object_key: object_key_in(&echo.0.to_string()) }
    }

    fn send(&mut self, ids: std::ops::Range<u32>) {
        let requests: Vec<u8> = ids
            .flat_map(|id| {
                let arguments = &i64::from(id).to_be_bytes()[..];
                let (object_key, operation) = (&self.object_key[..], "double");
                RawRequest { object_key, operation, request_id: id, arguments }.octets()
            })
            .collect();
        self.peer.send(&requests).unwrap();
    }

    /// The ids and results of the next replies.
    fn replies(&mut self, count: usize) -> Vec<(u32, i64)> {
        let reply = |_| {
            let message = self.peer.receive_message(PATIENCE).unwrap();
            let number = |at: usize| u32::from_ne_bytes(message[at..at + 4].try_into().unwrap());
            let result = i64::from_ne_bytes(message[24..32].try_into().unwrap());
            (number(12), result)
        };
        (0..count).map(reply).collect()
    }
}

#[test]
fn too_many_deferred_requests_wait_in_the_socket_and_none_is_refused() {
    for concurrency in STRATEGIES {
        let limits = ["-ORBPendingResponsesMax", "8", "-ORBServerConcurrency", concurrency];
        let (server, echo, deferred) = serve_deferred(&limits);
        let mut client = Pipelining::new(&server, &echo);
        client.send(0..100);
        let mut due: Vec<_> = (0..8).map(|_| deferred.recv_timeout(PATIENCE).unwrap()).collect();
        // Of others that were in service already when the limit was reached there may be a few.
        let more = deferred.recv_timeout(Duration::from_millis(50)).into_iter();
        due.extend(more.chain(deferred.try_iter()));
        assert!(due.len() < 80, "{concurrency}: {} were read", due.len());
        let mut answered = 0;
        while answered < 100 {
            due.drain(..).for_each(|request| {
                double(request).unwrap();
                answered += 1;
            });
            if answered < 100 {
                due.push(deferred.recv_timeout(PATIENCE).unwrap());
                due.extend(deferred.try_iter());
            }
        }
        let mut replies = client.replies(100);
        replies.sort_unstable();
        let all: Vec<_> = (0..100).map(|id| (id, i64::from(id) * 2)).collect();
        assert_eq!(replies, all, "{concurrency}");
        server.shutdown(true);
    }
}

#[test]
fn the_limit_of_all_connections_pauses_all_that_defer() {
    for concurrency in STRATEGIES {
        let limits = [
            "-ORBPendingResponsesMax",
            "10",
            "-ORBPendingResponsesTotalMax",
            "10",
            "-ORBServerConcurrency",
            concurrency,
        ];
        let (server, echo, deferred) = serve_deferred(&limits);
        let mut clients: Vec<_> = (0..4).map(|_| Pipelining::new(&server, &echo)).collect();
        for client in &mut clients {
            client.send(0..50);
        }
        for _ in 0..200 {
            double(deferred.recv_timeout(PATIENCE).unwrap()).unwrap();
        }
        for client in &mut clients {
            assert_eq!(client.replies(50).len(), 50, "{concurrency}");
        }
        server.shutdown(true);
    }
}

#[test]
fn a_response_says_that_its_client_is_gone() {
    for concurrency in STRATEGIES {
        let (server, echo, deferred) = serve_deferred(&["-ORBServerConcurrency", concurrency]);
        let mut client = Pipelining::new(&server, &echo);
        client.send(0..1);
        let request = deferred.recv_timeout(PATIENCE).unwrap();
        assert!(!request.response.is_client_gone());
        drop(client);
        let begun = std::time::Instant::now();
        while !request.response.is_client_gone() {
            assert!(begun.elapsed() < PATIENCE, "{concurrency}");
            std::thread::yield_now();
        }
        let raised = double(request).unwrap_err();
        assert_eq!(raised.kind, SystemExceptionKind::CommFailure, "{concurrency}");
        assert_eq!(raised.completed, CompletionStatus::Yes);
        server.shutdown(true);
    }
}

/// Answers of 100,000 octets, by one thread, to a client that reads nothing: it never waits, is told
/// when there is no room for more, and learns of each answer once whether it went out. Another
/// client has its answer meanwhile.
#[test]
fn a_client_that_does_not_read_holds_up_nobody() {
    for concurrency in STRATEGIES {
        let options = ["-ORBServerConcurrency", concurrency, "-ORBMessageTimeout", "10min"];
        let (server, echo, deferred) = serve_deferred(&options);
        let mut hanging = Pipelining::new(&server, &echo);
        hanging.send(0..400);
        let mut due: Vec<_> = (0..400).map(|_| deferred.recv_timeout(PATIENCE).unwrap()).collect();
        let (say, outcomes) = mpsc::channel();
        let large = vec![0; 100_000];
        let mut answered = 0;
        let refused = loop {
            let response = due.pop().expect("there is no room for all").response;
            let say = say.clone();
            let then = move |sent: Result<(), SystemException>| say.send(sent.is_ok()).unwrap();
            let write = |e: &mut corbie::Encoder<'_>| {
                e.write_octets(&large);
                Ok(())
            };
            match response.reply_if_room(&write, then) {
                Ok(()) => answered += 1,
                Err(response) => break response,
            }
        };
        assert!(refused.is_client_behind() && !refused.is_client_gone(), "{concurrency}");
        // What is small has room, so that no thread waits in order to say no.
        refused
            .raise(&SystemException::no_resources(corbie::Minor::of::<7>(), CompletionStatus::No))
            .unwrap();
        let client = loopback_orb(&[]);
        let echo = as_client(&client, &echo);
        let calling = std::thread::spawn(move || echo.double(21));
        double(deferred.recv_timeout(PATIENCE).unwrap()).unwrap();
        assert_eq!(calling.join().unwrap().unwrap(), 42, "{concurrency}");
        let already: Vec<bool> = outcomes.try_iter().collect();
        assert!(already.iter().all(|sent| *sent), "{concurrency}: the client is still there");
        assert!(already.len() < answered, "{concurrency}: some wait");
        drop((hanging, say, due));
        let later: Vec<bool> =
            std::iter::from_fn(|| outcomes.recv_timeout(PATIENCE).ok()).collect();
        assert_eq!(already.len() + later.len(), answered, "{concurrency}");
        assert!(later.contains(&false), "{concurrency}: what waited is lost");
        server.shutdown(true);
        client.shutdown(true);
    }
}

/// What waits when the server ends reaches a client that reads, and the last word after it.
#[test]
fn a_shutdown_sends_what_waits_to_a_client_that_reads() {
    const REPLY: u8 = 1;
    const CLOSE_CONNECTION: u8 = 5;
    for concurrency in STRATEGIES {
        let (server, echo, deferred) = serve_deferred(&["-ORBServerConcurrency", concurrency]);
        let mut client = Pipelining::new(&server, &echo);
        let sent = Arc::new(AtomicU32::new(0));
        let answer = |request: Deferred| {
            let sent = Arc::clone(&sent);
            let then = move |outcome: Result<(), SystemException>| {
                outcome.unwrap();
                sent.fetch_add(1, Ordering::SeqCst);
            };
            let write = |e: &mut corbie::Encoder<'_>| {
                e.write_octets(&[0; 100_000]);
                Ok(())
            };
            assert!(request.response.reply_if_room(&write, then).is_ok(), "{concurrency}");
        };
        client.send(0..150);
        let due: Vec<_> = (0..150).map(|_| deferred.recv_timeout(PATIENCE).unwrap()).collect();
        due.into_iter().for_each(answer);
        assert!(sent.load(Ordering::SeqCst) < 150, "{concurrency}: some wait");
        let stopping = std::thread::spawn({
            let server = server.clone();
            move || server.shutdown(false)
        });
        for reply in 0..150 {
            let message = client.peer.receive_message(PATIENCE).unwrap();
            assert_eq!(
                (message[7], message.len() > 100_000),
                (REPLY, true),
                "{concurrency} {reply}"
            );
        }
        let message = client.peer.receive_message(PATIENCE).unwrap();
        assert_eq!(message[7], CLOSE_CONNECTION, "{concurrency}");
        stopping.join().unwrap();
        assert_eq!(sent.load(Ordering::SeqCst), 150, "{concurrency}");
    }
}

#[test]
fn a_second_answer_is_bad_inv_order() {
    struct Twice;
    impl Servant for Twice {
        fn _interfaces(&self) -> &'static [&'static str] {
            &["IDL:Test/Echo:1.0"]
        }

        fn _dispatch(&self, request: &mut ServerRequest<'_>) -> Result<(), SystemException> {
            let first = request.defer();
            assert!(request.reply(&|_| Ok(())).is_err(), "the handler has the answer");
            let second = request.defer().reply(&|e| i64::encode(&1, e)).unwrap_err();
            let minor = i64::from(second.minor == minor::BAD_INV_ORDER_ANSWERED);
            first.reply(&|e| i64::encode(&minor, e))
        }
    }
    impl TypedServant for Twice {
        type Reference = Echo;
    }
    let server = loopback_orb(&[]);
    let poa = server.root_poa().unwrap();
    poa.the_poa_manager().activate().unwrap();
    let echo = poa.activate(Twice).unwrap();
    assert_eq!(echo.double(0).unwrap(), 1, "answered once, within the upcall");
    server.shutdown(true);
}

#[test]
fn results_that_cannot_be_written_reach_both_sides_as_marshal() {
    let (server, echo, deferred) = serve_deferred(&[]);
    let client = loopback_orb(&[]);
    let echo = as_client(&client, &echo);
    let calling = std::thread::spawn(move || echo.double(1));
    let request = deferred.recv_timeout(PATIENCE).unwrap();
    let ours = request.response.reply(&|e| e.write_string("a\0b")).unwrap_err();
    let theirs = calling.join().unwrap().unwrap_err();
    assert_eq!((ours.kind, ours.completed), (theirs.kind, theirs.completed));
    assert_eq!(ours.completed, CompletionStatus::Yes);
    server.shutdown(true);
    client.shutdown(true);
}

#[test]
fn replies_to_many_requests_at_once_leave_together_and_whole() {
    for concurrency in STRATEGIES {
        let options = ["-ORBServerConcurrency", concurrency];
        let server = loopback_orb(&options);
        lend_a_thread(&server);
        let poa = server.root_poa().unwrap();
        poa.the_poa_manager().activate().unwrap();
        let echo = poa.activate(echo::EchoServant::new().0).unwrap();
        let mut client = Pipelining::new(&server, &echo);
        let mut replies = Vec::new();
        // No more at once than the buffers of the transport hold, as no thread reads meanwhile: those
        // of TCP hold all, those of unix-domain sockets and shared memory do not.
        let at_once = if server.listen_addresses().is_empty() { 1_000 } else { 10_000 };
        for first in (0..10_000).step_by(500) {
            client.send(first..first + 500);
            if (first + 500) % at_once == 0 {
                replies.extend(client.replies(at_once as usize));
            }
        }
        replies.sort_unstable();
        assert!(replies.iter().zip(0..).all(|(reply, id)| *reply == (id, i64::from(id) * 2)));
        server.shutdown(true);
    }
}
