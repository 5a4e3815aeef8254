//! The naming service that a command line names, by `--name-service` or by the settings of the ORB.
//!
//! Used by `naming`, by `events` to bind channels, and by `mshn`.

use clap::{Arg, ArgMatches};
use corbie::{Orb, SystemExceptionKind};
use corbie_naming::{Naming, NamingError};

use crate::failure::Failure;
use crate::session;

const NAME_SERVICE: &str = "NameService";

/// `-n`, `--name-service`; `what` says which naming service is meant.
pub(crate) fn argument(what: &str) -> Arg {
    Arg::new("name-service").short('n').long("name-service").value_name("REFERENCE").help(format!(
        "{what}: HOST:PORT, corbaloc:…, IOR:…, file:… [default: -ORBInitRef NameService=…]"
    ))
}

/// The naming service, if the command line or a setting says which.
pub(crate) fn find(orb: &Orb, matches: &ArgMatches) -> Option<Result<Naming, NamingError>> {
    match place(matches) {
        Some(url) => Some(Naming::at(orb, &url)),
        None if is_configured(orb) => Some(Naming::of(orb)),
        None => None,
    }
}

/// Where it is, as a URL.
fn place(matches: &ArgMatches) -> Option<String> {
    let given = matches.get_one::<String>("name-service")?;
    Some(session::located(given, NAME_SERVICE))
}

fn is_configured(orb: &Orb) -> bool {
    orb.settings().default_init_ref.is_some()
        || orb.list_initial_services().iter().any(|name| name == NAME_SERVICE)
}

/// No option or setting says which naming service.
pub(crate) fn not_given() -> Failure {
    Failure::usage(
        "which naming service? Give --name-service HOST:PORT (or any reference), or \
         -ORBInitRef NameService=REFERENCE",
    )
}

/// What `find` found cannot be used.
pub(crate) fn unusable(matches: &ArgMatches, error: &NamingError) -> Failure {
    let place = place(matches).unwrap_or_else(|| NAME_SERVICE.to_owned());
    Failure::new(match error {
        NamingError::System { exception, .. } => {
            let advice = match exception.kind {
                SystemExceptionKind::ObjectNotExist => {
                    "; the server has no object of that key: is it a naming service, with the key \
                     `NameService`?"
                }
                SystemExceptionKind::BadParam => "; HOST:PORT is understood, too",
                _ => "",
            };
            format!("cannot use the naming service `{place}`: {exception}{advice}")
        }
        other => format!("cannot use the naming service `{place}`: {other}"),
    })
}
