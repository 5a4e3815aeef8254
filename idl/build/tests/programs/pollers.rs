//! Pollers and pollable sets: ready or not, in time or not, once.
//!
//! A module of `messaging.rs`.

use std::sync::mpsc::{Sender, channel};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use corbie::messaging::{
    ExceptionHolder, GetReadyPollableError, PollableSet, Poller, TypedPoller, UnknownPollable,
};
use corbie::{SystemException, SystemExceptionKind, minor};
use messaging::own_interfaces::interfaces::{AmiLeftPoller, AmiTopPoller, right};
use messaging::own_stock::stock::{
    AmiQuoterHandlerServant, AmiQuoterHandlerSkeleton, AmiQuoterPoller, InvalidStockSymbol,
    quoter::GetQuoteError,
};

use crate::World;

const AT_ONCE: Option<Duration> = Some(Duration::ZERO);
const BRIEFLY: Option<Duration> = Some(Duration::from_millis(2));

pub fn check(world: &World) {
    outcomes(world);
    not_yet(world);
    inherited(world);
    sets(world);
    handlers(world);
}

#[track_caller]
fn kind<T: std::fmt::Debug>(outcome: Result<T, GetQuoteError>) -> SystemExceptionKind {
    match outcome {
        Err(GetQuoteError::System(exception)) => exception.kind,
        other => panic!("{other:?}"),
    }
}

fn outcomes(world: &World) {
    let quoter = &world.quoter;
    let poller = quoter.sendp_get_quote("IBM").expect("sent");
    assert_eq!(poller.operation_name(), "get_quote");
    assert_eq!(poller.operation_target(), quoter.as_object());
    assert!(poller.wait(None));
    assert!(poller.is_ready());
    assert_eq!(poller.get_quote(AT_ONCE), Ok(100));
    assert_eq!(poller.is_from_poller(), Ok(false));
    // A reply is handed out once, also by a clone.
    let again = poller.clone().get_quote(None);
    assert_eq!(kind(again), SystemExceptionKind::ObjectNotExist);
    assert_eq!(poller.is_from_poller(), Ok(true));
    let invalid = quoter.sendp_get_quote("X").expect("sent").get_quote(None);
    assert_eq!(invalid, Err(InvalidStockSymbol { symbol: "X".to_owned() }.into()));
    let denied = quoter.sendp_get_quote("denied").expect("sent").get_quote(None);
    assert_eq!(kind(denied), SystemExceptionKind::NoPermission);
    let served = quoter.quotes_served();
    assert_eq!(quoter.sendp_get_quotes_served().expect("sent").get_quotes_served(None), served);
    let broken = crate::breaking(world).sendp_get_quote("IBM").expect("sent").get_quote(None);
    assert_eq!(kind(broken), SystemExceptionKind::CommFailure);
    let unreadable = crate::terse(world).sendp_get_quote("IBM").expect("sent").get_quote(None);
    assert_eq!(kind(unreadable), SystemExceptionKind::Marshal);
}

fn not_yet(world: &World) {
    let poller = world.quoter.sendp_get_quote("wait").expect("sent");
    assert!(!poller.is_ready());
    assert_eq!(poller.is_from_poller().map_err(|e| e.kind), Err(SystemExceptionKind::BadInvOrder));
    assert_eq!(kind(poller.get_quote(AT_ONCE)), SystemExceptionKind::NoResponse);
    assert!(!poller.wait(BRIEFLY));
    assert_eq!(kind(poller.get_quote(BRIEFLY)), SystemExceptionKind::Timeout);
    assert_eq!(poller.is_from_poller(), Ok(true));
    // Another operation than the one that was called.
    let wrong = poller.get_quotes_served(AT_ONCE).map_err(|e| e.kind);
    assert_eq!(wrong, Err(SystemExceptionKind::BadOperation));
    world.gate.send(6).expect("the servant waits");
    assert_eq!(poller.get_quote(None), Ok(6));
    // A poller that is dropped forgets its reply; the connection goes on.
    drop(world.quoter.sendp_get_quote("wait").expect("sent"));
    world.gate.send(7).expect("the servant waits");
    assert_eq!(world.quoter.sendp_get_quote("IBM").expect("sent").get_quote(None), Ok(100));
}

/// Inherited operations return the poller of the interface that declares them.
fn inherited(world: &World) {
    let poller: AmiLeftPoller = world.bottom.sendp_go_left(0).expect("sent");
    assert_eq!(poller.go_left(None), Ok(()));
    let right = world.bottom.sendp_go_right().expect("sent").go_right(None);
    assert_eq!(right, Err(right::Wrong { why: "it is left".to_owned() }.into()));
    let bottom = world.bottom.sendp_get_bottom().expect("sent");
    let as_left = AmiLeftPoller::from(bottom.clone());
    let wrong = as_left.go_left(None).map_err(|e| e.kind);
    assert_eq!(wrong, Err(SystemExceptionKind::BadOperation));
    assert_eq!(bottom.get_bottom(None).as_deref(), Ok("b"));
    let name: AmiTopPoller = world.bottom.sendp_get_name().expect("sent");
    assert_eq!(name.get_name(None).as_deref(), Ok("bottom"));
}

