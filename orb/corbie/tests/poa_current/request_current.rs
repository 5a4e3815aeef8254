//! `Current`: the peer of a request, its service contexts and those of its reply, in every kind of
//! servant, in every strategy, and in calls of the process.

use super::echo::{Echo, STRATEGIES, lend_a_thread, loopback_orb};
use corbie::codegen::{Marshal, View};
use corbie::transport::PeerAddress;
use corbie::{
    Current, DynamicImplementation, DynamicServant, DynamicServerRequest, Executor, IdUniqueness,
    NvList, Object, Operation, Orb, Poa, PoaPolicy, RequestProcessing, Servant, ServerRequest,
    ServiceContext, SystemException, SystemExceptionKind, Task, ThreadModel, TypedServant,
};
use corbie_giop::{Message, MessageHeader, ReplyStatus, Tagged};
use corbie_testkit::{RawPeer, RawRequest, object_key_in};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(60);
/// Contexts that the OMG has given no meaning.
const ASKED: u32 = 0x434f_5201;
const ANSWERED: u32 = 0x434f_5202;
const INNER: u32 = 0x434f_5203;

/// Runs each future on a thread of its own, polling until it is done.
struct Threads;

impl Executor for Threads {
    fn spawn(&self, mut task: Task) {
        std::thread::spawn(move || {
            let mut context = Context::from_waker(Waker::noop());
            while task.as_mut().poll(&mut context).is_pending() {
                std::thread::yield_now();
            }
        });
    }
}

/// Once pending, then ready: what follows runs in another poll.
async fn polled_again() {
    let mut is_first = true;
    std::future::poll_fn(|_| match std::mem::take(&mut is_first) {
        true => Poll::Pending,
        false => Poll::Ready(()),
    })
    .await;
}

/// Answers each call with the port of its peer, and with the context that came, turned around.
struct Teller {
    current: Current,
    itself: std::sync::OnceLock<Echo>,
}

impl Teller {
    fn new(orb: &Orb) -> Self {
        Teller { current: orb.current(), itself: std::sync::OnceLock::new() }
    }

    /// What a method of generated code does, which has arguments only.
    fn tell(current: &Current) -> Result<i64, SystemException> {
        let came = current.request_contexts()?;
        let asked = current.request_context(ASKED)?;
        assert_eq!(came.iter().find(|one| one.id == ASKED).map(|one| &one.data), asked.as_ref());
        let turned: Vec<u8> = asked.unwrap_or_default().into_iter().rev().collect();
        // The second one of an id replaces the first.
        current.set_reply_context(ServiceContext::new(ANSWERED, *b"nothing"))?;
        current.set_reply_context(ServiceContext::new(ANSWERED, turned))?;
        Ok(match current.peer()?.address {
            PeerAddress::Tcp(address) => i64::from(address.port()),
            PeerAddress::Here => -1,
            other => panic!("{other}"),
        })
    }

    /// Called by the process itself, without a message.
    fn call_inside(&self) -> Result<i64, SystemException> {
        assert_eq!(self.current.peer()?.address, PeerAddress::Here);
        assert_eq!(self.current.request_contexts()?, []);
        assert_eq!(self.current.request_context(ASKED)?, None);
        self.current.set_reply_context(ServiceContext::new(INNER, *b"lost"))?;
        Ok(-1)
    }
}

const INSIDE: Operation = Operation::twoway("inside");

fn call_inside(object: &Object) -> Result<i64, SystemException> {
    object.call(&INSIDE, |teller: &Teller| teller.call_inside(), || panic!("by a message"))
}

impl Servant for Teller {
    fn _interfaces(&self) -> &'static [&'static str] {
        &["IDL:Test/Echo:1.0"]
    }

    fn _dispatch(&self, request: &mut ServerRequest<'_>) -> Result<(), SystemException> {
        let current = self.current.clone();
        match request.operation() {
            "tell" => {
                let port = Teller::tell(&current)?;
                request.reply(&|e| i64::encode(&port, e))
            }
            "nest" => {
                let itself = &self.itself.get().unwrap().0;
                for _ in 0..3 {
                    assert_eq!(call_inside(itself)?, -1);
                }
                let port = Teller::tell(&current)?;
                request.reply(&|e| i64::encode(&port, e))
            }
            "raise" => {
                Teller::tell(&current)?;
                Err(request.unknown_operation())
            }
            "refuse" => {
                Teller::tell(&current)?;
                request.reply_exception("IDL:Test/Refused:1.0", &|_| Ok(()))
            }
            "forward" => {
                Teller::tell(&current)?;
                request.forward(&self.itself.get().unwrap().0)
            }
            "later" => {
                let port = Teller::tell(&current)?;
                let response = request.defer();
                let thread = std::thread::spawn(move || {
                    assert!(current.peer().is_err(), "not in the upcall any more");
                    let came = response.request_contexts().unwrap();
                    let asked = came.into_iter().find(|one| one.id == ASKED).unwrap();
                    response.set_reply_context(ServiceContext::new(INNER, asked.data));
                    response.reply(&|e| i64::encode(&port, e))
                });
                thread.join().unwrap()
            }
            "async" => request.spawn(|response| async move {
                polled_again().await;
                let port = Teller::tell(&current)?;
                polled_again().await;
                response.reply(&|e| i64::encode(&port, e))
            }),
            _ => Err(request.unknown_operation()),
        }
    }

    fn _view<'a>(&'a self, view: &mut View<'a>) {
        view.offer::<Teller>(self);
    }
}

