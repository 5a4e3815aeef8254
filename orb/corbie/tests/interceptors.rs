//! Interceptors of a server see each request from its receipt to its answer, whichever thread
//! gives that and when: in the upcall, later on another thread, or never.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod echo;

use corbie::interceptor::{AnsweredRequest, Outcome, RequestState, ServerInterceptor};
use corbie::policy::{Policy, SetOverrideType, SyncScope};
use corbie::{
    CompletionStatus, Interface, Minor, Operation, Orb, ResponseHandler, Servant, ServerRequest,
    SystemException, SystemExceptionKind, TypedServant, minor,
};
use echo::{Echo, as_client, loopback_orb};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(60);

/// Answers `double` at once, and hands the answers of all other operations out.
struct Deferring(Mutex<mpsc::Sender<ResponseHandler>>);

impl Servant for Deferring {
    fn _interfaces(&self) -> &'static [&'static str] {
        &["IDL:Test/Echo:1.0"]
    }

    fn _dispatch(&self, request: &mut ServerRequest<'_>) -> Result<(), SystemException> {
        match request.operation() {
            "double" => {
                let value = request.arguments().read_longlong()?;
                request.reply(&|e| {
                    e.write_longlong(value * 2);
                    Ok(())
                })
            }
            "fail" => request.reply_exception("IDL:Test/Failed:1.0", &|_| Ok(())),
            "silence" => Ok(()),
            "unknown" => Err(request.unknown_operation()),
            _ => {
                self.0.lock().unwrap().send(request.defer()).unwrap();
                Ok(())
            }
        }
    }
}

impl TypedServant for Deferring {
    type Reference = Echo;
}

/// Writes down what it sees, under its name; refuses the operation `forbidden`.
struct Witness {
    name: char,
    refuses: bool,
    seen: mpsc::Sender<String>,
}

impl ServerInterceptor for Witness {
    fn receive_request(
        &self,
        request: &ServerRequest<'_>,
    ) -> Result<RequestState, SystemException> {
        let operation = request.operation();
        self.seen.send(format!("{} receives {operation}", self.name)).unwrap();
        match operation {
            "forbidden" if self.refuses => {
                Err(SystemException::no_permission(Minor::of::<7>(), CompletionStatus::No))
            }
            "panics" if self.refuses => panic!("as asked"),
            _ => Ok(Some(Box::new(format!("{}'s {operation}", self.name)))),
        }
    }

    fn request_done(&self, request: &AnsweredRequest<'_>, state: RequestState) {
        let state = state.unwrap().downcast::<String>().unwrap();
        let outcome = match request.outcome {
            Outcome::Results => "results".to_owned(),
            Outcome::UserException(id) => id.to_owned(),
            Outcome::SystemException(exception) => exception.kind.name().to_owned(),
            Outcome::Forward => "forward".to_owned(),
            _ => "no reply".to_owned(),
        };
        let process = request.peer.process().map(|peer| peer.process);
        let is_near = request.peer.ip().is_some_and(|ip| ip.is_loopback());
        assert!(is_near || process == Some(std::process::id()));
        self.seen.send(format!("{state}: {outcome}")).unwrap();
    }
}

struct Watched {
    server: Orb,
    client: Orb,
    echo: Echo,
    deferred: mpsc::Receiver<ResponseHandler>,
    seen: mpsc::Receiver<String>,
}

fn watched(more: &[&str]) -> Watched {
    let server = loopback_orb(more);
    let (sees, seen) = mpsc::channel();
    let witness = |name, refuses| -> Arc<dyn ServerInterceptor> {
        Arc::new(Witness { name, refuses, seen: sees.clone() })
    };
    server.set_server_interceptors(vec![witness('a', false), witness('b', true)]).unwrap();
    let (defers, deferred) = mpsc::channel();
    let servant = Deferring(Mutex::new(defers));
    let poa = server.root_poa().unwrap();
    poa.the_poa_manager().activate().unwrap();
    let echo = poa.activate(servant).unwrap();
    let client = loopback_orb(&[]);
    let echo = Echo(client.string_to_object(&echo.0.to_string()).unwrap());
    Watched { server, client, echo, deferred, seen }
}

impl Watched {
    fn call(&self, name: &'static str) -> Result<(), SystemException> {
        self.echo.0.invoke(&Operation::twoway(name), &|_| Ok(())).map(drop)
    }

    #[track_caller]
    fn saw(&self, expected: &[&str]) {
        for line in expected {
            assert_eq!(self.seen.recv_timeout(PATIENCE).as_deref(), Ok(*line));
        }
    }

    /// Both ways past both, in this order.
    #[track_caller]
    fn saw_both(&self, operation: &str, outcome: &str) {
        self.saw_received(operation);
        self.saw_done(operation, outcome);
    }

    #[track_caller]
    fn saw_received(&self, operation: &str) {
        self.saw(&[&format!("a receives {operation}"), &format!("b receives {operation}")]);
    }

    #[track_caller]
    fn saw_done(&self, operation: &str, outcome: &str) {
        let line = |name| format!("{name}'s {operation}: {outcome}");
        self.saw(&[&line('b'), &line('a')]);
    }

    fn end(self) {
        self.client.shutdown(true);
        self.server.shutdown(true);
        assert!(self.seen.try_recv().is_err(), "nothing was seen twice");
    }
}

