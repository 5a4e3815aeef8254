//! Ends proxies whose peer is gone: a peer that died says nothing, and its proxy would stay.
//!
//! `registry` has every proxy looked after now and then (`Limits::idle_limit` and its like). A peer
//! that was quiet for too long is asked `_non_existent`, if it gave a reference; the answer, or
//! that no server answers, decides. A time-out decides nothing: a peer may be busy, or serve no
//! requests while it supplies.

use super::proxy::{Flow, Proxy};
use super::registry::ChannelRegistry;
use crate::channel::ChannelProxy as _;
use crate::qos::Limits;
use corbie::policy::{Policy, SetOverrideType};
use corbie::{Object, Operation, Reply, ReplySink, SystemException, SystemExceptionKind, minor};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

static NON_EXISTENT: Operation = Operation::twoway("_non_existent");
/// How often proxies are looked after, whatever the limits are.
const SHORTEST: Duration = Duration::from_millis(10);
const LONGEST: Duration = Duration::from_secs(30);

/// What a proxy keeps of its use.
pub(super) struct Idle {
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
    pub(super) fn used(&self) {
        if !self.used.load(Ordering::Relaxed) {
            self.used.store(true, Ordering::Relaxed);
        }
    }

    fn watch(&self) -> MutexGuard<'_, Watch> {
        self.watch.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Has the proxies of all channels looked after, until `registry` is gone.
pub(super) fn look_after(registry: &Arc<ChannelRegistry>) {
    let limits = registry.limits();
    let shortest = limits.idle_limit.min(limits.unconnected_limit);
    let shortest = limits.idle_nil_limit.map_or(shortest, |limit| limit.min(shortest));
    let weak = Arc::downgrade(registry);
    registry.workers().after((shortest / 4).clamp(SHORTEST, LONGEST), move || {
        if let Some(registry) = weak.upgrade() {
            for channel in registry.all() {
                channel.look_after();
            }
            look_after(&registry);
        }
    });
}

/// What is to be done about a proxy.
enum Verdict {
    /// It is used, or was lately.
    Fine,
    End(&'static str),
    Ask(Object),
}

impl Proxy {
    /// Ends the proxy when it is not used any more, or asks whether the other side is there.
    pub(super) fn look_after_it(self: &Arc<Self>) {
        match self.judge(self.channel().limits()) {
            Verdict::Fine => {}
            Verdict::End(why) => self.abandon(why),
            Verdict::Ask(peer) => {
                let proxy = Arc::clone(self);
                // It may have to be connected to first.
                self.registry().workers().soon(move || proxy.ask(&peer));
            }
        }
    }

    fn judge(&self, limits: &Limits) -> Verdict {
        let link = self.connection();
        let mut watch = self.idle.watch();
        let now = Instant::now();
        let Some((peer, flow)) = link else {
            let is_late = now.duration_since(watch.since) >= limits.unconnected_limit;
            return if is_late { Verdict::End("it was never connected") } else { Verdict::Fine };
        };
        if self.idle.used.swap(false, Ordering::Relaxed) || watch.is_in_use(&flow) {
            (watch.since, watch.absent_since) = (now, None);
            return Verdict::Fine;
        }
        let quiet = now.duration_since(watch.since);
        if let Some(retention) = self.lasting_consumer() {
            // It keeps its place as long as there may be anything for it.
            let is_late = matches!(flow, Flow::Pulling(_)) && quiet >= retention.age;
            let why = "it did not pull for as long as events are kept";
            return if is_late { Verdict::End(why) } else { Verdict::Fine };
        }
        match peer {
            None if limits.idle_nil_limit.is_some_and(|limit| quiet >= limit) => {
                Verdict::End("it was idle, and it has no peer that can be asked")
            }
            Some(peer) if quiet >= limits.idle_limit && !watch.is_asking => {
                watch.is_asking = true;
                Verdict::Ask(peer)
            }
            _ => Verdict::Fine,
        }
    }

    fn ask(self: &Arc<Self>, peer: &Object) {
        let timeout = Policy::RelativeReplyTimeout(self.channel().qos().push_timeout);
        let proxy = Arc::clone(self);
        let sink = ReplySink::function(move |outcome| proxy.heard(is_there(outcome)));
        let asked = peer
            .set_policy_overrides(&[timeout], SetOverrideType::Add)
            .map_err(crate::exception::no_policy)
            .and_then(|peer| peer.invoke_async(&NON_EXISTENT, &|_| Ok(()), sink));
        if let Err(exception) = asked {
            // It is asked again after a while.
            self.heard(is_there(Err(exception)));
        }
    }

    fn heard(self: &Arc<Self>, presence: Presence) {
        let mut watch = self.idle.watch();
        watch.is_asking = false;
        let now = Instant::now();
        match presence {
            Presence::There => (watch.since, watch.absent_since) = (now, None),
            Presence::Gone => {
                drop(watch);
                self.abandon("it does not exist any more");
            }
            Presence::Absent => {
                let since = *watch.absent_since.get_or_insert(now);
                drop(watch);
                if now.duration_since(since) >= self.channel().qos().give_up_after {
                    self.abandon("its peer is gone");
                }
            }
        }
    }

    fn abandon(&self, why: &'static str) {
        tracing::info!(channel = self.channel().name(), why, "a proxy of no use is ended");
        self.end();
    }
}

impl Watch {
    /// Whether something goes on that the proxy itself does not see.
    fn is_in_use(&mut self, flow: &Flow) -> bool {
        match flow {
            Flow::Pushed => false,
            Flow::Pulled(suppliers) => {
                self.has_moved(suppliers.iter().map(|supplier| supplier.given()).sum())
            }
            // A pull that waits, of a client that is there.
            Flow::Pulling(consumer) => consumer.is_waited_for(),
            Flow::Push(consumer) => {
                let has_moved = self.has_moved(consumer.counters.delivered.load(Ordering::Relaxed));
                // Pushes find out themselves when the consumer is gone.
                has_moved || consumer.queued().0 > 0
            }
        }
    }

    fn has_moved(&mut self, gone: u64) -> bool {
        std::mem::replace(&mut self.gone, gone) != gone
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::channel::{Channel, PulledSupplier, Target};
    use crate::event::Event;
    use crate::qos::ChannelQos;
    use crate::resources::Resources;
    use corbie::{Any, Orb};

    #[test]
    fn a_supplier_that_gives_events_is_in_use() {
        let orb = Orb::init(["-ORBListenEndpoints", "iiop://127.0.0.1:0"]).expect("an ORB");
        let channel =
            Channel::new("test", ChannelQos::default(), &Resources::new(Limits::default()));
        let absent = orb.string_to_object("corbaloc::127.0.0.1:1/missing").expect("a reference");
        let absent = Target::fixed(&absent, Duration::from_secs(60)).expect("a target");
        let supplier = PulledSupplier::new(&channel, absent, None, |_| {});
        let flow = Flow::Pulled([Arc::clone(&supplier)].into());
        let idle = Idle::default();
        assert!(!idle.watch().is_in_use(&flow), "it has given nothing");
        supplier.end();
        let any = Any::from_value::<i32>(&1).expect("an any");
        supplier.publish(Event::of_any(&any).expect("an event"));
        assert!(idle.watch().is_in_use(&flow));
        assert!(!idle.watch().is_in_use(&flow), "not since then");
        orb.shutdown(true);
    }
}