impl TypedServant for Teller {
    type Reference = Echo;
}

/// The same without generated code.
struct DynamicTeller(Current);

impl DynamicImplementation for DynamicTeller {
    fn primary_interface(&self) -> &str {
        "IDL:Test/Echo:1.0"
    }

    fn invoke(&self, request: &mut DynamicServerRequest<'_, '_>) -> Result<(), SystemException> {
        request.arguments(NvList::new())?;
        let port = Teller::tell(&self.0)?;
        let asked = request.request().request_context(ASKED).unwrap_or_default();
        request.set_reply_context(ServiceContext::new(INNER, asked));
        match request.operation() {
            "tell" => request.set_result(corbie::Any::from_value::<i64>(&port)?),
            _ => {
                let mut response = request.defer();
                response.set_result(corbie::Any::from_value::<i64>(&port)?)?;
                response.set_reply_context(ServiceContext::new(INNER, *b"deferred"));
                response.reply()
            }
        }
    }
}

/// A reply, as far as these tests look at it.
#[derive(Debug, PartialEq)]
struct Told {
    status: ReplyStatus,
    answered: Option<Vec<u8>>,
    inner: Option<Vec<u8>>,
    port: i64,
}

impl Told {
    fn results(port: i64) -> Self {
        let answered = Some(b"cba".to_vec());
        Told { status: ReplyStatus::NoException, answered, inner: None, port }
    }
}

/// A peer that sends `abc` as context `ASKED`.
struct Asking {
    peer: RawPeer,
    port: i64,
    key: Vec<u8>,
}

impl Asking {
    fn new(server: &Orb, object: &Object) -> Self {
        let peer = RawPeer::connect_to(&server.listen_endpoints()[0]).unwrap();
        let port = i64::from(peer.local_address().unwrap().port());
        Asking { peer, port, key: object_key_in(&object.to_string()) }
    }

    fn send(&mut self, operation: &str) {
        let request =
            RawRequest { object_key: &self.key, operation, request_id: 7, arguments: &[] };
        let contexts = [Tagged { tag: ASKED, data: b"abc" }];
        self.peer.send(&request.octets_with(&contexts)).unwrap();
    }

    fn receive(&mut self) -> Told {
        let octets = self.peer.receive_message(PATIENCE).unwrap();
        let header = MessageHeader::decode(octets.first_chunk().unwrap()).unwrap();
        let message = Message { header, octets: &octets };
        let (reply, mut results) = message.reply().unwrap();
        let context = |id| reply.service_contexts.find(id).map(<[u8]>::to_vec);
        let (answered, inner) = (context(ANSWERED), context(INNER));
        let port = match reply.status {
            ReplyStatus::NoException => results.read_longlong().unwrap(),
            _ => 0,
        };
        Told { status: reply.status, answered, inner, port }
    }

    fn ask(&mut self, operation: &str) -> Told {
        self.send(operation);
        self.receive()
    }
}

fn server(strategy: &str) -> (Orb, Poa) {
    let options = ["-ORBServerConcurrency", strategy, "-ORBCollocation", "global"];
    let server = loopback_orb(&options);
    lend_a_thread(&server);
    server.set_executor(Arc::new(Threads));
    let poa = server.root_poa().unwrap();
    (server, poa)
}

fn activated(poa: &Poa, servant: Arc<Teller>) -> Echo {
    let id = poa.activate_object(Arc::clone(&servant) as _).unwrap();
    let object = Echo(poa.id_to_reference(&id).unwrap());
    servant.itself.set(object.clone()).ok().unwrap();
    object
}

#[test]
fn servants_learn_of_their_requests_and_send_contexts_back() {
    for strategy in STRATEGIES {
        let (server, poa) = server(strategy);
        let object = activated(&poa, Arc::new(Teller::new(&server)));
        // Held until the manager is active.
        let mut asking = Asking::new(&server, &object.0);
        asking.send("tell");
        poa.the_poa_manager().activate().unwrap();
        let expected = Told::results(asking.port);
        assert_eq!(asking.receive(), expected, "{strategy}, held");
        for operation in ["tell", "nest", "async"] {
            assert_eq!(asking.ask(operation), expected, "{strategy}, {operation}");
        }
        let later = Told { inner: Some(b"abc".to_vec()), ..Told::results(asking.port) };
        assert_eq!(asking.ask("later"), later, "{strategy}");
        let without = [
            ("raise", ReplyStatus::SystemException),
            ("refuse", ReplyStatus::UserException),
            ("forward", ReplyStatus::LocationForward),
        ];
        for (operation, status) in without {
            let expected = Told { status, ..Told::results(0) };
            assert_eq!(asking.ask(operation), expected, "{strategy}, {operation}");
        }
        assert_eq!(call_inside(&object.0), Ok(-1), "{strategy}, a thread of the application");
        server.shutdown(true);
    }
}

