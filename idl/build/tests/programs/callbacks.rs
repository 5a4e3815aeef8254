//! Callbacks: every outcome reaches the handler once, wherever the handler is.
//!
//! A module of `messaging.rs`.

use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use corbie::messaging::ExceptionHolder;
use corbie::{CompletionStatus, Orb, SystemException, SystemExceptionKind};
use messaging::own_interfaces::interfaces::{
    AmiBottomExceptionHolder, AmiBottomHandler, AmiBottomHandlerServant, AmiBottomHandlerSkeleton,
    AmiLeftExceptionHolder, AmiLeftHandler, AmiLeftHandlerServant, AmiRightHandlerServant,
    AmiTopHandlerServant, right,
};
use messaging::own_stock::stock::{
    AmiQuoterExceptionHolder, AmiQuoterHandler, AmiQuoterHandlerServant, AmiQuoterHandlerSkeleton,
    InvalidStockSymbol, quoter::GetQuoteError,
};

use crate::World;

type Done = Result<(), SystemException>;

/// What a handler was called with.
#[derive(Debug, PartialEq)]
enum Event {
    Quote(i32),
    NoQuote(GetQuoteError),
    Served(u64),
    NotServed(SystemException),
    Text(String),
}

/// Tells the program what it is called with.
struct Teller(Mutex<Sender<Event>>);

impl Teller {
    fn new() -> (Self, Receiver<Event>) {
        let (told, hear) = channel();
        (Teller(Mutex::new(told)), hear)
    }

    fn tell(&self, event: Event) -> Done {
        let told = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        told.send(event).expect("the program listens");
        Ok(())
    }
}

impl AmiQuoterHandlerServant for Teller {
    fn get_quotes_served(&self, ami_return_val: u64) -> Done {
        self.tell(Event::Served(ami_return_val))
    }

    fn get_quotes_served_excep(&self, excep_holder: &ExceptionHolder) -> Done {
        let Err(raised) = AmiQuoterExceptionHolder::from(excep_holder).raise_get_quotes_served();
        self.tell(Event::NotServed(raised))
    }

    fn get_quote(&self, ami_return_val: i32) -> Done {
        self.tell(Event::Quote(ami_return_val))
    }

    fn get_quote_excep(&self, excep_holder: &ExceptionHolder) -> Done {
        let Err(raised) = AmiQuoterExceptionHolder::from(excep_holder).raise_get_quote();
        self.tell(Event::NoQuote(raised))
    }
}

impl AmiTopHandlerServant for Teller {
    fn get_top(&self, ami_return_val: i32) -> Done {
        self.tell(Event::Text(format!("top {ami_return_val}")))
    }

    fn get_top_excep(&self, excep_holder: &ExceptionHolder) -> Done {
        self.tell(Event::Text(format!("top {excep_holder:?}")))
    }

    fn get_name(&self, ami_return_val: &str) -> Done {
        self.tell(Event::Text(format!("name {ami_return_val}")))
    }

    fn get_name_excep(&self, excep_holder: &ExceptionHolder) -> Done {
        self.tell(Event::Text(format!("name {excep_holder:?}")))
    }
}

impl AmiLeftHandlerServant for Teller {
    fn go_left(&self) -> Done {
        self.tell(Event::Text("left".to_owned()))
    }

    fn go_left_excep(&self, excep_holder: &ExceptionHolder) -> Done {
        let Err(raised) = AmiLeftExceptionHolder::from(excep_holder).raise_go_left();
        self.tell(Event::NotServed(raised))
    }
}

impl AmiRightHandlerServant for Teller {
    fn go_right(&self) -> Done {
        self.tell(Event::Text("right".to_owned()))
    }

    fn go_right_excep(&self, excep_holder: &ExceptionHolder) -> Done {
        // The holder of a derived interface knows inherited operations, too.
        let Err(raised) = AmiBottomExceptionHolder::from(excep_holder).raise_go_right();
        self.tell(Event::Text(match raised {
            right::GoRightError::Wrong(wrong) => format!("wrong: {}", wrong.why),
            other => other.to_string(),
        }))
    }
}

impl AmiBottomHandlerServant for Teller {
    fn get_bottom(&self, ami_return_val: &str) -> Done {
        self.tell(Event::Text(format!("bottom {ami_return_val}")))
    }

    fn get_bottom_excep(&self, excep_holder: &ExceptionHolder) -> Done {
        self.tell(Event::Text(format!("bottom {excep_holder:?}")))
    }
}

#[track_caller]
fn next(hear: &Receiver<Event>) -> Event {
    hear.recv_timeout(Duration::from_secs(30)).expect("the handler is called")
}

pub fn check(world: &World) {
    for place in [&world.client, &world.elsewhere] {
        outcomes(world, place);
        inherited(world, place);
        broken(world, place);
        unreadable(world, place);
    }
    many(world);
    no_handler(world);
}

/// A handler active in `place`, as the client sees it.
fn quoter_handler(world: &World, place: &Orb) -> (AmiQuoterHandler, Receiver<Event>) {
    let (teller, hear) = Teller::new();
    let poa = place.root_poa().expect("the root POA");
    poa.the_poa_manager().activate().expect("an active manager");
    let handler = poa.activate(AmiQuoterHandlerSkeleton::new(teller)).expect("active");
    let handler = crate::through(&world.client, handler.as_object());
    (AmiQuoterHandler::unchecked_narrow(handler), hear)
}

