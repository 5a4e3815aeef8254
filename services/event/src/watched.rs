//! Ends proxies whose peer is gone: a peer that died says nothing, and its proxy would stay.
//!
//! A server has every proxy looked after now and then (`Limits::idle_limit` and its like). A peer
//! that was quiet for too long is asked `_non_existent`, if it gave a reference; the answer, or
//! that no server answers, decides. A time-out decides nothing: a peer may be busy, or serve no
//! requests while it supplies. The proxies of this crate and of `services/rtevent` are [`Watched`].

use crate::qos::{ChannelQos, Limits};
use corbie::policy::{Policy, SetOverrideType};
use corbie::{Object, Operation, Reply, ReplySink, SystemException, SystemExceptionKind, minor};
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

static NON_EXISTENT: Operation = Operation::twoway("_non_existent");
/// How often proxies are looked after, whatever the limits are.
const SHORTEST: Duration = Duration::from_millis(10);
const LONGEST: Duration = Duration::from_secs(30);

/// What a proxy keeps of its use.
pub struct Idle {
    /// Set by what carries events, with no more than a look when it is set already.
    used: AtomicBool,
    /// Lock "idle": not held in calls.
    watch: Mutex<Watch>,
}

struct Watch {
    /// When it was used the last time, or the other side answered, as far as is known.
    since: Instant,
    /// Events that had gone by then, where the proxy itself does not see them.
    gone: u64,
    /// Since when no peer is there.
    absent_since: Option<Instant>,
    is_asking: bool,
}

impl Default for Idle {
    fn default() -> Self {
        let (gone, absent_since, is_asking) = (0, None, false);
        let watch = Watch { since: Instant::now(), gone, absent_since, is_asking };
        Self { used: AtomicBool::new(false), watch: Mutex::new(watch) }
    }
}

impl Idle {
    /// The other side uses the proxy.
    pub fn used(&self) {
        if !self.used.load(Ordering::Relaxed) {
            self.used.store(true, Ordering::Relaxed);
        }
    }

    /// Whether the number of events that have gone is another one than at the last look: for a
    /// proxy that does not see them itself.
    pub fn has_moved(&self, gone: u64) -> bool {
        std::mem::replace(&mut self.watch().gone, gone) != gone
    }

    fn watch(&self) -> MutexGuard<'_, Watch> {
        self.watch.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Idle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Idle")
    }
}

/// What a proxy is seen to do.
#[derive(Debug)]
pub enum Sight {
    /// No client has connected it.
    Fresh,
    /// A client is connected.
    Connected {
        /// Whether something goes on that is not said by [`Idle::used`].
        is_in_use: bool,
        /// What becomes of it when it is quiet.
        if_quiet: IfQuiet,
    },
}

/// What becomes of a connected proxy that is not used.
#[derive(Debug)]
pub enum IfQuiet {
    /// Its peer is asked whether it exists, where it gave a reference.
    Ask(Option<Object>),
    /// It stays; for so long, where that is said.
    Keep(Option<Duration>),
}

/// A proxy that ends when its peer is gone.
pub trait Watched: Send + Sync + Sized + 'static {
    /// What it keeps of its use.
    fn idle(&self) -> &Idle;
    /// What it is seen to do.
    fn sight(&self) -> Sight;
    /// Those of its server.
    fn limits(&self) -> &Limits;
    /// What its channel promises.
    fn promises(&self) -> &ChannelQos;
    /// The name of its channel, for the log.
    fn channel_name(&self) -> &str;
    /// Has a thread run `job` that may wait.
    fn soon(&self, job: impl FnOnce() + Send + 'static);
    /// Ends it; the other side is told.
    fn finish(&self);
}

/// How often proxies are to be looked after with these limits.
#[must_use]
pub fn interval(limits: &Limits) -> Duration {
    let shortest = limits.idle_limit.min(limits.unconnected_limit);
    let shortest = limits.idle_nil_limit.map_or(shortest, |limit| limit.min(shortest));
    (shortest / 4).clamp(SHORTEST, LONGEST)
}

