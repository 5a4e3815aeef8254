//! The server: a servant that knows a few prices, activated in the root POA.
//! Started by `main` in a process of its own; prints the reference and serves until its standard
//! input ends.

use std::collections::HashMap;
use std::error::Error;
use std::io::Read as _;
use std::sync::atomic::{AtomicU64, Ordering};

use corbie::{Orb, SystemException};

use crate::idl::stock::quoter::GetQuoteError;
use crate::idl::stock::{InvalidStockSymbol, QuoterServant, QuoterSkeleton};

/// What implements `Stock::Quoter`: called by several threads at once, hence the atomic counter.
struct Exchange {
    /// Prices in cents by symbol.
    prices: HashMap<&'static str, i32>,
    served: AtomicU64,
}

impl QuoterServant for Exchange {
    fn quotes_served(&self) -> Result<u64, SystemException> {
        Ok(self.served.load(Ordering::Relaxed))
    }

    fn get_quote(&self, stock_name: &str) -> Result<i32, GetQuoteError> {
        let Some(price) = self.prices.get(stock_name) else {
            return Err(InvalidStockSymbol { symbol: stock_name.to_string() }.into());
        };
        self.served.fetch_add(1, Ordering::Relaxed);
        Ok(*price)
    }
}

/// Serves until standard input ends.
pub(crate) fn run(arguments: &[String]) -> Result<(), Box<dyn Error>> {
    let mut arguments = arguments.to_vec();
    // Loopback is for this example only; without it a server is reachable from other machines.
    if !arguments.iter().any(|argument| argument.starts_with("-ORBListenEndpoints")) {
        arguments.extend(["-ORBListenEndpoints", "iiop://127.0.0.1:0"].map(String::from));
    }
    let orb = Orb::init(arguments)?;
    let exchange = Exchange {
        prices: HashMap::from([("IBM", 13_245), ("SUNW", 512), ("ORCL", 9_830)]),
        served: AtomicU64::new(0),
    };
    let poa = orb.root_poa()?;
    poa.the_poa_manager().activate()?;
    let quoter = poa.activate(QuoterSkeleton::new(exchange))?;
    println!("{}", orb.object_to_string(quoter.as_object()));
    std::io::stdin().read_to_end(&mut Vec::new())?;
    orb.shutdown(true);
    Ok(())
}
