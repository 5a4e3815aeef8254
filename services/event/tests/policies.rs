//! Full queues and misbehaving consumers: what each policy does, and that no other client is held
//! back.

mod fixture;

use corbie::{Any, CompletionStatus, Object, Orb, SystemException, SystemExceptionKind, minor};
use corbie_event::cos_event_channel_admin::EventChannel;
use corbie_event::cos_event_comm::{
    Disconnected, PullSupplierServant, PullSupplierSkeleton, PushConsumer, PushConsumerServant,
    PushConsumerSkeleton, pull_supplier::PullError, pull_supplier::TryPullError,
    push_consumer::PushError,
};
use corbie_event::{ChannelQos, Limits, Overflow};
use corbie_testkit::{neighbour_cannot_be_made_up, object_key_in};
use fixture::{Fixture, PATIENCE, Said, any, block_on, events, is_gone, until};
use std::net::TcpListener;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

fn small(when_full: Overflow) -> ChannelQos {
    ChannelQos { when_full, queue_events: 3, ..ChannelQos::default() }
}

/// A consumer in an ORB of its own that takes each event when the test lets it.
struct Slow {
    said: Receiver<Said>,
    /// Dropped, it lets all pass.
    gate: Sender<()>,
    reference: PushConsumer,
    orb: Orb,
}

struct Gated {
    say: Mutex<Sender<Said>>,
    gate: Mutex<Receiver<()>>,
}

impl PushConsumerServant for Gated {
    fn push(&self, data: &Any) -> Result<(), PushError> {
        let value = data.extract::<i32>()?;
        let said = self.say.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = said.send(Said::Event(value));
        drop(said);
        let _ = self.gate.lock().unwrap_or_else(PoisonError::into_inner).recv();
        Ok(())
    }

    fn disconnect_push_consumer(&self) -> Result<(), SystemException> {
        let said = self.say.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = said.send(Said::Disconnected);
        Ok(())
    }
}

impl Slow {
    fn new(fixture: &Fixture) -> Self {
        let orb = fixture::orb();
        let poa = orb.root_poa().expect("a POA");
        poa.the_poa_manager().activate().expect("active");
        let ((say, said), (gate, gated)) = (mpsc::channel(), mpsc::channel());
        let servant = Gated { say: Mutex::new(say), gate: Mutex::new(gated) };
        let reference = poa.activate(PushConsumerSkeleton::new(servant)).expect("active");
        fixture.push_supplier().connect_push_consumer(Some(&reference)).expect("connected");
        Slow { said, gate, reference, orb }
    }
}

#[test]
fn the_oldest_is_dropped_or_the_newest() {
    for (when_full, kept) in [(Overflow::DropOldest, [9, 10]), (Overflow::DropNewest, [2, 3])] {
        let fixture = Fixture::new(small(when_full));
        let slow = Slow::new(&fixture);
        let supplier = fixture.supplier();
        supplier.push(&any(1)).expect("pushed");
        assert_eq!(events(&slow.said, 1), [1], "it is on its way");
        (2..=10).for_each(|value| supplier.push(&any(value)).expect("pushed"));
        let counters = fixture.core().statistics().consumers;
        assert_eq!((counters[0].queued, counters[0].dropped), (3, 7), "{when_full:?}");
        drop(slow.gate);
        assert_eq!(events(&slow.said, 2), kept, "{when_full:?}");
        until("all is taken", || fixture.core().statistics().consumers[0].delivered == 3);
    }
}

