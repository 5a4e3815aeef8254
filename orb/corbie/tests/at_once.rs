//! Many requests over one connection are in servants at once, with the default settings: another
//! thread reads while upcalls are long. It is bounded, and oneways keep their order.

#![allow(clippy::unwrap_used)] // also in the functions that the tests share

mod echo;

use corbie::codegen::Marshal;
use corbie::policy::{Policy, SetOverrideType};
use corbie::{
    Executor, Interface as _, Operation, Orb, ReplySink, RequestOrder, ResponseHandler, Servant,
    ServerRequest, SystemException, SystemExceptionKind, Task, TypedServant,
};
use echo::{Echo, as_client, loopback_orb};
use std::collections::{BTreeSet, HashMap, HashSet};
use std::pin::Pin;
use std::sync::{Arc, Condvar, LazyLock, Mutex, MutexGuard, mpsc};
use std::task::{self, Poll, Wake, Waker};
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(60);
const STAY: Operation = Operation::twoway("stay");
const SLEEP: Operation = Operation::twoway("sleep");
const ASLEEP: Operation = Operation::twoway("asleep");
const LATER: Operation = Operation::twoway("later");
const NOTE: Operation = Operation::oneway("note");

/// What is going on in the servant.
#[derive(Default)]
struct Scene {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    inside: usize,
    /// The most that were inside at once.
    most: usize,
    is_open: bool,
    peers: HashSet<String>,
    noted: Vec<i64>,
    deferred: Vec<(ResponseHandler, i64)>,
}

impl Scene {
    fn change(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.state.lock().unwrap());
        self.changed.notify_all();
    }

    /// Waits until `holds`.
    fn wait(&self, holds: impl Fn(&State) -> bool) -> MutexGuard<'_, State> {
        let state = self.state.lock().unwrap();
        let waits = |state: &mut State| !holds(state);
        let (state, waited) = self.changed.wait_timeout_while(state, PATIENCE, waits).unwrap();
        assert!(!waited.timed_out(), "{} inside, {:?} noted", state.inside, state.noted);
        state
    }

    fn enter(&self, peer: String) {
        self.change(|state| {
            state.peers.insert(peer);
            state.inside += 1;
            state.most = state.most.max(state.inside);
        });
    }

    fn leave(&self) {
        self.change(|state| state.inside -= 1);
    }
}

/// Keeps its callers until the scene is open, or for 100 ms.
struct Stage(Arc<Scene>);

impl Servant for Stage {
    fn _interfaces(&self) -> &'static [&'static str] {
        &["IDL:Test/Echo:1.0"]
    }

    fn _dispatch(&self, request: &mut ServerRequest<'_>) -> Result<(), SystemException> {
        let value = request.arguments().read_longlong()?;
        if request.operation() == "later" {
            let response = request.defer();
            self.0.change(|state| state.deferred.push((response, value)));
            return Ok(());
        }
        if request.operation() == "asleep" {
            // What the code of an `async fn` servant does.
            let (response, orb) = (request.defer(), request.orb().clone());
            return orb.spawn(Box::pin(async move {
                Asleep::for_100_ms().await;
                let _ = response.reply(&|e| i64::encode(&value, e));
            }));
        }
        self.0.enter(request.peer().to_string());
        match request.operation() {
            "stay" => drop(self.0.wait(|state| state.is_open)),
            // tidy: sleep: it is what the servant is asked to do
            "sleep" => std::thread::sleep(Duration::from_millis(100)),
            _ => {
                // As long as the scene is not open, others could overtake.
                drop(self.0.wait(|state| state.is_open || value > 0));
                self.0.change(|state| state.noted.push(value));
            }
        }
        self.0.leave();
        request.reply(&|e| i64::encode(&value, e))
    }
}

impl TypedServant for Stage {
    type Reference = Echo;
}

/// Runs tasks on one thread, in the order in which they are woken.
struct OneThread(mpsc::Sender<Arc<Running>>);

