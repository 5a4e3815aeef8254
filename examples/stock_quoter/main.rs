//! A server and a client of `Stock::Quoter` over real IIOP on loopback, in one command:
//! `cargo run --release --example stock_quoter`. The program starts itself a second time as the
//! server, so that two processes talk through a socket, as they would on two machines.
//! With `-- --serve` the server stays until Ctrl-C, to be called by `corbie call`.

// An example is a program: printing is what it is for.
#![allow(clippy::print_stdout, clippy::print_stderr)]

mod client;
mod server;

use std::error::Error;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, ExitCode, Stdio};

/// The types made of `stock.idl` by `build.rs`.
mod idl {
    corbie::include_idl!("stock");
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let outcome = match arguments.split_first() {
        Some((word, rest)) if word == "server" => server::run(rest),
        Some((word, rest)) if word == "--serve" => demonstrate(rest, true),
        _ => demonstrate(&arguments, false),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("stock_quoter: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Starts the server, calls it, and ends it again unless it is to stay.
fn demonstrate(arguments: &[String], stay: bool) -> Result<(), Box<dyn Error>> {
    let mut server = start_server(arguments)?;
    let reference = read_reference(&mut server)?;
    println!("reference of the server's object:\n  {reference}\n");
    client::run(&reference, arguments)?;
    let end = if stay { "Ctrl-C ends it" } else { "add `-- --serve` to let it stay" };
    println!("\nfrom another program, while the server runs ({end}):");
    println!(
        "  cargo run --release --bin corbie -- call {reference} \\\n    \
         --idl examples/stock_quoter/stock.idl Stock::Quoter.get_quote '\"IBM\"'"
    );
    // The server ends when its standard input does, and `wait` would close that.
    let kept_open = server.stdin.take().filter(|_| stay);
    let status = server.wait()?;
    drop(kept_open);
    if status.success() { Ok(()) } else { Err(format!("the server ended with {status}").into()) }
}

fn start_server(arguments: &[String]) -> Result<Child, Box<dyn Error>> {
    let program = std::env::current_exe()?;
    let mut command = Command::new(program);
    command.arg("server").args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped());
    Ok(command.spawn()?)
}

/// The server's first line is its reference: from then on it can be called.
fn read_reference(server: &mut Child) -> Result<String, Box<dyn Error>> {
    let output = server.stdout.take().ok_or("the server has no standard output")?;
    let mut line = String::new();
    BufReader::new(output).read_line(&mut line)?;
    let line = line.trim();
    if line.is_empty() {
        return Err("the server ended before it had a reference".into());
    }
    Ok(line.to_string())
}
