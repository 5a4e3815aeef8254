//! From inside an upcall of a consumer: connect, disconnect, push, suspend, resume, connect again
//! and destroy, under every configuration (paper RTEC §4.4).

mod fixture;

use corbie::SystemException;
use corbie_rtevent::filter::{Publication, event};
use corbie_rtevent::rtec_event_channel_admin::{
    EventChannel, ProxyPushConsumer, ProxyPushSupplier,
};
use corbie_rtevent::rtec_event_comm::{
    Event, PushConsumer, PushConsumerServant, PushConsumerSkeleton,
};
use corbie_rtevent::{Configuration, Dispatching};
use fixture::{CAR, Fixture, PATIENCE, POSITION, VELOCITY, an_event, payloads};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Mutex, OnceLock, PoisonError};

fn configurations() -> Vec<Configuration> {
    configurations_with(&["reconnect=allowed"])
}

fn configurations_with(settings: &[&str]) -> Vec<Configuration> {
    let collections = ["immediate", "copy-on-read", "copy-on-write", "delayed"];
    let dispatchings = ["reactive", "pool", "per-consumer"];
    let filters = ["per-supplier", "per-type", "global"];
    let mut all = Vec::new();
    for collection in collections {
        for dispatching in dispatchings {
            for filter in filters {
                let mut all_settings = vec![
                    format!("collection={collection}"),
                    format!("dispatching={dispatching}"),
                    format!("supplier-filter={filter}"),
                ];
                all_settings.extend(settings.iter().map(|setting| (*setting).to_owned()));
                // Immediate and reactive do not go together.
                all.extend(Configuration::of(all_settings));
            }
        }
    }
    assert_eq!(all.len(), 33);
    all
}

/// Does something in its first upcall, and says when it is done.
struct Actor {
    act: Mutex<Option<Box<dyn FnOnce() + Send>>>,
    done: Mutex<Sender<()>>,
}

impl PushConsumerServant for Actor {
    fn push(&self, _data: &[Event]) -> Result<(), SystemException> {
        let act = self.act.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(act) = act {
            act();
            let _ = self.done.lock().unwrap_or_else(PoisonError::into_inner).send(());
        }
        Ok(())
    }

    fn disconnect_push_consumer(&self) -> Result<(), SystemException> {
        Ok(())
    }
}

/// What an actor can do things with.
struct Scene {
    channel: EventChannel,
    own: ProxyPushSupplier,
    own_reference: PushConsumer,
    other: ProxyPushSupplier,
    supplier: ProxyPushConsumer,
    newcomer: PushConsumer,
}

type Act = fn(&Scene);

const ACTS: [(&str, Act); 8] = [
    ("push", |scene| {
        scene.supplier.push(&[an_event(CAR, VELOCITY, b"within")]).expect("pushed");
    }),
    ("connect", |scene| {
        let consumers = scene.channel.for_consumers().expect("an answer").expect("not nil");
        let proxy = consumers.obtain_push_supplier().expect("an answer").expect("not nil");
        proxy
            .connect_push_consumer(Some(&scene.newcomer), &event(POSITION).subscription())
            .expect("connected");
        let suppliers = scene.channel.for_suppliers().expect("an answer").expect("not nil");
        let proxy = suppliers.obtain_push_consumer().expect("an answer").expect("not nil");
        let published = Publication::of([Publication::new(CAR, POSITION)]);
        proxy.connect_push_supplier(None, &published).expect("connected");
    }),
    ("disconnect itself", |scene| {
        scene.own.disconnect_push_supplier().expect("disconnected");
    }),
    ("disconnect another", |scene| {
        scene.other.disconnect_push_supplier().expect("disconnected");
    }),
    ("suspend and resume", |scene| {
        scene.own.suspend_connection().expect("suspended");
        scene.other.suspend_connection().expect("suspended");
        scene.other.resume_connection().expect("resumed");
        scene.own.resume_connection().expect("resumed");
    }),
    ("connect again", |scene| {
        scene
            .own
            .connect_push_consumer(Some(&scene.own_reference), &event(POSITION).subscription())
            .expect("connected");
    }),
    ("disconnect the supplier", |scene| {
        scene.supplier.disconnect_push_consumer().expect("disconnected");
    }),
    ("destroy", |scene| {
        scene.channel.destroy().expect("destroyed");
    }),
];