#[test]
fn a_supplier_is_blocked_until_there_is_room_and_loses_nothing() {
    let fixture = Fixture::new(small(Overflow::BlockSupplier));
    let slow = Slow::new(&fixture);
    let supplier = fixture.supplier();
    (1..=3).for_each(|value| supplier.push(&any(value)).expect("pushed"));
    let mut blocked: Vec<_> =
        (4..=9).map(|value| Box::pin(supplier.push_async(&any(value)))).collect();
    until("all are there", || fixture.core().statistics().consumers[0].queued == 9);
    let mut context = Context::from_waker(Waker::noop());
    for push in &mut blocked {
        assert!(matches!(push.as_mut().poll(&mut context), Poll::Pending), "it waits");
    }
    slow.gate.send(()).expect("it listens");
    let first = blocked.remove(0);
    block_on(first).expect("there is room for one");
    for push in &mut blocked {
        assert!(matches!(push.as_mut().poll(&mut context), Poll::Pending), "it waits");
    }
    drop(slow.gate);
    blocked.into_iter().for_each(|push| block_on(push).expect("pushed"));
    assert_eq!(events(&slow.said, 9), Vec::from_iter(1..=9));
}

#[test]
fn blocked_suppliers_go_on_when_the_consumer_is_disconnected() {
    let fixture = Fixture::new(small(Overflow::BlockSupplier));
    let slow = Slow::new(&fixture);
    let supplier = fixture.supplier();
    (1..=3).for_each(|value| supplier.push(&any(value)).expect("pushed"));
    let blocked = supplier.push_async(&any(4));
    until("it is there", || fixture.core().statistics().received == 4);
    fixture.channel.destroy().expect("destroyed");
    block_on(blocked).expect("it is answered");
    drop(slow.gate);
}

#[test]
fn who_is_too_slow_is_disconnected() {
    let fixture = Fixture::new(small(Overflow::Disconnect));
    let slow = Slow::new(&fixture);
    let supplier = fixture.supplier();
    supplier.push(&any(1)).expect("pushed");
    assert_eq!(events(&slow.said, 1), [1], "it is on its way");
    (2..=4).for_each(|value| supplier.push(&any(value)).expect("pushed"));
    assert_eq!(fixture.core().statistics().consumers, []);
    drop(slow.gate);
    assert_eq!(slow.said.recv_timeout(PATIENCE), Ok(Said::Disconnected));
    assert!(!slow.reference.as_object().non_existent().expect("an answer"));
    drop(slow.orb);
}

#[test]
fn queues_of_pull_consumers_are_bounded_as_well() {
    for (when_full, kept) in [(Overflow::DropOldest, [8, 9, 10]), (Overflow::DropNewest, [1, 2, 3])]
    {
        let fixture = Fixture::new(small(when_full));
        let pulled = fixture.pull_supplier();
        pulled.connect_pull_consumer(None).expect("connected");
        let supplier = fixture.supplier();
        (1..=10).for_each(|value| supplier.push(&any(value)).expect("pushed"));
        let got: Vec<Any> = (0..3).map(|_| pulled.pull().expect("pulled")).collect();
        assert_eq!(got, kept.map(any), "{when_full:?}");
    }
    let fixture = Fixture::new(small(Overflow::BlockSupplier));
    let pulled = fixture.pull_supplier();
    pulled.connect_pull_consumer(None).expect("connected");
    let supplier = fixture.supplier();
    let pushes: Vec<_> = (1..=10).map(|value| supplier.push_async(&any(value))).collect();
    for value in 1..=10 {
        assert_eq!(pulled.pull().expect("pulled"), any(value));
    }
    pushes.into_iter().for_each(|push| block_on(push).expect("pushed"));
}

#[test]
fn who_hangs_or_dies_holds_nobody_back_and_is_given_up() {
    let qos = ChannelQos {
        // Long enough for the good one on a busy machine: what times out is pushed again.
        push_timeout: Duration::from_secs(2),
        give_up_after: Duration::from_secs(1),
        window: 8,
        queue_events: 100_000,
        ..ChannelQos::default()
    };
    let fixture = Fixture::new(qos);
    let (good, _proxy) = fixture.consumer();
    let hangs = Slow::new(&fixture);
    let dead = Slow::new(&fixture);
    dead.orb.shutdown(false);
    // Takes connections and never answers.
    let mute = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("corbaloc::{}/mute", mute.local_addr().expect("an address"));
    let mute = fixture.client_orb.string_to_object(&url).expect("a reference");
    let mute = PushConsumer::unchecked_narrow(mute);
    fixture.push_supplier().connect_push_consumer(Some(&mute)).expect("connected");
    let supplier = fixture.supplier();
    (0..2000).for_each(|value| supplier.push(&any(value)).expect("pushed"));
    assert_eq!(events(&good, 2000), Vec::from_iter(0..2000));
    until("the others are given up", || fixture.core().statistics().consumers.len() == 1);
    assert_eq!(fixture.core().statistics().consumers[0].dropped, 0);
    drop((hangs.gate, dead.gate));
}

