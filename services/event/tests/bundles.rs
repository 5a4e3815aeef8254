//! Bundles: many events in one request, from a supplier to the channel and from there to the
//! consumers that take them, with whatever a consumer may do in the middle of one.
//!
//! Run by `cargo test`.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod fixture;

use corbie::types::SystemException;
use corbie::{
    Any, CompletionStatus, Marshal as _, Operation, Orb, Servant, ServerRequest,
    SystemExceptionKind, TypedServant, minor,
};
use corbie_event::corbie_events::ConsumerCounters;
use corbie_event::cos_event_comm::{
    Disconnected, PushConsumer, PushConsumerServant, PushConsumerSkeleton, push_consumer::PushError,
};
use corbie_event::{Bundled, ChannelQos, Limits, Overflow, Supplier};
use fixture::{Fixture, PATIENCE, Said, any};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex};
use std::time::Duration;

const MANY: i32 = 20_000;

/// What a consumer does with each event, before it is written down.
type Does = Box<dyn Fn(i32) -> Result<(), PushError> + Send + Sync>;

struct Doing {
    does: Does,
    took: Mutex<Sender<i32>>,
}

impl PushConsumerServant for Doing {
    fn push(&self, data: &Any) -> Result<(), PushError> {
        let value = data.extract::<i32>()?;
        (self.does)(value)?;
        let _ = self.took.lock().unwrap().send(value);
        Ok(())
    }

    fn disconnect_push_consumer(&self) -> Result<(), SystemException> {
        Ok(())
    }
}

/// Counts the requests that reach a servant, by whether they are bundles.
struct Counted<S> {
    servant: S,
    bundles: Arc<AtomicUsize>,
    others: Arc<AtomicUsize>,
}

impl<S: Servant> Servant for Counted<S> {
    fn _interfaces(&self) -> &'static [&'static str] {
        self.servant._interfaces()
    }

    fn _dispatch(&self, request: &mut ServerRequest<'_>) -> Result<(), SystemException> {
        let is_bundle = request.operation() == "push_bundle";
        let counter = if is_bundle { &self.bundles } else { &self.others };
        counter.fetch_add(1, Ordering::SeqCst);
        self.servant._dispatch(request)
    }
}

impl<S: Servant> TypedServant for Counted<S> {
    type Reference = PushConsumer;
}

/// A consumer that takes bundles, what it takes, and how many requests came.
struct Taker {
    took: Receiver<i32>,
    bundles: Arc<AtomicUsize>,
    others: Arc<AtomicUsize>,
}

fn connect(fixture: &Fixture, does: Does) -> Taker {
    let (took, taken) = mpsc::channel();
    let servant = Bundled::new(Doing { does, took: Mutex::new(took) });
    let (bundles, others) = <(Arc<AtomicUsize>, Arc<AtomicUsize>)>::default();
    let counted = Counted { servant, bundles: Arc::clone(&bundles), others: Arc::clone(&others) };
    let consumer = fixture.poa.activate(counted).unwrap();
    fixture.push_supplier().connect_push_consumer(Some(&consumer)).unwrap();
    Taker { took: taken, bundles, others }
}

fn takes_all() -> Does {
    Box::new(|_| Ok(()))
}

/// What a busy machine delays is not pushed again, which would bring events twice.
fn blocking() -> ChannelQos {
    let when_full = Overflow::BlockSupplier;
    ChannelQos { when_full, window: 4, push_timeout: PATIENCE, ..ChannelQos::default() }
}

fn supply(fixture: &Fixture, values: std::ops::Range<i32>) -> Supplier {
    let supplier = Supplier::connect(&fixture.channel).unwrap();
    values.for_each(|value| supplier.push(&any(value)).unwrap());
    supplier.flush().unwrap();
    supplier
}

fn expect(took: &Receiver<i32>, values: impl IntoIterator<Item = i32>) {
    for value in values {
        assert_eq!(took.recv_timeout(PATIENCE).unwrap(), value);
    }
}

