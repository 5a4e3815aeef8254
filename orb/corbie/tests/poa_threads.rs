//! The thread models of POAs with every server concurrency strategy (CORBA 3.3 P1 §15.3.8.1):
//! one upcall at a time, on the main thread, or as the ORB likes; re-entrant; in order; and never in
//! the way of other POAs, as no thread of the ORB waits for a turn.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod echo;

use corbie::codegen::Marshal;
use corbie::{
    Object, Orb, Poa, PoaPolicy, Servant, ServerRequest, SystemException, ThreadModel, TypedServant,
};
use echo::{Echo, EchoServant, STRATEGIES, as_client, lend_a_thread, loopback_orb};
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::thread::{ThreadId, scope};
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(60);

fn wait_until(what: &str, condition: impl Fn() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !condition() {
        assert!(Instant::now() < end, "{what}: waited in vain");
        std::thread::yield_now();
    }
}

fn server(strategy: &str) -> Orb {
    let orb = loopback_orb(&["-ORBServerConcurrency", strategy, "-ORBRequestTimeout", "60s"]);
    orb.root_poa().unwrap().the_poa_manager().activate().unwrap();
    orb
}

fn child(orb: &Orb, name: &str, model: ThreadModel) -> Poa {
    let root = orb.root_poa().unwrap();
    let manager = root.the_poa_manager();
    root.create_poa(name, Some(&manager), &[PoaPolicy::Thread(model)]).unwrap()
}

/// Notes how many threads are inside at once, and which.
#[derive(Clone, Default)]
struct Inside {
    now: Arc<AtomicU32>,
    most: Arc<AtomicU32>,
    threads: Arc<Mutex<Vec<ThreadId>>>,
    notes: Arc<Mutex<Vec<i64>>>,
    total: Arc<AtomicI64>,
}

impl Servant for Inside {
    fn _interfaces(&self) -> &'static [&'static str] {
        &["IDL:Test/Echo:1.0"]
    }

    fn _dispatch(&self, request: &mut ServerRequest<'_>) -> Result<(), SystemException> {
        let now = self.now.fetch_add(1, Ordering::SeqCst) + 1;
        self.most.fetch_max(now, Ordering::SeqCst);
        self.threads.lock().unwrap().push(std::thread::current().id());
        let value = request.arguments().read_longlong()?;
        // Not atomic: what several threads at once would get wrong.
        let total = self.total.load(Ordering::Relaxed);
        std::thread::yield_now();
        self.total.store(total + 1, Ordering::Relaxed);
        if request.operation() == "note" {
            self.notes.lock().unwrap().push(value);
        }
        self.now.fetch_sub(1, Ordering::SeqCst);
        let result = value * 2;
        request.reply(&|e| i64::encode(&result, e))
    }
}

impl TypedServant for Inside {
    type Reference = Echo;
}

/// Four clients of their own connections, and oneways in between, whose order is looked at.
fn many_calls(echo: &Echo, inside: &Inside, strategy: &str) {
    scope(|threads| {
        for thread in 0..4i64 {
            threads.spawn(move || {
                let client = loopback_orb(&["-ORBRequestTimeout", "60s"]);
                let echo = as_client(&client, echo);
                for call in 0..50 {
                    echo.note(thread * 1_000 + call).unwrap();
                    let value = thread * 100 + call;
                    assert_eq!(echo.double(value).unwrap(), value * 2, "{strategy}");
                }
                client.shutdown(true);
            });
        }
    });
    wait_until(strategy, || inside.total.load(Ordering::SeqCst) >= 400);
    assert_eq!(inside.total.load(Ordering::SeqCst), 400, "{strategy}");
    assert_eq!(inside.most.load(Ordering::SeqCst), 1, "{strategy}: several at once");
    let notes = inside.notes.lock().unwrap();
    for thread in 0..4 {
        let of_thread: Vec<_> = notes.iter().filter(|note| **note / 1_000 == thread).collect();
        assert!(of_thread.is_sorted(), "{strategy}: out of order");
        assert_eq!(of_thread.len(), 50, "{strategy}");
    }
}

