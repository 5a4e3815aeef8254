//! The end of an ORB: no thread and no memory is left, what is in a servant is answered, and what
//! was not answered was not served, or may have been.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod echo;

use corbie::{
    CompletionStatus, Marshal, Orb, Servant, ServerRequest, SystemException, SystemExceptionKind,
    TypedServant, buffers, minor,
};
use corbie_testkit::{CountingAllocator, RawPeer};
use echo::{Echo, EchoServant, STRATEGIES, as_client, lend_a_thread, loopback_orb, serve};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

/// Far more than any of the times waited for here.
const PATIENCE: Duration = Duration::from_secs(60);

/// Threads and memory are counted for the process, so one test runs at a time.
static STAGE: Mutex<()> = Mutex::new(());

fn stage() -> MutexGuard<'static, ()> {
    STAGE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The names of this process's threads that an ORB started; cut off at 15 octets by the system.
fn threads_of_orbs() -> Vec<String> {
    let threads = std::fs::read_dir("/proc/self/task").unwrap();
    let names = threads.filter_map(|t| std::fs::read_to_string(t.ok()?.path().join("comm")).ok());
    names.filter(|name| name.starts_with("corbie-")).collect()
}

/// Looks until `holds`, for what other threads bring about.
#[track_caller]
fn eventually(holds: impl Fn() -> bool, what: &dyn Fn() -> String) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < PATIENCE, "{}", what());
        std::thread::yield_now();
    }
}

#[track_caller]
fn no_thread_is_left() {
    eventually(|| threads_of_orbs().is_empty(), &|| format!("{:?}", threads_of_orbs()));
}

/// So many lives are looked at together.
const LIVES: i64 = 60;

/// A life with everything that holds an ORB: servants, bindings, names, connections, nested calls.
fn a_life(concurrency: &str) {
    let options = ["-ORBServerConcurrency", concurrency];
    let (server, echo, _noted) = serve(&options);
    let client = loopback_orb(&options);
    lend_a_thread(&client);
    let poa = client.root_poa().unwrap();
    poa.the_poa_manager().activate().unwrap();
    let middle = poa.activate(EchoServant::new().0).unwrap();
    let theirs = as_client(&client, &echo);
    assert_eq!(theirs.call_back(&middle, 4).unwrap(), 8);
    client.register_initial_reference("Echo", &theirs.0).unwrap();
    server.bind_object_key("Echo", &echo.0);
    let mut silent = RawPeer::connect_to(&server.listen_endpoints()[0]).unwrap();
    assert_eq!(theirs.double(5).unwrap(), 10);
    server.shutdown(true);
    client.shutdown(true);
    assert!(silent.answered(PATIENCE).is_closed());
}

/// Octets in the pools of buffers, of this thread and of the process: kept for the next message.
/// How many there are at a time is a matter of which threads happened to run together.
fn held_in_pools() -> i64 {
    let octets = buffers::shared_octets() + buffers::statistics().held_octets;
    i64::try_from(octets).unwrap()
}

fn held_outside_pools() -> i64 {
    CountingAllocator::of_all_threads().held_octets() - held_in_pools()
}

#[test]
fn no_thread_and_no_memory_is_left() {
    let _alone = stage();
    for concurrency in STRATEGIES {
        for _ in 0..3 {
            a_life(concurrency);
        }
        no_thread_is_left();
        let growth = || {
            let before = held_outside_pools();
            for _ in 0..LIVES {
                a_life(concurrency);
                no_thread_is_left();
            }
            held_outside_pools() - before
        };
        // Lists that are kept may get longer; what is lost with every life shows each time.
        let grown = [(); 3].map(|()| growth());
        let is_lost = grown.iter().all(|octets| *octets >= LIVES * 50);
        assert!(!is_lost, "{concurrency}: {grown:?} octets more after each {LIVES} lives");
    }
    // Threads that ended left their buffers to those that came: no more than live at once need.
    let kept = held_in_pools();
    assert!(kept < 4 << 20, "{kept} octets in the pools of buffers");
}

#[test]
fn a_client_that_is_only_dropped_leaves_no_thread() {
    let _alone = stage();
    let (server, echo, _noted) = serve(&[]);
    let client = loopback_orb(&[]);
    let theirs = as_client(&client, &echo);
    assert_eq!(theirs.double(1).unwrap(), 2);
    server.shutdown(true);
    drop((theirs, client));
    no_thread_is_left();
}

/// Ends its own ORB, or counts.
struct Counter {
    orb: Orb,
    served: Arc<AtomicI64>,
}

impl Servant for Counter {
    fn _interfaces(&self) -> &'static [&'static str] {
        &["IDL:Test/Echo:1.0"]
    }

    fn _dispatch(&self, request: &mut ServerRequest<'_>) -> Result<(), SystemException> {
        let value = request.arguments().read_longlong()?;
        if request.operation() == "wait" {
            // With `true` it would wait for itself.
            self.orb.shutdown(true);
        } else {
            self.served.fetch_add(1, Ordering::AcqRel);
        }
        request.reply(&|e| i64::encode(&value, e))
    }
}

