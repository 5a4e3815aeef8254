//! Rings of channels: one whose events come back to it would pass them on for ever. A ring is found
//! within seconds after its first event, on whichever servers of ours its channels are, and a
//! connection of it is ended.
//!
//! Each channel has a random number. Once a second it tells the channels to which it pushes from
//! which channels its events come (itself and all before it), and asks those from which it pulls.
//! A channel that hears its own number from a supplier ends the proxy of that supplier. What is not
//! of ours is asked once whether it is (`_is_a`), and left alone.

use crate::watched::Watched;
use corbie::cdr::Error;
use corbie::policy::{Policy, SetOverrideType};
use corbie::{
    Decoder, Encoder, Object, Operation, Reply, ReplySink, ServerRequest, SystemException,
    SystemExceptionKind,
};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The repository id of what answers the two operations below. No IDL identifier has a dot,
/// so no operation of a typed object is meant.
pub const LINKED: &str = "IDL:corbie/CorbieEvents/Linked:1.0";
static COMES_FROM: Operation = Operation::twoway("corbie.comes_from");
static SOURCES: Operation = Operation::twoway("corbie.sources");
static IS_A: Operation = Operation::twoway("_is_a");

/// How often channels tell and ask.
pub const TICK: Duration = Duration::from_secs(1);
/// What was not heard again for so long is not so any more.
const FRESH: Duration = Duration::from_secs(60);
/// What is still so is told, and asked for, again after this.
const AGAIN: Duration = Duration::from_secs(15);
/// Channels that are told of. A longer ring is not found.
const MOST: usize = 1024;

/// What a proxy knows of the channel at its other side, if there is one.
#[derive(Default)]
pub struct Neighbour {
    /// Lock "neighbour": not held in calls.
    state: Mutex<NeighbourState>,
}

#[derive(Default)]
struct NeighbourState {
    other: Other,
    /// From where its events come, and when it said so.
    heard: Option<(Vec<u64>, Instant)>,
    /// What it was told, and when; or when it was asked.
    told: Option<(Vec<u64>, Instant)>,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Other {
    #[default]
    Unknown,
    Asked,
    Channel,
    /// No channel of ours.
    Foreign,
}

impl Neighbour {
    /// From where the events come that it gives, as far as it said so lately.
    #[must_use]
    pub fn sources(&self) -> Vec<u64> {
        let state = self.lock();
        let fresh = state.heard.as_ref().filter(|(_, when)| when.elapsed() < FRESH);
        fresh.map_or_else(Vec::new, |(sources, _)| sources.clone())
    }

    fn lock(&self) -> MutexGuard<'_, NeighbourState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Neighbour {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Neighbour")
    }
}

/// A proxy that finds out whether events of its channel come back to it.
pub trait Linked: Watched {
    /// What it knows of the other side.
    fn neighbour(&self) -> &Neighbour;
    /// Tells its channel from all others.
    fn channel_number(&self) -> u64;
    /// The numbers of the channels from which the events of its channel come.
    fn sources(&self) -> Vec<u64>;
}

/// Serves `request` if it is one of the operations here.
pub fn serve<P: Linked>(
    proxy: &P,
    request: &mut ServerRequest<'_>,
) -> Option<Result<(), SystemException>> {
    let name = request.operation();
    if name == COMES_FROM.name() {
        return Some(read(&mut request.arguments()).map_err(Into::into).and_then(|sources| {
            request.reply(&|_| Ok(()))?;
            hears(proxy, sources);
            Ok(())
        }));
    }
    (name == SOURCES.name()).then(|| {
        let sources = proxy.sources();
        request.reply(&|e| write(&sources, e))
    })
}

fn read(d: &mut Decoder<'_>) -> Result<Vec<u64>, Error> {
    let count = d.read_length(8)?;
    (0..count).map(|_| d.read_ulonglong()).take(MOST).collect()
}

fn write(sources: &[u64], e: &mut Encoder<'_>) -> Result<(), Error> {
    e.write_length(sources.len().min(MOST))?;
    sources.iter().take(MOST).for_each(|source| e.write_ulonglong(*source));
    Ok(())
}

