//! Rings of channels: one whose events come back to it would pass them on for ever. A ring is found
//! within seconds after its first event, on whichever servers of ours its channels are, and a
//! connection of it is ended.
//!
//! Each channel has a random number. Once a second it tells the channels to which it pushes from
//! which channels its events come (itself and all before it), and asks those from which it pulls.
//! A channel that hears its own number from a supplier ends the proxy of that supplier. What is not
//! of ours is asked once whether it is (`_is_a`), and left alone.

use super::proxy::{Flow, Proxy};
use super::registry::ChannelRegistry;
use crate::channel::ChannelProxy as _;
use corbie::cdr::Error;
use corbie::policy::{Policy, SetOverrideType};
use corbie::{
    Decoder, Encoder, Object, Operation, Reply, ReplySink, ServerRequest, SystemException,
    SystemExceptionKind,
};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The repository id of what answers the two operations below. No IDL identifier has a dot,
/// so no operation of a typed object is meant.
pub(super) const LINKED: &str = "IDL:corbie/CorbieEvents/Linked:1.0";
static COMES_FROM: Operation = Operation::twoway("corbie.comes_from");
static SOURCES: Operation = Operation::twoway("corbie.sources");
static IS_A: Operation = Operation::twoway("_is_a");

/// How often channels tell and ask.
const TICK: Duration = Duration::from_secs(1);
/// What was not heard again for so long is not so any more.
const FRESH: Duration = Duration::from_secs(60);
/// What is still so is told, and asked for, again after this.
const AGAIN: Duration = Duration::from_secs(15);
/// Channels that are told of. A longer ring is not found.
const MOST: usize = 1024;

/// What a proxy knows of the channel at its other side, if there is one.
#[derive(Default)]
pub(super) struct Neighbour {
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
    pub(super) fn sources(&self) -> Vec<u64> {
        let state = self.lock();
        let fresh = state.heard.as_ref().filter(|(_, when)| when.elapsed() < FRESH);
        fresh.map_or_else(Vec::new, |(sources, _)| sources.clone())
    }

    fn lock(&self) -> MutexGuard<'_, NeighbourState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Has rings looked for, until `registry` is gone.
pub(super) fn look_for(registry: &Arc<ChannelRegistry>) {
    let weak = Arc::downgrade(registry);
    registry.workers().after(TICK, move || {
        if let Some(registry) = weak.upgrade() {
            for channel in registry.all() {
                channel.look_for_rings();
                channel.forget_gone_pulls();
            }
            look_for(&registry);
        }
    });
}

/// Serves `request` if it is one of the operations here.
pub(super) fn serve(
    proxy: &Proxy,
    request: &mut ServerRequest<'_>,
) -> Option<Result<(), SystemException>> {
    let name = request.operation();
    if name == COMES_FROM.name() {
        return Some(read(&mut request.arguments()).map_err(Into::into).and_then(|sources| {
            request.reply(&|_| Ok(()))?;
            proxy.hears(sources);
            Ok(())
        }));
    }
    (name == SOURCES.name()).then(|| {
        let sources = proxy.channel().sources();
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

impl Proxy {
    /// Tells the other side, or asks it, where events come from, if it is a channel of ours: those
    /// of this one come from `sources`.
    pub(super) fn look_for_ring(self: &Arc<Self>, sources: &[u64]) {
        let Some((_, flow)) = self.connection() else { return };
        // Without an event there is no harm yet.
        let (called, has_moved) = match &flow {
            Flow::Push(consumer) => {
                (consumer.called(), consumer.counters.delivered.load(Ordering::Relaxed) > 0)
            }
            Flow::Pulled(suppliers) => {
                let gave = suppliers.iter().find(|supplier| supplier.given() > 0);
                (gave.and_then(|supplier| supplier.called()), gave.is_some())
            }
            Flow::Pushed | Flow::Pulling(_) => return,
        };
        let Some(called) = called.filter(|_| has_moved) else { return };
        let mut state = self.neighbour.lock();
        match state.other {
            Other::Asked | Other::Foreign => {}
            Other::Unknown => {
                state.other = Other::Asked;
                drop(state);
                self.ask_what_it_is(&called);
            }
            Other::Channel => {
                let is_pulled = matches!(flow, Flow::Pulled(_));
                let is_said = state.told.as_ref().is_some_and(|(told, when)| {
                    when.elapsed() < if is_pulled { TICK } else { AGAIN }
                        && (is_pulled || told == sources)
                });
                if is_said {
                    return;
                }
                state.told = Some((sources.to_vec(), Instant::now()));
                drop(state);
                if is_pulled { self.ask_for_sources(&called) } else { self.tell(&called, sources) }
            }
        }
    }

    fn ask_what_it_is(self: &Arc<Self>, called: &Object) {
        let write = |e: &mut Encoder<'_>| e.write_string(LINKED);
        self.call(called, &IS_A, &write, |proxy, outcome| {
            let is_ours = outcome.and_then(|mut reply| reply.results_only(|d| d.read_boolean()));
            proxy.neighbour.lock().other = match is_ours {
                Ok(true) => Other::Channel,
                Err(exception) if is_passing(&exception) => Other::Unknown,
                Ok(false) | Err(_) => Other::Foreign,
            };
        });
    }

    fn ask_for_sources(self: &Arc<Self>, called: &Object) {
        self.call(called, &SOURCES, &|_| Ok(()), |proxy, outcome| {
            if let Ok(sources) = outcome.and_then(|mut reply| reply.results_only(read)) {
                proxy.hears(sources);
            }
        });
    }

    fn tell(self: &Arc<Self>, called: &Object, sources: &[u64]) {
        let write = |e: &mut Encoder<'_>| write(sources, e);
        self.call(called, &COMES_FROM, &write, |proxy, outcome| {
            if outcome.is_err() {
                // It is told again.
                proxy.neighbour.lock().told = None;
            }
        });
    }

    fn call<'a>(
        self: &Arc<Self>,
        called: &Object,
        operation: &Operation,
        write: &dyn Fn(&mut Encoder<'a>) -> Result<(), Error>,
        then: impl Fn(&Proxy, Result<Reply, SystemException>) + Clone + Send + 'static,
    ) {
        let timeout = Policy::RelativeReplyTimeout(self.channel().qos().push_timeout);
        let (proxy, after) = (Arc::clone(self), then.clone());
        let sink = ReplySink::function(move |outcome| after(&proxy, outcome));
        let sent = called
            .set_policy_overrides(&[timeout], SetOverrideType::Add)
            .map_err(crate::exception::no_policy)
            .and_then(|called| called.invoke_async(operation, write, sink));
        if let Err(exception) = sent {
            then(self, Err(exception));
        }
    }

    /// The events of its supplier come from `sources`.
    fn hears(&self, sources: Vec<u64>) {
        if !sources.contains(&self.channel().number()) {
            self.neighbour.lock().heard = Some((sources, Instant::now()));
            return;
        }
        tracing::warn!(
            channel = self.channel().name(),
            channels = sources.len(),
            "a ring of channels: events of this one come back to it, so the connection ends by \
             which they come"
        );
        self.end();
    }
}

fn is_passing(exception: &SystemException) -> bool {
    use SystemExceptionKind as K;
    let kinds = [K::Transient, K::CommFailure, K::Timeout, K::NoResources, K::NoResponse];
    kinds.contains(&exception.kind)
}
