//! What responses promise: any order, any thread, once; never forgotten; mixed interfaces.
//!
//! A module of `asynchronous.rs`.

use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use asynchronous::mixed_stock::stock as mixed;
use asynchronous::own_interfaces::interfaces::{self, Bottom, amh_bottom, amh_left, amh_top};
use asynchronous::own_stock::stock::{
    self, AmhQuoterExceptionHolder, AmhQuoterResponseHandler, InvalidStockSymbol, Quoter,
    amh_quoter, quoter::GetQuoteError,
};
use corbie::SystemExceptionKind::CommFailure;
use corbie::types::IiopProfile;
use corbie::{
    CompletionStatus, Ior, Object, Orb, SystemException, SystemExceptionKind, TypedResponse,
};

type Kept = (amh_quoter::GetQuoteResponse, String);

/// Keeps its responses for the program to answer.
struct Keeper(Mutex<Sender<Kept>>);

impl stock::AmhQuoterServant for Keeper {
    fn quotes_served(&self, response: amh_quoter::QuotesServedResponse) {
        response.quotes_served(7).expect("the client is there");
    }

    fn get_quote(&self, response: amh_quoter::GetQuoteResponse, stock_name: &str) {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.send((response, stock_name.to_owned())).expect("the program takes it");
    }
}

pub fn check(orb: &Orb) {
    let poa = orb.root_poa().expect("the root POA");
    poa.the_poa_manager().activate().expect("an active manager");
    let (keep, kept) = channel();
    let skeleton = stock::AmhQuoterSkeleton::new(Keeper(Mutex::new(keep)));
    let quoter = poa.activate(skeleton).expect("active");
    assert_eq!(quoter.quotes_served(), Ok(7));
    any_order(&quoter, &kept);
    exceptions(&quoter, &kept);
    dropped(&quoter, &kept);
    dynamic(&quoter, &kept);
    holders();
    client_gone(&quoter, &kept);
    inherited(orb);
    some_operations(orb);
}

type Outcome = Result<i32, GetQuoteError>;

/// Calls on another thread, lets `answer` have the response, and returns what the client got.
fn call(
    quoter: &Quoter,
    kept: &Receiver<Kept>,
    answer: impl FnOnce(amh_quoter::GetQuoteResponse),
) -> Outcome {
    let client = quoter.clone();
    let calling = std::thread::spawn(move || client.get_quote("IBM"));
    answer(take(kept).0);
    calling.join().expect("no panic")
}

fn take(kept: &Receiver<Kept>) -> Kept {
    kept.recv_timeout(Duration::from_secs(30)).expect("a request arrives")
}

fn any_order(quoter: &Quoter, kept: &Receiver<Kept>) {
    let clients: Vec<_> = (0..5)
        .map(|at| {
            let quoter = quoter.clone();
            std::thread::spawn(move || (at, quoter.get_quote(&at.to_string())))
        })
        .collect();
    // The upcalls have long returned when the last request is here.
    let mut all: Vec<Kept> = clients.iter().map(|_| take(kept)).collect();
    all.sort_by(|(_, a), (_, b)| b.cmp(a));
    for (response, name) in all {
        assert!(!response.is_client_gone());
        assert_eq!(response.handler().operation(), "get_quote");
        response.get_quote(10 * name.parse::<i32>().expect("a number")).expect("answered");
    }
    for client in clients {
        let (at, price) = client.join().expect("no panic");
        assert_eq!(price, Ok(10 * at));
    }
}

fn exceptions(quoter: &Quoter, kept: &Receiver<Kept>) {
    let invalid = InvalidStockSymbol { symbol: "IBM".to_owned() };
    let sent = invalid.clone();
    let got = call(quoter, kept, |response| response.get_quote_excep(sent).expect("answered"));
    assert_eq!(got, Err(GetQuoteError::InvalidStockSymbol(invalid)));
    let got = call(quoter, kept, |response| {
        let exception =
            SystemException::no_resources(corbie::Minor::of::<3>(), CompletionStatus::No);
        response.get_quote_excep(exception).expect("answered");
    });
    assert_eq!(
        system(got),
        (SystemExceptionKind::NoResources, corbie::Minor::of::<3>(), CompletionStatus::No)
    );
    assert_eq!(call(quoter, kept, |r| r.finish(Ok(5)).expect("answered")), Ok(5));
}