impl OneThread {
    fn start() -> OneThread {
        let (queue, woken) = mpsc::channel::<Arc<Running>>();
        std::thread::spawn(move || woken.into_iter().for_each(Running::poll));
        OneThread(queue)
    }
}

impl Executor for OneThread {
    fn spawn(&self, task: Task) {
        Arc::new(Running { task: Mutex::new(Some(task)), queue: self.0.clone() }).wake();
    }
}

struct Running {
    task: Mutex<Option<Task>>,
    queue: mpsc::Sender<Arc<Running>>,
}

impl Running {
    fn poll(self: Arc<Self>) {
        let waker = Waker::from(Arc::clone(&self));
        let mut task = self.task.lock().unwrap();
        let Some(running) = task.as_mut() else { return };
        if running.as_mut().poll(&mut task::Context::from_waker(&waker)).is_ready() {
            *task = None;
        }
    }
}

impl Wake for Running {
    fn wake(self: Arc<Self>) {
        let _ = self.queue.clone().send(self);
    }
}

/// A timer of 100 ms, as a runtime has it.
struct Asleep(Instant);

impl Asleep {
    fn for_100_ms() -> Self {
        Asleep(Instant::now() + Duration::from_millis(100))
    }
}

/// One thread wakes all in the order in which they fell asleep, as all sleep for as long.
static SLEEPERS: LazyLock<mpsc::Sender<(Instant, Waker)>> = LazyLock::new(|| {
    let (sleeps, sleepers) = mpsc::channel::<(Instant, Waker)>();
    std::thread::spawn(move || {
        for (until, waker) in sleepers {
            std::thread::park_timeout(until.saturating_duration_since(Instant::now()));
            waker.wake();
        }
    });
    sleeps
});

impl Future for Asleep {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut task::Context<'_>) -> Poll<()> {
        if Instant::now() >= self.0 {
            return Poll::Ready(());
        }
        SLEEPERS.send((self.0, context.waker().clone())).unwrap();
        Poll::Pending
    }
}

/// A server and a client's reference to its only object.
fn stage(options: &[&str]) -> ([Orb; 2], Echo, Arc<Scene>) {
    let (server, client) = (loopback_orb(options), loopback_orb(&[]));
    let scene = Arc::<Scene>::default();
    let poa = server.root_poa().unwrap();
    poa.the_poa_manager().activate().unwrap();
    let echo = as_client(&client, &poa.activate(Stage(Arc::clone(&scene))).unwrap());
    ([server, client], echo, scene)
}

fn send(echo: &Echo, operation: &Operation, value: i64, ended: &mpsc::Sender<i64>) {
    let ended = ended.clone();
    let sink = ReplySink::function(move |reply| {
        let value = reply.and_then(|mut reply| reply.results_only(i64::decode));
        ended.send(value.unwrap()).unwrap();
    });
    echo.as_object().invoke_async(operation, &|e| i64::encode(&value, e), sink).unwrap();
}

/// What so many calls gave, in order.
fn outcomes(ended: &mpsc::Receiver<i64>, count: usize) -> BTreeSet<i64> {
    (0..count).map(|_| ended.recv_timeout(PATIENCE).unwrap()).collect()
}

fn end(orbs: [Orb; 2]) {
    orbs.iter().for_each(|orb| orb.shutdown(true));
}

/// So many calls over one connection, none of which returns before all are in the servant.
fn meet(options: &[&str], count: usize) {
    let (orbs, echo, scene) = stage(options);
    let (sender, ended) = mpsc::channel();
    for value in 0..count {
        send(&echo, &STAY, value as i64, &sender);
    }
    assert_eq!(scene.wait(|state| state.inside == count).peers.len(), 1, "one connection");
    scene.change(|state| state.is_open = true);
    assert!(outcomes(&ended, count).into_iter().eq(0..count as i64));
    end(orbs);
}

#[test]
fn fifty_calls_over_one_connection_are_in_a_servant_at_once() {
    meet(&[], 50);
}

