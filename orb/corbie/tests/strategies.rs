//! One conformance suite for every combination of strategies: which thread serves requests, how a
//! call waits for its reply, whether connections are shared, and who runs the event loop. What an
//! application sees must be the same in all of them (paper AMI §3.1, paper POA §2.5).

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod echo;

use corbie::codegen::Marshal;
use corbie::{
    CompletionStatus, EventLoop, Operation, Orb, ReplySink, ResponseHandler, Servant,
    ServerConcurrency, ServerRequest, SystemException, SystemExceptionKind, TypedServant,
};
use echo::{Echo, EchoServant, STRATEGIES, WAITING, as_client, lend_a_thread, loopback_orb};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(60);
const DOUBLE: Operation = Operation::twoway("double");

/// What both sides are set to.
#[derive(Clone, Debug)]
struct Combination(Vec<&'static str>);

fn combinations() -> impl Iterator<Item = Combination> {
    let mut all = Vec::new();
    for concurrency in STRATEGIES {
        for wait in ["read", "reactor", "leader-followers"] {
            for multiplexing in ["exclusive", "muxed"] {
                for event_loop in ["background", "application"] {
                    all.push(Combination(vec![
                        "-ORBServerConcurrency",
                        concurrency,
                        "-ORBReplyWait",
                        wait,
                        "-ORBTransportMultiplexing",
                        multiplexing,
                        "-ORBEventLoop",
                        event_loop,
                        "-ORBRequestTimeout",
                        "60s",
                    ]));
                }
            }
        }
    }
    all.into_iter()
}

/// Keeps the requests for other threads to answer.
struct Deferring {
    requests: mpsc::Sender<(ResponseHandler, i64)>,
}

impl Servant for Deferring {
    fn _interfaces(&self) -> &'static [&'static str] {
        &["IDL:Test/Echo:1.0"]
    }

    fn _dispatch(&self, request: &mut ServerRequest<'_>) -> Result<(), SystemException> {
        let value = request.arguments().read_longlong()?;
        self.requests.send((request.defer(), value)).unwrap();
        Ok(())
    }
}

impl TypedServant for Deferring {
    type Reference = Echo;
}

/// A server and a client, both set to the same, and the objects of each.
struct Scene {
    server: Orb,
    client: Orb,
    /// The server's object as the client sees it.
    echo: Echo,
    /// The server's object that answers later.
    deferring: Echo,
    /// The client's object.
    ours: Echo,
    noted: mpsc::Receiver<i64>,
    how: Combination,
}

impl Scene {
    fn new(how: Combination) -> Self {
        let (server, client) = (loopback_orb(&how.0), loopback_orb(&how.0));
        lend_a_thread(&server);
        lend_a_thread(&client);
        let (servant, noted) = EchoServant::new();
        let poa = server.root_poa().unwrap();
        poa.the_poa_manager().activate().unwrap();
        let echo = as_client(&client, &poa.activate(servant).unwrap());
        let (requests, deferred) = mpsc::channel::<(ResponseHandler, i64)>();
        let deferring = as_client(&client, &poa.activate(Deferring { requests }).unwrap());
        std::thread::spawn(move || {
            for (response, value) in deferred {
                let result = value * 3;
                response.reply(&|e| i64::encode(&result, e)).unwrap();
            }
        });
        let poa = client.root_poa().unwrap();
        poa.the_poa_manager().activate().unwrap();
        let ours = poa.activate(EchoServant::new().0).unwrap();
        Scene { server, client, echo, deferring, ours, noted, how }
    }

    fn synchronous_calls(&self) {
        std::thread::scope(|scope| {
            for thread in 0..4i64 {
                let Scene { echo, deferring, how, .. } = self;
                scope.spawn(move || {
                    for call in 0..20 {
                        let value = thread * 100 + call;
                        assert_eq!(echo.double(value).unwrap(), value * 2, "{how:?}");
                        assert_eq!(deferring.double(value).unwrap(), value * 3, "{how:?}");
                    }
                });
            }
        });
        assert_eq!(self.echo.fail().unwrap(), "IDL:Test/Failed:1.0", "{:?}", self.how);
        let octets: Vec<u8> = (0..200_000u32).map(|i| i as u8).collect();
        assert!(self.echo.octets(&octets).unwrap() == octets, "{:?}", self.how);
    }

