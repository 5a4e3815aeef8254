//! A component of MSHN as a process: `corbie-bench serve mshn KIND …`, started by `system.rs`.
//!
//! The components are those of `systems/mshn`, as `corbie mshn serve` has them; what is different
//! is that the advisor pauses as the paper's did and schedules one request at a time, and that
//! requests are counted.

use super::options::Over;
use crate::driver::{self, Failure};
use corbie::Orb;
use corbie_mshn::channel_server;
use corbie_mshn::messages::{Component, Done, Request};
use corbie_mshn::node::{self, Kind};
use corbie_mshn::{Address, AdvisorOptions, MechanismName, Peers, StatusOptions};
use corbie_naming::store::embedded::Embedded;
use corbie_naming::{Limits, Naming, NamingServer};
use lexopt::prelude::*;
use std::io::{self, BufRead as _, Write as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// What [`serve`] is told.
#[derive(Clone, Debug, Default)]
struct Words {
    kind: String,
    name: String,
    naming: String,
    mechanism: Option<MechanismName>,
    is_unix: bool,
    pause: Duration,
}

impl Words {
    fn parse(words: Vec<String>) -> Result<Self, Failure> {
        let mut found = Self::default();
        let mut parser = lexopt::Parser::from_args(words);
        while let Some(argument) = parser.next()? {
            match argument {
                Value(kind) if found.kind.is_empty() => found.kind = kind.string()?,
                Long("name") => found.name = parser.value()?.string()?,
                Long("naming") => found.naming = parser.value()?.string()?,
                Long("mechanism") => found.mechanism = Some(parser.value()?.parse()?),
                Long("pause-us") => found.pause = Duration::from_micros(parser.value()?.parse()?),
                Long("unix") => found.is_unix = true,
                other => return Err(other.unexpected().into()),
            }
        }
        Ok(found)
    }
}

/// Serves a component until the input ends; says `ready`, and of a naming server its reference.
///
/// # Errors
/// When the words make no sense or the component cannot be served.
pub(crate) fn serve(words: Vec<String>) -> Result<(), Failure> {
    let words = Words::parse(words)?;
    let orb = orb(if words.is_unix { Over::Unix } else { Over::Tcp }, &words.name)?;
    if words.kind == "naming" {
        let store = Arc::new(Embedded::in_memory()?);
        let server = NamingServer::start(&orb, store, Limits::default())?;
        orb.root_poa()?.the_poa_manager().activate()?;
        driver::serve_until_input_ends(&server.root().as_object().to_string())?;
        return Ok(());
    }
    if words.kind == "events" {
        let naming = Naming::at(&orb, &words.naming)?;
        let _server = channel_server::serve(&orb, &naming, &words.name)?;
        driver::serve_until_input_ends(&words.name)?;
        return Ok(());
    }
    let mechanism = words.mechanism.ok_or("--mechanism is missing")?;
    let peers = peers(&orb, &words.naming, mechanism)?;
    let kind = match words.kind.as_str() {
        "advisor" => Kind::Advisor(advisor(&words.name, words.pause)),
        "status" => Kind::StatusServer(StatusOptions::default()),
        "requirements" => Kind::RequirementDatabase,
        other => return Err(format!("there is no component `{other}`").into()),
    };
    let component = kind.component(None, &peers)?;
    let counted = Arc::new(Counted { component, requests: AtomicU64::new(0) });
    let served: Arc<dyn Component> = Arc::clone(&counted) as Arc<dyn Component>;
    peers.serve(&orb, &Address::named(kind.role(), words.name.as_str()), &served)?;
    answer_counts(&words.name, &counted)?;
    Ok(())
}

/// A component, and how many requests of the flow reached it.
struct Counted {
    component: Arc<dyn Component>,
    requests: AtomicU64,
}

impl Component for Counted {
    fn serve(&self, request: Request, done: Done) {
        if matches!(request, Request::Schedule(_) | Request::Status(_) | Request::MeansOf(_)) {
            self.requests.fetch_add(1, Ordering::Relaxed);
        }
        self.component.serve(request, done);
    }
}

/// Says `ready`, and for every line that comes, how many requests there were; until the input ends.
fn answer_counts(name: &str, counted: &Counted) -> io::Result<()> {
    writeln!(io::stdout(), "ready {name}")?;
    for line in io::stdin().lock().lines() {
        line?;
        writeln!(io::stdout(), "{}", counted.requests.load(Ordering::Relaxed))?;
    }
    Ok(())
}

/// The paper's advisor: one request at a time, each of which takes so long.
pub(super) fn advisor(name: &str, pause: Duration) -> AdvisorOptions {
    AdvisorOptions { batch_max: 1, pause, ..AdvisorOptions::new(name) }
}

/// An ORB that is reached over this.
///
/// # Errors
/// When it cannot listen.
pub(super) fn orb(over: Over, name: &str) -> Result<Orb, Failure> {
    let endpoint = match over {
        Over::Tcp => "iiop://127.0.0.1:0".to_owned(),
        // Without a file, so that nothing is left when the process is killed.
        Over::Unix => format!("uiop://@corbie-bench-{}-{name}", std::process::id()),
    };
    Ok(Orb::init(["-ORBListenEndpoints", &endpoint])?)
}

/// The others, as a process of a system sees them.
///
/// # Errors
/// When the naming service does not answer.
pub(super) fn peers(orb: &Orb, naming: &str, mechanism: MechanismName) -> Result<Peers, Failure> {
    Ok(node::peers(orb, Naming::at(orb, naming)?, mechanism))
}
