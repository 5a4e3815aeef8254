//! A transport that Corbie does not know, brought along by the application: `veil.rs` says what it
//! does, this program has a server listen on it and on TCP, and calls the server over both:
//! `cargo run --release --example transport`.

// An example is a program: printing is what it is for.
#![allow(clippy::print_stdout, clippy::print_stderr)]

mod veil;

use corbie::{Orb, SystemException};
use idl::stock::quoter::GetQuoteError;
use idl::stock::{InvalidStockSymbol, Quoter, QuoterServant, QuoterSkeleton};
use std::error::Error;
use std::process::ExitCode;
use std::sync::Arc;
use veil::Veil;

/// The types made of `stock.idl` by `build.rs`.
mod idl {
    corbie::include_idl!("stock");
}

/// What both sides know; a real one would come from a file.
const SECRET: u64 = 0x5EC2_E7C0_FFEE_0001;

struct Exchange;

impl QuoterServant for Exchange {
    fn quotes_served(&self) -> Result<u64, SystemException> {
        Ok(0)
    }

    fn get_quote(&self, stock_name: &str) -> Result<i32, GetQuoteError> {
        match stock_name {
            "IBM" => Ok(13_245),
            other => Err(InvalidStockSymbol { symbol: other.to_string() }.into()),
        }
    }
}

fn main() -> ExitCode {
    match demonstrate() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("transport: {error}");
            ExitCode::FAILURE
        }
    }
}

fn demonstrate() -> Result<(), Box<dyn Error>> {
    // The server's references have a profile for each protocol that it listens on.
    let mut arguments =
        ["-ORBListenEndpoints", "veil://127.0.0.1:0,iiop://127.0.0.1:0"].map(String::from).to_vec();
    let server =
        Orb::builder().transport(Arc::new(Veil::new(SECRET))).arguments(&mut arguments).build()?;
    let poa = server.root_poa()?;
    poa.the_poa_manager().activate()?;
    let reference = poa.activate(QuoterSkeleton::new(Exchange))?;
    for endpoint in server.listen_endpoints() {
        println!("the server listens on {endpoint}");
    }
    let text = server.object_to_string(corbie::Interface::as_object(&reference));

    // A client that has the transport prefers it; in this one process, calls would need none.
    let mut remote = ["-ORBCollocation", "none"].map(String::from).to_vec();
    let client =
        Orb::builder().transport(Arc::new(Veil::new(SECRET))).arguments(&mut remote).build()?;
    report("with the transport", &client, &text)?;

    // One without it passes the profile over.
    let mut remote = ["-ORBCollocation", "none"].map(String::from).to_vec();
    let plain = Orb::builder().arguments(&mut remote).build()?;
    report("without it", &plain, &text)?;

    for orb in [client, plain, server] {
        orb.shutdown(true);
    }
    Ok(())
}

fn report(who: &str, client: &Orb, text: &str) -> Result<(), Box<dyn Error>> {
    let object = client.string_to_object(text)?;
    let quoter = <Quoter as corbie::Interface>::narrow(&object)?.ok_or("no Quoter")?;
    let price = quoter.get_quote("IBM").map_err(|error| format!("{error:?}"))?;
    println!("a client {who}: IBM costs {price}");
    Ok(())
}
