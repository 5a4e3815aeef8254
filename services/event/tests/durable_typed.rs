//! Durable channels of typed events: what is there again after the server was ended and started,
//! and peers that come back with other typed objects. The server is in this process; it is killed
//! in the tests of `corbie events`.

mod fixture;
#[path = "fixture/place.rs"]
mod place;
#[path = "fixture/ticker.rs"]
mod ticker;

use corbie::types::InterfaceDescription;
use corbie::{
    Described as _, IdAssignment, Lifespan, Object, ObjectId, Poa, PoaPolicy, SystemExceptionKind,
};
use corbie_event::cos_event_comm::{PullSupplier, PushConsumer};
use corbie_event::cos_typed_event_channel_admin::TypedEventChannel;
use corbie_event::{ChannelQos, Retention};
use corbie_testkit::servers::free_port;
use fixture::until;
use place::{Place, Served, orb_at};
use std::time::Duration;
use ticker::{
    Clock, Heard, PULL_TICKER, PullClock, PullTicker, TICKER, Ticker, TypedClient, next, quote,
};

fn qos() -> ChannelQos {
    ChannelQos {
        give_up_after: Duration::from_secs(60),
        push_timeout: Duration::from_secs(60),
        durable: Some(Retention::default()),
        ..ChannelQos::default()
    }
}

impl Served {
    fn create(&self, interfaces: Vec<InterfaceDescription>) -> TypedEventChannel {
        self.server.create_typed("test", qos(), interfaces).expect("a channel")
    }

    /// Waits until all consumers that are pushed to have acknowledged what they got, and ends.
    fn end_when_all_is_taken(self) {
        let core = self.server.channel("test").expect("it is there");
        until("all is taken", || {
            core.statistics().consumers.iter().all(|one| one.is_pulling || one.queued == 0)
        });
        drop(core);
        self.end();
    }

    /// What uses the channel from outside: its references live on.
    fn client(&self, channel: &TypedEventChannel) -> TypedClient {
        TypedClient::new(fixture::orb(), channel.as_object().ior())
    }
}

fn known() -> Vec<InterfaceDescription> {
    vec![Ticker::describe(), Clock::describe(), PullTicker::describe()]
}

#[test]
fn all_kinds_of_proxies_work_again() {
    let place = Place::new();
    let served = place.serve();
    let channel = served.create(known());
    let client = served.client(&channel);
    let (heard, _proxy) = client.consumer(TICKER);
    let (pulls, pulling) = client.puller::<PullTicker>();
    let (ticker, supplying) = client.supplier::<Ticker>();
    let (source, giving) = client.source();
    let pulled = client.pull_consumer(PULL_TICKER);
    pulled.connect_pull_supplier(Some(&source)).expect("connected");
    ticker.price("before", 1).expect("taken");
    assert_eq!(next(&heard), Heard::Price("before".to_owned(), 1));
    served.end_when_all_is_taken();

    let served = place.serve();
    ticker.price("after", 2).expect("taken");
    assert_eq!(next(&heard), Heard::Price("after".to_owned(), 2), "pushed to pushed");
    assert_eq!(pulls.price().expect("pulled"), ("before".to_owned(), 1));
    assert_eq!(pulls.price().expect("pulled"), ("after".to_owned(), 2));
    let extra = corbie::Any::string("für alle").expect("an any");
    let why = ticker::Reason::Code(9);
    ticker.offer(&quote(), "wörtlich", &extra, &why).expect("taken");
    let offered = pulls.offer().expect("pulled");
    assert_eq!(offered, (quote(), "wörtlich".to_owned(), extra.clone(), why.clone()));
    assert_eq!(next(&heard), Heard::Offer(quote(), "wörtlich".to_owned(), extra, why));
    // The first is the answer to the pull of the server that has ended.
    giving.tick.send(3).expect("it is pulled");
    giving.tick.send(4).expect("it is pulled");
    assert_eq!(next(&heard), Heard::Tick(4), "pulled to pushed");
    assert_eq!(pulls.tick().expect("pulled"), 4);
    let again = supplying.get_typed_consumer().expect("an answer").expect("not nil");
    assert_eq!(again.ior(), ticker.as_object().ior());
    let found = served.create(known());
    assert_eq!(found.as_object().ior(), channel.as_object().ior(), "it is the same channel");
    let wrong = Ticker::narrow(&again).expect("an answer");
    assert!(wrong.is_some(), "it says what it is");
    pulling.disconnect_pull_supplier().expect("disconnected");
    supplying.disconnect_push_consumer().expect("disconnected");
    served.end();

    let served = place.serve();
    let gone = ticker.price("never", 0).expect_err("it was disconnected");
    assert_eq!(gone.kind, SystemExceptionKind::ObjectNotExist);
    let gone = pulls.try_price().expect_err("it was disconnected");
    assert_eq!(gone.kind, SystemExceptionKind::ObjectNotExist);
    let core = served.server.channel("test").expect("it is there");
    let statistics = core.statistics();
    assert_eq!((statistics.consumers.len(), statistics.suppliers), (1, 1));
    core.destroy();
    // Upcalls that wait for something to give end.
    drop(giving);
    client.orb.shutdown(true);
    served.end();
}

