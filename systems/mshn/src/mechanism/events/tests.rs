//! What comes late, twice, in another form or in too great numbers, with a channel server and a
//! component that answers when the test says so.

use super::*;
use crate::address;
use crate::channel_server::{self, ChannelServer};
use crate::idl::Job;
use crate::idl::events::Header;
use crate::messages::{Done, Request, Role, accepted, activate_in};
use crate::peers::Peers;
use corbie::{Any, ByteOrder, Decoder, Encoder, Marshal, SystemExceptionKind, Typed};
use corbie_event::cos_event_comm::push_consumer::PushError;
use corbie_event::cos_event_comm::{PushConsumerServant, PushConsumerSkeleton};
use corbie_naming::store::embedded::Embedded;
use corbie_naming::{Limits, NamingServer};
use corbie_testkit::{corbaloc, made_up_keys, object_key_in};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Instant;

const PATIENCE: Duration = Duration::from_secs(60);

/// Keeps what answers its requests.
struct Kept(Mutex<Sender<Done>>);

impl Component for Kept {
    fn serve(&self, _: crate::messages::Request, done: Done) {
        lock(&self.0).send(done).unwrap();
    }
}

struct World {
    orbs: Vec<Orb>,
    names: NamingServer,
    _channels: ChannelServer,
    caller: Events,
    serving: Events,
    link: Arc<dyn Link>,
    target: Object,
    kept: Receiver<Done>,
}

fn world(form: Form, options: &EventOptions) -> World {
    let orb = || Orb::init(["-ORBListenEndpoints", "iiop://127.0.0.1:0"]).unwrap();
    let orbs: Vec<Orb> = (0..4).map(|_| orb()).collect();
    let store = Arc::new(Embedded::in_memory().unwrap());
    let names = NamingServer::start(&orbs[0], store, Limits::default()).unwrap();
    orbs[0].root_poa().unwrap().the_poa_manager().activate().unwrap();
    let url = names.root().as_object().to_string();
    let naming = |orb: &Orb| Naming::at(orb, &url).unwrap();
    let channels = channel_server::serve(&orbs[1], &naming(&orbs[1]), "e0").unwrap();
    let serving = Events::new(&orbs[2], &naming(&orbs[2]), form, options.clone());
    let (keep, kept) = channel();
    let component: Arc<dyn Component> = Arc::new(Kept(Mutex::new(keep)));
    let me = Address::named(Role::Advisor, "a");
    let entrance = serving.serve(&orbs[2], &me, &component).unwrap();
    let caller = Events::new(&orbs[3], &naming(&orbs[3]), form, options.clone());
    let target = Object::new(&orbs[3], entrance.ior().clone());
    let link = caller.link(&target);
    World { orbs, names, _channels: channels, caller, serving, link, target, kept }
}

impl Drop for World {
    fn drop(&mut self) {
        self.orbs.iter().rev().for_each(|orb| orb.shutdown(true));
    }
}

fn request() -> Request {
    Request::Schedule(Job::default())
}

fn until(what: &str, holds: impl Fn() -> bool) {
    let ends = Instant::now() + PATIENCE;
    while !holds() {
        assert!(Instant::now() < ends, "{what} did not happen");
        std::thread::yield_now();
    }
}

#[test]
fn components_cannot_be_made_up() {
    let orb = || Orb::init(["-ORBListenEndpoints", "iiop://127.0.0.1:0"]).unwrap();
    let (serving, calling) = (orb(), orb());
    let (keep, _kept) = channel();
    let component: Arc<dyn Component> = Arc::new(Kept(Mutex::new(keep)));
    let keys = [(), ()].map(|()| {
        let object = activate_in(&serving, Role::Advisor, Arc::clone(&component)).unwrap();
        object_key_in(&object.to_string())
    });
    let address = serving.listen_addresses()[0];
    let is_gone = |key: &[u8]| {
        let object = calling.string_to_object(&corbaloc(address, key)).unwrap();
        object.non_existent().unwrap()
    };
    assert!(!is_gone(&keys[1]));
    for key in made_up_keys(&keys[0], &keys[1], 16) {
        assert!(is_gone(&key), "{}", corbaloc(address, &key));
    }
    calling.shutdown(true);
    serving.shutdown(true);
}

#[test]
fn an_answer_that_comes_late_is_counted_and_dropped() {
    let time_limit = Duration::from_millis(200);
    for form in [Form::Untyped, Form::Typed] {
        let world = world(form, &EventOptions { time_limit, ..EventOptions::default() });
        let exception = world.link.call(&request()).unwrap_err();
        assert_eq!(exception.kind, SystemExceptionKind::Timeout, "{exception}");
        assert!(exception.to_string().contains("no answer came as an event"), "{exception}");
        let served = world.kept.recv_timeout(PATIENCE).unwrap();
        served(Ok(accepted().into()));
        until("the late answer", || world.caller.counts().late == 1);
        assert_eq!((world.caller.counts().timed_out, world.caller.counts().answered), (1, 0));
    }
}

