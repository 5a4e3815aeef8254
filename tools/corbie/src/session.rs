//! The ORB of one run of a subcommand that talks to objects, and the reference that its command
//! line names.
//!
//! `-ORB…` arguments, the environment and `corbie.toml` configure it as in every other program.

use std::net::SocketAddr;
use std::time::Duration;

use clap::{Arg, ArgAction, ArgMatches};
use corbie::access::{AccessRules, EgressRules, Peers, Rule};
use corbie::transport::Endpoint;
use corbie::types::SystemException;
use corbie::{AddressFamily, ListenEndpoint, Object, Orb, PartialSettings, Settings, minor};

use crate::failure::Failure;

/// The hidden argument that carries `-ORB…` arguments through clap, which would read `-ORBid` as
/// six short options.
const CARRIER: &str = "orb-argument";

/// The reference, the first argument of every subcommand that talks to an object.
pub(crate) fn reference() -> Arg {
    Arg::new("reference")
        .value_name("REFERENCE")
        .required(true)
        .help("IOR:…, corbaloc:…, corbaname:… or file:…; `-` reads it from standard input")
}

/// The arguments of every subcommand that talks to an object.
pub(crate) fn arguments() -> [Arg; 1] {
    [Arg::new("timeout")
        .short('t')
        .long("timeout")
        .value_name("SECONDS")
        .value_parser(seconds)
        .help("How long to wait for a connection and for each answer [default: 10]")]
}

/// The pause between two looks or requests, of subcommands that have more than one.
pub(crate) fn interval(help: &'static str, parser: fn(&str) -> Result<Duration, String>) -> Arg {
    Arg::new("interval")
        .short('i')
        .long("interval")
        .value_name("SECONDS")
        .default_value("1")
        .value_parser(parser)
        .help(help)
}

/// What [`interval`] was given.
pub(crate) fn interval_of(matches: &ArgMatches) -> Duration {
    matches.get_one::<Duration>("interval").copied().unwrap_or_default()
}

/// The global argument that takes what [`carry`] wrapped. Only `main` adds it to the table: it is
/// not for people, so help, man pages and completions do not have it.
pub(crate) fn carrier() -> Arg {
    Arg::new(CARRIER)
        .long(CARRIER)
        .global(true)
        .hide(true)
        .action(ArgAction::Append)
        .allow_hyphen_values(true)
}

/// Wraps each `-ORB…` argument (and its value) so that clap hands it on.
pub(crate) fn carry(arguments: impl Iterator<Item = String>) -> Vec<String> {
    let mut wrapped = Vec::new();
    let mut arguments = arguments.peekable();
    while let Some(argument) = arguments.next() {
        if !argument.starts_with("-ORB") {
            wrapped.push(argument);
            continue;
        }
        let is_this = |s: &&corbie::Setting| s.argument.eq_ignore_ascii_case(&argument);
        let bare = Settings::TABLE.iter().find(is_this).is_some_and(|setting| setting.bare);
        let complete = bare || argument.contains('=');
        wrapped.push(format!("--{CARRIER}={argument}"));
        if !complete && let Some(value) = arguments.next_if(|next| !next.starts_with("-ORB")) {
            wrapped.push(format!("--{CARRIER}={value}"));
        }
    }
    wrapped
}

/// No time that is given is longer: far enough from the end of any clock.
const SECONDS_MAX: f64 = 1e9;

/// Parses a number of seconds, with fractions.
pub(crate) fn seconds(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text.parse().map_err(|_| "a number of seconds is needed".to_owned())?;
    if seconds < 0.0 {
        return Err("it has to be 0 or more seconds".to_owned());
    }
    if seconds > SECONDS_MAX {
        return Err(format!("it may be {SECONDS_MAX:e} seconds at most, which is 31 years"));
    }
    Duration::try_from_secs_f64(seconds).map_err(|error| error.to_string())
}

/// The same, but some time.
pub(crate) fn some_seconds(text: &str) -> Result<Duration, String> {
    match seconds(text)? {
        Duration::ZERO => Err("it has to be more than 0 seconds".to_owned()),
        time => Ok(time),
    }
}

