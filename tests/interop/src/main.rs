//! The interoperability tests of Corbie: builds the peers (omniORB, JacORB), runs every feature of the
//! catalogue in every role and GIOP version that `matrix.toml` names, and prints the matrix.
//! `corbie-interop peer …` is the Rust side of the catalogue, started by the runner as a process.

mod idl;
mod peer;
mod values;

use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.first().map(String::as_str) {
        Some("peer") => peer::run(&arguments[1..]),
        _ => ExitCode::from(2),
    }
}
