//! The source clients: each calls, waits for its quote, and calls again. Every tenth call asks for
//! a symbol that is not traded, so that exceptions travel through all tiers as well.

use std::error::Error;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::time::Instant;

use corbie::Orb;

use crate::Plan;
use crate::idl::quotes::Quoter;
use crate::idl::quotes::quoter::GetQuoteError;
use crate::progress::Progress;

/// What became of one call.
enum Outcome {
    Quote,
    Refused,
    Wrong(String),
}

/// Calls the object behind `reference` as planned, and prints what came of it.
pub(crate) fn run(reference: &str, plan: &Plan) -> Result<(), Box<dyn Error>> {
    let mut arguments = plan.orb.clone();
    // Each client is on its own: one connection for each.
    let connections = plan.clients.max(1).to_string();
    arguments.extend(["-ORBConnectionsPerEndpoint".to_string(), connections]);
    let orb = Orb::init(arguments)?;
    let object = orb.string_to_object(reference)?;
    let quoter = Quoter::narrow(&object)?.ok_or("the middle tier is no Quotes::Quoter")?;

    let start = Instant::now();
    let waiting = AtomicUsize::new(0);
    let (quotes, refused) = std::thread::scope(|scope| {
        let (sender, outcomes) = channel();
        for client in 0..plan.clients {
            let (quoter, waiting, sender) = (&quoter, &waiting, sender.clone());
            scope.spawn(move || call(client, quoter, plan.calls, waiting, &sender));
        }
        drop(sender);
        follow(outcomes.iter(), plan.clients * plan.calls, &waiting)
    })?;
    let seconds = start.elapsed().as_secs_f64();
    let total = quotes + refused;
    println!("{quotes} quotes, {refused} times Invalid_Stock_Symbol, in {seconds:.2} s");
    let ideal = plan.clients as f64 / plan.delay.as_secs_f64();
    println!("{:.0} replies/s; at most {ideal:.0}: clients / delay", total as f64 / seconds);
    orb.shutdown(true);
    Ok(())
}

/// One client.
fn call(
    client: usize,
    quoter: &Quoter,
    calls: usize,
    waiting: &AtomicUsize,
    outcomes: &Sender<Outcome>,
) {
    for call in 0..calls {
        let symbol = if (client + call) % 10 == 9 { "ACME" } else { "IBM" };
        waiting.fetch_add(1, Ordering::Relaxed);
        let outcome = match (quoter.get_quote(symbol), symbol) {
            (Ok(13_245), "IBM") => Outcome::Quote,
            (Err(GetQuoteError::InvalidStockSymbol(_)), "ACME") => Outcome::Refused,
            (Ok(price), _) => Outcome::Wrong(format!("{symbol} has the price {price}")),
            (Err(error), _) => Outcome::Wrong(format!("{symbol}: {error}")),
        };
        waiting.fetch_sub(1, Ordering::Relaxed);
        let failed = matches!(outcome, Outcome::Wrong(_));
        if outcomes.send(outcome).is_err() || failed {
            return;
        }
    }
}

/// Counts quotes and refusals, and shows how far it is.
fn follow(
    outcomes: impl Iterator<Item = Outcome>,
    total: usize,
    waiting: &AtomicUsize,
) -> Result<(usize, usize), Box<dyn Error>> {
    let mut progress = Progress::new(total);
    let (mut quotes, mut refused) = (0, 0);
    for outcome in outcomes {
        match outcome {
            Outcome::Quote => quotes += 1,
            Outcome::Refused => refused += 1,
            Outcome::Wrong(what) => return Err(what.into()),
        }
        let under_way = waiting.load(Ordering::Relaxed);
        progress.show(quotes + refused, &format!(", {under_way} held by the middle tier"));
    }
    Ok((quotes, refused))
}