#[test]
fn a_request_that_comes_twice_is_served_once() {
    for form in [Form::Untyped, Form::Typed] {
        let world = world(form, &EventOptions::default());
        let (sender, receiver) = channel();
        let done = move |outcome| sender.send(outcome).unwrap();
        world.link.start(&request(), Box::new(done));
        let served = world.kept.recv_timeout(PATIENCE).unwrap();
        let correlation = world.caller.hub.calls.pending()[0];
        let reply_to = world.caller.hub.inbox().unwrap().reply_to.clone();
        let head = Header { correlation, reply_to };
        let again = Letter { head, body: Body::Asks(request()) };
        let outlet = Outlet::new(world.target.clone(), form, 1, Box::new(|_, _| ()));
        outlet.send_now(&again).unwrap();
        until("the duplicate", || world.serving.counts().duplicates == 1);
        served(Ok(accepted().into()));
        assert_eq!(receiver.recv_timeout(PATIENCE).unwrap().unwrap(), accepted().into());
        assert!(world.kept.try_recv().is_err());
    }
}

#[test]
fn a_component_that_has_enough_to_do_keeps_its_callers_waiting() {
    let options = EventOptions {
        window: 4,
        queue_events: 8,
        in_progress_max: 4,
        silence: PATIENCE,
        ..EventOptions::default()
    };
    for form in [Form::Untyped, Form::Typed] {
        let world = world(form, &options);
        let (sender, receiver) = channel();
        for _ in 0..500 {
            let sender = sender.clone();
            let done = move |outcome: Result<Reply, _>| sender.send(outcome.unwrap()).unwrap();
            world.link.start(&request(), Box::new(done));
        }
        drop(sender);
        // Those in progress, and no more of the channel's than are on their way at once.
        let mut most = 0;
        let mut held = std::collections::VecDeque::new();
        for _ in 0..500 {
            if held.is_empty() {
                held.push_back(world.kept.recv_timeout(PATIENCE).unwrap());
            }
            held.extend(world.kept.try_iter());
            most = most.max(held.len());
            let served = held.pop_front().unwrap();
            served(Ok(accepted().into()));
        }
        assert!(most <= 4 + 4, "{form:?}: {most} at a time");
        assert_eq!(receiver.iter().count(), 500);
    }
}

/// No component that lives is taken for dead, however busy the machine.
fn patient() -> EventOptions {
    EventOptions { silence: PATIENCE, ..EventOptions::default() }
}

type Outcome = Result<Reply, SystemException>;

fn to_sender(sender: &Sender<Outcome>) -> Done {
    let sender = sender.clone();
    Box::new(move |outcome| sender.send(outcome).unwrap())
}

fn is_lost(outcome: Outcome) {
    let exception = outcome.unwrap_err();
    let expected = (corbie::minor::COMM_FAILURE_CHANNEL, CompletionStatus::Maybe);
    assert_eq!((exception.minor, exception.completed), expected, "{exception}");
    assert!(exception.to_string().contains("knows nothing of it"), "{exception}");
}

#[test]
fn a_request_that_is_lost_fails_and_one_that_is_in_work_does_not() {
    for form in [Form::Untyped, Form::Typed] {
        let world = world(form, &patient());
        let link = EventLink::new(&world.caller.hub, &world.target);
        let (in_work, ends) = channel();
        link.start(&request(), to_sender(&in_work));
        let served = world.kept.recv_timeout(PATIENCE).unwrap();
        // Twice, so that the one in work is asked after more often than it takes to lose one.
        for _ in 0..2 {
            let (lost, fails) = channel();
            let Ok(letter) = link.letter(request(), to_sender(&lost)) else { panic!("no inbox") };
            // The channel takes it, and drops it.
            world.caller.hub.calls.taken(letter.head.correlation);
            is_lost(fails.recv_timeout(PATIENCE).unwrap());
        }
        assert!(ends.try_recv().is_err());
        served(Ok(accepted().into()));
        assert_eq!(ends.recv_timeout(PATIENCE).unwrap().unwrap(), accepted().into());
        let counts = world.caller.counts();
        assert_eq!((counts.answered, counts.failed, counts.lost), (1, 2, 2), "{counts:?}");
    }
}

