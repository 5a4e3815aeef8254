//! The client of the catalogue: runs the features asked for and prints a line for each. Called by
//! `peer client`; the features themselves are in `client_features`.

use super::ClientOptions;
use super::client_features::features;
use super::restart;
use super::servants::{MISMATCH, Side};
use crate::idl::interop::Root;
use crate::values::Different;
use corbie::{Orb, SystemException};

/// Why a feature failed.
#[derive(Debug)]
pub(super) enum Failure {
    /// The call itself.
    System(SystemException),
    /// What came back.
    Different(Different),
}

impl From<SystemException> for Failure {
    fn from(exception: SystemException) -> Self {
        Failure::System(exception)
    }
}
impl From<Different> for Failure {
    fn from(different: Different) -> Self {
        Failure::Different(different)
    }
}
impl From<&str> for Failure {
    fn from(what: &str) -> Self {
        Failure::Different(what.into())
    }
}

/// A feature by name.
pub(super) type Feature = (&'static str, Box<dyn Fn(&Call) -> Result<(), Failure>>);

/// What a feature runs with.
pub(super) struct Call {
    pub(super) root: Root,
    pub(super) side: Side,
    pub(super) bulk: usize,
}

/// Runs the features asked for; the result is how many failed.
#[allow(clippy::print_stdout)]
pub(super) fn call(
    orb: &Orb,
    reference: &str,
    options: &ClientOptions,
) -> Result<usize, Different> {
    let object = orb.string_to_object(reference)?;
    let root = Root::narrow(&object)?.ok_or("the reference is not a Root")?;
    println!("peer {}", root.peer()?);
    let call = Call { root, side: Side::new(orb)?, bulk: options.bulk };
    let is_wanted = |name: &str| options.features.is_empty() || options.features.contains(name);
    if options.restart {
        return restart::call(&call, &is_wanted);
    }
    let mut failed = 0;
    for (name, feature) in features().into_iter().filter(|(name, _)| is_wanted(name)) {
        failed += usize::from(!told(&call.root, name, feature(&call)));
    }
    Ok(failed)
}

/// Prints what came of a feature. Whether it passed.
#[allow(clippy::print_stdout)]
pub(super) fn told(root: &Root, name: &str, outcome: Result<(), Failure>) -> bool {
    match outcome {
        Ok(()) => println!("ok {name}"),
        Err(failure) => {
            println!("FAIL {name} {}", reason(root, failure).replace('\n', " "));
            return false;
        }
    }
    true
}

fn reason(root: &Root, failure: Failure) -> String {
    match failure {
        Failure::Different(different) => different.to_string(),
        Failure::System(exception) if exception.minor == MISMATCH => {
            let why = root.last_mismatch().unwrap_or_else(|error| error.to_string());
            format!("{exception}; server: {why}")
        }
        Failure::System(exception) => {
            format!("{exception} (minor {}, {})", exception.minor, exception.completed.name())
        }
    }
}