#[test]
fn what_a_channel_knew_of_its_server_is_known_again() {
    let place = Place::new();
    let served = place.serve();
    served.server.interfaces().add(Ticker::describe());
    served.server.interfaces().add(Clock::describe());
    let channel = served.create(Vec::new());
    let client = served.client(&channel);
    let (ticker, _proxy) = client.supplier::<Ticker>();
    let (heard, _proxy) = client.consumer(TICKER);
    let (pulls, _proxy) = client.puller::<PullClock>();
    served.end();

    // It is told nothing this time.
    let served = place.serve();
    ticker.tick(1).expect("taken");
    assert_eq!(next(&heard), Heard::Tick(1));
    assert_eq!(pulls.tick().expect("pulled"), 1, "made of Clock");
    let (_, proxy) = client.consumer(TICKER);
    proxy.disconnect_push_supplier().expect("it was given one");
    let strange = client.suppliers().obtain_typed_push_consumer("IDL:Never/Declared:1.0");
    assert!(strange.is_err());
    client.orb.shutdown(true);
    served.end();
}

#[test]
fn what_is_handed_over_later_is_kept_and_ends_with_the_channel() {
    let place = Place::new();
    let served = place.serve();
    let channel = served.create(vec![Clock::describe()]);
    served.create(vec![Ticker::describe()]);
    served.end();

    let served = place.serve();
    let client = served.client(&channel);
    let (ticker, _proxy) = client.supplier::<Ticker>();
    ticker.closed().expect("taken");
    let otherwise = served.server.create("test", qos());
    assert!(otherwise.is_err(), "it is typed");
    client.channel.destroy().expect("destroyed");
    served.create(Vec::new());
    served.end();

    let served = place.serve();
    let client_again = served.client(&served.create(Vec::new()));
    let absent = client_again.suppliers().obtain_typed_push_consumer(TICKER);
    assert!(absent.is_err(), "the new channel was told nothing");
    let gone = ticker.closed().expect_err("it was destroyed");
    assert_eq!(gone.kind, SystemExceptionKind::ObjectNotExist);
    client.orb.shutdown(true);
    client_again.orb.shutdown(true);
    served.end();
}

/// An ORB whose objects have the same references in its next life.
struct Lasting {
    client: TypedClient,
    poa: Poa,
}

impl Lasting {
    /// Its ORB is there; no request is served yet. Requests wait: the POA is there, and holds them,
    /// before the root POA takes any, since what does not exist is given up.
    fn starts(listen: &str, channel: &TypedEventChannel) -> Self {
        let orb = orb_at(listen);
        let policies: [PoaPolicy; 2] = [
            PoaPolicy::Lifespan(Lifespan::Persistent),
            PoaPolicy::IdAssignment(IdAssignment::UserId),
        ];
        let root = orb.root_poa().expect("a POA");
        let poa = root.create_poa("peers", None, &policies).expect("a POA");
        Self { client: TypedClient::new(orb, channel.as_object().ior()), poa }
    }

