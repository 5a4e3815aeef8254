//! Channels by name: `serve` and `create` bind them in a naming service, where programs of any ORB
//! find them (`corbaname:…#NAME`). Used by both.

use clap::{Arg, ArgMatches};
use corbie::Object;

use crate::failure::Failure;
use crate::name_service;
use crate::session::Session;

pub(in crate::command) fn argument() -> Arg {
    name_service::argument("The naming service to bind it in").requires("bind")
}

/// Binds `object`, whatever was bound to that name before; makes the contexts above it.
pub(in crate::command) fn bind(
    session: &Session,
    matches: &ArgMatches,
    name: &str,
    object: &Object,
) -> Result<(), Failure> {
    let why = |e| Failure::new(format!("cannot bind `{name}`: {e}"));
    let naming = name_service::find(session.orb(), matches).ok_or_else(name_service::not_given)?;
    let naming = naming.map_err(|error| name_service::unusable(matches, &error))?;
    if let Some((above, _)) = name.rsplit_once('/').filter(|(above, _)| !above.ends_with('\\')) {
        naming.make_contexts(above).map_err(why)?;
    }
    naming.rebind(name, object).map_err(why)
}
