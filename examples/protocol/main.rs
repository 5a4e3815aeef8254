//! A message protocol that Corbie does not know, brought along by the application: `crc.rs` says
//! what it does. This program has a server speak it over TCP and over a unix-domain socket, beside
//! GIOP, and calls the server in each: `cargo run --release --example protocol`.

// An example is a program: printing is what it is for.
#![allow(clippy::print_stdout, clippy::print_stderr)]

mod crc;

use corbie::{Orb, SystemException};
use crc::Crc;
use idl::stock::quoter::GetQuoteError;
use idl::stock::{InvalidStockSymbol, Quoter, QuoterServant, QuoterSkeleton};
use std::error::Error;
use std::process::ExitCode;

/// The types made of `stock.idl` by `build.rs`.
mod idl {
    corbie::include_idl!("stock");
}

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
            eprintln!("protocol: {error}");
            ExitCode::FAILURE
        }
    }
}

fn demonstrate() -> Result<(), Box<dyn Error>> {
    // The server's references have a profile for each pair of message protocol and transport.
    let endpoints = "crc+uiop://,crc+iiop://127.0.0.1:0,iiop://127.0.0.1:0";
    let server = orb(true, &["-ORBListenEndpoints", endpoints])?;
    let poa = server.root_poa()?;
    poa.the_poa_manager().activate()?;
    let reference = poa.activate(QuoterSkeleton::new(Exchange))?;
    for endpoint in server.listen_endpoints() {
        println!("the server listens on {endpoint}");
    }
    let text = server.object_to_string(corbie::Interface::as_object(&reference));

    // A client that has the protocol prefers it to GIOP over the same transport.
    for (who, has_protocol, preference) in [
        ("with the protocol, over a unix-domain socket", true, "uiop,iiop"),
        ("with the protocol, over TCP", true, "iiop,uiop"),
        ("without the protocol", false, "uiop,iiop"),
    ] {
        // In this one process, calls would need no message at all.
        let remote = ["-ORBCollocation", "none", "-ORBProtocolPreference", preference];
        let client = orb(has_protocol, &remote)?;
        report(who, &client, &text)?;
        client.shutdown(true);
    }
    server.shutdown(true);
    Ok(())
}

fn orb(has_protocol: bool, arguments: &[&str]) -> Result<Orb, SystemException> {
    let mut arguments: Vec<String> = arguments.iter().map(ToString::to_string).collect();
    let builder = Orb::builder().arguments(&mut arguments);
    if has_protocol { builder.message_protocol(&Crc).build() } else { builder.build() }
}

fn report(who: &str, client: &Orb, text: &str) -> Result<(), Box<dyn Error>> {
    let object = client.string_to_object(text)?;
    let quoter = <Quoter as corbie::Interface>::narrow(&object)?.ok_or("no Quoter")?;
    let price = quoter.get_quote("IBM").map_err(|error| format!("{error:?}"))?;
    println!("a client {who}: IBM costs {price}");
    Ok(())
}
