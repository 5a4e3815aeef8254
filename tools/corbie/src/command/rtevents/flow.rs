//! `corbie rtevents push` and `tail`: events from the command line to a channel, and from a channel
//! to standard output.

use std::io::Write;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Mutex, PoisonError};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use corbie::{SystemException, TypeCode, minor};
use corbie_rtevent::filter::{Filter, Publication, any_event, event, from_source};
use corbie_rtevent::rtec_event_comm::{Event, PushConsumerServant, PushConsumerSkeleton};
use serde_json::{Value as Json, json};

use super::super::events::{Plain, failed, is_nil};
use super::{channel_argument, the_channel};
use crate::failure::Failure;
use crate::serving::{self, Interruption, Log};
use crate::session::Session;

const CHANNEL: &str = "The name of the channel, or its reference";

fn number(name: &'static str, help: &'static str) -> Arg {
    Arg::new(name).long(name).value_name("N").value_parser(value_parser!(i32)).help(help)
}

pub(super) fn push() -> Command {
    Command::new("push")
        .about("Gives events to a channel")
        .arg(channel_argument(CHANNEL))
        .arg(number("type", "The type of the events; 16 is the first that is free").required(true))
        .arg(number("source", "Their source").default_value("1"))
        .arg(number("ttl", "Through how many gateways they may go").default_value("1"))
        .arg(
            Arg::new("payload")
                .value_name("TEXT")
                .required(true)
                .action(ArgAction::Append)
                .help("What the events carry, in this order"),
        )
}

pub(super) fn tail() -> Command {
    let some = |name, help| number(name, help).action(ArgAction::Append);
    Command::new("tail")
        .about("Shows the events from now on, a set of them on a line, until it is interrupted")
        .arg(channel_argument(CHANNEL))
        .arg(some("type", "Only events of this type; may be repeated"))
        .arg(some("source", "Only events from this source; may be repeated"))
        .arg(
            Arg::new("listen")
                .long("listen")
                .value_name("HOST:PORT")
                .help("Where to be reached by the channel [default: any free port]"),
        )
        .args(serving::log_arguments(LOG))
}

/// What `tail` logs where nothing says more.
const LOG: &str = "off";

fn one(matches: &ArgMatches, name: &str) -> i32 {
    matches.get_one::<i32>(name).copied().unwrap_or_default()
}