    fn asynchronous_calls(&self) {
        let outcomes = Arc::new(AtomicU32::new(0));
        for (object, factor) in [(&self.echo, 2), (&self.deferring, 3)] {
            for value in 0..100i64 {
                let outcomes = Arc::clone(&outcomes);
                let sink = ReplySink::function(move |reply| {
                    let result = reply.unwrap().results_only(i64::decode).unwrap();
                    assert_eq!(result, value * factor);
                    outcomes.fetch_add(1, Ordering::AcqRel);
                });
                object.0.invoke_async(&DOUBLE, &|e| i64::encode(&value, e), sink).unwrap();
            }
        }
        let all = || outcomes.load(Ordering::Acquire) == 200;
        assert!(self.client.work_until(&all, Some(PATIENCE)), "{:?}", self.how);
    }

    fn nested_calls(&self) {
        let depth = self.echo.bounce(&self.ours, &self.echo, 7).unwrap();
        assert_eq!(depth, 7, "{:?}", self.how);
        let Scene { echo, ours, how, .. } = self;
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(move || {
                    assert_eq!(echo.call_back(ours, 4).unwrap(), 8, "{how:?}");
                });
            }
        });
    }

    fn oneways(&self) {
        for value in 0..200 {
            self.echo.note(value).unwrap();
        }
        assert_eq!(self.echo.double(1).unwrap(), 2, "a call after them does not overtake them");
        let noted: Vec<i64> = self.noted.try_iter().collect();
        assert_eq!(noted, (0..200).collect::<Vec<_>>(), "{:?}", self.how);
    }

    fn shutdown_while_busy(self) {
        let Scene { server, client, echo, noted, how, .. } = self;
        let calling = std::thread::spawn(move || echo.wait(Duration::from_millis(20)));
        assert_eq!(noted.recv_timeout(PATIENCE).unwrap(), WAITING, "{how:?}");
        server.shutdown(true);
        assert_eq!(calling.join().unwrap().unwrap(), 20, "{how:?}: it was in the servant");
        client.shutdown(true);
    }
}

#[test]
fn every_combination_behaves_the_same() {
    for how in combinations() {
        let scene = Scene::new(how);
        scene.synchronous_calls();
        scene.asynchronous_calls();
        scene.nested_calls();
        scene.oneways();
        scene.shutdown_while_busy();
    }
}

/// The client has no thread but the one that calls.
#[test]
fn a_client_of_one_thread_is_called_back_inside_its_call() {
    for concurrency in STRATEGIES {
        for multiplexing in ["exclusive", "muxed"] {
            let options = ["-ORBServerConcurrency", concurrency, "-ORBRequestTimeout", "60s"];
            let server = loopback_orb(&options);
            lend_a_thread(&server);
            let poa = server.root_poa().unwrap();
            poa.the_poa_manager().activate().unwrap();
            let echo = poa.activate(EchoServant::new().0).unwrap();
            let client = loopback_orb(&[
                "-ORBServerConcurrency",
                "reactive",
                "-ORBTransportMultiplexing",
                multiplexing,
                "-ORBRequestTimeout",
                "60s",
            ]);
            let poa = client.root_poa().unwrap();
            poa.the_poa_manager().activate().unwrap();
            let ours = poa.activate(EchoServant::new().0).unwrap();
            let echo = as_client(&client, &echo);
            for depth in [0, 1, 5] {
                assert_eq!(echo.bounce(&ours, &echo, depth).unwrap(), depth, "{concurrency}");
            }
            server.shutdown(true);
            client.shutdown(true);
        }
    }
}