/// Runs an act in an upcall, and says whether its channel is as it should be afterwards.
fn play(fixture: &Fixture, name: &str, act: Act) {
    let (done, is_done) = channel();
    let scene: &'static OnceLock<Scene> = Box::leak(Box::default());
    let perform = move || act(scene.get().expect("it is set"));
    let actor = Actor { act: Mutex::new(Some(Box::new(perform))), done: Mutex::new(done) };
    let own_reference = fixture.poa.activate(PushConsumerSkeleton::new(actor)).expect("active");
    let own = fixture.push_supplier();
    own.connect_push_consumer(Some(&own_reference), &event(POSITION).subscription())
        .expect("connected");
    let (heard, other) = fixture.consumer(&(event(POSITION) | event(VELOCITY)));
    let (newcomer, new) = fixture.listener();
    let supplier = fixture.supplier(&[(CAR, POSITION), (CAR, VELOCITY)]);
    let channel = fixture.channel.clone();
    let set = scene.set(Scene {
        channel,
        own,
        own_reference,
        other,
        supplier: supplier.clone(),
        newcomer,
    });
    assert!(set.is_ok());
    supplier.push(&[an_event(CAR, POSITION, b"first")]).expect("pushed");
    is_done.recv_timeout(PATIENCE).unwrap_or_else(|_| panic!("{name} does not end"));
    match name {
        "destroy" => assert!(fixture.server.channel("test").is_none()),
        "disconnect the supplier" => {
            fixture::until("it has gone", || fixture.core().statistics().suppliers == 0);
        }
        "disconnect another" => {
            supplier.push(&[an_event(CAR, POSITION, b"second")]).expect("pushed");
            fixture::until("one is left", || fixture.core().statistics().consumers.len() == 1);
        }
        _ => {
            supplier.push(&[an_event(CAR, POSITION, b"second")]).expect("pushed");
            let expected: &[&[u8]] = match name {
                "push" => &[b"first", b"second", b"within"],
                _ => &[b"first", b"second"],
            };
            let mut got = payloads(&heard, expected.len());
            got.sort();
            // A suspended consumer may miss what comes meanwhile: here nothing does.
            assert_eq!(got, expected, "{name}");
            if name == "connect" {
                assert_eq!(payloads(&new, 1), [b"second"]);
            }
        }
    }
}

#[test]
fn everything_may_be_done_within_an_upcall_by_a_call_of_the_same_process() {
    for configuration in configurations() {
        for (name, act) in ACTS {
            play(&Fixture::local(configuration.clone()), name, act);
        }
    }
}

#[test]
fn everything_may_be_done_within_an_upcall_by_messages() {
    for configuration in configurations().into_iter().step_by(4) {
        for (name, act) in ACTS {
            play(&Fixture::new(configuration.clone()), name, act);
        }
    }
}

/// Takes nothing until its gate is open.
struct Hanging(Mutex<Receiver<()>>);

impl PushConsumerServant for Hanging {
    fn push(&self, _data: &[Event]) -> Result<(), SystemException> {
        let _ = self.0.lock().unwrap_or_else(PoisonError::into_inner).recv_timeout(PATIENCE);
        Ok(())
    }

    fn disconnect_push_consumer(&self) -> Result<(), SystemException> {
        Ok(())
    }
}

/// Connects one to what comes of [`POSITION`]: its gate, and its proxy.
fn hanging(fixture: &Fixture) -> (Sender<()>, ProxyPushSupplier) {
    let (open, gate) = channel();
    let hanging = PushConsumerSkeleton::new(Hanging(Mutex::new(gate)));
    let hanging = fixture.poa.activate(hanging).expect("active");
    let proxy = fixture.push_supplier();
    let subscription = event(POSITION).subscription();
    proxy.connect_push_consumer(Some(&hanging), &subscription).expect("connected");
    (open, proxy)
}

#[test]
fn a_consumer_whose_queue_is_full_is_disconnected_under_every_configuration() {
    let settings = ["when-full=disconnect", "queue-events=1", "window=1"];
    for configuration in configurations_with(&settings) {
        if configuration.dispatching == Dispatching::Reactive {
            // A consumer of this process holds up the thread that pushes.
            continue;
        }
        let fixture = Fixture::local(configuration);
        let (open, _proxy) = hanging(&fixture);
        let (said, _proxy) = fixture.consumer(&event(VELOCITY));
        let supplier = fixture.supplier(&[(CAR, POSITION), (CAR, VELOCITY)]);
        fixture::until("it is disconnected", || {
            supplier.push(&[an_event(CAR, POSITION, b"more")]).expect("pushed");
            fixture.core().statistics().consumers.len() == 1
        });
        // The channel goes on.
        let (more, _proxy) = fixture.consumer(&event(VELOCITY));
        supplier.push(&[an_event(CAR, VELOCITY, b"one")]).expect("pushed");
        assert_eq!(
            (payloads(&said, 1), payloads(&more, 1)),
            (vec![b"one".into()], vec![b"one".into()])
        );
        drop(open);
    }
}

