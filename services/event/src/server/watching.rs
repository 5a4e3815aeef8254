//! How the proxies of untyped and typed channels are looked after: which of them are in use, and
//! from which channels their events come. What becomes of those that are gone or in a ring is in
//! `watched` and `neighbours`.

use super::proxy::{Flow, Proxy};
use super::registry::ChannelRegistry;
use crate::channel::{Channel, ChannelProxy as _};
use crate::neighbours::{self, Linked, Neighbour};
use crate::qos::{ChannelQos, Limits};
use crate::watched::{self, Idle, IfQuiet, Sight, Watched};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// Has the proxies of all channels looked after, and rings looked for, until `registry` is gone.
pub(super) fn begin(registry: &Arc<ChannelRegistry>) {
    each(registry, watched::interval(registry.limits()), |channel| channel.look_after());
    each(registry, neighbours::TICK, |channel| {
        channel.look_for_rings();
        channel.forget_gone_pulls();
    });
}

fn each(registry: &Arc<ChannelRegistry>, between: Duration, look: fn(&Arc<Channel>)) {
    let weak = Arc::downgrade(registry);
    registry.workers().after(between, move || {
        if let Some(registry) = weak.upgrade() {
            registry.all().iter().for_each(look);
            each(&registry, between, look);
        }
    });
}

impl Watched for Proxy {
    fn idle(&self) -> &Idle {
        &self.idle
    }

    fn sight(&self) -> Sight {
        let Some((peer, flow)) = self.connection() else { return Sight::Fresh };
        let is_in_use = is_in_use(&self.idle, &flow);
        let if_quiet = match self.lasting_consumer() {
            // It keeps its place as long as there may be anything for it.
            Some(retention) => {
                IfQuiet::Keep(matches!(flow, Flow::Pulling(_)).then_some(retention.age))
            }
            None => IfQuiet::Ask(peer),
        };
        Sight::Connected { is_in_use, if_quiet }
    }

    fn limits(&self) -> &Limits {
        self.channel().limits()
    }

    fn promises(&self) -> &ChannelQos {
        self.channel().qos()
    }

    fn channel_name(&self) -> &str {
        self.channel().name()
    }

    fn soon(&self, job: impl FnOnce() + Send + 'static) {
        self.registry().workers().soon(job);
    }

    fn finish(&self) {
        self.end();
    }
}

impl Linked for Proxy {
    fn neighbour(&self) -> &Neighbour {
        &self.neighbour
    }

    fn channel_number(&self) -> u64 {
        self.channel().number()
    }

    fn sources(&self) -> Vec<u64> {
        self.channel().sources()
    }
}

/// Tells the other side of a proxy, or asks it, where events come from, if it is a channel of ours:
/// those of this one come from `sources`.
pub(super) fn look_for_ring(proxy: &Arc<Proxy>, sources: &[u64]) {
    let Some((_, flow)) = proxy.connection() else { return };
    // Without an event there is no harm yet.
    match &flow {
        Flow::Push(consumer) if consumer.counters.delivered.load(Ordering::Relaxed) > 0 => {
            if let Some(called) = consumer.called() {
                neighbours::tell_if_channel(proxy, &called, sources);
            }
        }
        Flow::Pulled(suppliers) => {
            let gave = suppliers.iter().find(|supplier| supplier.given() > 0);
            if let Some(called) = gave.and_then(|supplier| supplier.called()) {
                neighbours::ask_if_channel(proxy, &called);
            }
        }
        Flow::Push(_) | Flow::Pushed | Flow::Pulling(_) => {}
    }
}

/// Whether something goes on that the proxy itself does not see.
fn is_in_use(idle: &Idle, flow: &Flow) -> bool {
    match flow {
        Flow::Pushed => false,
        Flow::Pulled(suppliers) => {
            idle.has_moved(suppliers.iter().map(|supplier| supplier.given()).sum())
        }
        // A pull that waits, of a client that is there.
        Flow::Pulling(consumer) => consumer.is_waited_for(),
        Flow::Push(consumer) => {
            let has_moved = idle.has_moved(consumer.counters.delivered.load(Ordering::Relaxed));
            // Pushes find out themselves when the consumer is gone.
            has_moved || consumer.queued().0 > 0
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::channel::{Channel, PulledSupplier, Target};
    use crate::event::Event;
    use crate::resources::Resources;
    use corbie::{Any, Orb};
    use std::time::Duration;

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
        assert!(!is_in_use(&idle, &flow), "it has given nothing");
        supplier.end();
        let any = Any::from_value::<i32>(&1).expect("an any");
        supplier.publish(Event::of_any(&any).expect("an event"));
        assert!(is_in_use(&idle, &flow));
        assert!(!is_in_use(&idle, &flow), "not since then");
        orb.shutdown(true);
    }
}