fn system(outcome: Outcome) -> (SystemExceptionKind, corbie::Minor, CompletionStatus) {
    match outcome {
        Err(GetQuoteError::System(e)) => (e.kind, e.minor, e.completed),
        other => panic!("no system exception: {other:?}"),
    }
}

fn dropped(quoter: &Quoter, kept: &Receiver<Kept>) {
    let (kind, _, completed) = system(call(quoter, kept, drop));
    assert_eq!((kind, completed), (SystemExceptionKind::NoResponse, CompletionStatus::Maybe));
}

fn dynamic(quoter: &Quoter, kept: &Receiver<Kept>) {
    let got = call(quoter, kept, |response| {
        let handler = AmhQuoterResponseHandler::from(response);
        let wrong = handler.quotes_served(1).expect_err("the client called get_quote");
        assert_eq!(wrong.kind, SystemExceptionKind::BadOperation);
        handler.get_quote(42).expect("answered");
        for second in [handler.get_quote(43), handler.quotes_served(1)] {
            let second = second.expect_err("a second answer");
            assert_eq!(second.kind, SystemExceptionKind::BadInvOrder);
        }
        let invalid = InvalidStockSymbol { symbol: String::new() };
        let second = handler.get_quote_excep(&AmhQuoterExceptionHolder::from(invalid));
        let second = second.expect_err("a second answer");
        assert_eq!(second.kind, SystemExceptionKind::BadInvOrder);
    });
    assert_eq!(got, Ok(42));
    let invalid = InvalidStockSymbol { symbol: "X".to_owned() };
    let holder = AmhQuoterExceptionHolder::from(invalid.clone());
    let got = call(quoter, kept, |response| {
        let handler = AmhQuoterResponseHandler::from(response);
        handler.get_quote_excep(&holder).expect("answered");
    });
    assert_eq!(got, Err(GetQuoteError::InvalidStockSymbol(invalid)));
    let (kind, ..) = system(call(quoter, kept, |response| {
        drop(AmhQuoterResponseHandler::from(response));
    }));
    assert_eq!(kind, SystemExceptionKind::NoResponse);
}

/// A holder raises what it holds, as far as the operation may.
fn holders() {
    let invalid = InvalidStockSymbol { symbol: "X".to_owned() };
    let holder = AmhQuoterExceptionHolder::from(invalid.clone());
    let Err(raised) = holder.raise_get_quote();
    assert_eq!(raised, GetQuoteError::InvalidStockSymbol(invalid));
    let Err(raised) = holder.raise_quotes_served();
    assert_eq!(raised.kind, SystemExceptionKind::Unknown);
    let exception = SystemException::no_memory(corbie::Minor::of::<1>(), CompletionStatus::Yes);
    let holder = AmhQuoterExceptionHolder::from(exception.clone());
    let Err(raised) = holder.raise_quotes_served();
    assert_eq!(raised, exception);
}

/// The client is behind a proxy, whose connections end when the program says so.
fn client_gone(quoter: &Quoter, kept: &Receiver<Kept>) {
    let profile = quoter.as_object().ior().iiop_profiles().expect("profiles").remove(0);
    let server = (profile.host.clone(), profile.port);
    let proxy = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = proxy.local_addr().expect("its address").port();
    let near = IiopProfile { port, host: "127.0.0.1".to_owned(), ..profile };
    let ior = Ior::from_iiop(Quoter::REPOSITORY_ID, &near).expect("an IOR");
    let far = Quoter::unchecked_narrow(Object::new(quoter.as_object().orb(), ior));
    let calling = std::thread::spawn(move || far.get_quote("IBM"));
    let (client, _) = proxy.accept().expect("the client connects");
    let server = TcpStream::connect(server).expect("the server is there");
    let copying = copy(&client, &server);
    let (response, _) = take(kept);
    assert!(!response.is_client_gone());
    for side in [&client, &server] {
        side.shutdown(Shutdown::Both).expect("it was open");
    }
    drop(proxy);
    let end = Instant::now() + Duration::from_secs(30);
    while !response.is_client_gone() {
        assert!(Instant::now() < end, "the response does not see that the client is gone");
        std::thread::yield_now();
    }
    let error = response.get_quote(1).expect_err("the client is gone");
    assert_eq!((error.kind, error.completed), (CommFailure, CompletionStatus::Yes));
    assert!(calling.join().expect("no panic").is_err());
    copying.join().expect("no panic");
    assert_eq!(quoter.quotes_served(), Ok(7));
}

