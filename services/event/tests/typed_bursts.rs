//! Bursts of typed events, of which none is lost when suppliers are made to wait (the typed event
//! services of paper MSHN §4.4 failed after 100), and consumers that do not behave.

mod fixture;
#[path = "fixture/ticker.rs"]
mod ticker;

use corbie::{Object, Orb, SystemException, SystemExceptionKind, minor};
use corbie_event::cos_event_channel_admin::ProxyPushSupplier;
use corbie_event::cos_event_channel_admin::proxy_push_supplier::ConnectPushConsumerError;
use corbie_event::cos_event_comm::PushConsumer;
use corbie_event::{ChannelQos, Overflow};
use fixture::until;
use std::net::TcpListener;
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;
use ticker::{
    Clock, ClockServant, ClockSkeleton, Heard, PullClock, TICKER, Ticker, TypedFixture, next,
};

const CLOCK: &str = Clock::REPOSITORY_ID;

fn blocking(queue_events: usize, window: usize) -> ChannelQos {
    ChannelQos { when_full: Overflow::BlockSupplier, queue_events, window, ..ChannelQos::default() }
}

/// Gives `count` events without waiting for the answers of more than `pending` at a time.
fn burst(clock: &Clock, count: i64, pending: usize) {
    let mut waiting = std::collections::VecDeque::new();
    for at in 0..count {
        waiting.push_back(clock.tick_async(at));
        if waiting.len() >= pending
            && let Some(first) = waiting.pop_front()
        {
            fixture::block_on(first).expect("taken");
        }
    }
    waiting.into_iter().for_each(|tick| fixture::block_on(tick).expect("taken"));
}

#[test]
fn a_thousand_at_once_reach_a_consumer_that_is_pushed_to_and_one_that_pulls() {
    let fixture = TypedFixture::new(blocking(100, 1));
    let (heard, _proxy) = fixture.consumer(CLOCK);
    let (pulls, _proxy) = fixture.puller::<PullClock>();
    let (clock, _proxy) = fixture.supplier::<Clock>();
    let puller = std::thread::spawn(move || {
        (0..1000).map(|_| pulls.tick()).collect::<Result<Vec<i64>, SystemException>>()
    });
    burst(&clock, 1000, 1000);
    for at in 0..1000 {
        assert_eq!(next(&heard), Heard::Tick(at), "pushed");
    }
    let pulled = puller.join().expect("it ends").expect("pulled");
    assert_eq!(pulled, Vec::from_iter(0..1000), "pulled");
    // What was heard is counted when its answer is back.
    let consumers = || fixture.core().statistics().consumers;
    until("all is counted", || consumers().iter().all(|consumer| consumer.delivered == 1000));
    assert!(consumers().iter().all(|consumer| consumer.dropped == 0));
}

#[test]
fn a_hundred_thousand_reach_both() {
    const COUNT: i64 = 100_000;
    let fixture = TypedFixture::new(blocking(1000, 64));
    let (heard, _proxy) = fixture.consumer(CLOCK);
    let (pulls, _proxy) = fixture.puller::<PullClock>();
    let (clock, _proxy) = fixture.supplier::<Clock>();
    let puller = std::thread::spawn(move || {
        let mut waiting = std::collections::VecDeque::new();
        for at in 0..COUNT {
            if waiting.len() < 32 {
                (waiting.len()..32).for_each(|_| waiting.push_back(pulls.tick_async()));
            }
            let first = waiting.pop_front().expect("some are on their way");
            assert_eq!(fixture::block_on(first).expect("pulled"), at);
        }
    });
    burst(&clock, COUNT, 512);
    for at in 0..COUNT {
        assert_eq!(next(&heard), Heard::Tick(at), "pushed");
    }
    puller.join().expect("all in order");
    let counters = fixture.core().statistics();
    assert_eq!(counters.received, COUNT as u64);
    assert!(counters.consumers.iter().all(|consumer| consumer.dropped == 0), "{counters:?}");
}

/// A consumer that takes each tick when the test lets it.
struct Gated {
    say: Mutex<Sender<i64>>,
    gate: Mutex<Receiver<()>>,
}

impl ClockServant for Gated {
    fn tick(&self, at: i64) -> Result<(), SystemException> {
        let _ = self.say.lock().unwrap_or_else(PoisonError::into_inner).send(at);
        let _ = self.gate.lock().unwrap_or_else(PoisonError::into_inner).recv();
        Ok(())
    }
}

