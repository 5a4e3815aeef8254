//! The sink: a database, say, that takes its time. It keeps each response until its quote is due
//! and answers it from another thread: AMH by itself, without a middle tier.

use std::error::Error;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use corbie::{Orb, TypedResponse as _};

use crate::idl::quotes::amh_quoter::GetQuoteResponse;
use crate::idl::quotes::quoter::GetQuoteError;
use crate::idl::quotes::{AmhQuoterServant, AmhQuoterSkeleton, InvalidStockSymbol};

/// What a quote costs is known at once; it is told later.
struct Held {
    due: Instant,
    response: GetQuoteResponse,
    outcome: Result<i32, GetQuoteError>,
}

struct Sink {
    delay: Duration,
    held: Sender<Held>,
}

impl AmhQuoterServant for Sink {
    fn get_quote(&self, response: GetQuoteResponse, stock_name: &str) {
        let outcome = match stock_name {
            "IBM" => Ok(13_245),
            "SUNW" => Ok(512),
            "ORCL" => Ok(9_830),
            _ => Err(InvalidStockSymbol { symbol: stock_name.to_string() }.into()),
        };
        let due = Instant::now() + self.delay;
        // Without the other thread, the response is dropped, which answers with NO_RESPONSE.
        let _ = self.held.send(Held { due, response, outcome });
    }
}

/// All take equally long, so that they are due in the order in which they came.
fn answer_when_due(held: &Receiver<Held>) {
    for Held { due, response, outcome } in held {
        std::thread::sleep(due.saturating_duration_since(Instant::now()));
        if let Err(error) = response.finish(outcome) {
            eprintln!("sink: a quote reached no client: {error}");
        }
    }
}

/// Serves until standard input ends.
pub(crate) fn run(arguments: &[String]) -> Result<(), Box<dyn Error>> {
    let (delay, rest) = arguments.split_first().ok_or("how long does the sink take?")?;
    let delay = Duration::from_millis(delay.parse()?);
    let orb = Orb::init(crate::server_arguments(rest))?;
    let (held, due) = channel();
    std::thread::spawn(move || answer_when_due(&due));
    let poa = orb.root_poa()?;
    poa.the_poa_manager().activate()?;
    let sink = poa.activate(AmhQuoterSkeleton::new(Sink { delay, held }))?;
    crate::serve(&orb, &orb.object_to_string(sink.as_object()));
    Ok(())
}
