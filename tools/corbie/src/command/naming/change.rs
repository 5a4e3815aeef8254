//! `corbie naming bind`, `bind-context`, `unbind` and `destroy`.
//!
//! Each is one operation of the naming service; `--parents` makes the contexts on the way first, as
//! `mkdir -p` does.

use std::io::Write;

use clap::{Arg, ArgMatches, Command};
use corbie_naming::cos_naming::NamingContext;
use corbie_naming::cos_naming::naming_context::NotFoundReason;
use corbie_naming::{Naming, NamingError, parse, stringify};

use super::{connect, failure, flag, name, name_of};
use crate::failure::Failure;
use crate::session;

pub(super) fn bind() -> Command {
    Command::new("bind")
        .about("Binds a name to an object")
        .arg(name("The name").required(true))
        .arg(session::reference())
        .arg(flag("rebind", "Replace the object that has the name"))
        .arg(flag("parents", "Make the contexts on the way that are missing"))
        .after_help("Example: corbie naming bind --parents stock/IBM.quoter \"$(cat quoter.ior)\"")
}

pub(super) fn bind_context() -> Command {
    Command::new("bind-context")
        .about("Binds a name to a naming context: a new one, or one that is there, on any server")
        .arg(name("The name").required(true))
        .arg(
            Arg::new("reference")
                .value_name("REFERENCE")
                .help("The naming context; without it a new one is made, and its reference shown"),
        )
        .arg(flag("rebind", "Replace the context that has the name").requires("reference"))
        .arg(flag("parents", "Make the contexts on the way that are missing"))
        .after_help(
            "Example: corbie naming bind-context partners/acme \
             corbaloc::ns.acme.example:2809/NameService",
        )
}

pub(super) fn unbind() -> Command {
    Command::new("unbind")
        .about("Takes a name away; what it was bound to stays")
        .arg(name("The name").required(true))
}

pub(super) fn destroy() -> Command {
    Command::new("destroy")
        .about("Destroys an empty naming context and takes its name away")
        .arg(name("The name").required(true))
}

pub(super) fn run_bind(matches: &ArgMatches) -> Result<(), Failure> {
    let (session, naming) = connect(matches)?;
    let object = session.object(matches)?;
    let name = name_of(matches);
    make_parents(&naming, matches)?;
    let bound = if matches.get_flag("rebind") {
        naming.rebind(name, &object)
    } else {
        naming.bind(name, &object)
    };
    bound.map_err(|error| not_bound(error, name))
}

/// A context on the way may be missing.
fn not_bound(error: NamingError, name: &str) -> Failure {
    let is_parent =
        matches!(&error, NamingError::NotFound { why: NotFoundReason::MissingNode, .. })
            && parse(name).is_ok_and(|name| name.len() > 1);
    let failure = failure(error);
    if is_parent { failure.with_advice("--parents makes the contexts on the way") } else { failure }
}

pub(super) fn run_bind_context(
    matches: &ArgMatches,
    output: &mut dyn Write,
) -> Result<(), Failure> {
    let (session, naming) = connect(matches)?;
    let name = name_of(matches);
    make_parents(&naming, matches)?;
    if !matches.contains_id("reference") {
        let made = naming.bind_new_context(name).map_err(|error| not_bound(error, name))?;
        writeln!(output, "{}", made.as_context().as_object())?;
        return Ok(());
    }
    // Asked here, so that what is no context is not bound as one.
    let object = session.object(matches)?;
    let context = NamingContext::narrow(&object)
        .map_err(|exception| {
            Failure::new(format!(
                "cannot ask what is to be bound as `{name}` whether it is a context: {exception}"
            ))
        })?
        .ok_or_else(|| Failure::new(format!("what is to be bound as `{name}` is no context")))?;
    let bound = if matches.get_flag("rebind") {
        naming.rebind_context(name, &context)
    } else {
        naming.bind_context(name, &context)
    };
    bound.map_err(|error| not_bound(error, name))
}

pub(super) fn run_unbind(matches: &ArgMatches) -> Result<(), Failure> {
    let (_session, naming) = connect(matches)?;
    naming.unbind(name_of(matches)).map_err(failure)
}

pub(super) fn run_destroy(matches: &ArgMatches) -> Result<(), Failure> {
    let (_session, naming) = connect(matches)?;
    naming.destroy(name_of(matches)).map_err(failure)
}

fn make_parents(naming: &Naming, matches: &ArgMatches) -> Result<(), Failure> {
    if !matches.get_flag("parents") {
        return Ok(());
    }
    // A malformed name is told by the operation itself.
    let name = parse(name_of(matches)).unwrap_or_default();
    match name.split_last() {
        Some((_, parents)) if !parents.is_empty() => {
            naming.make_contexts(&stringify(parents)).map(drop).map_err(failure)
        }
        _ => Ok(()),
    }
}