/// A consumer in an ORB of its own, which takes each tick when the test lets it.
struct Slow {
    said: Receiver<i64>,
    /// Dropped, it lets all pass.
    gate: Sender<()>,
    orb: Orb,
}

impl Slow {
    fn new(fixture: &TypedFixture) -> Self {
        let orb = fixture::orb();
        let poa = orb.root_poa().expect("a POA");
        poa.the_poa_manager().activate().expect("active");
        let ((say, said), (gate, gated)) = (mpsc::channel(), mpsc::channel());
        let servant = Gated { say: Mutex::new(say), gate: Mutex::new(gated) };
        let called = poa.activate(ClockSkeleton::new(servant)).expect("active").into_object();
        let (say, _) = mpsc::channel();
        let consumer = fixture.consumer_with(Some(called), Arc::new(Mutex::new(say)));
        let proxy = fixture.push_supplier(CLOCK);
        proxy.connect_push_consumer(Some(&consumer)).expect("connected");
        Slow { said, gate, orb }
    }
}

impl Drop for Slow {
    fn drop(&mut self) {
        self.gate = mpsc::channel().0;
        self.orb.shutdown(true);
    }
}

#[test]
fn a_slow_or_dead_consumer_holds_back_nobody_else() {
    let qos = ChannelQos { give_up_after: Duration::from_millis(200), ..ChannelQos::default() };
    let fixture = TypedFixture::new(qos);
    let slow = Slow::new(&fixture);
    let dead = Slow::new(&fixture);
    let (heard, _proxy) = fixture.consumer(CLOCK);
    let (clock, _proxy) = fixture.supplier::<Clock>();
    clock.tick(0).expect("taken");
    assert_eq!(dead.said.recv_timeout(fixture::PATIENCE), Ok(0));
    drop(dead);
    (1..100).for_each(|at| clock.tick(at).expect("taken"));
    (0..100).for_each(|at| assert_eq!(next(&heard), Heard::Tick(at)));
    assert_eq!(slow.said.recv_timeout(fixture::PATIENCE), Ok(0));
    until("the dead one is disconnected", || fixture.core().statistics().consumers.len() == 2);
    assert!(slow.said.try_recv().is_err(), "it has not taken the first yet");
    drop(slow);
}

#[test]
fn a_full_queue_of_calls_is_treated_as_any() {
    for (when_full, kept) in [(Overflow::DropOldest, [9, 10]), (Overflow::DropNewest, [2, 3])] {
        let qos = ChannelQos { when_full, queue_events: 3, ..ChannelQos::default() };
        let fixture = TypedFixture::new(qos);
        let slow = Slow::new(&fixture);
        let (clock, _proxy) = fixture.supplier::<Clock>();
        clock.tick(1).expect("taken");
        assert_eq!(slow.said.recv_timeout(fixture::PATIENCE), Ok(1), "it is on its way");
        (2..=10).for_each(|at| clock.tick(at).expect("taken"));
        let counters = fixture.core().statistics().consumers;
        assert_eq!((counters[0].queued, counters[0].dropped), (3, 7), "{when_full:?}");
        (0..3).for_each(|_| slow.gate.send(()).expect("it listens"));
        for at in kept {
            assert_eq!(slow.said.recv_timeout(fixture::PATIENCE), Ok(at), "{when_full:?}");
        }
    }
}

/// A server that takes connections and says nothing.
fn silent() -> (TcpListener, Orb, PushConsumer) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let orb = fixture::orb();
    let object = orb.string_to_object(&format!("corbaloc::127.0.0.1:{port}/silent"));
    let consumer = PushConsumer::unchecked_narrow(object.expect("a reference"));
    (listener, orb, consumer)
}