fn counters(fixture: &Fixture, done: impl Fn(&ConsumerCounters) -> bool) -> ConsumerCounters {
    let deadline = std::time::Instant::now() + PATIENCE;
    loop {
        let mut statistics = fixture.core().statistics();
        let counters = statistics.consumers.remove(0);
        if done(&counters) {
            return counters;
        }
        assert!(std::time::Instant::now() < deadline, "{counters:?}");
        std::thread::yield_now();
    }
}

#[test]
fn every_event_comes_once_and_in_order_in_a_few_requests() {
    let fixture = Fixture::new(blocking());
    let taker = connect(&fixture, takes_all());
    supply(&fixture, 0..MANY);
    expect(&taker.took, 0..MANY);
    let counters = counters(&fixture, |counters| counters.delivered == MANY as u64);
    assert_eq!((counters.refused, counters.dropped), (0, 0));
    assert_eq!(fixture.core().statistics().received, MANY as u64);
    let requests = taker.bundles.load(Ordering::SeqCst) + taker.others.load(Ordering::SeqCst);
    assert!(requests < MANY as usize / 10, "{requests} requests for {MANY} events");
}

#[test]
fn events_of_a_supplier_keep_their_order_whatever_threads_serve() {
    for concurrency in ["thread-per-connection", "thread-pool", "thread-per-request"] {
        let orb = || {
            let listen = ["-ORBListenEndpoints", "iiop://127.0.0.1:0"];
            let serve = ["-ORBServerConcurrency", concurrency];
            Orb::init(listen.into_iter().chain(serve)).unwrap()
        };
        let fixture = Fixture::with_orbs(blocking(), Limits::default(), [orb(), orb()]);
        // Some upcalls are long enough for stand-ins, and all let others run.
        let does: Does = Box::new(|value| {
            if value % 5_000 == 2_500 {
                // tidy: sleep: a consumer that takes its time is what is being tested
                std::thread::sleep(Duration::from_millis(50));
            }
            std::thread::yield_now();
            Ok(())
        });
        let taker = connect(&fixture, does);
        supply(&fixture, 0..MANY);
        expect(&taker.took, 0..MANY);
    }
}

#[test]
fn consumers_of_all_kinds_get_the_same_events() {
    let fixture = Fixture::new(blocking());
    let taker = connect(&fixture, takes_all());
    let (plain, _plain) = fixture.consumer();
    let pulling = fixture.pull_supplier();
    pulling.connect_pull_consumer(None).unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| supply(&fixture, 0..2_000));
        for value in 0..2_000 {
            assert_eq!(pulling.pull().unwrap().extract::<i32>().unwrap(), value);
        }
    });
    expect(&taker.took, 0..2_000);
    for value in 0..2_000 {
        assert_eq!(plain.recv_timeout(PATIENCE).unwrap(), Said::Event(value));
    }
}

#[test]
fn what_heaps_up_from_a_supplier_without_bundles_is_bundled() {
    let fixture = Fixture::new(ChannelQos::default());
    let (go, wait) = mpsc::channel::<()>();
    let wait = Mutex::new(wait);
    let is_held = Box::new(move |value| {
        if value == 0 {
            let _ = wait.lock().unwrap().recv_timeout(PATIENCE);
        }
        Ok(())
    });
    let taker = connect(&fixture, is_held);
    let supplier = fixture.supplier();
    (0..1_000).for_each(|value| supplier.push(&any(value)).unwrap());
    go.send(()).unwrap();
    expect(&taker.took, 0..1_000);
    assert!(taker.bundles.load(Ordering::SeqCst) >= 1);
    assert!(taker.others.load(Ordering::SeqCst) + taker.bundles.load(Ordering::SeqCst) < 100);
}

#[test]
fn a_refused_event_is_counted_and_the_others_go_on() {
    let fixture = Fixture::new(blocking());
    let refuse = |value: i32| match value % 10 {
        3 => {
            Err(SystemException::bad_param(minor::BAD_PARAM_ARGUMENT, CompletionStatus::No).into())
        }
        _ => Ok(()),
    };
    let taker = connect(&fixture, Box::new(refuse));
    supply(&fixture, 0..1_000);
    expect(&taker.took, (0..1_000).filter(|value| value % 10 != 3));
    let counters = counters(&fixture, |c| c.delivered + c.refused == 1_000);
    assert_eq!((counters.refused, counters.dropped), (100, 0));
}

