//! All orders of what can end requests, over a real link: reply, cancel, time-out, orderly close,
//! break, shutdown. Each request has one outcome; and what bounds a connection.

#![allow(clippy::unwrap_used)] // also in the functions that the tests share

use super::Connection;
use crate::{Object, Operation, Orb, ReplySink};
use corbie_cdr::{ByteOrder, Version};
use corbie_connection::{Clock, Lease, Opening};
use corbie_giop::{ReplyHeader, ReplyStatus, ServiceContexts, close_connection, finish_message};
use corbie_settings::{EventLoop, Settings};
use corbie_types::{IiopProfile, Ior, SystemExceptionKind};
use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

const ASK: Operation = Operation::twoway("ask");
const REQUESTS: usize = 2;

/// How long a test waits for what must come.
const PATIENCE: Duration = Duration::from_secs(30);

/// What can happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Event {
    Reply(usize),
    Cancel(usize),
    TimeOut,
    Close,
    Break,
    ShutDown,
}

const EVENTS: [Event; 7] = [
    Event::Reply(0),
    Event::Reply(1),
    Event::Cancel(0),
    Event::TimeOut,
    Event::Close,
    Event::Break,
    Event::ShutDown,
];

/// What became of each request: `None` in it stands for results.
type Outcomes = Arc<Mutex<[Vec<Option<SystemExceptionKind>>; REQUESTS]>>;

struct Scene {
    orb: Orb,
    /// One for each scene: what the scene before sent again must not come here.
    listener: TcpListener,
    connection: Arc<Connection>,
    server: Option<TcpStream>,
    outcomes: Outcomes,
    ids: [u32; REQUESTS],
}

/// An ORB whose only thread is the test's.
fn orb(change: impl FnOnce(&mut Settings)) -> Orb {
    let mut settings = Settings::default();
    settings.event_loop = EventLoop::Application;
    change(&mut settings);
    Orb::new(settings)
}

fn object(orb: &Orb, listener: &TcpListener) -> Object {
    let port = listener.local_addr().unwrap().port();
    let profile = IiopProfile {
        version: Version::V1_2,
        host: "127.0.0.1".to_owned(),
        port,
        object_key: b"key".to_vec(),
        components: Vec::new(),
    };
    Object::new(orb, Ior::from_iiop("IDL:Test:1.0", &profile).unwrap())
}

fn connection(object: &Object) -> Arc<Connection> {
    let binding = object.binding().unwrap();
    let mut clock = Clock::start(None);
    binding
        .target(0)
        .pool
        .shared(object.orb(), &mut clock, Lease::Shared, Opening::Free)
        .ok()
        .unwrap()
}

impl Scene {
    /// Two requests are under way.
    fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let orb = orb(|_| {});
        let object = object(&orb, &listener);
        let outcomes = Outcomes::default();
        // Opened by this thread, so that it also sends the requests.
        let connection = connection(&object);
        for number in 0..REQUESTS {
            let outcomes = Arc::clone(&outcomes);
            let sink = ReplySink::function(move |reply| {
                outcomes.lock().unwrap()[number].push(reply.err().map(|exception| exception.kind));
            });
            object.invoke_async(&ASK, &|_| Ok(()), sink).unwrap();
        }
        let (server, _) = listener.accept().unwrap();
        wait_for_messages(&server, REQUESTS);
        let ids = [0, 1]; // The first two slots, in their first generation.
        Scene { orb, listener, connection, server: Some(server), outcomes, ids }
    }

    fn happens(&mut self, event: Event) {
        match event {
            Event::Reply(number) => self.send(&reply(self.ids[number])),
            Event::Close => self.send(&close_connection(Version::V1_2, ByteOrder::NATIVE)),
            Event::Break => {
                self.server = None;
                self.read();
            }
            Event::Cancel(number) => {
                self.connection.cancel(self.ids[number]);
            }
            Event::TimeOut => {
                self.connection.expire(Instant::now() + Duration::from_secs(3600));
            }
            Event::ShutDown => self.connection.shut_down(),
        }
    }

    fn send(&mut self, octets: &[u8]) {
        // The client may have closed already.
        let sent = self.server.as_mut().is_some_and(|server| server.write_all(octets).is_ok());
        if sent {
            self.read();
        }
    }

    /// Waits until what was sent is here, and has it delivered.
    fn read(&self) {
        // Another thread of the ORB may have read it already.
        let deadline = Instant::now() + Duration::from_secs(1);
        while self.connection.is_open()
            && !self.connection.link().is_stale()
            && Instant::now() < deadline
        {
            std::thread::yield_now();
        }
        self.connection.read_available(&self.orb, false);
    }
}

