//! The Rust side of the catalogue as a process.
//!
//! ```text
//! corbie-interop peer server [--style plain|amh|async|dsi] [--never-connect] [-ORB…]
//!     prints "ior IOR:…" and "ready"; ends when standard input closes
//! corbie-interop peer both [--feature NAME]… [--bulk OCTETS] [-ORB…]
//!     client and server in one process, which is what collocation is about
//! corbie-interop peer client REFERENCE [--feature NAME]… [--bulk OCTETS] [--restart] [-ORB…]
//!     prints "ok NAME" or "FAIL NAME reason" for each feature
//! ```

mod adapters;
pub(crate) mod asynchrony;
mod client;
mod client_features;
#[cfg(test)]
mod dynamic_tests;
mod restart;
pub(crate) mod rows;
mod servants;
mod server;
mod yard;

use crate::values::Different;
use asynchrony::Style;
use corbie::Orb;
use corbie::access::{EgressRules, Otherwise};
use std::collections::BTreeSet;
use std::process::ExitCode;

/// What the client is told to do.
pub(crate) struct ClientOptions {
    /// Empty: all.
    features: BTreeSet<String>,
    /// How much the bulk features send, in octets.
    bulk: usize,
    /// Run the restart feature, which waits for a line on standard input.
    restart: bool,
}

/// Runs one side until it is done.
#[allow(clippy::print_stdout)]
pub(crate) fn run(arguments: &[String]) -> ExitCode {
    match start(arguments) {
        Ok(0) => ExitCode::SUCCESS,
        Ok(_) => ExitCode::from(1),
        Err(reason) => {
            println!("FATAL {reason}");
            ExitCode::from(3)
        }
    }
}

fn start(arguments: &[String]) -> Result<usize, Different> {
    let mut rest = arguments.to_vec();
    let orb = Orb::builder().arguments(&mut rest).build()?;
    if rest.iter().any(|word| word == "--never-connect") {
        rest.retain(|word| word != "--never-connect");
        orb.set_egress(EgressRules::otherwise(Otherwise::Refuse));
    }
    if rest.first().is_some_and(|word| word == "both") {
        let server = Orb::builder().arguments(&mut arguments.to_vec()).build()?;
        let root = server::activate_root(&server, Style::default())?;
        let reference = server.object_to_string(root.as_object());
        return client::call(&orb, &reference, &options(&rest[1..])?);
    }
    match rest.first().map(String::as_str) {
        Some("server") => server::serve(&orb, style(&rest[1..])?).map(|()| 0),
        Some("client") => {
            let reference = rest.get(1).ok_or("usage: peer client REFERENCE")?;
            client::call(&orb, reference, &options(&rest[2..])?)
        }
        _ => Err("usage: peer server | peer client REFERENCE".into()),
    }
}

fn style(arguments: &[String]) -> Result<Style, Different> {
    match arguments {
        [] => Ok(Style::default()),
        [word, name] if word == "--style" => {
            Style::named(name).ok_or(Different(format!("there is no style {name}")))
        }
        [word, ..] => Err(Different(format!("unknown argument {word}"))),
    }
}

fn options(arguments: &[String]) -> Result<ClientOptions, Different> {
    let mut options = ClientOptions { features: BTreeSet::new(), bulk: 10 << 20, restart: false };
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        let mut value = || rest.next().ok_or(Different(format!("{argument} needs a value")));
        match argument.as_str() {
            "--feature" => {
                options.features.insert(value()?.clone());
            }
            "--bulk" => options.bulk = value()?.parse().map_err(|_| "--bulk needs a number")?,
            "--restart" => options.restart = true,
            _ => return Err(Different(format!("unknown argument {argument}"))),
        }
    }
    Ok(options)
}

/// The features that the client has.
#[cfg(test)]
pub(crate) fn feature_names() -> Vec<&'static str> {
    let features = client_features::features().into_iter().map(|(name, _)| name);
    features.chain(restart::names()).collect()
}