#[test]
fn dynamic_and_default_servants_and_those_of_one_thread_learn_of_their_requests() {
    let (server, root) = server("thread-pool");
    root.the_poa_manager().activate().unwrap();
    let manager = root.the_poa_manager();
    let dynamic = root.activate(DynamicServant::new(DynamicTeller(server.current()))).unwrap();
    let mut asking = Asking::new(&server, &dynamic);
    let expected = Told { inner: Some(b"abc".to_vec()), ..Told::results(asking.port) };
    assert_eq!(asking.ask("tell"), expected);
    let deferred = Told { inner: Some(b"deferred".to_vec()), ..expected };
    assert_eq!(asking.ask("later"), deferred);

    let policies = [
        PoaPolicy::RequestProcessing(RequestProcessing::DefaultServant),
        PoaPolicy::IdUniqueness(IdUniqueness::MultipleId),
    ];
    let poa = root.create_poa("default", Some(&manager), &policies).unwrap();
    let servant = Arc::new(Teller::new(&server));
    poa.set_servant(Arc::clone(&servant) as _).unwrap();
    let object = poa.create_reference("IDL:Test/Echo:1.0").unwrap();
    servant.itself.set(Echo(object.clone())).ok().unwrap();
    let mut asking = Asking::new(&server, &object);
    for operation in ["tell", "nest"] {
        assert_eq!(asking.ask(operation), Told::results(asking.port), "default, {operation}");
    }

    let policies = [PoaPolicy::Thread(ThreadModel::SingleThread)];
    let poa = root.create_poa("single", Some(&manager), &policies).unwrap();
    let object = activated(&poa, Arc::new(Teller::new(&server)));
    let mut asking = Asking::new(&server, &object.0);
    for operation in ["tell", "nest"] {
        assert_eq!(asking.ask(operation), Told::results(asking.port), "single, {operation}");
    }
    server.shutdown(true);
}

/// Needs no `Current`: it has the request.
struct Plain(std::sync::OnceLock<Current>);

impl Servant for Plain {
    fn _interfaces(&self) -> &'static [&'static str] {
        &["IDL:Test/Echo:1.0"]
    }

    fn _dispatch(&self, request: &mut ServerRequest<'_>) -> Result<(), SystemException> {
        let turned: Vec<u8> =
            request.request_context(ASKED).unwrap().iter().rev().copied().collect();
        match request.operation() {
            "tell" => {
                request.set_reply_context(ServiceContext::new(ANSWERED, turned));
                request.reply(&|e| i64::encode(&1, e))
            }
            "later" => {
                let response = request.defer();
                let unknown = response.request_contexts().unwrap_err();
                assert_eq!(unknown.kind, SystemExceptionKind::BadInvOrder);
                response.set_reply_context(ServiceContext::new(ANSWERED, turned));
                response.reply(&|e| i64::encode(&1, e))
            }
            _ => {
                // Too late for this request, and it says so rather than something wrong.
                let current = self.0.get_or_init(|| request.orb().current());
                let why = current.peer().unwrap_err();
                assert_eq!(why.kind, SystemExceptionKind::BadInvOrder);
                assert!(why.to_string().contains("call it before requests come"), "{why}");
                request.reply(&|e| i64::encode(&1, e))
            }
        }
    }
}

impl TypedServant for Plain {
    type Reference = Echo;
}

#[test]
fn reply_contexts_need_no_current_and_one_that_comes_late_says_so() {
    let (server, poa) = server("thread-per-connection");
    poa.the_poa_manager().activate().unwrap();
    let object = poa.activate(Plain(std::sync::OnceLock::new())).unwrap();
    let mut asking = Asking::new(&server, &object.0);
    assert_eq!(asking.ask("tell"), Told::results(1));
    assert_eq!(asking.ask("later"), Told::results(1));
    assert_eq!(asking.ask("late"), Told { answered: None, ..Told::results(1) });
    let outside = server.current().peer().unwrap_err();
    assert_eq!(outside.kind, SystemExceptionKind::BadInvOrder);
    server.shutdown(true);
}

/// More contexts than are kept: the request is served, and only the question is refused.
#[test]
fn very_large_contexts_are_not_kept() {
    let (server, poa) = server("thread-per-connection");
    poa.the_poa_manager().activate().unwrap();
    let object = activated(&poa, Arc::new(Teller::new(&server)));
    let mut asking = Asking::new(&server, &object.0);
    let request =
        RawRequest { object_key: &asking.key, operation: "tell", request_id: 7, arguments: &[] };
    let octets = vec![7; 20_000];
    asking.peer.send(&request.octets_with(&[Tagged { tag: ASKED, data: &octets }])).unwrap();
    assert_eq!(asking.receive().status, ReplyStatus::SystemException);
    assert_eq!(asking.ask("tell"), Told::results(asking.port));
    server.shutdown(true);
}