fn outcomes(world: &World, place: &Orb) {
    let quoter = &world.quoter;
    let (handler, hear) = quoter_handler(world, place);
    quoter.sendc_get_quote(&handler, "IBM").expect("sent");
    assert_eq!(next(&hear), Event::Quote(100));
    quoter.sendc_get_quote(Some(&handler), "X").expect("sent");
    let invalid = InvalidStockSymbol { symbol: "X".to_owned() };
    assert_eq!(next(&hear), Event::NoQuote(invalid.into()));
    quoter.sendc_get_quote(&handler, "denied").expect("sent");
    let Event::NoQuote(GetQuoteError::System(denied)) = next(&hear) else { panic!("denied") };
    let (no_permission, no) = (SystemExceptionKind::NoPermission, CompletionStatus::No);
    assert_eq!(
        (denied.kind, denied.minor, denied.completed),
        (no_permission, corbie::Minor::of::<7>(), no)
    );
    let served = quoter.quotes_served().expect("served");
    quoter.sendc_get_quotes_served(&handler).expect("sent");
    assert_eq!(next(&hear), Event::Served(served));
    // The reply comes when it comes; the caller does other things meanwhile.
    quoter.sendc_get_quote(&handler, "wait").expect("sent");
    assert_eq!(hear.try_recv(), Err(TryRecvError::Empty));
    world.gate.send(5).expect("the servant waits");
    assert_eq!(next(&hear), Event::Quote(5));
    assert_eq!(hear.try_recv(), Err(TryRecvError::Empty), "no handler is called twice");
}

fn inherited(world: &World, place: &Orb) {
    let bottom = &world.bottom;
    let (teller, hear) = Teller::new();
    let poa = place.root_poa().expect("the root POA");
    poa.the_poa_manager().activate().expect("an active manager");
    let handler = poa.activate(AmiBottomHandlerSkeleton::new(teller)).expect("active");
    let handler = crate::through(&world.client, handler.as_object());
    let handler = AmiBottomHandler::unchecked_narrow(handler);
    bottom.sendc_get_bottom(&handler).expect("sent");
    assert_eq!(next(&hear), Event::Text("bottom b".to_owned()));
    // Inherited operations take a handler of their own interface, or of a derived one.
    bottom.sendc_go_left(&handler, 0).expect("sent");
    assert_eq!(next(&hear), Event::Text("left".to_owned()));
    let left = AmiLeftHandler::from(handler.clone());
    bottom.sendc_go_left(&left, 3).expect("sent");
    let Event::NotServed(raised) = next(&hear) else { panic!("refused") };
    assert_eq!(
        (raised.kind, raised.minor),
        (SystemExceptionKind::BadParam, corbie::Minor::of::<3>())
    );
    bottom.sendc_go_right(&handler).expect("sent");
    assert_eq!(next(&hear), Event::Text("wrong: it is left".to_owned()));
    bottom.sendc_get_name(&handler).expect("sent");
    assert_eq!(next(&hear), Event::Text("name bottom".to_owned()));
    // The same handler serves a reference to a base.
    let base = messaging::own_interfaces::interfaces::Top::from(bottom.clone());
    base.sendc_get_top(&handler).expect("sent");
    assert_eq!(next(&hear), Event::Text("top 1".to_owned()));
}

/// The server goes away with the request.
fn broken(world: &World, place: &Orb) {
    let (handler, hear) = quoter_handler(world, place);
    crate::breaking(world).sendc_get_quote(&handler, "IBM").expect("sent");
    let Event::NoQuote(GetQuoteError::System(broken)) = next(&hear) else { panic!("broken") };
    let expected = (SystemExceptionKind::CommFailure, CompletionStatus::Maybe);
    assert_eq!((broken.kind, broken.completed), expected);
    // Only a handler of the same process learns why.
    let is_here = place.listen_addresses() == world.client.listen_addresses();
    assert_eq!(broken.to_string().contains("broke while get_quote waited"), is_here, "{broken}");
}

/// Results that cannot be decoded are an exception, too.
fn unreadable(world: &World, place: &Orb) {
    let (handler, hear) = quoter_handler(world, place);
    crate::terse(world).sendc_get_quote(&handler, "IBM").expect("sent");
    let Event::NoQuote(GetQuoteError::System(terse)) = next(&hear) else { panic!("unreadable") };
    let expected = (SystemExceptionKind::Marshal, CompletionStatus::Yes);
    assert_eq!((terse.kind, terse.completed), expected);
    assert_eq!(hear.try_recv(), Err(TryRecvError::Empty));
}

/// Many at once, all answered, each once.
fn many(world: &World) {
    let (handler, hear) = quoter_handler(world, &world.client);
    for at in 0..500 {
        let name = if at % 5 == 0 { "X" } else { "IBM" };
        world.quoter.sendc_get_quote(&handler, name).expect("sent");
    }
    let events: Vec<Event> = (0..500).map(|_| next(&hear)).collect();
    let quotes = events.iter().filter(|event| **event == Event::Quote(100)).count();
    let refused = events.iter().filter(|event| matches!(event, Event::NoQuote(_))).count();
    assert_eq!((quotes, refused), (400, 100));
    assert_eq!(hear.try_recv(), Err(TryRecvError::Empty));
}

/// Without a handler the call is made all the same.
fn no_handler(world: &World) {
    let served = world.quoter.quotes_served().expect("served");
    world.quoter.sendc_get_quote(None, "IBM").expect("sent");
    world.quoter.sendc_get_quote(None, "X").expect("sent");
    // Requests to one object keep their order.
    let (handler, hear) = quoter_handler(world, &world.client);
    world.quoter.sendc_get_quotes_served(&handler).expect("sent");
    assert_eq!(next(&hear), Event::Served(served + 2));
}
