//! Asynchronous method handling by `ServerRequest::defer`: the answer leaves the upcall and is
//! given when it suits, from any thread, once; nobody waits in vain (paper AMH §2, §3).

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod echo;

use corbie::{
    CompletionStatus, Marshal, Orb, ResponseHandler, Servant, ServerRequest, SystemException,
    SystemExceptionKind, TypedServant,
};
use echo::{Echo, as_client, loopback_orb};
use std::sync::mpsc;
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(20);

/// One request on its way to whoever answers it.
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
    let (requests, deferred) = mpsc::channel();
    let echo = orb.root_poa().unwrap().activate(Deferring { requests }).unwrap();
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
    let exception = SystemException::no_resources(7, CompletionStatus::No);
    request.response.raise(&exception).unwrap();
    let raised = calling.join().unwrap().unwrap_err();
    assert_eq!((raised.kind, raised.minor), (SystemExceptionKind::NoResources, 7));
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
    assert_eq!(raised.kind, SystemExceptionKind::NoResponse);
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