#[test]
fn a_single_threaded_poa_makes_one_upcall_at_a_time() {
    for strategy in STRATEGIES {
        let orb = server(strategy);
        lend_a_thread(&orb);
        let inside = Inside::default();
        let poa = child(&orb, "single", ThreadModel::SingleThread);
        let echo = poa.activate(inside.clone()).unwrap();
        many_calls(&echo, &inside, strategy);
        orb.shutdown(true);
    }
}

#[test]
fn servants_of_the_main_thread_model_are_called_by_the_main_thread() {
    for strategy in STRATEGIES {
        for works in [true, false] {
            let orb = server(strategy);
            let inside = Inside::default();
            // Of several POAs together.
            let first = child(&orb, "first", ThreadModel::MainThread);
            let second = child(&orb, "second", ThreadModel::MainThread);
            let echo = first.activate(inside.clone()).unwrap();
            let other = second.activate(inside.clone()).unwrap();
            let done = Arc::new(AtomicBool::new(false));
            let main = std::thread::spawn({
                let (orb, done) = (orb.clone(), Arc::clone(&done));
                move || {
                    if works {
                        while !done.load(Ordering::SeqCst) {
                            if !orb.perform_work() {
                                assert!(orb.is_main_thread());
                                std::thread::yield_now();
                            }
                        }
                    } else {
                        orb.run();
                    }
                    std::thread::current().id()
                }
            });
            let client = loopback_orb(&["-ORBRequestTimeout", "60s"]);
            many_calls(&echo, &inside, strategy);
            assert_eq!(as_client(&client, &other).double(4).unwrap(), 8, "{strategy}");
            client.shutdown(true);
            done.store(true, Ordering::SeqCst);
            if !works {
                orb.shutdown(true);
            }
            let main = main.join().unwrap();
            let threads = inside.threads.lock().unwrap();
            assert!(threads.iter().all(|thread| *thread == main), "{strategy}: another thread");
            orb.shutdown(false);
        }
    }
}

/// Begins, says so, and ends when it is told to.
struct Blocking {
    begun: mpsc::Sender<()>,
    end: Mutex<mpsc::Receiver<()>>,
}

impl Servant for Blocking {
    fn _interfaces(&self) -> &'static [&'static str] {
        &["IDL:Test/Echo:1.0"]
    }

    fn _dispatch(&self, request: &mut ServerRequest<'_>) -> Result<(), SystemException> {
        self.begun.send(()).unwrap();
        self.end.lock().unwrap().recv_timeout(PATIENCE).unwrap();
        request.reply(&|e| i64::encode(&0, e))
    }
}

impl TypedServant for Blocking {
    type Reference = Echo;
}

#[test]
fn who_waits_for_a_turn_keeps_nobody_from_being_served() {
    // A reactive server has one thread here, which the servant itself blocks.
    for strategy in STRATEGIES.into_iter().filter(|strategy| *strategy != "reactive") {
        // Two loops: the servant blocks one, the waiting requests must not block the other.
        let mut arguments = vec!["-ORBServerConcurrency", strategy, "-ORBRequestTimeout", "60s"];
        arguments.extend(match strategy {
            "reactor-per-thread" => ["-ORBReactorThreads", "2"],
            _ => ["-ORBPoolThreadsMax", "8"],
        });
        let orb = loopback_orb(&arguments);
        let root = orb.root_poa().unwrap();
        root.the_poa_manager().activate().unwrap();
        let single = child(&orb, "single", ThreadModel::SingleThread);
        let ((begun, begins), (end, ends)) = (mpsc::channel(), mpsc::channel());
        let blocking = single.activate(Blocking { begun, end: Mutex::new(ends) }).unwrap();
        let open = root.activate(EchoServant::new().0).unwrap();
        let client = |echo: &Echo| {
            let orb = loopback_orb(&["-ORBRequestTimeout", "60s"]);
            let echo = as_client(&orb, echo);
            (orb, echo)
        };
        // One connection after the other, so one in each loop: at least one is not blocked by the
        // servant itself.
        let probes = [(); 2].map(|()| client(&open));
        for (_, echo) in &probes {
            assert_eq!(echo.double(1).unwrap(), 2, "{strategy}");
        }
        scope(|threads| {
            let blocked = threads.spawn(|| client(&blocking).1.double(1));
            begins.recv_timeout(PATIENCE).unwrap();
            // More than there are threads.
            let waiting: Vec<_> =
                (0..12).map(|_| threads.spawn(|| client(&blocking).1.double(1))).collect();
            let served = Arc::new(AtomicU32::new(0));
            for (_, echo) in &probes {
                let served = Arc::clone(&served);
                threads.spawn(move || {
                    assert_eq!(echo.double(2).unwrap(), 4, "{strategy}");
                    served.fetch_add(1, Ordering::SeqCst);
                });
            }
            wait_until(strategy, || served.load(Ordering::SeqCst) > 0);
            for _ in 0..13 {
                end.send(()).unwrap();
            }
            assert!(blocked.join().unwrap().is_ok(), "{strategy}");
            waiting.into_iter().for_each(|call| assert!(call.join().unwrap().is_ok()));
        });
        orb.shutdown(true);
    }
}

