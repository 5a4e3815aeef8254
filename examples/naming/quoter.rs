//! An object to be found: a quoter with one price.
//! Activated in the root POA, as in the example `stock_quoter`.

use corbie::{Orb, SystemException};

use crate::idl::stock::quoter::GetQuoteError;
use crate::idl::stock::{InvalidStockSymbol, Quoter, QuoterServant, QuoterSkeleton};

struct OnePrice;

impl QuoterServant for OnePrice {
    fn quotes_served(&self) -> Result<u64, SystemException> {
        Ok(0)
    }

    fn get_quote(&self, stock_name: &str) -> Result<i32, GetQuoteError> {
        match stock_name {
            "IBM" => Ok(13_245),
            other => Err(InvalidStockSymbol { symbol: other.to_owned() }.into()),
        }
    }
}

/// Activates the quoter.
pub(crate) fn activate(orb: &Orb) -> Result<Quoter, SystemException> {
    let poa = orb.root_poa()?;
    let quoter = poa.activate(QuoterSkeleton::new(OnePrice))?;
    poa.the_poa_manager().activate()?;
    Ok(quoter)
}