/// The URL of an object that is known by its server's `HOST:PORT` and by `key`; anything else is a
/// reference already.
pub(crate) fn located(text: &str, key: &str) -> String {
    if is_address(text) { format!("corbaloc::{text}/{key}") } else { text.to_owned() }
}

/// Whether it is `HOST:PORT`: of URLs, only `corbaloc:` without a key ends so.
fn is_address(text: &str) -> bool {
    text.rsplit_once(':').is_some_and(|(host, port)| {
        let is_url = host.contains('/') || host.starts_with("corbaloc:");
        port.parse::<u16>().is_ok() && !host.is_empty() && !is_url
    })
}

/// How long people wait before they believe that nothing answers.
const TIMEOUT_DEFAULT: Duration = Duration::from_secs(10);

/// What the access rules of a server mean for peers of other machines.
const NO_FILE: &str = "there is no access file, so peers of other machines are refused \
                       (-ORBAccessFile FILE says which may call what)";
const NAMES_ADDRESSES: &str = "the access file can name peers by address alone";

/// An ORB and the time-out that was asked for.
pub(crate) struct Session {
    orb: Orb,
}

impl Session {
    /// Starts an ORB with the command line's time-out and `-ORB…` arguments.
    pub(crate) fn start(matches: &ArgMatches) -> Result<Self, Failure> {
        Self::start_with(matches, &[])
    }

    /// The same, with `-ORB…` arguments of the subcommand's own before those of the command line,
    /// which win.
    pub(crate) fn start_with(matches: &ArgMatches, own: &[String]) -> Result<Self, Failure> {
        Self::started(matches, own, AccessRules::local())
    }

    /// The same for programs that serve their own user alone, unless an access file says otherwise.
    pub(crate) fn start_for_own_user(
        matches: &ArgMatches,
        own: &[String],
    ) -> Result<Self, Failure> {
        let rules = AccessRules::none().allow(Rule::of([Peers::own_user()]));
        Self::started(matches, own, rules)
    }

    /// `rules` hold where there is no access file, and careful ones of egress where it says nothing
    /// of that; an ORB that is not told where to listen does so
    /// on loopback.
    fn started(matches: &ArgMatches, own: &[String], rules: AccessRules) -> Result<Self, Failure> {
        let cannot = |exception| Failure::new(format!("cannot start the ORB: {exception}"));
        let timeout = matches.get_one::<Duration>("timeout").copied().unwrap_or(TIMEOUT_DEFAULT);
        let given = matches.get_many(CARRIER).into_iter().flatten();
        let mut arguments: Vec<String> = own.iter().chain(given).cloned().collect();
        let said = Settings::from_process(PartialSettings::new(), &mut arguments.clone());
        let said = said.map_err(cannot)?;
        let mut orb = Orb::builder()
            .settings(|settings| settings.request_timeout(timeout).connect_timeout(timeout));
        if said.listen_endpoints == [ListenEndpoint::any()] {
            let loopback = match said.address_family {
                AddressFamily::Ipv4 => "127.0.0.1",
                AddressFamily::Ipv6 => "::1",
            };
            let endpoint = ListenEndpoint::iiop(loopback, 0);
            orb = orb.settings(|settings| settings.listen_endpoints(vec![endpoint]));
        }
        let orb = orb.arguments(&mut arguments).build().map_err(cannot)?;
        if !orb.has_access_rules() {
            orb.set_access(rules);
        }
        if !orb.has_egress_rules() {
            orb.set_egress(EgressRules::careful());
        }
        Ok(Self { orb })
    }