#[test]
fn what_a_consumer_cannot_take_now_comes_again_in_order() {
    let fixture = Fixture::new(blocking());
    let attempts = AtomicUsize::new(0);
    let stumbles = move |value: i32| {
        if value == 500 && attempts.fetch_add(1, Ordering::SeqCst) < 2 {
            return Err(SystemException::transient(
                minor::TRANSIENT_OVERLOAD,
                CompletionStatus::No,
            )
            .into());
        }
        Ok(())
    };
    let taker = connect(&fixture, Box::new(stumbles));
    supply(&fixture, 0..1_000);
    // At least once, in order: what was taken of a bundle may come again with it.
    let (mut next, mut last) = (0, None);
    while next < 1_000 {
        let value = taker.took.recv_timeout(PATIENCE).unwrap();
        assert!(value <= next, "{value} after {last:?}, and {next} has not come");
        next = next.max(value + 1);
        last = Some(value);
    }
    let counters = counters(&fixture, |counters| counters.delivered == 1_000);
    assert!(counters.failed >= 1 && counters.refused == 0, "{counters:?}");
}

#[test]
fn a_consumer_that_says_that_it_is_disconnected_is() {
    let fixture = Fixture::new(ChannelQos::default());
    let leaves = |value| if value < 5 { Ok(()) } else { Err(Disconnected {}.into()) };
    let taker = connect(&fixture, Box::new(leaves));
    supply(&fixture, 0..100);
    expect(&taker.took, 0..5);
    let deadline = std::time::Instant::now() + PATIENCE;
    while !fixture.core().statistics().consumers.is_empty() {
        assert!(std::time::Instant::now() < deadline);
        std::thread::yield_now();
    }
}

/// Its reference says that it takes bundles, but it does not.
struct Boaster<S>(S);

impl<S: Servant> Servant for Boaster<S> {
    fn _interfaces(&self) -> &'static [&'static str] {
        &[corbie_event::corbie_events::BundleConsumer::REPOSITORY_ID]
    }

    fn _dispatch(&self, request: &mut ServerRequest<'_>) -> Result<(), SystemException> {
        self.0._dispatch(request)
    }
}

impl<S: Servant> TypedServant for Boaster<S> {
    type Reference = PushConsumer;
}

#[test]
fn who_cannot_take_a_bundle_gets_one_event_after_the_other() {
    let fixture = Fixture::new(blocking());
    let (took, taken) = mpsc::channel();
    let doing = Doing { does: takes_all(), took: Mutex::new(took) };
    let servant = Boaster(PushConsumerSkeleton::new(doing));
    let consumer = fixture.poa.activate(servant).unwrap();
    fixture.push_supplier().connect_push_consumer(Some(&consumer)).unwrap();
    supply(&fixture, 0..1_000);
    expect(&taken, 0..1_000);
    let counters = counters(&fixture, |counters| counters.delivered == 1_000);
    assert_eq!((counters.refused, counters.dropped), (0, 0));
}

#[test]
fn a_supplier_waits_for_a_consumer_that_is_full() {
    let fixture = Fixture::new(ChannelQos { queue_events: 2_000, ..blocking() });
    let (go, wait) = mpsc::channel::<()>();
    let wait = Mutex::new(wait);
    let is_held = Box::new(move |value| {
        if value == 0 {
            let _ = wait.lock().unwrap().recv_timeout(PATIENCE);
        }
        Ok(())
    });
    let taker = connect(&fixture, is_held);
    let supplier = Supplier::connect(&fixture.channel).unwrap();
    let sent = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for value in 0..MANY {
                supplier.push(&any(value)).unwrap();
                sent.fetch_add(1, Ordering::SeqCst);
            }
            supplier.flush().unwrap();
        });
        // The queue, what is on its way to the channel, and what is being put together.
        counters(&fixture, |counters| counters.queued >= 1_500);
        assert!(sent.load(Ordering::SeqCst) < MANY as usize, "nothing made it wait");
        go.send(()).unwrap();
    });
    expect(&taker.took, 0..MANY);
    let counters = counters(&fixture, |counters| counters.delivered == MANY as u64);
    assert_eq!(counters.dropped, 0);
}

