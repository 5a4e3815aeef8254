//! The client: turns the reference into a typed one and calls it.
//! Shows a quote, the user exception of a symbol that is not traded, and an attribute.

use std::error::Error;

use corbie::Orb;

use crate::idl::stock::Quoter;
use crate::idl::stock::quoter::GetQuoteError;

/// Calls the object behind `reference` and prints the answers.
pub(crate) fn run(reference: &str, arguments: &[String]) -> Result<(), Box<dyn Error>> {
    let orb = Orb::init(arguments)?;
    let object = orb.string_to_object(reference)?;
    let quoter = Quoter::narrow(&object)?.ok_or("the reference is not of a Stock::Quoter")?;

    let cents = quoter.get_quote("IBM")?;
    println!("get_quote(\"IBM\") = {}.{:02}", cents / 100, cents % 100);

    match quoter.get_quote("ACME") {
        Err(GetQuoteError::InvalidStockSymbol(exception)) => {
            println!("get_quote(\"ACME\") raised Invalid_Stock_Symbol: {}", exception.symbol);
        }
        Err(other) => return Err(other.into()),
        Ok(cents) => return Err(format!("ACME has the price {cents}, unasked").into()),
    }

    println!("quotes_served = {}", quoter.quotes_served()?);
    orb.shutdown(true);
    Ok(())
}