pub(super) fn run_push(matches: &ArgMatches) -> Result<(), Failure> {
    let session = Session::start(matches)?;
    let why = |e: &dyn std::fmt::Display| failed("the channel", e);
    let suppliers = the_channel(&session, matches)?.for_suppliers().map_err(|e| why(&e))?;
    let suppliers = suppliers.ok_or_else(|| is_nil("the channel's administration"))?;
    let proxy = suppliers.obtain_push_consumer().map_err(|e| why(&e))?;
    let proxy = proxy.ok_or_else(|| is_nil("the proxy"))?;
    let (source, kind) = (one(matches, "source"), one(matches, "type"));
    let published = Publication::of([Publication::new(source, kind)]);
    proxy.connect_push_supplier(None, &published).map_err(|e| why(&e))?;
    for payload in matches.get_many::<String>("payload").into_iter().flatten() {
        let mut event = Event::default();
        let header = &mut event.header;
        (header.r#type, header.source, header.ttl) = (kind, source, one(matches, "ttl"));
        event.data.payload = payload.clone().into_bytes();
        proxy.push(&[event]).map_err(|e| why(&e))?;
    }
    // Its answer says that the channel has all of them, which it gets in this order.
    proxy.disconnect_push_consumer().map_err(|e| why(&e))
}

pub(super) fn run_tail(matches: &ArgMatches, output: &mut dyn Write) -> Result<(), Failure> {
    let listen = matches
        .get_one::<String>("listen")
        .map(|address| vec!["-ORBListenEndpoints".to_owned(), serving::endpoint(address)]);
    let log = Log::start_at(matches, LOG)?;
    let session = Session::start_with(matches, &listen.unwrap_or_default())?;
    let of_orb = |e: &dyn std::fmt::Display| failed("the ORB", e);
    let poa = session.orb().root_poa().map_err(|e| of_orb(&e))?;
    poa.the_poa_manager().activate().map_err(|e| of_orb(&e))?;
    let (say, heard) = sync_channel(1000);
    let wake = say.clone();
    let servant = PushConsumerSkeleton::new(SetListener { say: Mutex::new(say) });
    let consumer = poa.activate(servant).map_err(|e| of_orb(&e))?;
    let why = |e: &dyn std::fmt::Display| failed("the channel", e);
    let consumers = the_channel(&session, matches)?.for_consumers().map_err(|e| why(&e))?;
    let consumers = consumers.ok_or_else(|| is_nil("the channel's administration"))?;
    let proxy = consumers.obtain_push_supplier().map_err(|e| why(&e))?;
    let proxy = proxy.ok_or_else(|| is_nil("the proxy"))?;
    let subscription = subscription(matches).subscription();
    let at_signal = proxy.clone();
    let interruption = Interruption::watch(&session, log, move || {
        let left = at_signal.disconnect_push_supplier();
        let _ = wake.send(None);
        drop(left);
    })?;
    proxy.connect_push_consumer(Some(&consumer), &subscription).map_err(|e| why(&e))?;
    while let Ok(Some(set)) = heard.recv() {
        let plain = Plain::new(session.orb());
        let shown: Vec<Json> = set.iter().map(|event| shown(event, &plain)).collect();
        match <[Json; 1]>::try_from(shown) {
            Ok([event]) => writeln!(output, "{event}")?,
            Err(set) => writeln!(output, "{}", Json::Array(set))?,
        }
        output.flush()?;
    }
    interruption.or(Err(Failure::new("the channel disconnected this consumer, or was destroyed")))
}

/// What `tail` asks for.
fn subscription(matches: &ArgMatches) -> Filter {
    let given = |name| matches.get_many::<i32>(name).into_iter().flatten().copied();
    let types = given("type").map(event).collect::<Vec<_>>();
    let sources = given("source").map(from_source).collect::<Vec<_>>();
    match (types.is_empty(), sources.is_empty()) {
        (true, true) => any_event(),
        (false, true) => Filter::any_of(types),
        (true, false) => Filter::any_of(sources),
        (false, false) => Filter::any_of(types) & Filter::any_of(sources),
    }
}

fn shown(event: &Event, plain: &Plain<'_>) -> Json {
    let header = &event.header;
    let mut shown = json!({ "type": header.r#type, "source": header.source, "ttl": header.ttl });
    if header.creation_time != 0 {
        shown["creation_time"] = header.creation_time.into();
    }
    let payload = &event.data.payload;
    shown["payload"] = match std::str::from_utf8(payload) {
        Ok(text) => json!({ "text": text }),
        Err(_) => json!({ "base64": STANDARD.encode(payload) }),
    };
    if *event.data.any_value.type_code() != TypeCode::NULL {
        shown["value"] = plain.json(&event.data.any_value);
    }
    shown
}

/// Hands over what the channel gives; nothing at the end.
struct SetListener {
    say: Mutex<SyncSender<Option<Vec<Event>>>>,
}

impl SetListener {
    fn say(&self, set: Option<Vec<Event>>) -> Result<(), SystemException> {
        let said = self.say.lock().unwrap_or_else(PoisonError::into_inner).send(set);
        said.map_err(|_| {
            SystemException::object_not_exist(
                minor::OBJECT_NOT_EXIST_DISCONNECTED,
                corbie::CompletionStatus::No,
            )
        })
    }
}

impl PushConsumerServant for SetListener {
    fn push(&self, data: &[Event]) -> Result<(), SystemException> {
        self.say(Some(data.to_vec()))
    }

    fn disconnect_push_consumer(&self) -> Result<(), SystemException> {
        self.say(None)
    }
}
