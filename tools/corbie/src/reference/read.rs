//! The reference behind a URL: without the ORB where the text says it all.
//!
//! `IOR:`, `corbaloc:` with addresses and `file:` of those need no network, so that a reference
//! can be looked at anywhere. Initial references and names are resolved by the ORB.

use clap::ArgMatches;
use corbie::types::{Ior, ObjectUrl};

use crate::failure::Failure;
use crate::session::{Session, reference_text};

/// How many `file:` URLs may lead to each other.
const FILES_MAX: usize = 4;

/// Reads the reference of the command line.
pub(crate) fn read(matches: &ArgMatches) -> Result<Ior, Failure> {
    let mut text = reference_text(matches)?;
    for _ in 0..=FILES_MAX {
        let url: ObjectUrl = text
            .parse()
            .map_err(|error| Failure::new(format!("cannot read the reference: {error}")))?;
        let location = match url {
            ObjectUrl::Ior(ior) => return Ok(ior),
            ObjectUrl::File(path) => {
                let content = std::fs::read_to_string(&path);
                let path = std::path::Path::new(&path);
                text = content.map_err(|error| Failure::path("read", path, &error))?;
                continue;
            }
            ObjectUrl::Corbaloc(location) => location.to_ior(),
            ObjectUrl::Corbaname(_) => Ok(None),
        };
        return match location {
            Ok(Some(ior)) => Ok(ior),
            Ok(None) => {
                let object = Session::start(matches)?.resolve(&text)?;
                Ok(object.ior().clone())
            }
            Err(error) => Err(Failure::new(format!("cannot read the reference: {error}"))),
        };
    }
    Err(Failure::new("cannot read the reference: its files only lead to other files"))
}