fn sets(world: &World) {
    let quoter = &world.quoter;
    let slow = quoter.sendp_get_quote("wait").expect("sent");
    let set = slow.create_pollable_set().expect("a set");
    assert_eq!(set.number_left(), 1);
    let in_two = PollableSet::new(&world.client).add_pollable(&slow).map_err(|e| e.kind);
    assert_eq!(in_two, Err(SystemExceptionKind::BadParam));
    let nothing = set.get_ready_pollable(AT_ONCE).expect_err("nothing is here");
    assert!(matches!(&nothing, GetReadyPollableError::System(e)
        if e.kind == SystemExceptionKind::NoResponse), "{nothing}");
    let nothing = set.get_ready_pollable(BRIEFLY).expect_err("nothing came");
    assert!(matches!(&nothing, GetReadyPollableError::System(e)
        if e.kind == SystemExceptionKind::Timeout), "{nothing}");
    let left = world.bottom.sendp_go_left(0).expect("sent");
    set.add_pollable(&left).expect("added");
    world.gate.send(8).expect("the servant waits");
    let mut quote = None;
    for expected_left in [1, 0] {
        let ready = set.get_ready_pollable(None).expect("one is ready");
        assert!(ready.is_ready());
        assert_eq!(set.number_left(), expected_left);
        // Which of the two is it?
        match AmiQuoterPoller::downcast(&ready) {
            Some(poller) => quote = Some(poller.get_quote(AT_ONCE)),
            None => {
                assert_eq!(ready, *left);
                let poller = AmiLeftPoller::downcast(&ready).expect("the other");
                assert_eq!(poller.go_left(AT_ONCE), Ok(()));
            }
        }
    }
    assert_eq!(quote, Some(Ok(8)));
    let empty = set.get_ready_pollable(None);
    assert_eq!(empty, Err(GetReadyPollableError::NoPossiblePollable));
    members(world, &set);
}

fn members(world: &World, set: &PollableSet) {
    let pollers: Vec<AmiQuoterPoller> =
        (0..50).map(|_| world.quoter.sendp_get_quote("IBM").expect("sent")).collect();
    for poller in &pollers {
        set.add_pollable(poller).expect("added");
    }
    let first = pollers.first().expect("one");
    assert_eq!(set.remove(first), Ok(()));
    assert_eq!(set.remove(first), Err(UnknownPollable));
    // One whose reply was handed out already is no answer.
    let second = pollers.get(1).expect("one");
    assert_eq!(second.get_quote(None), Ok(100));
    let mut seen: Vec<Poller> = Vec::new();
    loop {
        match set.get_ready_pollable(None) {
            Ok(ready) => {
                let poller = ready.as_poller().expect("a poller").clone();
                assert!(!seen.contains(&poller), "each comes once");
                assert_eq!(AmiQuoterPoller::from_poller(poller.clone()).get_quote(None), Ok(100));
                seen.push(poller);
            }
            Err(end) => {
                assert_eq!(end, GetReadyPollableError::NoPossiblePollable);
                break;
            }
        }
    }
    assert_eq!(seen.len(), 48);
    assert_eq!(first.get_quote(None), Ok(100));
}

/// Tells the quotes that it is given.
struct Quotes(Mutex<Sender<Result<i32, String>>>);

impl Quotes {
    fn tell(&self, quote: Result<i32, String>) -> Result<(), SystemException> {
        let told = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        told.send(quote).expect("the program listens");
        Ok(())
    }
}

impl AmiQuoterHandlerServant for Quotes {
    fn get_quotes_served(&self, _: u64) -> Result<(), SystemException> {
        self.tell(Err("get_quotes_served".to_owned()))
    }

    fn get_quotes_served_excep(&self, _: &ExceptionHolder) -> Result<(), SystemException> {
        self.tell(Err("get_quotes_served_excep".to_owned()))
    }

    fn get_quote(&self, ami_return_val: i32) -> Result<(), SystemException> {
        self.tell(Ok(ami_return_val))
    }

    fn get_quote_excep(&self, excep_holder: &ExceptionHolder) -> Result<(), SystemException> {
        self.tell(Err(format!("{excep_holder:?}")))
    }
}

/// A poller becomes a callback.
fn handlers(world: &World) {
    let (told, hear) = channel();
    let poa = world.client.root_poa().expect("the root POA");
    poa.the_poa_manager().activate().expect("an active manager");
    let servant = AmiQuoterHandlerSkeleton::new(Quotes(Mutex::new(told)));
    let handler = poa.activate(servant).expect("active");
    let hear = || hear.recv_timeout(Duration::from_secs(30)).expect("the handler is called");
    let poller = world.quoter.sendp_get_quote("wait").expect("sent");
    poller.set_associated_handler(Some(handler.as_object())).expect("associated");
    assert!(poller.associated_handler().is_some());
    world.gate.send(9).expect("the servant waits");
    assert_eq!(hear(), Ok(9));
    assert_eq!(kind(poller.get_quote(None)), SystemExceptionKind::ObjectNotExist);
    // The reply is here already.
    let poller = world.quoter.sendp_get_quote("X").expect("sent");
    assert!(poller.wait(None));
    poller.set_associated_handler(Some(handler.as_object())).expect("associated");
    assert!(hear().expect_err("invalid").contains("Invalid_Stock_Symbol"));
    // And back again.
    let poller = world.quoter.sendp_get_quote("wait").expect("sent");
    poller.set_associated_handler(Some(handler.as_object())).expect("associated");
    poller.set_associated_handler(None).expect("no longer");
    world.gate.send(10).expect("the servant waits");
    assert_eq!(poller.get_quote(None), Ok(10));
    let poller = world.quoter.sendp_get_quote("IBM").expect("sent");
    let set = poller.create_pollable_set().expect("a set");
    let refused = poller.set_associated_handler(Some(handler.as_object())).map_err(|e| e.minor);
    assert_eq!(refused, Err(minor::BAD_INV_ORDER_POLLER_IN_SET));
    drop(set);
    poller.set_associated_handler(Some(handler.as_object())).expect("in no set any more");
    assert_eq!(hear(), Ok(100));
}