#[test]
fn answers_of_every_kind_are_seen_once() {
    for concurrency in ["thread-per-connection", "thread-pool"] {
        let watched = watched(&["-ORBServerConcurrency", concurrency]);
        assert_eq!(watched.echo.double(2).unwrap(), 4);
        watched.saw_both("double", "results");
        assert_eq!(watched.echo.fail().unwrap(), "IDL:Test/Failed:1.0");
        watched.saw_both("fail", "IDL:Test/Failed:1.0");
        watched.call("unknown").unwrap_err();
        watched.saw_both("unknown", "BAD_OPERATION");
        watched.call("silence").unwrap_err();
        watched.saw_both("silence", "NO_RESPONSE");
        watched.end();
    }
}

#[test]
fn a_oneway_ends_with_its_upcall() {
    let watched = watched(&[]);
    for scope in [SyncScope::WithTransport, SyncScope::WithServer] {
        let policy = Policy::SyncScope(scope);
        let echo = watched.echo.set_policy_overrides(&[policy], SetOverrideType::Add).unwrap();
        for name in ["silence", "fail"] {
            echo.0.invoke_oneway(&Operation::oneway(name), &|_| Ok(())).unwrap();
            watched.saw_both(name, "no reply");
        }
    }
    watched.end();
}

#[test]
fn a_request_is_seen_through_although_its_upcall_is_over() {
    let watched = watched(&[]);
    let echo = watched.echo.clone();
    std::thread::scope(|scope| {
        let call = scope.spawn(|| echo.wait(PATIENCE));
        watched.saw_received("wait");
        let answer = watched.deferred.recv_timeout(PATIENCE).unwrap();
        // The thread of the upcall serves on, with the request unanswered.
        assert_eq!(as_client(&loopback_orb(&[]), &watched.echo).double(1).unwrap(), 2);
        watched.saw_both("double", "results");
        assert!(watched.seen.try_recv().is_err() && !call.is_finished());
        let answering = scope.spawn(move || {
            answer.reply(&|e| {
                e.write_longlong(5);
                Ok(())
            })
        });
        answering.join().unwrap().unwrap();
        assert_eq!(call.join().unwrap().unwrap(), 5);
        watched.saw_done("wait", "results");
    });
    for (answer, outcome) in [
        (drop as fn(ResponseHandler), "NO_RESPONSE"),
        (|answer| answer.reply_exception("IDL:Odd:1.0", &|_| Ok(())).unwrap(), "IDL:Odd:1.0"),
        (
            |answer| {
                let exception =
                    SystemException::no_resources(Minor::of::<1>(), CompletionStatus::No);
                answer.raise(&exception).unwrap();
            },
            "NO_RESOURCES",
        ),
    ] {
        std::thread::scope(|scope| {
            let call = scope.spawn(|| echo.wait(PATIENCE));
            watched.saw_received("wait");
            answer(watched.deferred.recv_timeout(PATIENCE).unwrap());
            watched.saw_done("wait", outcome);
            let _ = call.join().unwrap();
        });
    }
    drop(echo);
    watched.end();
}

#[test]
fn a_client_that_is_gone_gets_no_reply() {
    let watched = watched(&[]);
    let client = loopback_orb(&[]);
    let policy = Policy::RelativeRoundtripTimeout(Duration::from_millis(50));
    let echo = Echo(client.string_to_object(&watched.echo.0.to_string()).unwrap());
    let impatient = echo.set_policy_overrides(&[policy], SetOverrideType::Add).unwrap();
    impatient.wait(PATIENCE).unwrap_err();
    watched.saw_received("wait");
    let answer = watched.deferred.recv_timeout(PATIENCE).unwrap();
    client.shutdown(true);
    let begun = std::time::Instant::now();
    while !answer.is_client_gone() {
        assert!(begun.elapsed() < PATIENCE, "the server notices that the connection is closed");
        std::thread::yield_now();
    }
    answer.reply(&|_| Ok(())).unwrap_err();
    watched.saw_done("wait", "no reply");
    watched.end();
}

#[test]
fn an_interceptor_may_refuse_a_request() {
    let watched = watched(&[]);
    let exception = watched.call("forbidden").unwrap_err();
    let found = (exception.kind, exception.minor, exception.completed);
    assert_eq!(found, (SystemExceptionKind::NoPermission, Minor::of::<7>(), CompletionStatus::No));
    watched.saw(&["a receives forbidden", "b receives forbidden"]);
    watched.saw(&["a's forbidden: NO_PERMISSION"]);
    let exception = watched.call("panics").unwrap_err();
    let found = (exception.minor, exception.completed);
    assert_eq!(found, (minor::UNKNOWN_INTERCEPTOR_PANIC, CompletionStatus::No));
    watched.saw(&["a receives panics", "b receives panics", "a's panics: UNKNOWN"]);
    assert!(watched.deferred.try_recv().is_err(), "no upcall was made");
    assert_eq!(watched.echo.double(1).unwrap(), 2, "the server goes on");
    watched.saw_both("double", "results");
    watched.end();
}

#[test]
fn interceptors_are_registered_once_and_early() {
    let server = loopback_orb(&[]);
    server.set_server_interceptors(Vec::new()).unwrap();
    let exception = server.set_server_interceptors(Vec::new()).unwrap_err();
    let code = minor::BAD_INV_ORDER_INTERCEPTOR_CALL;
    assert_eq!((exception.kind, exception.minor), (SystemExceptionKind::BadInvOrder, code));
    let (server, _echo, _noted) = echo::serve(&[]);
    let exception = server.set_server_interceptors(Vec::new()).unwrap_err();
    assert!(exception.to_string().contains("POA"), "{exception}");
    server.shutdown(true);
}
