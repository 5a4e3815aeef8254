//! Channels by name: `serve` and `create` bind them in a naming service, where programs of any ORB
//! find them (`corbaname:…#NAME`). Used by both.

use clap::{Arg, ArgMatches};
use corbie::Object;
use corbie_naming::Naming;

use super::failed;
use crate::failure::Failure;
use crate::session::Session;

pub(super) fn argument() -> Arg {
    Arg::new("name-service").short('n').long("name-service").value_name("REFERENCE").help(
        "The naming service to bind it in: HOST:PORT, or any reference \
         [default: -ORBInitRef NameService=…]",
    )
}

/// Binds `object`, whatever was bound to that name before; makes the contexts above it.
pub(super) fn bind(
    session: &Session,
    matches: &ArgMatches,
    name: &str,
    object: &Object,
) -> Result<(), Failure> {
    let why = |e| failed("the naming service", &e);
    let naming = match matches.get_one::<String>("name-service") {
        Some(url) if super::is_address(url) => {
            Naming::at(session.orb(), &format!("corbaloc::{url}/NameService"))
        }
        Some(url) => Naming::at(session.orb(), url),
        None => Naming::of(session.orb()),
    };
    let naming = naming.map_err(why)?;
    if let Some((above, _)) = name.rsplit_once('/').filter(|(above, _)| !above.ends_with('\\')) {
        naming.make_contexts(above).map_err(why)?;
    }
    naming.rebind(name, object).map_err(why)
}
