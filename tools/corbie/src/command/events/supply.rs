//! `corbie events push`: events from the command line, or from standard input line by line, as a
//! supplier that pushes or as one that is pulled.

use std::io::{BufRead as _, BufReader, Write};

use clap::{Arg, ArgAction, ArgMatches, Command};
use corbie::{Any, Orb, SystemException};
use corbie_event::cos_event_channel_admin::ProxyPushConsumer;
use corbie_event::cos_event_comm::push_consumer::PushError;
use corbie_event::cos_event_comm::{PushSupplier, PushSupplierServant, PushSupplierSkeleton};

use super::persistence::{Patience, is_gone, is_passing, retry_argument};
use super::pulled;
use super::surroundings::Plain;
use super::{CHANNEL, channel_argument, failed, is_nil, the_channel, typed};
use crate::failure::Failure;
use crate::json::Place;
use crate::json::text::load;
use crate::session::Session;

pub(super) fn table() -> Command {
    Command::new("push")
        .about("Gives events to a channel")
        .arg(channel_argument(CHANNEL))
        .arg(
            Arg::new("event")
                .value_name("JSON")
                .required(true)
                .action(ArgAction::Append)
                .allow_negative_numbers(true)
                .help(
                    "The events, in this order; @FILE reads one from a file, `-` alone reads \
                     them from standard input, one a line",
                ),
        )
        .arg(
            Arg::new("pulled")
                .long("pulled")
                .action(ArgAction::SetTrue)
                .help("Have the channel pull the events instead of pushing them"),
        )
        .arg(
            Arg::new("show")
                .long("show")
                .action(ArgAction::SetTrue)
                .help("Print each event on a line of its own when the channel has taken it"),
        )
        .arg(retry_argument())
        .arg(
            typed::argument(
                "Call this interface of the IDL file instead of pushing untyped events",
            )
            .requires("idl")
            .conflicts_with("pulled"),
        )
        .args(typed::idl_arguments())
}

pub(super) fn run(matches: &ArgMatches, output: &mut dyn Write) -> Result<(), Failure> {
    let session = Session::start(matches)?;
    let mut shown = Shown { output, is_wanted: matches.get_flag("show") };
    if let Some(interfaces) = typed::wanted(matches)?
        && let Some(interface) = interfaces.first()
    {
        return typed::supply(&session, matches, interface, &mut shown);
    }
    let events = events(session.orb(), matches)?;
    if matches.get_flag("pulled") {
        return pulled::supply(&session, matches, events, &mut shown);
    }
    let mut proxy = proxy(&session, matches)?;
    let patience = Patience::of(matches)?;
    for given in events {
        let given = given?;
        let mut pushed = patience.attempt(may_pass, || proxy.push(&given.event));
        if patience.is_some() && pushed.as_ref().is_err_and(has_no_proxy) {
            proxy = self::proxy(&session, matches)?;
            pushed = patience.attempt(may_pass, || proxy.push(&given.event));
        }
        pushed.map_err(|e| failed("the channel", &e))?;
        shown.taken(&given.text)?;
    }
    proxy.disconnect_push_consumer().map_err(|e| failed("the channel", &e))
}

/// An event and the text that it was given as.
pub(super) struct Given {
    pub(super) event: Any,
    pub(super) text: String,
}

/// The events, as they come.
pub(super) type Events = Box<dyn Iterator<Item = Result<Given, Failure>> + Send>;

/// Whether the events come from standard input.
fn is_input(matches: &ArgMatches) -> bool {
    let mut given = matches.get_many::<String>("event").into_iter().flatten();
    given.next().is_some_and(|first| first == "-") && given.next().is_none()
}

fn events(orb: &Orb, matches: &ArgMatches) -> Result<Events, Failure> {
    let texts = texts(matches)?;
    let read = |orb: &Orb, (name, text): (String, String)| {
        let event = Plain::new(orb).event(&text, &Place::Whole(&name))?;
        Ok(Given { event, text })
    };
    if !texts.is_finite {
        let orb = orb.clone();
        return Ok(Box::new(texts.all.map(move |given| read(&orb, given?))));
    }
    // Mistakes on the command line are found before anything is sent.
    let events = texts.all.map(|given| read(orb, given?));
    let events = events.collect::<Result<Vec<_>, Failure>>()?;
    Ok(Box::new(events.into_iter().map(Ok)))
}

/// The JSON texts that are given, each with a name for messages.
pub(super) struct Texts {
    pub(super) all: Box<dyn Iterator<Item = Result<(String, String), Failure>> + Send>,
    /// They are all there; else they come by and by.
    pub(super) is_finite: bool,
}

pub(super) fn texts(matches: &ArgMatches) -> Result<Texts, Failure> {
    if is_input(matches) {
        let lines = BufReader::new(std::io::stdin()).lines().enumerate().map(|(index, line)| {
            let text = line.map_err(|e| Failure::new(format!("cannot read the events: {e}")))?;
            Ok((format!("line {}", index + 1), text))
        });
        return Ok(Texts { all: Box::new(lines), is_finite: false });
    }
    let given = matches.get_many::<String>("event").into_iter().flatten();
    let texts = given.enumerate().map(|(index, given)| {
        let name = format!("events[{index}]");
        let text = load(given, &name)?;
        Ok(Ok((name, text)))
    });
    let texts = texts.collect::<Result<Vec<_>, Failure>>()?;
    Ok(Texts { all: Box::new(texts.into_iter()), is_finite: true })
}

/// Where events that were taken are shown.
pub(super) struct Shown<'o> {
    output: &'o mut dyn Write,
    is_wanted: bool,
}

impl Shown<'_> {
    pub(super) fn taken(&mut self, text: &str) -> Result<(), Failure> {
        if self.is_wanted {
            writeln!(self.output, "{}", text.trim())?;
            self.output.flush()?;
        }
        Ok(())
    }
}

fn may_pass(error: &PushError) -> bool {
    matches!(error, PushError::System(exception) if is_passing(exception))
}

/// Whether the channel disconnected us: a new proxy may do.
fn has_no_proxy(error: &PushError) -> bool {
    match error {
        PushError::System(exception) => is_gone(exception),
        PushError::Disconnected(_) => true,
    }
}

fn proxy(session: &Session, matches: &ArgMatches) -> Result<ProxyPushConsumer, Failure> {
    let identity = identity(session, matches)?;
    let obtain = || {
        let channel = the_channel(session, matches)?;
        let suppliers = channel.for_suppliers()?.ok_or_else(|| is_nil("the channel"))?;
        Ok(suppliers.obtain_push_consumer()?.ok_or_else(|| is_nil("the proxy"))?)
    };
    let connect = |proxy: &ProxyPushConsumer| Ok(proxy.connect_push_supplier(identity.as_ref())?);
    Patience::of(matches)?.connect(obtain, connect)
}

/// By it the channel finds out that this process has ended; the events of a command line are pushed
/// before anybody asks.
fn identity(session: &Session, matches: &ArgMatches) -> Result<Option<PushSupplier>, Failure> {
    if !is_input(matches) {
        return Ok(None);
    }
    let root = session.orb().root_poa();
    let active = root.and_then(|poa| {
        poa.the_poa_manager().activate()?;
        Ok(poa.activate(PushSupplierSkeleton::new(SupplierIdentity))?)
    });
    active.map(Some).map_err(|e| failed("the ORB", &e))
}

/// What the channel may ask whether it exists.
struct SupplierIdentity;

impl PushSupplierServant for SupplierIdentity {
    fn disconnect_push_supplier(&self) -> Result<(), SystemException> {
        // The next push is told, too.
        Ok(())
    }
}