#[test]
fn so_they_are_beside_objects_that_keep_the_order_of_requests() {
    let (orbs, echo, scene) = stage(&[]);
    let root = orbs[0].root_poa().unwrap();
    let manager = root.the_poa_manager();
    let policies = [RequestOrder::AsSent.into()];
    let ordered = root.create_poa("ordered", Some(&manager), &policies).unwrap();
    let other = Arc::<Scene>::default();
    let in_order = ordered.activate(Stage(Arc::clone(&other))).unwrap();
    let in_order = as_client(&loopback_orb(&[]), &in_order);
    let (sender, ended) = mpsc::channel();
    for value in 0..50 {
        send(&in_order, &STAY, 50 + value, &sender);
        send(&echo, &STAY, value, &sender);
    }
    drop(scene.wait(|state| state.inside == 50));
    assert_eq!(other.wait(|state| state.inside == 1).most, 1);
    [scene, other].iter().for_each(|scene| scene.change(|state| state.is_open = true));
    assert!(outcomes(&ended, 100).into_iter().eq(0..100));
    in_order.as_object().orb().shutdown(true);
    end(orbs);
}

#[test]
fn so_they_are_in_a_pool_and_with_a_thread_for_each_request() {
    for concurrency in ["thread-pool", "thread-per-request"] {
        meet(&["-ORBServerConcurrency", concurrency], 50);
    }
}

/// How long each thread of this process has waited for a processor so far: nothing where the system
/// does not say.
fn waits() -> HashMap<String, Duration> {
    let wait = |task: std::fs::DirEntry| {
        let said = std::fs::read_to_string(task.path().join("schedstat")).ok()?;
        let nanoseconds = said.split_whitespace().nth(1)?.parse().ok()?;
        Some((task.file_name().to_str()?.to_owned(), Duration::from_nanos(nanoseconds)))
    };
    let tasks = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    tasks.filter_map(wait).collect()
}

/// What other programs made a call wait since `before`: it passes the client's thread that sends,
/// one of the server, and the client's that reads.
fn waited_since(before: &HashMap<String, Duration>) -> Duration {
    let wait = |(task, now): (String, Duration)| {
        now.saturating_sub(before.get(&task).copied().unwrap_or_default())
    };
    3 * waits().into_iter().map(wait).max().unwrap_or_default()
}

/// The shortest time that a thousand calls took, without waits for a processor, or the first that
/// is short enough: other tests and other programs take their share of the machine.
fn thousand(echo: &Echo, operation: &Operation, short: Duration) -> Duration {
    let (sender, ended) = mpsc::channel();
    let once = || {
        let (begun, before) = (Instant::now(), waits());
        (0..1000).for_each(|value| send(echo, operation, value, &sender));
        assert!(outcomes(&ended, 1000).into_iter().eq(0..1000));
        begun.elapsed().saturating_sub(waited_since(&before))
    };
    let (end, mut shortest) = (Instant::now() + PATIENCE, once());
    while shortest > short && Instant::now() < end {
        shortest = shortest.min(once());
    }
    shortest
}

#[test]
fn a_thousand_calls_of_100_ms_over_one_connection_end_with_the_defaults() {
    let (orbs, echo, scene) = stage(&[]);
    let promised = Duration::from_millis(2_500);
    let took = thousand(&echo, &SLEEP, promised);
    assert!(took <= promised, "{took:?}");
    let state = scene.wait(|state| state.inside == 0);
    assert!(state.peers.len() == 1 && state.most >= 45, "{} at once", state.most);
    drop(state);
    end(orbs);
}

#[test]
fn a_thousand_calls_of_100_ms_of_an_async_fn_end_with_the_defaults() {
    let (orbs, echo, _scene) = stage(&[]);
    orbs[0].set_executor(Arc::new(OneThread::start()));
    let promised = Duration::from_millis(300);
    let took = thousand(&echo, &ASLEEP, promised);
    assert!(took <= promised, "{took:?}");
    end(orbs);
}

