//! Requests of one thread to one object keep their order, whatever they wait for and whatever other
//! threads do meanwhile: two-way, oneway in all scopes, asynchronous. Asynchronous ones overlap where
//! several threads serve, unless the policy of the POA or the servant says that they must not.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod echo;

use corbie::policy::{BufferingConstraint, Policy, SetOverrideType, SyncScope};
use corbie::{
    Interface, Operation, ReplySink, RequestOrder, Servant, ServerRequest, SystemException,
    TypedServant,
};
use echo::{Echo, as_client, loopback_orb};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(60);
const THREADS: u64 = 4;
const REQUESTS: u64 = 400;

const ONEWAY: Operation = Operation::oneway("note");
const TWOWAY: Operation = Operation::twoway("note");

/// What keeps the order of requests that overlap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum KeptBy {
    /// Nothing: as the strategy has it.
    Strategy,
    Policy,
    Servant,
}

/// Writes down what it is told.
struct Noting {
    noted: Arc<Mutex<Vec<u64>>>,
    kept_by: KeptBy,
}

impl Servant for Noting {
    fn _interfaces(&self) -> &'static [&'static str] {
        &["IDL:Test/Echo:1.0"]
    }

    fn _dispatch(&self, request: &mut ServerRequest<'_>) -> Result<(), SystemException> {
        let value = request.arguments().read_ulonglong()?;
        if self.kept_by != KeptBy::Strategy && value % 100 == 50 {
            // tidy: sleep: upcalls of more than 20 ms are what stand-ins are called for
            std::thread::sleep(Duration::from_millis(45));
        }
        self.noted.lock().unwrap().push(value);
        request.reply(&|_| Ok(()))
    }

    fn _keeps_order(&self) -> bool {
        self.kept_by == KeptBy::Servant
    }
}

impl TypedServant for Noting {
    type Reference = Echo;
}

/// How a request is sent.
#[derive(Clone, Copy, Debug)]
enum Kind {
    Twoway,
    Oneway(SyncScope),
    Batched,
    Asynchronous,
}

const KINDS: [Kind; 7] = [
    Kind::Twoway,
    Kind::Oneway(SyncScope::None),
    Kind::Oneway(SyncScope::WithTransport),
    Kind::Oneway(SyncScope::WithServer),
    Kind::Oneway(SyncScope::WithTarget),
    Kind::Batched,
    Kind::Asynchronous,
];

/// One reference as each kind of request uses it: one object for all of them.
struct Ways([Echo; KINDS.len()]);

impl Ways {
    fn new(echo: &Echo) -> Self {
        Ways(KINDS.map(|kind| {
            let constraint = BufferingConstraint { count: Some(7), ..Default::default() };
            let policies = match kind {
                Kind::Oneway(scope) => vec![Policy::SyncScope(scope)],
                Kind::Batched => vec![
                    Policy::SyncScope(SyncScope::None),
                    Policy::BufferingConstraint(constraint),
                ],
                Kind::Twoway | Kind::Asynchronous => Vec::new(),
            };
            echo.set_policy_overrides(&policies, SetOverrideType::Set).unwrap()
        }))
    }

    fn send(&self, kind: usize, value: u64, done: &mpsc::Sender<()>) {
        let object = self.0[kind].as_object();
        let arguments = move |e: &mut corbie::Encoder<'_>| {
            e.write_ulonglong(value);
            Ok(())
        };
        match KINDS[kind] {
            Kind::Twoway => drop(object.invoke(&TWOWAY, &arguments).unwrap()),
            Kind::Oneway(_) | Kind::Batched => object.invoke_oneway(&ONEWAY, &arguments).unwrap(),
            Kind::Asynchronous => {
                let done = done.clone();
                let sink = ReplySink::function(move |outcome| {
                    outcome.unwrap();
                    done.send(()).unwrap();
                });
                object.invoke_async(&TWOWAY, &arguments, sink).unwrap();
            }
        }
    }
}