#[test]
fn an_event_that_a_consumer_refuses_is_not_tried_for_ever() {
    let fixture = Fixture::new(ChannelQos::default());
    let (said, _proxy) = fixture.consumer();
    let supplier = fixture.supplier();
    supplier.push(&Any::string("no long").expect("an any")).expect("pushed");
    supplier.push(&any(2)).expect("pushed");
    assert_eq!(events(&said, 1), [2]);
    let counters = fixture.core().statistics().consumers;
    assert_eq!((counters[0].refused, counters[0].failed), (1, 0));
}

#[test]
fn disconnect_and_destroy_come_from_inside_an_upcall() {
    struct Ends {
        channel: Mutex<Option<EventChannel>>,
        say: Mutex<Sender<Said>>,
    }
    impl PushConsumerServant for Ends {
        fn push(&self, _: &Any) -> Result<(), PushError> {
            let channel = self.channel.lock().unwrap_or_else(PoisonError::into_inner).take();
            Ok(channel.map_or(Ok(()), |channel| channel.destroy())?)
        }
        fn disconnect_push_consumer(&self) -> Result<(), SystemException> {
            let say = self.say.lock().unwrap_or_else(PoisonError::into_inner);
            let _ = say.send(Said::Disconnected);
            Ok(())
        }
    }
    let fixture = Fixture::new(ChannelQos::default());
    let (say, said) = mpsc::channel();
    let channel = Mutex::new(Some(fixture.channel.clone()));
    let servant = PushConsumerSkeleton::new(Ends { channel, say: Mutex::new(say) });
    let consumer = fixture.poa.activate(servant).expect("active");
    fixture.push_supplier().connect_push_consumer(Some(&consumer)).expect("connected");
    fixture.supplier().push(&any(1)).expect("pushed");
    assert_eq!(said.recv_timeout(PATIENCE), Ok(Said::Disconnected));
    until("the channel is gone", || fixture.server.channel("test").is_none());
    assert!(said.try_recv().is_err(), "it is told once");
}

#[test]
fn proxies_and_waiting_pulls_are_bounded() {
    let limits = Limits { proxies: 3, waiting_pulls: 2, ..Limits::default() };
    let fixture = Fixture::with_limits(ChannelQos::default(), limits);
    let pulled = fixture.pull_supplier();
    pulled.connect_pull_consumer(None).expect("connected");
    let waits: Vec<_> = (0..2).map(|_| pulled.pull_async()).collect();
    let beyond = block_on(pulled.pull_async()).expect_err("there are too many");
    let corbie_event::cos_event_comm::pull_supplier::PullError::System(beyond) = beyond else {
        panic!("a system exception");
    };
    assert_eq!(beyond.kind, SystemExceptionKind::ImpLimit);
    let _two = (fixture.push_consumer(), fixture.push_consumer());
    let suppliers = fixture.channel.for_suppliers().expect("an answer").expect("not nil");
    let beyond = suppliers.obtain_push_consumer().expect_err("there are too many");
    assert_eq!(beyond.kind, SystemExceptionKind::ImpLimit);
    pulled.disconnect_pull_supplier().expect("disconnected");
    waits.into_iter().for_each(|pull| assert!(block_on(pull).is_err(), "it is told"));
}

