//! From inside an upcall of a consumer: connect, disconnect, push, suspend, resume, connect again
//! and destroy, under every configuration (paper RTEC §4.4).

mod fixture;

use corbie::SystemException;
use corbie_rtevent::Configuration;
use corbie_rtevent::filter::{Publication, event};
use corbie_rtevent::rtec_event_channel_admin::{
    EventChannel, ProxyPushConsumer, ProxyPushSupplier,
};
use corbie_rtevent::rtec_event_comm::{
    Event, PushConsumer, PushConsumerServant, PushConsumerSkeleton,
};
use fixture::{CAR, Fixture, PATIENCE, POSITION, VELOCITY, an_event, payloads};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Mutex, OnceLock, PoisonError};

fn configurations() -> Vec<Configuration> {
    let collections = ["immediate", "copy-on-read", "copy-on-write", "delayed"];
    let dispatchings = ["reactive", "pool", "per-consumer"];
    let filters = ["per-supplier", "per-type", "global"];
    let mut all = Vec::new();
    for collection in collections {
        for dispatching in dispatchings {
            for filter in filters {
                let configuration = Configuration::of([
                    format!("collection={collection}"),
                    format!("dispatching={dispatching}"),
                    format!("supplier-filter={filter}"),
                    "reconnect=allowed".to_owned(),
                ]);
                // Immediate and reactive do not go together.
                all.extend(configuration);
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