impl TypedServant for Counter {
    type Reference = Echo;
}

fn counter(options: &[&str]) -> (Orb, Echo, Arc<AtomicI64>) {
    let server = loopback_orb(options);
    lend_a_thread(&server);
    let served = Arc::new(AtomicI64::new(0));
    let servant = Counter { orb: server.clone(), served: Arc::clone(&served) };
    let poa = server.root_poa().unwrap();
    poa.the_poa_manager().activate().unwrap();
    let echo = poa.activate(servant).unwrap();
    (server, echo, served)
}

#[test]
fn a_servant_that_shuts_its_orb_down_still_answers() {
    let _alone = stage();
    for concurrency in STRATEGIES {
        let (server, echo, _) = counter(&["-ORBServerConcurrency", concurrency]);
        let client = loopback_orb(&[]);
        let echo = as_client(&client, &echo);
        let begun = Instant::now();
        assert_eq!(echo.wait(Duration::from_millis(9)).unwrap(), 9, "{concurrency}");
        assert!(begun.elapsed() < PATIENCE, "{concurrency}");
        assert!(server.is_shut_down());
        assert!(echo.double(1).is_err());
        client.shutdown(true);
        drop(server);
        no_thread_is_left();
    }
}

/// Calls until the server is gone; how many succeeded, and of how many that is unknown.
fn call_until_gone(echo: &Echo) -> (i64, i64) {
    let mut succeeded = 0;
    loop {
        match echo.double(1) {
            Ok(_) => succeeded += 1,
            Err(exception) => {
                let unknown = exception.completed != CompletionStatus::No;
                let kinds = [SystemExceptionKind::Transient, SystemExceptionKind::CommFailure];
                assert!(kinds.contains(&exception.kind), "{exception}");
                return (succeeded, i64::from(unknown));
            }
        }
    }
}

#[test]
fn what_a_closing_server_did_not_answer_it_did_not_serve() {
    let _alone = stage();
    for concurrency in STRATEGIES {
        for wait in [true, false] {
            let (server, echo, served) = counter(&["-ORBServerConcurrency", concurrency]);
            let client = loopback_orb(&[]);
            let echo = as_client(&client, &echo);
            let (mut succeeded, mut unknown) = (0, 0);
            std::thread::scope(|scope| {
                let callers: Vec<_> =
                    (0..4).map(|_| scope.spawn(|| call_until_gone(&echo))).collect();
                eventually(|| served.load(Ordering::Acquire) > 200, &|| "no call".to_owned());
                server.shutdown(wait);
                for caller in callers {
                    let (s, u) = caller.join().unwrap();
                    succeeded += s;
                    unknown += u;
                }
            });
            let served = served.load(Ordering::Acquire);
            assert!(
                (succeeded..=succeeded + unknown).contains(&served),
                "{concurrency}, wait {wait}: {succeeded} succeeded, {unknown} unknown, {served} served"
            );
            client.shutdown(true);
        }
    }
}

#[test]
fn after_shutdown_nothing_is_opened() {
    let _alone = stage();
    let (server, echo, _noted) = serve(&[]);
    let client = loopback_orb(&[]);
    let never_called = client.string_to_object(&echo.0.to_string()).unwrap();
    client.shutdown(true);
    let exception = Echo(never_called).double(1).unwrap_err();
    assert_eq!(exception.kind, SystemExceptionKind::BadInvOrder, "{exception}");
    assert_eq!(exception.completed, CompletionStatus::No);
    assert!(client.root_poa().is_err());
    assert!(client.listen_endpoints().is_empty());
    server.shutdown(true);
}

#[test]
fn an_endpoint_that_cannot_be_listened_on_leaves_nothing_half_open() {
    let _alone = stage();
    // An address of its own: no other connection gets this port when it is free again.
    let taken = std::net::TcpListener::bind("127.73.19.5:0").unwrap();
    let endpoint = format!("iiop://{}", taken.local_addr().unwrap());
    let orb = loopback_orb(&["-ORBListenEndpoints", &endpoint]);
    let exception = orb.root_poa().unwrap_err();
    assert_eq!(exception.minor, minor::INITIALIZE_LISTEN, "{exception}");
    assert!(orb.listen_endpoints().is_empty());
    drop(taken);
    let poa = orb.root_poa().unwrap();
    poa.the_poa_manager().activate().unwrap();
    let echo = poa.activate(EchoServant::new().0).unwrap();
    assert_eq!(orb.listen_endpoints().len(), 2, "the second attempt finds a clean place");
    assert_eq!(echo.double(3).unwrap(), 6);
    orb.shutdown(true);
}