/// Requests wait when upcalls are nested too deep; nothing is lost, and the stack is not either.
#[test]
fn the_nesting_of_upcalls_is_bounded() {
    let one_loop = ["-ORBReactorThreads", "1"];
    for (concurrency, more) in [("reactive", &[][..]), ("reactor-per-thread", &one_loop)] {
        let options = ["-ORBServerConcurrency", concurrency, "-ORBNestedUpcallsMax", "4"];
        let options = [&options[..], more].concat();
        let (front, back) = (loopback_orb(&options), loopback_orb(&options));
        lend_a_thread(&front);
        lend_a_thread(&back);
        let (requests, deferred) = mpsc::channel::<(ResponseHandler, i64)>();
        let poa = back.root_poa().unwrap();
        poa.the_poa_manager().activate().unwrap();
        let slow = poa.activate(Deferring { requests }).unwrap();
        let poa = front.root_poa().unwrap();
        poa.the_poa_manager().activate().unwrap();
        let echo = poa.activate(EchoServant::new().0).unwrap();
        let client = loopback_orb(&[]);
        let (echo, slow) = (as_client(&client, &echo), as_client(&client, &slow));
        std::thread::scope(|scope| {
            let calls: Vec<_> = (0..12)
                .map(|value| {
                    let (echo, slow) = (&echo, &slow);
                    scope.spawn(move || echo.call_back(slow, value))
                })
                .collect();
            // Four are nested; the others wait until these are answered.
            let mut kept: Vec<_> =
                (0..4).map(|_| deferred.recv_timeout(PATIENCE).unwrap()).collect();
            assert!(deferred.try_recv().is_err(), "{concurrency}: no fifth");
            for _ in 0..12 {
                let (response, value) =
                    kept.pop().unwrap_or_else(|| deferred.recv_timeout(PATIENCE).unwrap());
                let result = value + 1;
                response.reply(&|e| i64::encode(&result, e)).unwrap();
            }
            for (value, call) in calls.into_iter().enumerate() {
                assert_eq!(call.join().unwrap().unwrap(), value as i64 + 1, "{concurrency}");
            }
        });
        for orb in [front, back, client] {
            orb.shutdown(true);
        }
    }
}

#[test]
fn a_reactive_server_does_its_work_unit_by_unit() {
    let server = loopback_orb(&["-ORBServerConcurrency", "reactive"]);
    assert_eq!(server.settings().event_loop, EventLoop::Application, "is implied");
    let poa = server.root_poa().unwrap();
    poa.the_poa_manager().activate().unwrap();
    let echo = poa.activate(EchoServant::new().0).unwrap();
    let client = loopback_orb(&[]);
    let object = client.string_to_object(&echo.0.to_string()).unwrap();
    let echo = Echo(object);
    let calling = std::thread::spawn(move || echo.double(4));
    while !calling.is_finished() {
        if server.work_pending() {
            server.perform_work();
        }
        std::thread::yield_now();
    }
    assert_eq!(calling.join().unwrap().unwrap(), 8);
    assert!(!server.perform_work() || !server.perform_work(), "does not wait for more");
    server.shutdown(true);
    server.run(); // Returns at once.
    client.shutdown(true);
}

#[test]
fn combinations_that_cannot_work_are_refused_with_a_sentence() {
    let refused = [
        &["-ORBServerConcurrency", "reactive", "-ORBServerWaitStrategy", "spin"],
        &["-ORBPendingResponsesMax", "9", "-ORBPendingResponsesTotalMax", "8"],
    ];
    for options in refused {
        let exception = Orb::init(options.iter().copied()).unwrap_err();
        assert_eq!(exception.kind, SystemExceptionKind::BadParam);
        assert_eq!(exception.completed, CompletionStatus::No);
        let sentence = exception.detail.unwrap_or_default();
        for name in [options[0], options[2]] {
            assert!(sentence.contains(name), "{sentence:?} does not name {name}");
        }
    }
    let works = ["-ORBServerConcurrency", "reactive", "-ORBEventLoop", "background"];
    let orb = Orb::init(works).unwrap();
    assert_eq!(orb.settings().server_concurrency, ServerConcurrency::Reactive);
}