    /// Activates the servant of `transient` under a reference that lasts.
    fn serve(&self, id: &str, transient: &Object) -> Object {
        let servant = self.client.poa.reference_to_servant(transient).expect("it is active");
        let id = ObjectId::from(id);
        self.poa.activate_object_with_id(&id, servant).expect("active");
        let reference = self.poa.id_to_reference(&id).expect("a reference");
        self.poa.the_poa_manager().activate().expect("active");
        reference
    }
}

#[test]
fn a_consumer_that_comes_back_is_asked_for_its_typed_object_again() {
    let place = Place::new();
    let served = place.serve();
    let channel = served.create(known());
    let client = served.client(&channel);
    let (ticker, _proxy) = client.supplier::<Ticker>();
    let listen = format!("iiop://127.0.0.1:{}", free_port());
    let first = Lasting::starts(&listen, &channel);
    let (consumer, heard) = first.client.listener();
    let lasting = first.serve("consumer", consumer.as_object());
    let proxy = first.client.push_supplier(TICKER);
    proxy.connect_push_consumer(Some(&PushConsumer::unchecked_narrow(lasting))).expect("connected");
    ticker.tick(1).expect("taken");
    assert_eq!(next(&heard), Heard::Tick(1));
    first.client.orb.shutdown(true);
    ticker.tick(2).expect("taken");
    let core = served.server.channel("test").expect("it is there");
    until("it was tried", || core.statistics().consumers[0].failed > 2);

    let second = Lasting::starts(&listen, &channel);
    // Its typed object has another reference than that of the first.
    let (consumer, heard) = second.client.listener();
    second.serve("consumer", consumer.as_object());
    assert_eq!(next(&heard), Heard::Tick(2));
    until("it is taken", || core.statistics().consumers[0].queued == 0);
    second.client.orb.shutdown(true);
    drop(core);
    served.end();

    // The server is started while it is away, and it comes then.
    let served = place.serve();
    ticker.tick(3).expect("taken");
    let core = served.server.channel("test").expect("it is there");
    until("it was tried", || core.statistics().consumers[0].failed > 2);
    let third = Lasting::starts(&listen, &channel);
    let (consumer, heard) = third.client.listener();
    third.serve("consumer", consumer.as_object());
    assert_eq!(next(&heard), Heard::Tick(3));
    drop(core);
    third.client.orb.shutdown(true);
    client.orb.shutdown(true);
    served.end();
}

#[test]
fn a_supplier_that_comes_back_is_asked_for_its_typed_object_again() {
    let place = Place::new();
    let served = place.serve();
    let channel = served.create(known());
    let client = served.client(&channel);
    let (heard, _proxy) = client.consumer(TICKER);
    let listen = format!("iiop://127.0.0.1:{}", free_port());
    let first = Lasting::starts(&listen, &channel);
    let (source, giving) = first.client.source();
    let lasting = first.serve("supplier", source.as_object());
    let pulled = first.client.pull_consumer(PULL_TICKER);
    pulled.connect_pull_supplier(Some(&PullSupplier::unchecked_narrow(lasting))).expect("one");
    giving.tick.send(1).expect("it is pulled");
    assert_eq!(next(&heard), Heard::Tick(1));
    served.end_when_all_is_taken();
    // Its pulls end, and it with them.
    drop(giving);
    first.client.orb.shutdown(true);

    let served = place.serve();
    let second = Lasting::starts(&listen, &channel);
    let (source, giving) = second.client.source();
    second.serve("supplier", source.as_object());
    giving.tick.send(2).expect("it will be pulled");
    assert_eq!(next(&heard), Heard::Tick(2));
    served.server.channel("test").expect("it is there").destroy();
    drop(giving);
    second.client.orb.shutdown(true);
    client.orb.shutdown(true);
    served.end();
}
