//! The interoperability tests of Corbie: builds the peers (omniORB, JacORB), runs every feature of
//! the catalogue in every role and GIOP version that `matrix.toml` names, and prints the matrix.
//! Called by `cargo xtask interop`; see `arguments::USAGE`.

// layers: arguments idl matrix tap < values < peer < runner < capture
mod arguments;
mod capture;
#[cfg(test)]
mod golden_tests;
mod idl;
mod matrix;
mod peer;
mod runner;
mod tap;
mod values;

use arguments::Command;
use std::process::ExitCode;

#[allow(clippy::print_stdout, clippy::print_stderr)]
fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if words.first().is_some_and(|word| word == "peer") {
        return peer::run(&words[1..]);
    }
    let outcome = match arguments::parse(&words) {
        Ok(Command::Help) => {
            println!("{}", arguments::USAGE);
            return ExitCode::SUCCESS;
        }
        Ok(Command::Run(selection)) => runner::run(&selection),
        Ok(Command::Capture(groups)) => capture::run(&groups),
        Err(error) => Err(error),
    };
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => {
            eprintln!("corbie-interop: {error}");
            ExitCode::from(2)
        }
    }
}
