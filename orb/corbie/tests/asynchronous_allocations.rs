//! Steady state of asynchronous calls with a reply handler allocates nothing per call, on either
//! side; and an unbounded loop of them is bounded by back-pressure.
//!
//! Tests in a file of their own, run one after the other: they count for the whole process.

#![allow(clippy::unwrap_used)] // also in the functions that the tests use

mod echo;

use corbie::codegen::Marshal;
use corbie::{
    Interface, Object, Operation, Reply, ReplySink, ReplyStub, Servant, ServerRequest,
    SystemException, TypedServant,
};
use corbie_testkit::CountingAllocator;
use echo::{Echo, as_client, loopback_orb, serve};
use std::sync::Mutex;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Instant;

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

/// The tests count for the whole process.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
static REPLIES: AtomicI64 = AtomicI64::new(0);
static SUM: AtomicI64 = AtomicI64::new(0);

const DOUBLE: Operation = Operation::twoway("double");

static STUB: ReplyStub = ReplyStub {
    operation: Operation::twoway("double"),
    excep_operation: Operation::twoway("double_excep"),
    forward: |_: &mut Reply, _: Option<&Object>| panic!("the handler is in this process"),
    exceptions: &[],
};

struct Handler;

impl Servant for Handler {
    fn _interfaces(&self) -> &'static [&'static str] {
        &["IDL:Test/AMI_EchoHandler:1.0"]
    }

    fn _dispatch(&self, request: &mut ServerRequest<'_>) -> Result<(), SystemException> {
        assert_eq!(request.operation(), "double");
        let value = request.arguments().read_longlong()?;
        SUM.fetch_add(value, Ordering::Relaxed);
        REPLIES.fetch_add(1, Ordering::Release);
        request.reply(&|_| Ok(()))
    }
}

impl TypedServant for Handler {
    type Reference = EchoHandler;
}

#[derive(Clone, Debug)]
struct EchoHandler(Object);

impl Interface for EchoHandler {
    const REPOSITORY_ID: &'static str = "IDL:Test/AMI_EchoHandler:1.0";
    const BASES: &'static [&'static str] = &[];
    fn from_object(object: Object) -> Self {
        EchoHandler(object)
    }
    fn as_object(&self) -> &Object {
        &self.0
    }
    fn into_object(self) -> Object {
        self.0
    }
}

/// Sends `calls` calls and waits for their replies.
fn call(echo: &Echo, handler: &EchoHandler, calls: i64) {
    let before = REPLIES.load(Ordering::Acquire);
    for value in 0..calls {
        let sink = ReplySink::handler(&handler.0, &STUB);
        echo.0.invoke_async(&DOUBLE, &|e| i64::encode(&value, e), sink).unwrap();
    }
    while REPLIES.load(Ordering::Acquire) < before + calls {
        std::thread::yield_now();
    }
}

fn with_handler(test: impl FnOnce(&Echo, &EchoHandler)) {
    with_handler_in(&[], test);
}

fn with_handler_in(options: &[&str], test: impl FnOnce(&Echo, &EchoHandler)) {
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let (server, echo, _noted) = serve(&[]);
    let client = loopback_orb(options);
    let poa = client.root_poa().unwrap();
    poa.the_poa_manager().activate().unwrap();
    let handler = poa.activate(Handler).unwrap();
    test(&as_client(&client, &echo), &handler);
    client.shutdown(true);
    server.shutdown(true);
}

#[test]
fn steady_state_of_callbacks_allocates_nothing() {
    with_handler(|echo, handler| {
        const CALLS: i64 = 2_000;
        let round = || {
            let before = CountingAllocator::of_all_threads();
            call(echo, handler, CALLS);
            CountingAllocator::of_all_threads().since(before).allocations
        };
        // Where more requests are under way at once than ever before, each has a slot and a buffer
        // made; what is allocated for every call shows in every round.
        let least = (0..20).map(|_| round()).min().unwrap();
        assert!(least < 20, "at least {least} allocations in {CALLS} calls");
    });
}

#[test]
#[ignore = "measures: run alone, in release"]
fn rate() {
    with_handler(|echo, handler| {
        for round in 0..4 {
            const CALLS: i64 = 1_000_000;
            let start = Instant::now();
            call(echo, handler, CALLS);
            let rate = CALLS as f64 / start.elapsed().as_secs_f64();
            let allocations = CountingAllocator::of_all_threads().allocations;
            eprintln!("round {round}: {rate:.0} callbacks/s, {allocations} allocations so far");
        }
        let start = Instant::now();
        for value in 0..50_000 {
            echo.double(value).unwrap();
        }
        eprintln!("synchronous: {:.0} calls/s", 50_000.0 / start.elapsed().as_secs_f64());
    });
}

#[test]
#[ignore = "measures: run alone, in release, on one core (taskset -c 0)"]
fn latency() {
    with_handler_in(&["-ORBEventLoop", "application"], |echo, handler| {
        const CALLS: i64 = 30_000;
        for round in 0..4 {
            let start = Instant::now();
            for value in 0..CALLS {
                echo.double(value).unwrap();
            }
            let synchronous = start.elapsed() / CALLS as u32;
            let start = Instant::now();
            for value in 0..CALLS {
                let before = REPLIES.load(Ordering::Acquire);
                let sink = ReplySink::handler(&handler.0, &STUB);
                echo.0.invoke_async(&DOUBLE, &|e| i64::encode(&value, e), sink).unwrap();
                let here = || REPLIES.load(Ordering::Acquire) > before;
                echo.0.orb().work_until(&here, None);
            }
            let callback = start.elapsed() / CALLS as u32;
            let start = Instant::now();
            for value in 0..CALLS {
                let sent = echo.0.invoke_deferred(&DOUBLE, &|e| i64::encode(&value, e)).unwrap();
                sent.wait(None);
            }
            let deferred = start.elapsed() / CALLS as u32;
            eprintln!("{round}: {synchronous:?}, callback {callback:?}, deferred {deferred:?}");
        }
    });
}

#[test]
#[ignore = "measures: run alone, in release"]
fn oneways() {
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    for scope in ["none", "with-transport"] {
        let (server, echo, noted) = serve(&[]);
        let client = loopback_orb(&["-ORBSyncScope", scope]);
        let echo = as_client(&client, &echo);
        for _ in 0..3 {
            const CALLS: i64 = 300_000;
            let start = Instant::now();
            for value in 0..CALLS {
                echo.note(value).unwrap();
            }
            let sent = start.elapsed();
            assert_eq!(noted.iter().take(CALLS as usize).last(), Some(CALLS - 1));
            let rate = CALLS as f64 / start.elapsed().as_secs_f64();
            eprintln!("{scope}: {rate:.0} oneways/s, sent in {sent:?}");
        }
        client.shutdown(true);
        server.shutdown(true);
    }
}
