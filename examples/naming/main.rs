//! An object found by its name: a naming server in a process of its own, a server that binds a
//! quoter in it, and a client that resolves the name. In one command:
//! `cargo run --release --example naming`. `-- --store FILE` keeps the names from run to run.

// An example is a program: printing is what it is for.
#![allow(clippy::print_stdout, clippy::print_stderr)]

mod names;
mod quoter;

use std::error::Error;
use std::process::ExitCode;

use corbie::Orb;
use corbie_naming::store::Kind;
use corbie_naming::{Bounds, Naming, Node};

use crate::idl::stock::Quoter;
use crate::names::NamesProcess;

/// The types made of `stock.idl` by `build.rs`.
mod idl {
    corbie::include_idl!("stock");
}

/// The name that server and client agree on.
const NAME: &str = "stock/exchange/IBM.quoter";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let outcome = match arguments.split_first() {
        Some((word, rest)) if word == "names" => names::serve(rest),
        _ => demonstrate(&arguments),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("naming: {error}");
            ExitCode::FAILURE
        }
    }
}

fn demonstrate(arguments: &[String]) -> Result<(), Box<dyn Error>> {
    let names = NamesProcess::start(arguments)?;
    println!("the naming service:\n  {}\n", names.reference);

    // The server: knows the naming service by -ORBInitRef, as a program of any ORB would.
    let initial = format!("NameService={}", names.reference);
    let settings = ["-ORBListenEndpoints", "iiop://127.0.0.1:0", "-ORBInitRef", &initial];
    let server = Orb::init(settings)?;
    let quoter = quoter::activate(&server)?;
    let naming = Naming::of(&server)?;
    naming.make_contexts("stock/exchange")?;
    naming.rebind(NAME, quoter.as_object())?;

    // The client: has the name, and nothing else of the server.
    let client = Orb::init(["-ORBInitRef", &initial])?;
    let naming = Naming::of(&client)?;
    let quoter: Quoter = naming.resolve(NAME)?;
    println!("{NAME}: {} cents", quoter.get_quote("IBM")?);
    match naming.resolve::<Quoter>("stock/exchange/ACME.quoter") {
        Err(error) => println!("as it should be: {error}"),
        Ok(_) => return Err("ACME is bound, although no server bound it".into()),
    }
    println!("\nall names:");
    print_below(&naming.tree(Bounds::default())?, 1);
    client.shutdown(true);
    server.shutdown(true);
    Ok(())
}

fn print_below(node: &Node, depth: usize) {
    for child in &node.children {
        let slash = if child.kind == Kind::Context { "/" } else { "" };
        println!("{:indent$}{}{slash}", "", child.name, indent = 2 * depth);
        print_below(child, depth + 1);
    }
}
