//! Durable channels whose server ends in peace while events come, and consumers that cannot take
//! an event for now. The server is in this process.

mod fixture;
#[path = "fixture/place.rs"]
mod place;

use corbie::{Any, CompletionStatus, Object, Orb, Servant, SystemException, minor};
use corbie_event::cos_event_channel_admin::{EventChannel, ProxyPushConsumer};
use corbie_event::cos_event_comm::{
    PushConsumer, PushConsumerServant, PushConsumerSkeleton, push_consumer::PushError,
};
use corbie_event::{Bundled, Channel, ChannelQos, Retention, Supplier};
use fixture::{PATIENCE, any, until};
use place::{Place, Served};
use std::collections::HashMap;
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

impl Served {
    fn channel(&self) -> (EventChannel, Arc<Channel>) {
        let qos = ChannelQos {
            window: 8,
            push_timeout: Duration::from_secs(60),
            durable: Some(Retention::default()),
            ..ChannelQos::default()
        };
        let reference = self.server.create("test", qos).expect("a channel");
        (reference, self.server.channel("test").expect("it is there"))
    }
}

/// Says what it gets; the number 1 fails so often, with such an exception.
struct Fails {
    say: Mutex<Sender<i32>>,
    left: Mutex<Vec<SystemException>>,
}

impl Fails {
    fn new(fails: Vec<SystemException>) -> (Self, Receiver<i32>) {
        let (say, said) = mpsc::channel();
        (Self { say: Mutex::new(say), left: Mutex::new(fails) }, said)
    }
}

impl PushConsumerServant for Fails {
    fn push(&self, data: &Any) -> Result<(), PushError> {
        let number = data.extract::<i32>()?;
        if number == 1
            && let Some(fails) = self.left.lock().unwrap_or_else(PoisonError::into_inner).pop()
        {
            return Err(fails.into());
        }
        let _ = self.say.lock().unwrap_or_else(PoisonError::into_inner).send(number);
        Ok(())
    }

    fn disconnect_push_consumer(&self) -> Result<(), SystemException> {
        Ok(())
    }
}

/// What is outside the server.
struct Clients {
    orb: Orb,
    channel: EventChannel,
}

impl Clients {
    fn new(channel: &EventChannel) -> Self {
        let orb = fixture::orb();
        let manager = orb.root_poa().expect("a POA").the_poa_manager();
        manager.activate().expect("active");
        let channel = Object::new(&orb, channel.as_object().ior().clone());
        Self { channel: EventChannel::unchecked_narrow(channel), orb }
    }

    fn supplier(&self) -> ProxyPushConsumer {
        let suppliers = self.channel.for_suppliers().expect("an answer").expect("not nil");
        let proxy = suppliers.obtain_push_consumer().expect("an answer").expect("not nil");
        proxy.connect_push_supplier(None).expect("connected");
        // Of this ORB: the server's ends.
        let proxy = Object::new(&self.orb, proxy.as_object().ior().clone());
        ProxyPushConsumer::unchecked_narrow(proxy)
    }

    fn connect(&self, servant: Arc<dyn Servant>) {
        let poa = self.orb.root_poa().expect("a POA");
        let id = poa.activate_object(servant).expect("active");
        let consumer = poa.id_to_reference(&id).expect("a reference");
        let consumers = self.channel.for_consumers().expect("an answer").expect("not nil");
        let proxy = consumers.obtain_push_supplier().expect("an answer").expect("not nil");
        let consumer = PushConsumer::unchecked_narrow(consumer);
        proxy.connect_push_consumer(Some(&consumer)).expect("connected");
    }
}