#[test]
fn a_thousand_calls_over_one_connection_wait_in_an_asynchronous_servant_at_once() {
    let (orbs, echo, scene) = stage(&[]);
    let (sender, ended) = mpsc::channel();
    for value in 0..1000 {
        send(&echo, &LATER, value, &sender);
    }
    let deferred = std::mem::take(&mut scene.wait(|state| state.deferred.len() == 1000).deferred);
    for (response, value) in deferred {
        response.reply(&|e| i64::encode(&value, e)).unwrap();
    }
    assert!(outcomes(&ended, 1000).into_iter().eq(0..1000));
    end(orbs);
}

#[test]
fn a_connection_has_as_many_threads_as_the_pool_may_have_and_others_one_then() {
    let (orbs, echo, scene) = stage(&["-ORBPoolThreadsMax", "3"]);
    let (sender, ended) = mpsc::channel();
    for value in 0..40 {
        send(&echo, &STAY, value, &sender);
    }
    drop(scene.wait(|state| state.inside == 3));
    // A second connection has a thread of its own, and no more.
    let other = loopback_orb(&[]);
    let second = as_client(&other, &echo);
    for value in 40..50 {
        send(&second, &STAY, value, &sender);
    }
    drop(scene.wait(|state| state.inside == 4));
    scene.change(|state| state.is_open = true);
    assert!(outcomes(&ended, 50).into_iter().eq(0..50));
    assert_eq!(scene.wait(|state| state.inside == 0).most, 4);
    other.shutdown(true);
    end(orbs);
}

#[test]
fn a_call_that_waits_for_a_thread_in_vain_says_what_to_raise() {
    let (orbs, echo, scene) = stage(&["-ORBPoolThreadsMin", "1", "-ORBPoolThreadsMax", "1"]);
    let (sender, ended) = mpsc::channel();
    send(&echo, &STAY, 1, &sender);
    drop(scene.wait(|state| state.inside == 1));
    let (outcome, why) = mpsc::channel();
    let short = Policy::RelativeRoundtripTimeout(Duration::from_millis(100));
    let hasty = echo.set_policy_overrides(&[short], SetOverrideType::Add).unwrap();
    let sink = ReplySink::function(move |reply| outcome.send(reply.map(drop)).unwrap());
    hasty.as_object().invoke_async(&STAY, &|e| i64::encode(&2, e), sink).unwrap();
    let exception = why.recv_timeout(PATIENCE).unwrap().unwrap_err();
    assert_eq!(exception.kind, SystemExceptionKind::Timeout);
    let text = exception.to_string();
    assert!(text.contains("request_timeout") && text.contains("pool_threads_max"), "{text}");
    scene.change(|state| state.is_open = true);
    assert_eq!(outcomes(&ended, 1).len(), 1);
    end(orbs);
}

#[test]
fn nothing_overtakes_a_oneway() {
    let (orbs, echo, scene) = stage(&[]);
    let (sender, ended) = mpsc::channel();
    let note = |value: i64| {
        echo.as_object().invoke_oneway(&NOTE, &|e| i64::encode(&value, e)).unwrap();
    };
    // In this order over the shared connection: the call first, as it opens the connection.
    send(&echo, &STAY, 1, &sender);
    drop(scene.wait(|state| state.inside == 1));
    note(0); // Overtakes the call, and stays until the scene is open.
    drop(scene.wait(|state| state.inside == 2));
    (1..=20).for_each(note);
    send(&echo, &STAY, 2, &sender);
    // Some looks of the watch, during which nothing more may begin.
    let looks = Instant::now() + Duration::from_millis(200);
    while Instant::now() < looks {
        let state = scene.state.lock().unwrap();
        assert!(state.inside == 2 && state.noted.is_empty(), "{:?}", state.noted);
        drop(scene.changed.wait_timeout(state, Duration::from_millis(20)).unwrap());
    }
    scene.change(|state| state.is_open = true);
    assert_eq!(outcomes(&ended, 2).len(), 2);
    assert!(scene.wait(|state| state.noted.len() == 21).noted.iter().copied().eq(0..=20));
    end(orbs);
}
