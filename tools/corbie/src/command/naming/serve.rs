//! `corbie naming serve`: a naming server, until a signal ends it.
//!
//! Bindings are in one file or in etcd; either keeps what it acknowledged when the process is
//! killed, so there is nothing to do at the end.

use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::{Arg, ArgMatches, Command, value_parser};
use corbie_naming::store::embedded::Embedded;
use corbie_naming::store::etcd::{Etcd, EtcdAccess, EtcdUser};
use corbie_naming::store::{Store, StoreError};
use corbie_naming::{Limits, NamingServer};

use super::flag;
use crate::failure::Failure;
use crate::serving::{self, Log};
use crate::session;

/// How long etcd may take to answer one request.
const ETCD_TIMEOUT: Duration = Duration::from_secs(10);

/// The prefix of the keys in etcd when the URL has none.
const ETCD_PREFIX: &str = "corbie/naming";

pub(super) fn table() -> Command {
    Command::new("serve")
        .about("Serves names")
        .arg(serving::listen())
        .arg(Arg::new("store").long("store").value_name("STORE").required(true).help(
            "Where bindings are kept: a FILE, made if need be, or \
                     etcd://HOST:PORT[,HOST:PORT…][/PREFIX], shared by several servers",
        ))
        .arg(flag("print-reference", "Print the reference of the root context as first line"))
        .args(etcd_arguments())
        .args(limits().into_iter().map(LimitFlag::argument))
        .args(serving::arguments())
        .args(session::arguments())
        .after_help(
            "Clients find it as corbaloc::HOST:PORT/NameService:\n  \
             -ORBInitRef NameService=corbaloc::HOST:PORT/NameService\n\n\
             Example: corbie naming serve --listen localhost:2809 --store names.redb",
        )
}

pub(super) fn run(matches: &ArgMatches, output: &mut dyn Write) -> Result<(), Failure> {
    let log = Log::start(matches)?;
    let (session, metrics) = serving::session(matches, &log)?;
    let place = matches.get_one::<String>("store").map_or("", String::as_str);
    let store = open(place, matches)?;
    let server = NamingServer::start(session.orb(), store, limits_of(matches)?)
        .map_err(|exception| Failure::new(format!("cannot serve names: {exception}")))?;
    // Requests for objects that were never here are refused, and do not wait for one.
    let root = session.orb().root_poa();
    let active = root.and_then(|poa| Ok(poa.the_poa_manager().activate()?));
    active.map_err(|exception| Failure::new(format!("cannot serve names: {exception}")))?;
    let until = serving::until_signal(&session, log, metrics)?;
    if matches.get_flag("print-reference") {
        writeln!(output, "{}", server.root().as_object())?;
    } else {
        let place = session.place_of(matches, "NameService");
        writeln!(output, "serving names as {place}; Ctrl-C ends it")?;
    }
    output.flush()?;
    serving::run(until)
}

/// How etcd is reached. What is secret is in files, as other users see the arguments of a process.
fn etcd_arguments() -> [Arg; 5] {
    let flag = |name, value, help| {
        Arg::new(name).long(name).value_name(value).help(help).help_heading("etcd")
    };
    let file = |name, help| flag(name, "FILE", help).value_parser(value_parser!(PathBuf));
    [
        file(
            "etcd-trust",
            "Authorities (PEM) that the certificates of etcd's members are of; with them all is \
             sent over TLS",
        ),
        file("etcd-certificate", "The server's own certificate (PEM) for etcd")
            .requires_all(["etcd-key", "etcd-trust"]),
        file("etcd-key", "The key of that certificate (PEM)").requires("etcd-certificate"),
        flag("etcd-user", "NAME", "The user of etcd that the server is")
            .requires_all(["etcd-password-file", "etcd-trust"]),
        file("etcd-password-file", "A file whose first line is the password of that user")
            .requires("etcd-user"),
    ]
}

fn etcd_access(matches: &ArgMatches) -> EtcdAccess {
    let file = |name| matches.get_one::<PathBuf>(name).cloned();
    let user = matches.get_one::<String>("etcd-user").cloned();
    EtcdAccess {
        trust: file("etcd-trust"),
        certificate: file("etcd-certificate").zip(file("etcd-key")),
        user: user
            .zip(file("etcd-password-file"))
            .map(|(name, password_file)| EtcdUser { name, password_file }),
    }
}