#[test]
fn who_says_nothing_when_it_is_connected_keeps_only_itself_waiting() {
    // As long as a good consumer may take on a busy machine.
    let qos = ChannelQos { push_timeout: Duration::from_secs(2), ..ChannelQos::default() };
    let fixture = TypedFixture::new(qos);
    let (_listener, _orb, consumer) = silent();
    // More than there are workers.
    let proxies: Vec<ProxyPushSupplier> = (0..8).map(|_| fixture.push_supplier(CLOCK)).collect();
    let waiting: Vec<_> =
        proxies.iter().map(|proxy| proxy.connect_push_consumer_async(Some(&consumer))).collect();
    let (heard, _proxy) = fixture.consumer(CLOCK);
    let (clock, _proxy) = fixture.supplier::<Clock>();
    clock.tick(1).expect("taken");
    assert_eq!(next(&heard), Heard::Tick(1));
    for refused in waiting {
        let refused = fixture::block_on(refused);
        let Err(ConnectPushConsumerError::System(late)) = refused else { panic!("{refused:?}") };
        assert_eq!(late.kind, SystemExceptionKind::Timeout);
    }
    // No server is there at all.
    drop(_listener);
    let refused = fixture.push_supplier(CLOCK).connect_push_consumer(Some(&consumer));
    let Err(ConnectPushConsumerError::System(gone)) = refused else { panic!("{refused:?}") };
    assert!(gone.kind != SystemExceptionKind::ObjectNotExist, "the channel is there: {gone}");
}

/// Refuses one tick, and disconnects itself at another.
struct Capricious {
    said: Mutex<Sender<i64>>,
    proxy: OnceLock<ProxyPushSupplier>,
    refusal: SystemException,
}

impl ClockServant for Capricious {
    fn tick(&self, at: i64) -> Result<(), SystemException> {
        match at {
            1 => return Err(self.refusal.clone()),
            3 => self.proxy.wait().disconnect_push_supplier()?,
            _ => {}
        }
        let _ = self.said.lock().unwrap_or_else(PoisonError::into_inner).send(at);
        Ok(())
    }
}

#[test]
fn a_consumer_may_refuse_an_event_and_disconnect_itself_in_an_upcall() {
    let fixture = TypedFixture::new(ChannelQos::default());
    let ((say, said), (farewell, heard)) = (mpsc::channel(), mpsc::channel());
    let refusal =
        SystemException::bad_param(minor::BAD_PARAM_ARGUMENT, corbie::CompletionStatus::No);
    let servant = Arc::new(Capricious { said: Mutex::new(say), proxy: OnceLock::new(), refusal });
    let called = fixture.poa.activate(ClockSkeleton::new(Arc::clone(&servant))).expect("active");
    let called: Object = called.into_object();
    let consumer = fixture.consumer_with(Some(called), Arc::new(Mutex::new(farewell)));
    let proxy = fixture.push_supplier(CLOCK);
    proxy.connect_push_consumer(Some(&consumer)).expect("connected");
    servant.proxy.set(proxy).expect("once");
    let (clock, _proxy) = fixture.supplier::<Clock>();
    (0..3).for_each(|at| clock.tick(at).expect("taken"));
    assert_eq!(said.recv_timeout(fixture::PATIENCE), Ok(0));
    assert_eq!(said.recv_timeout(fixture::PATIENCE), Ok(2), "the next after the one refused");
    until("it is counted", || fixture.core().statistics().consumers[0].refused == 1);
    (3..6).for_each(|at| clock.tick(at).expect("taken"));
    assert_eq!(said.recv_timeout(fixture::PATIENCE), Ok(3));
    assert_eq!(next(&heard), Heard::Disconnected);
    assert_eq!(fixture.core().statistics().consumers, []);
}

#[test]
fn a_destroyed_channel_tells_everybody_and_its_typed_objects_are_gone() {
    let fixture = TypedFixture::new(blocking(1, 1));
    let (heard, _proxy) = fixture.consumer(TICKER);
    let (pulls, _proxy) = fixture.puller::<PullClock>();
    let (clock, _proxy) = fixture.supplier::<Ticker>();
    clock.tick(1).expect("there is room for one");
    assert_eq!(next(&heard), Heard::Tick(1));
    let blocked = clock.tick_async(2);
    until("it is there", || fixture.core().statistics().received == 2);
    let core = fixture.core();
    fixture.channel.destroy().expect("destroyed");
    fixture::block_on(blocked).expect("it is answered");
    // The event may have been on its way.
    let told = std::iter::repeat_with(|| next(&heard)).find(|heard| *heard != Heard::Tick(2));
    assert_eq!(told, Some(Heard::Disconnected));
    assert!(core.is_destroyed());
    let gone = clock.tick(3).expect_err("it is gone");
    assert_eq!(gone.kind, SystemExceptionKind::ObjectNotExist);
    let gone = pulls.tick().expect_err("it is gone");
    assert_eq!(gone.kind, SystemExceptionKind::ObjectNotExist);
}