/// Pushes again in each upcall, so many times.
struct Echoing {
    supplier: OnceLock<ProxyPushConsumer>,
    left: AtomicUsize,
}

impl PushConsumerServant for &'static Echoing {
    fn push(&self, data: &[Event]) -> Result<(), SystemException> {
        let is_left =
            self.left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |n| n.checked_sub(1));
        match self.supplier.get().filter(|_| is_left.is_ok()) {
            Some(supplier) => supplier.push(data),
            None => Ok(()),
        }
    }

    fn disconnect_push_consumer(&self) -> Result<(), SystemException> {
        Ok(())
    }
}

#[test]
fn upcalls_within_upcalls_use_up_no_stack() {
    for dispatching in ["reactive", "pool"] {
        let configuration = Configuration::of([format!("dispatching={dispatching}")]);
        let fixture = Fixture::local(configuration.expect("it can be"));
        let echoing: &'static Echoing = Box::leak(Box::new(Echoing {
            supplier: OnceLock::new(),
            left: AtomicUsize::new(20_000),
        }));
        let consumer = fixture.poa.activate(PushConsumerSkeleton::new(echoing)).expect("active");
        let proxy = fixture.push_supplier();
        let subscription = event(POSITION).subscription();
        proxy.connect_push_consumer(Some(&consumer), &subscription).expect("connected");
        let supplier = fixture.supplier(&[(CAR, POSITION)]);
        assert!(echoing.supplier.set(supplier.clone()).is_ok());
        supplier.push(&[an_event(CAR, POSITION, b"again")]).expect("pushed");
        fixture::until("it is taken", || echoing.left.load(Ordering::SeqCst) == 0);
        fixture::until("all is counted", || fixture.core().statistics().received == 20_001);
    }
}

#[test]
fn what_waits_in_a_mailbox_is_bounded_in_octets() {
    for when_full in ["drop-oldest", "drop-newest", "disconnect"] {
        let settings = ["dispatching=pool", "threads=2", "queue-octets=200000"];
        let settings = settings.map(str::to_owned).into_iter();
        let configuration = Configuration::of(settings.chain([format!("when-full={when_full}")]));
        let fixture = Fixture::local(configuration.expect("it can be"));
        let (open, _proxy) = hanging(&fixture);
        let supplier = fixture.supplier(&[(CAR, POSITION)]);
        let held = || fixture.server.statistics().queued_octets;
        let mut most = 0;
        for number in 1..=20 {
            supplier.push(&[an_event(CAR, POSITION, &[7; 65_536])]).expect("pushed");
            fixture::until("it has come", || fixture.core().statistics().received == number);
            most = most.max(held());
        }
        assert!((130_000..=200_000).contains(&most), "{when_full}: {most}");
        if when_full == "disconnect" {
            fixture::until("it goes", || fixture.core().statistics().consumers.is_empty());
        } else {
            let consumer = fixture.core().statistics().consumers[0];
            assert!(consumer.dropped >= 16, "{consumer:?}");
            assert!(consumer.queued <= 3 && consumer.queued_octets <= 200_000, "{consumer:?}");
        }
        drop(open);
        fixture::until("nothing is kept", || held() == 0);
    }
}

#[test]
fn an_event_for_which_many_old_ones_go_was_refused_room_once() {
    let settings = ["dispatching=pool", "threads=1", "queue-octets=200000"];
    let fixture = Fixture::local(Configuration::of(settings).expect("it can be"));
    let (open, _proxy) = hanging(&fixture);
    let supplier = fixture.supplier(&[(CAR, POSITION)]);
    let push = |number: u64, octets: usize| {
        supplier.push(&[an_event(CAR, POSITION, &vec![7; octets])]).expect("pushed");
        fixture::until("it has come", || fixture.core().statistics().received == number);
    };
    (1..=18).for_each(|number| push(number, 9_000));
    let dropped = || fixture.core().statistics().consumers[0].dropped;
    assert_eq!((dropped(), fixture.server.statistics().refused_events), (0, 0));
    push(19, 150_000);
    fixture::until("many were dropped", || dropped() >= 10);
    assert_eq!(fixture.server.statistics().refused_events, 1);
    drop(open);
}