/// Tells the object that a proxy pushes to where the events come from, if it is a channel of ours.
/// Does not wait.
pub fn tell_if_channel<P: Linked>(proxy: &Arc<P>, called: &Object, sources: &[u64]) {
    let neighbour = proxy.neighbour();
    if !is_channel(proxy, called) {
        return;
    }
    let mut state = neighbour.lock();
    let is_said = state.told.as_ref();
    if is_said.is_some_and(|(told, when)| when.elapsed() < AGAIN && told == sources) {
        return;
    }
    state.told = Some((sources.to_vec(), Instant::now()));
    drop(state);
    let write = |e: &mut Encoder<'_>| write(sources, e);
    call(proxy, called, &COMES_FROM, &write, |proxy, outcome| {
        if outcome.is_err() {
            // It is told again.
            proxy.neighbour().lock().told = None;
        }
    });
}

/// Asks the object that a proxy pulls from where its events come from, if it is a channel of ours.
/// Does not wait.
pub fn ask_if_channel<P: Linked>(proxy: &Arc<P>, called: &Object) {
    if !is_channel(proxy, called) {
        return;
    }
    let mut state = proxy.neighbour().lock();
    if state.told.as_ref().is_some_and(|(_, when)| when.elapsed() < TICK) {
        return;
    }
    state.told = Some((Vec::new(), Instant::now()));
    drop(state);
    call(proxy, called, &SOURCES, &|_| Ok(()), |proxy, outcome| {
        if let Ok(sources) = outcome.and_then(|mut reply| reply.results_only(read)) {
            hears(proxy, sources);
        }
    });
}

/// Whether it is known to be a channel of ours; it is asked, if that is not known yet.
fn is_channel<P: Linked>(proxy: &Arc<P>, called: &Object) -> bool {
    let mut state = proxy.neighbour().lock();
    if state.other != Other::Unknown {
        return state.other == Other::Channel;
    }
    state.other = Other::Asked;
    drop(state);
    let write = |e: &mut Encoder<'_>| e.write_string(LINKED);
    call(proxy, called, &IS_A, &write, |proxy, outcome| {
        let is_ours = outcome.and_then(|mut reply| reply.results_only(|d| d.read_boolean()));
        proxy.neighbour().lock().other = match is_ours {
            Ok(true) => Other::Channel,
            Err(exception) if is_passing(&exception) => Other::Unknown,
            Ok(false) | Err(_) => Other::Foreign,
        };
    });
    false
}

fn call<'a, P: Linked>(
    proxy: &Arc<P>,
    called: &Object,
    operation: &Operation,
    write: &dyn Fn(&mut Encoder<'a>) -> Result<(), Error>,
    then: impl Fn(&P, Result<Reply, SystemException>) + Clone + Send + 'static,
) {
    let timeout = Policy::RelativeReplyTimeout(proxy.promises().push_timeout);
    let (calling, after) = (Arc::clone(proxy), then.clone());
    let sink = ReplySink::function(move |outcome| after(&calling, outcome));
    let sent = called
        .set_policy_overrides(&[timeout], SetOverrideType::Add)
        .map_err(crate::exception::no_policy)
        .and_then(|called| called.invoke_async(operation, write, sink));
    if let Err(exception) = sent {
        then(proxy, Err(exception));
    }
}

/// The events of the supplier of a proxy come from `sources`.
fn hears<P: Linked>(proxy: &P, sources: Vec<u64>) {
    if !sources.contains(&proxy.channel_number()) {
        proxy.neighbour().lock().heard = Some((sources, Instant::now()));
        return;
    }
    tracing::warn!(
        channel = proxy.channel_name(),
        channels = sources.len(),
        "a ring of channels: events of this one come back to it, so the connection ends by which \
         they come"
    );
    proxy.finish();
}

fn is_passing(exception: &SystemException) -> bool {
    use SystemExceptionKind as K;
    let kinds = [K::Transient, K::CommFailure, K::Timeout, K::NoResources, K::NoResponse];
    kinds.contains(&exception.kind)
}
