//! The code of `docs/src/ami.md`, and what makes a program of it.
//!
//! Compiled and run by `tests/behaviour.rs`, which adds the code.

use std::error::Error;
use std::future::Future;
use std::pin::pin;
use std::sync::mpsc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use ami_book::own_stock::stock::{self, AmiQuoterExceptionHolder, AmiQuoterPoller};
use corbie::messaging::{ExceptionHolder, PollableSet, TypedPoller};
use corbie::{Orb, Poa, SystemException};
use stock::quoter::GetQuoteError;

struct Market;

impl stock::QuoterServant for Market {
    fn quotes_served(&self) -> Result<u64, SystemException> {
        Ok(3)
    }

    fn get_quote(&self, stock_name: &str) -> Result<i32, GetQuoteError> {
        match stock_name.len() {
            0 => Err(stock::InvalidStockSymbol { symbol: String::new() }.into()),
            length => Ok(length as i32),
        }
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let orb = Orb::init(["-ORBListenEndpoints", "iiop://127.0.0.1:0"])?;
    let poa = orb.root_poa()?;
    poa.the_poa_manager().activate()?;
    let quoter = poa.activate(stock::QuoterSkeleton::new(Market))?;
    let mut future = pin!(cheapest(&quoter, &["IBM", "X", "ABCD"]));
    let mut context = Context::from_waker(Waker::noop());
    let cheapest = loop {
        if let Poll::Ready(outcome) = future.as_mut().poll(&mut context) {
            break outcome;
        }
        std::thread::yield_now();
    };
    assert_eq!(cheapest, Ok(1));
    let (done, said) = mpsc::channel();
    ask(&poa, &quoter, done)?;
    let wait = Duration::from_secs(30);
    assert_eq!([said.recv_timeout(wait)?, said.recv_timeout(wait)?], ["3 cents", "3 served"]);
    assert_eq!(poll(&quoter)?, 3);
    let mut quotes = all(&quoter, &["a", "bb", "ccc"])?;
    quotes.sort_unstable();
    assert_eq!(quotes, [1, 2, 3]);
    assert!(all(&quoter, &["a", ""]).is_err());
    orb.shutdown(true);
    println!("all well");
    Ok(())
}