/// A client that has a proxy knows how those of others are numbered, and no more.
#[test]
fn proxies_of_others_cannot_be_made_up() {
    let fixture = Fixture::new(ChannelQos::default());
    let objects: [[Object; 2]; 4] = [
        [fixture.push_consumer(), fixture.push_consumer()].map(|proxy| proxy.into_object()),
        [fixture.pull_consumer(), fixture.pull_consumer()].map(|proxy| proxy.into_object()),
        [fixture.push_supplier(), fixture.push_supplier()].map(|proxy| proxy.into_object()),
        [fixture.pull_supplier(), fixture.pull_supplier()].map(|proxy| proxy.into_object()),
    ];
    let address = fixture.server_orb.listen_addresses()[0];
    for pair in objects.map(|pair| pair.map(|proxy| object_key_in(&proxy.to_string()))) {
        neighbour_cannot_be_made_up(address, &pair, 32, |url| is_gone(&fixture.client_orb, url));
    }
}

#[test]
fn alignment_is_the_receivers() {
    // GIOP 1.0 aligns arguments otherwise than 1.2: events go both ways between them.
    let fixture = Fixture::new(ChannelQos::default());
    let (said, _proxy) = fixture.consumer();
    let proxy = fixture.supplier();
    let profile = &proxy.as_object().ior().iiop_profiles().expect("profiles")[0];
    let escaped: String = profile.object_key.iter().map(|octet| format!("%{octet:02x}")).collect();
    for version in ["1.0", "1.1", "1.2"] {
        let url = format!("corbaloc:iiop:{version}@127.0.0.1:{}/{escaped}", profile.port);
        let old: Object = fixture.client_orb.string_to_object(&url).expect("a reference");
        let old = corbie_event::cos_event_comm::PushConsumer::unchecked_narrow(old);
        old.push(&any(7)).expect("pushed");
        assert_eq!(events(&said, 1), [7], "{version}");
    }
}

/// A supplier that fails, keeps the next pull for longer than a supplier may be out of reach, fails
/// again, and then gives an event.
struct Reluctant {
    pulls: Arc<AtomicUsize>,
    disconnected: Arc<AtomicBool>,
}

const GIVE_UP: Duration = Duration::from_millis(50);

impl PullSupplierServant for Reluctant {
    fn pull(&self) -> Result<Any, PullError> {
        let pulls = self.pulls.fetch_add(1, Ordering::SeqCst);
        if pulls == 1 {
            // tidy: sleep: a pull that is kept for longer than this is what the test is about.
            std::thread::sleep(4 * GIVE_UP);
        }
        match pulls {
            0 | 1 => {
                Err(SystemException::transient(minor::TRANSIENT_OVERLOAD, CompletionStatus::No)
                    .into())
            }
            2 => Ok(any(7)),
            _ => Err(Disconnected {}.into()),
        }
    }

    fn try_pull(&self) -> Result<(Any, bool), TryPullError> {
        Ok((Any::default(), false))
    }

    fn disconnect_pull_supplier(&self) -> Result<(), SystemException> {
        self.disconnected.store(true, Ordering::SeqCst);
        Ok(())
    }
}

#[test]
fn a_supplier_that_kept_a_pull_was_there_whenever_one_failed_before() {
    let fixture = Fixture::new(ChannelQos { give_up_after: GIVE_UP, ..ChannelQos::default() });
    let (said, _proxy) = fixture.consumer();
    let (pulls, disconnected) = <(Arc<AtomicUsize>, Arc<AtomicBool>)>::default();
    let servant = Reluctant { pulls: Arc::clone(&pulls), disconnected: Arc::clone(&disconnected) };
    let supplier = fixture.poa.activate(PullSupplierSkeleton::new(servant)).expect("active");
    fixture.pull_consumer().connect_pull_supplier(Some(&supplier)).expect("connected");
    let is_pulled = || pulls.load(Ordering::SeqCst) > 2;
    until("it is pulled again, or disconnected", || {
        is_pulled() || disconnected.load(Ordering::SeqCst)
    });
    assert!(is_pulled(), "it was disconnected, and was there");
    assert_eq!(events(&said, 1), [7]);
}
