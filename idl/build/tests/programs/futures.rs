//! Calls as futures, under nothing but a loop that polls.
//!
//! A module of `messaging.rs`.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;

use corbie::{CompletionStatus, SystemExceptionKind};
use messaging::own_interfaces::interfaces::right;
use messaging::own_stock::stock::{InvalidStockSymbol, quoter::GetQuoteError};

use crate::World;

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Polls a future to its end; the thread sleeps until it is woken.
pub fn block_on<F: Future>(future: F) -> F::Output {
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let mut context = Context::from_waker(&waker);
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(outcome) = future.as_mut().poll(&mut context) {
            return outcome;
        }
        std::thread::park();
    }
}

/// What every future of a call is.
fn is_sendable<F: Future + Send + 'static>(future: F) -> F {
    future
}

pub fn check(world: &World) {
    outcomes(world);
    not_yet(world);
    dropped(world);
}

fn outcomes(world: &World) {
    let quoter = &world.quoter;
    let name = "IBM".to_owned();
    let future = is_sendable(quoter.get_quote_async(&name));
    // It borrows nothing.
    drop(name);
    assert_eq!(block_on(future), Ok(100));
    let invalid = InvalidStockSymbol { symbol: "X".to_owned() };
    assert_eq!(block_on(quoter.get_quote_async("X")), Err(invalid.into()));
    assert_eq!(block_on(quoter.quotes_served_async()), quoter.quotes_served());
    let wrong = right::Wrong { why: "it is left".to_owned() };
    assert_eq!(block_on(world.bottom.go_right_async()), Err(wrong.into()));
    assert_eq!(block_on(world.bottom.name_async()).as_deref(), Ok("bottom"));
    let broken = block_on(crate::breaking(world).get_quote_async("IBM"));
    let Err(GetQuoteError::System(broken)) = broken else { panic!("{broken:?}") };
    let expected = (SystemExceptionKind::CommFailure, CompletionStatus::Maybe);
    assert_eq!((broken.kind, broken.completed), expected);
    // Sent before the first is awaited; awaited in another order.
    let futures: Vec<_> = (0..100).map(|_| quoter.get_quote_async("IBM")).collect();
    for future in futures.into_iter().rev() {
        assert_eq!(block_on(future), Ok(100));
    }
}

fn not_yet(world: &World) {
    let mut future = pin!(world.quoter.get_quote_async("wait"));
    let mut no_task = Context::from_waker(Waker::noop());
    assert!(future.as_mut().poll(&mut no_task).is_pending());
    world.gate.send(11).expect("the servant waits");
    // The waker given last is the one that is woken.
    assert_eq!(block_on(future.as_mut()), Ok(11));
    let again = future.poll(&mut no_task);
    let Poll::Ready(Err(GetQuoteError::System(again))) = again else { panic!("{again:?}") };
    assert_eq!(again.kind, SystemExceptionKind::BadInvOrder);
    // On another thread than the one that sent it.
    let future = world.quoter.get_quote_async("wait");
    let waiting = std::thread::spawn(move || block_on(future));
    world.gate.send(12).expect("the servant waits");
    assert_eq!(waiting.join().expect("no panic"), Ok(12));
}

/// Dropping ends the wait, not the call.
fn dropped(world: &World) {
    let quoter = &world.quoter;
    let served = quoter.quotes_served().expect("served");
    drop(quoter.get_quote_async("IBM"));
    quoter.get_quote_async("IBM").cancel();
    assert_eq!(block_on(quoter.get_quote_async("IBM")), Ok(100));
    let now = quoter.quotes_served().expect("served");
    // A cancelled call may have been served or not; the dropped one surely was.
    assert!((served + 2..=served + 3).contains(&now), "{served}, then {now}");
}