    /// Says what is listened on beyond this machine: a warning where it is without protection, or
    /// where nothing says which peers may call. To be called when the server listens.
    pub(crate) fn say_open_ports(&self) {
        let beyond = |addresses: Vec<SocketAddr>| {
            let open = addresses.iter().filter(|address| !address.ip().is_loopback());
            open.map(ToString::to_string).collect::<Vec<_>>().join(", ")
        };
        let (plain, tls) = (beyond(self.orb.listen_addresses()), beyond(self.tls_addresses()));
        let has_file = self.orb.settings().access_file.is_some();
        let who = if has_file { NAMES_ADDRESSES } else { NO_FILE };
        if !plain.is_empty() {
            tracing::warn!(
                listening = plain,
                "this server listens beyond this machine without TLS: others on the network can \
                 read and change what its clients say; {who}"
            );
        }
        match (tls.is_empty(), has_file) {
            (true, _) => {}
            (false, true) => tracing::info!(
                listening = tls,
                "this server listens beyond this machine with TLS; the access file says who may \
                 call it"
            ),
            (false, false) => tracing::warn!(
                listening = tls,
                "this server listens beyond this machine with TLS, but {NO_FILE}"
            ),
        }
    }

    /// The ORB itself.
    pub(crate) fn orb(&self) -> &Orb {
        &self.orb
    }

    /// The object that the command line names.
    pub(crate) fn object(&self, matches: &ArgMatches) -> Result<Object, Failure> {
        self.resolve(&reference_text(matches)?)
    }

    /// The object that a URL names.
    pub(crate) fn resolve(&self, url: &str) -> Result<Object, Failure> {
        self.orb.string_to_object(url).map_err(|exception| unusable(url, &exception))
    }

    /// Where clients find the object with that key: at the host of `--listen`, as far as that says
    /// one, and the port that there is.
    pub(crate) fn place_of(&self, matches: &ArgMatches, key: &str) -> String {
        let given = matches.get_one::<String>("listen").map_or("", String::as_str);
        let given = given.split_once("://").map_or(given, |(_, address)| address);
        let host = given.rsplit_once(':').map_or(given, |(host, _)| host);
        let plain = self.orb.listen_addresses().first().copied();
        let (protocol, address) = match plain {
            Some(_) => ("", plain),
            None => ("ssliop", self.tls_addresses().first().copied()),
        };
        let port = address.map_or(0, |address| address.port());
        match address {
            Some(address) if host.is_empty() && address.ip().is_loopback() => {
                format!("corbaloc:{protocol}:{address}/{key}")
            }
            _ if host.is_empty() => format!("corbaloc:{protocol}:HOST:{port}/{key}"),
            _ => format!("corbaloc:{protocol}:{host}:{port}/{key}"),
        }
    }

    /// The addresses of TLS that are listened on.
    fn tls_addresses(&self) -> Vec<SocketAddr> {
        let endpoints = self.orb.listen_endpoints();
        let address =
            |endpoint: &Endpoint| endpoint.to_string().strip_prefix("ssliop ")?.parse().ok();
        endpoints.iter().filter_map(address).collect()
    }
}

/// What is said of a reference that cannot be used, with its beginning.
pub(crate) fn unusable(url: &str, exception: &SystemException) -> Failure {
    const SHOWN: usize = 60;
    let dots = if url.chars().count() > SHOWN { "…" } else { "" };
    let begin: String = url.chars().take(SHOWN).collect();
    Failure::new(format!("cannot use the reference `{begin}{dots}`: {exception}"))
}

/// The reference on the command line, or on standard input.
pub(crate) fn reference_text(matches: &ArgMatches) -> Result<String, Failure> {
    let given = matches.get_one::<String>("reference").map_or("", String::as_str);
    if given != "-" {
        return Ok(given.trim().to_owned());
    }
    let text = std::io::read_to_string(std::io::stdin())
        .map_err(|error| Failure::new(format!("cannot read standard input: {error}")))?;
    Ok(text.trim().to_owned())
}

/// Asks an object whether it exists; an error says why it does not answer.
pub(crate) fn exists(object: &Object) -> Result<(), SystemException> {
    if object.non_existent()? {
        let completed = corbie::types::CompletionStatus::Yes;
        return Err(SystemException::object_not_exist(minor::OBJECT_NOT_EXIST_UNKNOWN, completed)
            .with_detail("the server answers, but says that it has no such object"));
    }
    Ok(())
}