/// Calls the object that it is given, from inside its upcall and on its own thread.
struct CallsBack {
    depth: Arc<AtomicU32>,
}

impl Servant for CallsBack {
    fn _interfaces(&self) -> &'static [&'static str] {
        &["IDL:Test/Echo:1.0"]
    }

    fn _dispatch(&self, request: &mut ServerRequest<'_>) -> Result<(), SystemException> {
        if request.operation() == "double" {
            self.depth.fetch_add(1, Ordering::SeqCst);
            return request.reply(&|e| i64::encode(&1, e));
        }
        let mut arguments = request.arguments();
        let other = Echo(Object::decode(&mut arguments)?.unwrap());
        let result = other.double(1)?;
        request.reply(&|e| i64::encode(&result, e))
    }
}

impl TypedServant for CallsBack {
    type Reference = Echo;
}

#[test]
fn an_upcall_may_cause_another_on_its_own_thread() {
    // A loop that the servant's thread runs while it waits brings the second request to it.
    for model in [ThreadModel::SingleThread, ThreadModel::MainThread] {
        let orb = server("reactive");
        lend_a_thread(&orb);
        let poa = child(&orb, "child", model);
        let depth = Arc::new(AtomicU32::new(0));
        let echo = poa.activate(CallsBack { depth: Arc::clone(&depth) }).unwrap();
        let client = loopback_orb(&["-ORBRequestTimeout", "60s"]);
        let seen = as_client(&client, &echo);
        assert_eq!(seen.call_back(&seen, 1).unwrap(), 1, "{model:?}");
        assert_eq!(depth.load(Ordering::SeqCst), 1);
        client.shutdown(true);
        orb.shutdown(true);
    }
}

#[test]
fn what_waits_for_its_turn_is_served_or_answered_when_the_server_ends() {
    for strategy in STRATEGIES.into_iter().filter(|strategy| *strategy != "reactive") {
        let orb = server(strategy);
        let poa = child(&orb, "single", ThreadModel::SingleThread);
        let ((begun, begins), (end, ends)) = (mpsc::channel(), mpsc::channel());
        let blocking = poa.activate(Blocking { begun, end: Mutex::new(ends) }).unwrap();
        scope(|threads| {
            let call = || {
                let client = loopback_orb(&["-ORBRequestTimeout", "60s"]);
                as_client(&client, &blocking).double(1)
            };
            let first = threads.spawn(call);
            begins.recv_timeout(PATIENCE).unwrap();
            let others: Vec<_> = (0..3).map(|_| threads.spawn(call)).collect();
            let ends = threads.spawn(|| orb.shutdown(true));
            for _ in 0..4 {
                let _ = end.send(());
            }
            assert!(first.join().unwrap().is_ok(), "{strategy}");
            // Served, refused, or never read: but answered.
            for other in others {
                let _ = other.join().unwrap();
            }
            ends.join().unwrap();
        });
    }
}