fn open(place: &str, matches: &ArgMatches) -> Result<Arc<dyn Store>, Failure> {
    let access = etcd_access(matches);
    let Some(cluster) = place.strip_prefix("etcd://") else {
        if access.trust.is_some() {
            return Err(Failure::usage(format!(
                "--etcd-trust is for a store in etcd, and `{place}` is a file"
            )));
        }
        let store = Embedded::open(place).map_err(|error| unusable(&error))?;
        return Ok(Arc::new(store));
    };
    let (members, prefix) = cluster.split_once('/').unwrap_or((cluster, ETCD_PREFIX));
    let scheme = if access.trust.is_some() { "https" } else { "http" };
    let members: Vec<String> =
        members.split(',').filter(|m| !m.is_empty()).map(|m| format!("{scheme}://{m}")).collect();
    if members.is_empty() {
        return Err(Failure::usage(format!(
            "`{place}` names no member; it should be etcd://HOST:PORT/PREFIX"
        )));
    }
    let prefix = if prefix.is_empty() { ETCD_PREFIX } else { prefix };
    let store = Etcd::connect_as(&members, prefix, ETCD_TIMEOUT, &access)
        .map_err(|error| unusable(&error))?;
    Ok(Arc::new(store))
}

fn unusable(error: &StoreError) -> Failure {
    Failure::new(match error {
        StoreError::Failed(why) => format!("cannot use the store: {why}"),
        StoreError::Unavailable(why) => {
            format!("cannot use the store: {why}; check that etcd runs there")
        }
        other => format!("cannot use the store: {other}"),
    })
}

/// A limit that has a flag.
struct LimitFlag {
    name: &'static str,
    help: &'static str,
    is_time: bool,
    default: u64,
    set: fn(&mut Limits, u64),
}

impl LimitFlag {
    fn argument(self) -> Arg {
        let unit = if self.is_time { "SECONDS" } else { "N" };
        Arg::new(self.name)
            .long(self.name)
            .value_name(unit)
            .value_parser(value_parser!(u64).range(1..))
            .help(format!("{} [default: {}]", self.help, self.default))
            .help_heading("Limits")
    }
}

/// The table of limits: flag, text, default and where it goes.
fn limits() -> Vec<LimitFlag> {
    let d = Limits::default();
    let size = |octets: usize| octets as u64;
    let number = |name, help, default, set| LimitFlag { name, help, is_time: false, default, set };
    let time = |name, help, default: Duration, set| LimitFlag {
        name,
        help,
        is_time: true,
        default: default.as_secs(),
        set,
    };
    vec![
        number("name-components-max", "Components of a name", size(d.name_components), |l, n| {
            l.name_components = to_size(n);
        }),
        number(
            "component-octets-max",
            "Octets of a component",
            size(d.component_octets),
            |l, n| {
                l.component_octets = to_size(n);
            },
        ),
        number(
            "reference-octets-max",
            "Octets of a bound reference as text",
            size(d.reference_octets),
            |l, n| l.reference_octets = to_size(n),
        ),
        number("contexts-max", "Naming contexts", d.contexts, |l, n| l.contexts = n),
        number("bindings-max", "Bindings in a context", d.bindings_per_context, |l, n| {
            l.bindings_per_context = n;
        }),
        number("list-max", "Bindings in one answer", size(d.list), |l, n| l.list = to_size(n)),
        number("iterators-max", "Iterators at a time", size(d.iterators), |l, n| {
            l.iterators = to_size(n);
        }),
        time("iterator-idle", "How long an unused iterator lives", d.iterator_idle, |l, n| {
            l.iterator_idle = Duration::from_secs(n);
        }),
        number(
            "federated-calls-max",
            "Calls to other naming servers at a time",
            size(d.federated_calls),
            |l, n| l.federated_calls = to_size(n),
        ),
        time(
            "federated-timeout",
            "How long another naming server may take",
            d.federated_timeout,
            |l, n| l.federated_timeout = Duration::from_secs(n),
        ),
    ]
}

fn to_size(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

fn limits_of(matches: &ArgMatches) -> Result<Limits, Failure> {
    let mut chosen = Limits::default();
    for limit in limits() {
        if let Some(value) = matches.get_one::<u64>(limit.name) {
            (limit.set)(&mut chosen, *value);
        }
    }
    Ok(chosen)
}