#[test]
fn what_is_dropped_is_counted_by_event() {
    let fixture = Fixture::new(ChannelQos { queue_events: 100, ..ChannelQos::default() });
    let (go, wait) = mpsc::channel::<()>();
    let wait = Mutex::new(wait);
    // The first that comes: the very first event may have been dropped before it was sent.
    let is_first = AtomicBool::new(true);
    let is_held = Box::new(move |_| {
        if is_first.swap(false, Ordering::SeqCst) {
            let _ = wait.lock().unwrap().recv_timeout(PATIENCE);
        }
        Ok(())
    });
    let taker = connect(&fixture, is_held);
    supply(&fixture, 0..5_000);
    go.send(()).unwrap();
    let counters = counters(&fixture, |c| c.delivered + c.dropped == 5_000);
    assert!(counters.dropped >= 4_800, "{counters:?}");
    let took: Vec<i32> = taker.took.try_iter().collect();
    assert_eq!(took.len() as u64, counters.delivered);
    assert!(took.windows(2).all(|pair| pair[0] < pair[1]));
    assert_eq!(took.last(), Some(&4_999), "the newest is there");
}

#[test]
fn events_of_any_size_keep_their_order() {
    let fixture = Fixture::new(blocking());
    let (listener, got) = fixture::any_listener(&fixture.poa);
    fixture.push_supplier().connect_push_consumer(Some(&listener)).unwrap();
    let supplier = Supplier::connect(&fixture.channel).unwrap();
    let sizes = [1, 20_000, 40_000, 3, 300_000, 0, 31_000, 33_000, 5, 1_000_000, 2];
    for size in sizes {
        supplier.push(&Any::from_value::<String>(&"x".repeat(size)).unwrap()).unwrap();
    }
    supplier.flush().unwrap();
    for size in sizes {
        let text = got.recv_timeout(PATIENCE).unwrap().extract::<String>().unwrap();
        assert_eq!(text.len(), size);
    }
}

#[test]
fn a_supplier_needs_no_channel_and_no_bundles() {
    let fixture = Fixture::new(ChannelQos::default());
    let (listener, said) = fixture.listener();
    let supplier = Supplier::of(&listener).unwrap();
    (0..10).for_each(|value| supplier.push(&any(value)).unwrap());
    supplier.flush().unwrap();
    for value in 0..10 {
        assert_eq!(said.recv_timeout(PATIENCE).unwrap(), Said::Event(value));
    }
}

#[test]
fn a_supplier_hears_that_its_channel_is_gone() {
    let fixture = Fixture::new(ChannelQos::default());
    let supplier = supply(&fixture, 0..10);
    fixture.channel.destroy().unwrap();
    let failure = (0..)
        .map(|value| supplier.push(&any(value)).and_then(|()| supplier.flush()))
        .find_map(Result::err)
        .unwrap();
    let PushError::System(exception) = failure else { panic!("{failure:?}") };
    assert_eq!(exception.kind, SystemExceptionKind::ObjectNotExist);
}

#[test]
fn what_is_no_bundle_is_refused() {
    const PUSH_BUNDLE: Operation = Operation::twoway("push_bundle");
    let fixture = Fixture::new(ChannelQos::default());
    let proxy = fixture.supplier();
    let refused = |count: u32, events: Vec<u8>| {
        let reply = proxy.as_object().invoke(&PUSH_BUNDLE, &|e| {
            [count, 0x0501_0001, 0x0001_0109].iter().for_each(|value| e.write_ulong(*value));
            corbie::idl::Sequence::<u8>::encode(&events, e)
        });
        reply.map(drop).unwrap_err().kind
    };
    assert_eq!(refused(2, vec![0; 8]), SystemExceptionKind::Marshal);
    assert_eq!(refused(1, vec![0; 7]), SystemExceptionKind::Marshal);
    assert_eq!(refused(1, [vec![255; 4], vec![0; 12]].concat()), SystemExceptionKind::Marshal);
    assert_eq!(refused(100_000, vec![0; 8]), SystemExceptionKind::ImpLimit);
    assert_eq!(refused(1, vec![0; 1 << 20]), SystemExceptionKind::ImpLimit);
    assert_eq!(fixture.core().statistics().received, 0);
}