/// Waits until so many whole messages have come to `server`, and leaves them there.
fn wait_for_messages(server: &TcpStream, messages: usize) {
    let mut octets = [0; 4 << 10];
    let deadline = Instant::now() + PATIENCE;
    loop {
        let here = server.peek(&mut octets).unwrap();
        let mut rest = &octets[..here];
        let whole = std::iter::from_fn(|| {
            let size = u32::from_ne_bytes(rest.get(8..12)?.try_into().ok()?);
            rest = rest.get(12 + size as usize..)?;
            Some(())
        });
        if whole.count() >= messages {
            return;
        }
        assert!(Instant::now() < deadline, "the requests have not come");
        std::thread::yield_now();
    }
}

fn reply(request_id: u32) -> Vec<u8> {
    let mut e = corbie_cdr::Encoder::native();
    let service_contexts = ServiceContexts::EMPTY;
    let header = ReplyHeader { request_id, status: ReplyStatus::NoException, service_contexts };
    let start = corbie_giop::write_reply(&mut e, &header).unwrap();
    finish_message(&mut e, start).unwrap();
    e.into_buffer()
}

/// What the first of `order` that ends a request makes of it.
fn expected(order: &[Event], number: usize) -> Vec<Option<SystemExceptionKind>> {
    use SystemExceptionKind as Kind;
    for event in order {
        return match event {
            Event::Reply(which) if *which == number => vec![None],
            Event::Cancel(which) if *which == number => vec![],
            Event::TimeOut => vec![Some(Kind::Timeout)],
            Event::Break => vec![Some(Kind::CommFailure)],
            Event::ShutDown => vec![Some(Kind::BadInvOrder)],
            // Sent again over a new connection, which the end of the test shuts down.
            Event::Close => vec![Some(Kind::BadInvOrder)],
            _ => continue,
        };
    }
    vec![Some(Kind::BadInvOrder)]
}

/// Calls `each` with every order of `events[at..]` behind `events[..at]`.
fn permutations(events: &mut [Event], at: usize, each: &mut impl FnMut(&[Event])) {
    if at == events.len() {
        return each(events);
    }
    for next in at..events.len() {
        events.swap(at, next);
        permutations(events, at + 1, each);
        events.swap(at, next);
    }
}

#[test]
fn each_request_has_one_outcome_in_every_order_of_events() {
    let mut orders = 0;
    permutations(&mut EVENTS.clone(), 0, &mut |order| {
        let mut scene = Scene::new();
        for event in order {
            scene.happens(*event);
        }
        // What was sent again has come here, and is never answered.
        scene.listener.set_nonblocking(true).unwrap();
        let _again = scene.listener.accept();
        scene.orb.shutdown(false);
        for number in 0..REQUESTS {
            let (expected, deadline) = (expected(order, number), Instant::now() + PATIENCE);
            // The thread that connects anew may be the one that tells how a request ended.
            let outcome = loop {
                let outcome = scene.outcomes.lock().unwrap()[number].clone();
                if outcome.len() >= expected.len() || Instant::now() > deadline {
                    break outcome;
                }
                std::thread::yield_now();
            };
            assert_eq!(outcome, expected, "request {number} in {order:?}");
        }
        orders += 1;
    });
    assert_eq!(orders, 5040);
}