#[test]
fn a_request_whose_answer_is_lost_fails() {
    for form in [Form::Untyped, Form::Typed] {
        let world = world(form, &patient());
        let (sender, fails) = channel();
        world.link.start(&request(), to_sender(&sender));
        let served = world.kept.recv_timeout(PATIENCE).unwrap();
        // One push fails: the next answer goes another way again.
        let nowhere = world.orbs[2].string_to_object("corbaloc::127.0.0.1:1/missing").unwrap();
        let reply_to = world.caller.hub.inbox().unwrap().reply_to.clone();
        let (hub, key) = (Arc::downgrade(&world.serving.hub), reply_to.clone());
        let pushed = move |_, outcome: Result<(), SystemException>| {
            outcome.unwrap_err();
            lock(&hub.upgrade().unwrap().outlets).remove(&key);
        };
        let broken = Outlet::new(nowhere, form, 1, Box::new(pushed));
        lock(&world.serving.hub.outlets).insert(reply_to, broken);
        served(Ok(accepted().into()));
        is_lost(fails.recv_timeout(PATIENCE).unwrap());
    }
}

#[test]
fn who_asked_hears_that_the_request_was_forgotten() {
    let world = world(Form::Typed, &patient());
    let (sender, fails) = channel();
    world.link.start(&request(), to_sender(&sender));
    drop(world.kept.recv_timeout(PATIENCE).unwrap());
    let exception = fails.recv_timeout(PATIENCE).unwrap().unwrap_err();
    assert_eq!(exception.kind, SystemExceptionKind::NoResponse, "{exception}");
}

/// Stands before a channel and loses every third of what comes.
struct Lossy {
    channel: PushConsumer,
    came: Arc<AtomicU64>,
}

impl PushConsumerServant for Lossy {
    fn push(&self, data: &Any) -> Result<(), PushError> {
        if self.came.fetch_add(1, Ordering::AcqRel) % 3 == 2 {
            return Ok(());
        }
        self.channel.push(data)
    }

    fn disconnect_push_consumer(&self) -> Result<(), SystemException> {
        Ok(())
    }
}

#[test]
fn requests_that_a_channel_loses_are_made_again_and_served_once() {
    const REQUESTS: usize = 20;
    let world = world(Form::Untyped, &patient());
    let naming = |orb| Naming::at(orb, &world.names.root().as_object().to_string()).unwrap();
    let entrance = Object::new(&world.orbs[2], world.target.ior().clone());
    let came = Arc::new(AtomicU64::new(0));
    let lossy =
        Lossy { channel: PushConsumer::unchecked_narrow(entrance), came: Arc::clone(&came) };
    let root = world.orbs[2].root_poa().unwrap();
    let lossy: PushConsumer = root.activate(PushConsumerSkeleton::new(lossy)).unwrap();
    let me = Address::named(Role::Advisor, "a");
    let lossy = lossy.into_object();
    address::announce(&naming(&world.orbs[2]), "mshn-untyped", &me, &lossy).unwrap();
    let orb = &world.orbs[3];
    let mechanism = Arc::new(Events::untyped(orb, &naming(orb), patient()));
    let peers = Peers::new(naming(orb), Arc::clone(&mechanism) as _).with_patience(PATIENCE);
    let (sender, ends) = channel();
    for _ in 0..REQUESTS {
        peers.start(&me, request(), to_sender(&sender));
    }
    let (mut served, mut answered) = (0, 0);
    let until = Instant::now() + PATIENCE;
    while answered < REQUESTS {
        if let Ok(done) = world.kept.recv_timeout(Duration::from_millis(1)) {
            done(Ok(accepted().into()));
            served += 1;
        }
        answered += ends.try_iter().map(|outcome| assert!(outcome.is_ok(), "{outcome:?}")).count();
        assert!(Instant::now() < until, "{answered} answered");
    }
    assert_eq!(served, REQUESTS);
    let counts = mechanism.counts();
    // Six of the first twenty, and every third of what was made again.
    assert!(counts.lost >= 6 && counts.late == 0, "{counts:?}");
}

#[test]
fn an_envelope_of_another_byte_order_is_read_and_another_any_refused() {
    let letter = Letter {
        head: Header { correlation: 7, reply_to: "IOR:00".to_owned() },
        body: Body::Asks(request()),
    };
    for order in [ByteOrder::BigEndian, ByteOrder::LittleEndian] {
        let mut e = Encoder::new(Vec::new(), order);
        letter.encode(Form::Untyped, &mut e).unwrap();
        let octets = e.to_vec();
        let read = Letter::decode_any(Decoder::new(&octets, order)).unwrap();
        assert_eq!((read.head.correlation, read.head.reply_to.as_str()), (7, "IOR:00"));
        assert!(matches!(read.body, Body::Asks(read) if read == request()));
    }
    let code = <i32 as Typed>::type_code();
    let mut e = Encoder::native();
    <corbie::TypeCode as Marshal>::encode(&code, &mut e).unwrap();
    e.write_long(7);
    let octets = e.to_vec();
    let refused = Letter::decode_any(Decoder::new(&octets, ByteOrder::NATIVE)).unwrap_err();
    assert_eq!(refused.kind, SystemExceptionKind::BadParam);
    assert!(refused.to_string().contains("should be an MSHN envelope"), "{refused}");
}