#[test]
fn an_end_under_traffic_repeats_nothing() {
    const CONSUMERS: usize = 8;
    let place = Place::new();
    let served = place.serve();
    let (channel, core) = served.channel();
    let clients = Clients::new(&channel);
    let said: Vec<Receiver<i32>> = (0..CONSUMERS)
        .map(|_| {
            let (servant, said) = Fails::new(vec![]);
            clients.connect(Arc::new(PushConsumerSkeleton::new(servant)));
            said
        })
        .collect();
    let proxy = clients.supplier();
    let pushes = thread::spawn(move || {
        let pushed =
            (0..).find_map(|number| proxy.push(&any(number)).err().map(|why| (number, why)));
        let (first_refused, why) = pushed.expect("the server ends");
        (proxy, first_refused, why)
    });
    until("much is under way", || core.statistics().received > 500);
    drop(core);
    served.end();
    let (proxy, first_refused, why) = pushes.join().expect("the supplier ends");
    assert!(!why.to_string().contains("Disconnected"), "it is to try again: {why}");

    let served = place.serve();
    let last = first_refused + 1;
    proxy.push(&any(last)).expect("pushed");
    for (consumer, said) in said.iter().enumerate() {
        let mut times = HashMap::<i32, usize>::new();
        loop {
            let number = said.recv_timeout(PATIENCE).expect("an event");
            *times.entry(number).or_default() += 1;
            if number == last {
                break;
            }
        }
        let repeated: Vec<_> = times.iter().filter(|(_, times)| **times > 1).collect();
        assert!(repeated.is_empty(), "consumer {consumer} got again: {repeated:?}");
        let missing = (0..first_refused).find(|number| !times.contains_key(number));
        assert_eq!(missing, None, "consumer {consumer}");
    }
    clients.orb.shutdown(true);
    served.end();
}

/// What a durable channel says that cannot write, and others that may be mended.
fn passing() -> Vec<SystemException> {
    let no = CompletionStatus::No;
    vec![
        SystemException::internal(minor::INTERNAL_STATE, no),
        SystemException::imp_limit(minor::IMP_LIMIT_NAMES, no),
        SystemException::persist_store(minor::PERSIST_STORE_FAILED, no),
    ]
}

#[test]
fn a_consumer_that_cannot_take_an_event_for_now_gets_it_later() {
    let place = Place::new();
    let served = place.serve();
    let (channel, core) = served.channel();
    let clients = Clients::new(&channel);
    let (alone, of_alone) = Fails::new(passing());
    let (bundled, of_bundled) = Fails::new(passing());
    clients.connect(Arc::new(PushConsumerSkeleton::new(alone)));
    clients.connect(Arc::new(Bundled::new(bundled)));
    let supplier = Supplier::connect(&clients.channel).expect("connected");
    (0..200).for_each(|number| supplier.push(&any(number)).expect("pushed"));
    supplier.flush().expect("it has them all");
    for said in [of_alone, of_bundled] {
        let mut got = HashMap::<i32, usize>::new();
        while got.len() < 200 {
            *got.entry(said.recv_timeout(PATIENCE).expect("an event")).or_default() += 1;
        }
    }
    until("all is answered", || core.statistics().consumers.iter().all(|one| one.queued == 0));
    for consumer in core.statistics().consumers {
        assert_eq!((consumer.refused, consumer.dropped), (0, 0), "{consumer:?}");
        assert!(consumer.failed >= 3, "{consumer:?}");
    }
    clients.orb.shutdown(true);
    served.end();
}

#[test]
fn others_refuse_an_event_that_they_cannot_take_alone_or_in_a_bundle() {
    let place = Place::new();
    let served = place.serve();
    let channel = served.server.create("passing", ChannelQos::default()).expect("a channel");
    let core = served.server.channel("passing").expect("it is there");
    let clients = Clients::new(&channel);
    for kind in passing() {
        let always = || vec![kind.clone(); 100];
        let ((alone, _of_alone), (bundled, _of_bundled)) =
            (Fails::new(always()), Fails::new(always()));
        clients.connect(Arc::new(PushConsumerSkeleton::new(alone)));
        clients.connect(Arc::new(Bundled::new(bundled)));
    }
    let supplier = Supplier::connect(&clients.channel).expect("connected");
    (0..20).for_each(|number| supplier.push(&any(number)).expect("pushed"));
    supplier.flush().expect("it has them all");
    until("all is answered", || core.statistics().consumers.iter().all(|one| one.queued == 0));
    for consumer in core.statistics().consumers {
        assert_eq!((consumer.refused, consumer.delivered), (1, 19), "{consumer:?}");
    }
    clients.orb.shutdown(true);
    served.end();
}
