//! How proxies are looked after: those whose peer is gone end, and those by which events of a
//! channel come back to it. As for the channels of the Event Service, by its parts.

use super::Registry;
use crate::channel::Channel;
use corbie_event::{neighbours, watched};
use std::sync::Arc;
use std::time::Duration;

/// Has the proxies of all channels looked after, until `registry` is gone.
pub(super) fn begin(registry: &Arc<Registry>) {
    let between = watched::interval(registry.engine.limits());
    each(registry, between, Channel::look_after);
    each(registry, neighbours::TICK, Channel::look_for_rings);
}

fn each(registry: &Arc<Registry>, between: Duration, look: fn(&Channel)) {
    let weak = Arc::downgrade(registry);
    registry.engine.after(between, move || {
        if let Some(registry) = weak.upgrade() {
            let all: Vec<_> = registry.channels().values().cloned().collect();
            all.iter().for_each(|served| look(&served.channel));
            each(&registry, between, look);
        }
    });
}

/// What both kinds of proxies say of their channel; `place` is theirs.
macro_rules! watched_proxy {
    () => {
        fn idle(&self) -> &Idle {
            &self.idle
        }

        fn limits(&self) -> &Limits {
            self.place.channel.engine().limits()
        }

        fn promises(&self) -> &ChannelQos {
            &self.place.channel.configuration().queue
        }

        fn channel_name(&self) -> &str {
            self.place.channel.name()
        }

        fn soon(&self, job: impl FnOnce() + Send + 'static) {
            self.place.channel.engine().after(Duration::ZERO, job);
        }

        fn finish(&self) {
            self.close(true);
        }
    };
}
pub(super) use watched_proxy;