/// Sends requests of kinds that follow each other in a way that repeats late.
fn send_all(thread: u64, ways: &Ways, kinds: usize) {
    let (done, is_done) = mpsc::channel();
    let (mut state, mut asynchronous) = (thread + 1, 0);
    for number in 0..REQUESTS {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        // Some in a row of one kind, since that is what batches are made of.
        let kind = (state >> 33) as usize % kinds;
        ways.send(kind, thread << 32 | number, &done);
        asynchronous += u32::from(matches!(KINDS[kind], Kind::Asynchronous));
    }
    for _ in 0..asynchronous {
        is_done.recv_timeout(PATIENCE).unwrap();
    }
    ways.send(0, thread << 32 | REQUESTS, &done);
}

/// How servers and clients may be set; where a reactive server needs a thread of the test.
const SERVERS: [&str; 5] = [
    "thread-per-connection",
    "thread-pool",
    "thread-per-request",
    "reactor-per-thread",
    "reactive",
];
const CLIENTS: [&[&str]; 3] =
    [&[], &["-ORBTransportMultiplexing", "muxed"], &["-ORBReplyWait", "reactor"]];

#[test]
fn requests_of_a_thread_to_an_object_keep_their_order() {
    for concurrency in SERVERS {
        for options in CLIENTS {
            check(concurrency, options, KeptBy::Strategy);
        }
    }
}

#[test]
fn requests_that_overlap_keep_their_order_where_the_poa_or_the_servant_wants_it() {
    for concurrency in SERVERS {
        for kept_by in [KeptBy::Policy, KeptBy::Servant] {
            check(concurrency, &[], kept_by);
        }
    }
}

fn check(concurrency: &str, options: &[&str], kept_by: KeptBy) {
    // Where several threads may serve one connection, its two-way requests overlap: a client that
    // wants the upcalls one after the other waits for the replies, or the server keeps the order.
    let overlaps =
        kept_by == KeptBy::Strategy && !["reactor-per-thread", "reactive"].contains(&concurrency);
    let kinds = if overlaps { KINDS.len() - 1 } else { KINDS.len() };
    let server = loopback_orb(&["-ORBServerConcurrency", concurrency]);
    let noted = Arc::new(Mutex::new(Vec::new()));
    let root = server.root_poa().unwrap();
    let order = match kept_by {
        KeptBy::Policy => RequestOrder::AsSent,
        KeptBy::Strategy | KeptBy::Servant => RequestOrder::OrbControl,
    };
    let manager = root.the_poa_manager();
    let poa = root.create_poa("noting", Some(&manager), &[order.into()]).unwrap();
    manager.activate().unwrap();
    let echo = poa.activate(Noting { noted: Arc::clone(&noted), kept_by }).unwrap();
    // Several threads may run a reactive server.
    let lent = if kept_by == KeptBy::Strategy { 1 } else { 2 };
    let lend = |_| {
        std::thread::spawn({
            let server = server.clone();
            move || server.run()
        })
    };
    let running: Vec<_> = (0..lent).map(lend).collect();
    let client = loopback_orb(options);
    let ways = Ways::new(&as_client(&client, &echo));
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let ways = &ways;
            scope.spawn(move || send_all(thread, ways, kinds));
        }
    });
    client.shutdown(true);
    server.shutdown(true);
    running.into_iter().for_each(|running| running.join().unwrap());
    let noted = noted.lock().unwrap();
    for thread in 0..THREADS {
        let of_thread = noted.iter().filter(|value| *value >> 32 == thread);
        let numbers: Vec<u64> = of_thread.map(|value| value & 0xffff_ffff).collect();
        let expected: Vec<u64> = (0..=REQUESTS).collect();
        let first = numbers.iter().zip(&expected).find(|(found, wanted)| found != wanted);
        assert_eq!(first, None, "{concurrency}, {kept_by:?}, thread {thread}: found, expected");
        assert_eq!(numbers.len(), expected.len(), "{concurrency}, {options:?}: all of them came");
    }
}
