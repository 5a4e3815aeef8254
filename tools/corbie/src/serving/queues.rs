//! Looks at the queues of an event server now and then, and says which are about to overflow,
//! before they do: at most once a minute for each kind of trouble, the worst of them.

use std::sync::{Arc, Weak};
use std::thread;
use std::time::{Duration, Instant};

use super::channels::{ChannelServer, Consumer, Look};

const INTERVAL: Duration = Duration::from_secs(1);
const BETWEEN: Duration = Duration::from_secs(60);

/// Looks as long as the server is there.
pub(crate) fn watch<S: ChannelServer + 'static>(server: &Arc<S>) -> std::io::Result<()> {
    let weak: Weak<S> = Arc::downgrade(server);
    let look = move || {
        let (mut half_full, mut behind) = (Told::default(), Told::default());
        while let Some(server) = weak.upgrade() {
            let channels = server.looks();
            if let Some(worst) = half_full.is_due().then(|| worst(&channels, false)).flatten() {
                half_full.say(|| worst.half_full());
            }
            if let Some(worst) = behind.is_due().then(|| worst(&channels, true)).flatten() {
                behind.say(|| worst.behind());
            }
            drop((channels, server));
            thread::sleep(INTERVAL);
        }
    };
    thread::Builder::new().name("corbie-queues".to_owned()).spawn(look).map(drop)
}

/// When something was said last.
#[derive(Default)]
struct Told(Option<Instant>);

impl Told {
    fn is_due(&self) -> bool {
        self.0.is_none_or(|told| told.elapsed() >= BETWEEN)
    }

    fn say(&mut self, say: impl FnOnce()) {
        say();
        self.0 = Some(Instant::now());
    }
}

/// A consumer whose queue is too long.
struct LongQueue<'c> {
    channel: &'c Look,
    consumer: Consumer,
    most: u64,
}

impl LongQueue<'_> {
    fn half_full(&self) {
        let (channel, consumer) = (&*self.channel.name, self.consumer.id);
        let (queued, most, setting) = (self.consumer.queued, self.most, "queue_events");
        tracing::warn!(channel, consumer, queued, most, setting, "a queue is half full or more");
    }

    fn behind(&self) {
        let (channel, consumer) = (&*self.channel.name, self.consumer.id);
        let (queued, setting) = (self.consumer.queued, "retain_octets");
        let why = "a consumer falls behind: what it does not take in time is dropped from the log";
        tracing::warn!(channel, consumer, queued, setting, "{why}");
    }
}

/// The longest queue that is at least half full; of durable channels, that has more than fits into
/// it, so that the rest is read from the log.
fn worst(channels: &[Look], durable: bool) -> Option<LongQueue<'_>> {
    let kind = channels.iter().filter(|channel| channel.qos.durable.is_some() == durable);
    let queues = kind.flat_map(|channel| {
        let most = channel.qos.queue_events as u64;
        let consumers = channel.consumers.iter();
        consumers.map(move |consumer| LongQueue { channel, consumer: *consumer, most })
    });
    let least = |most: u64| if durable { most + 1 } else { most.div_ceil(2) };
    let long = queues.filter(|queue| queue.consumer.queued >= least(queue.most));
    long.max_by_key(|queue| queue.consumer.queued)
}