/// Passes on what the client sends.
fn copy(client: &TcpStream, server: &TcpStream) -> JoinHandle<()> {
    let mut client = client.try_clone().expect("a handle");
    let mut server = server.try_clone().expect("a handle");
    std::thread::spawn(move || {
        // It ends with the connection, which is no failure here.
        let _ = std::io::copy(&mut client, &mut server);
    })
}

/// An asynchronous servant of a derived interface serves the bases, too.
struct Derived;

impl interfaces::AmhTopServant for Derived {
    fn get_top(&self, response: amh_top::GetTopResponse) {
        response.get_top(1).expect("answered");
    }

    fn name(&self, response: amh_top::NameResponse) {
        let handler = interfaces::AmhBottomResponseHandler::from(response);
        handler.name("bottom").expect("answered");
    }
}

impl interfaces::AmhLeftServant for Derived {
    fn go_left(&self, response: amh_left::GoLeftResponse, value: i32) {
        let exception = SystemException::received(
            SystemExceptionKind::BadParam,
            value as u32,
            CompletionStatus::No,
        );
        response.go_left_excep(exception).expect("answered");
    }
}

impl interfaces::AmhRightServant for Derived {
    fn go_right(&self, response: interfaces::amh_right::GoRightResponse) {
        let wrong = interfaces::right::Wrong { why: "left".to_owned() };
        let holder = interfaces::AmhBottomExceptionHolder::from(wrong);
        let handler = interfaces::AmhBottomResponseHandler::from(response);
        handler.go_right_excep(&holder).expect("answered");
    }
}

impl interfaces::AmhBottomServant for Derived {
    fn get_bottom(&self, response: amh_bottom::GetBottomResponse) {
        response.get_bottom("b").expect("answered");
    }
}

fn inherited(orb: &Orb) {
    let poa = orb.root_poa().expect("the root POA");
    poa.the_poa_manager().activate().expect("an active manager");
    let bottom: Bottom =
        poa.activate(interfaces::AmhBottomSkeleton::new(std::sync::Arc::new(Derived))).expect("ok");
    assert_eq!(bottom.get_top(), Ok(1));
    assert_eq!(bottom.name().as_deref(), Ok("bottom"));
    assert_eq!(bottom.get_bottom().as_deref(), Ok("b"));
    assert_eq!(bottom.go_left(9).map_err(|e| e.minor.code()), Err(9));
    let wrong = bottom.go_right().expect_err("wrong");
    assert!(wrong.to_string().contains("left"), "{wrong}");
    assert_eq!(bottom.as_object().is_a("IDL:Interfaces/Left:1.0"), Ok(true));
    assert_eq!(bottom.as_object().is_a("IDL:Interfaces/AMH_Left:1.0"), Ok(false));
}

/// Only `get_quote` is answered later.
struct Mixed;

impl mixed::AmhQuoterServant for Mixed {
    fn quotes_served(&self) -> Result<u64, SystemException> {
        Ok(3)
    }

    fn get_quote(&self, response: mixed::amh_quoter::GetQuoteResponse, stock_name: &str) {
        let length = stock_name.len() as i32;
        std::thread::spawn(move || response.get_quote(length).expect("answered"));
    }
}

fn some_operations(orb: &Orb) {
    let poa = orb.root_poa().expect("the root POA");
    poa.the_poa_manager().activate().expect("an active manager");
    let quoter = poa.activate(mixed::AmhQuoterSkeleton::new(Mixed)).expect("active");
    assert_eq!(quoter.quotes_served(), Ok(3));
    assert_eq!(quoter.get_quote("IBM"), Ok(3));
}
