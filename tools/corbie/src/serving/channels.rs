//! What servers of channels have in common for those who watch them: the event server and the
//! real-time one. Metrics and the watch of queues look at nothing else.

use std::sync::Arc;

use corbie_event::{ChannelQos, EventServer, ServerStatistics};
use corbie_rtevent::RtEventServer;

/// A server of channels.
pub(crate) trait ChannelServer: Send + Sync {
    /// Its channels as they are now, by name.
    fn looks(&self) -> Vec<Look>;

    /// What they hold together.
    fn totals(&self) -> ServerStatistics;
}

/// A channel at one moment.
pub(crate) struct Look {
    pub(crate) name: String,
    /// The limits of the queue of each consumer.
    pub(crate) qos: ChannelQos,
    pub(crate) received: u64,
    pub(crate) suppliers: u64,
    /// Octets of the log of a durable channel.
    pub(crate) log_octets: u64,
    pub(crate) consumers: Vec<Consumer>,
}

/// A consumer at one moment.
#[derive(Clone, Copy)]
pub(crate) struct Consumer {
    pub(crate) id: u64,
    pub(crate) queued: u64,
    pub(crate) delivered: u64,
    pub(crate) dropped: u64,
    pub(crate) failed: u64,
}

impl ChannelServer for EventServer {
    fn looks(&self) -> Vec<Look> {
        let look = |channel: &Arc<corbie_event::Channel>| {
            let s = channel.statistics();
            let consumers = s.consumers.iter().map(|c| Consumer {
                id: c.id,
                queued: c.queued,
                delivered: c.delivered,
                dropped: c.dropped,
                failed: c.failed,
            });
            Look {
                name: channel.name().to_owned(),
                qos: channel.qos().clone(),
                received: s.received,
                suppliers: s.suppliers.into(),
                log_octets: s.kept_octets,
                consumers: consumers.collect(),
            }
        };
        self.channels().iter().map(look).collect()
    }

    fn totals(&self) -> ServerStatistics {
        self.statistics()
    }
}

impl ChannelServer for RtEventServer {
    fn looks(&self) -> Vec<Look> {
        let look = |channel: &Arc<corbie_rtevent::Channel>| {
            let s = channel.statistics();
            let consumers = s.consumers.iter().map(|c| Consumer {
                id: c.id,
                queued: c.queued,
                delivered: c.delivered,
                dropped: c.dropped,
                failed: c.failed,
            });
            Look {
                name: channel.name().to_owned(),
                qos: channel.configuration().queue.clone(),
                received: s.received,
                suppliers: s.suppliers.into(),
                log_octets: 0,
                consumers: consumers.collect(),
            }
        };
        self.channels().iter().map(look).collect()
    }

    fn totals(&self) -> ServerStatistics {
        self.statistics()
    }
}