/// Ends the proxy when it is not used any more, or asks whether the other side is there. Does not
/// wait.
pub fn look_after<P: Watched>(proxy: &Arc<P>) {
    match judge(&**proxy) {
        Verdict::Fine => {}
        Verdict::End(why) => abandon(&**proxy, why),
        Verdict::Ask(peer) => {
            let asking = Arc::clone(proxy);
            // It may have to be connected to first.
            proxy.soon(move || ask(&asking, &peer));
        }
    }
}

/// What is to be done about a proxy.
enum Verdict {
    /// It is used, or was lately.
    Fine,
    End(&'static str),
    Ask(Object),
}

fn judge<P: Watched>(proxy: &P) -> Verdict {
    let (limits, sight) = (proxy.limits(), proxy.sight());
    let mut watch = proxy.idle().watch();
    let now = Instant::now();
    let Sight::Connected { is_in_use, if_quiet } = sight else {
        let is_late = now.duration_since(watch.since) >= limits.unconnected_limit;
        return if is_late { Verdict::End("it was never connected") } else { Verdict::Fine };
    };
    if proxy.idle().used.swap(false, Ordering::Relaxed) || is_in_use {
        (watch.since, watch.absent_since) = (now, None);
        return Verdict::Fine;
    }
    let quiet = now.duration_since(watch.since);
    match if_quiet {
        IfQuiet::Keep(Some(most)) if quiet >= most => {
            Verdict::End("it did not pull for as long as events are kept")
        }
        IfQuiet::Ask(None) if limits.idle_nil_limit.is_some_and(|limit| quiet >= limit) => {
            Verdict::End("it was idle, and it has no peer that can be asked")
        }
        IfQuiet::Ask(Some(peer)) if quiet >= limits.idle_limit && !watch.is_asking => {
            watch.is_asking = true;
            Verdict::Ask(peer)
        }
        _ => Verdict::Fine,
    }
}

fn ask<P: Watched>(proxy: &Arc<P>, peer: &Object) {
    let timeout = Policy::RelativeReplyTimeout(proxy.promises().push_timeout);
    let hearing = Arc::clone(proxy);
    let sink = ReplySink::function(move |outcome| heard(&*hearing, is_there(outcome)));
    let asked = peer
        .set_policy_overrides(&[timeout], SetOverrideType::Add)
        .map_err(crate::exception::no_policy)
        .and_then(|peer| peer.invoke_async(&NON_EXISTENT, &|_| Ok(()), sink));
    if let Err(exception) = asked {
        // It is asked again after a while.
        heard(&**proxy, is_there(Err(exception)));
    }
}

fn heard<P: Watched>(proxy: &P, presence: Presence) {
    let mut watch = proxy.idle().watch();
    watch.is_asking = false;
    let now = Instant::now();
    match presence {
        Presence::There => (watch.since, watch.absent_since) = (now, None),
        Presence::Gone => {
            drop(watch);
            abandon(proxy, "it does not exist any more");
        }
        Presence::Absent => {
            let since = *watch.absent_since.get_or_insert(now);
            drop(watch);
            if now.duration_since(since) >= proxy.promises().give_up_after {
                abandon(proxy, "its peer is gone");
            }
        }
    }
}

fn abandon<P: Watched>(proxy: &P, why: &'static str) {
    tracing::info!(channel = proxy.channel_name(), why, "a proxy of no use is ended");
    proxy.finish();
}

enum Presence {
    There,
    /// A server says that it does not exist.
    Gone,
    /// No peer could be asked.
    Absent,
}

fn is_there(outcome: Result<Reply, SystemException>) -> Presence {
    use SystemExceptionKind as K;
    let does_not_exist = outcome.and_then(|mut reply| reply.results(|d| d.read_boolean()));
    match does_not_exist {
        Ok(true) => Presence::Gone,
        Ok(false) => Presence::There,
        // Much is sent to it, which it has not taken.
        Err(exception) if exception.minor == minor::TRANSIENT_OVERLOAD => Presence::There,
        Err(exception) => match exception.kind {
            K::ObjectNotExist | K::InvObjref => Presence::Gone,
            // The last: its ORB is in this process, and was shut down.
            K::CommFailure | K::Transient | K::BadInvOrder => Presence::Absent,
            // A peer that refuses is there, and a slow one may be.
            _ => Presence::There,
        },
    }
}
