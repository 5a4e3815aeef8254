//! What all channels of a server share: its limits, its threads, and what they hold together.
//!
//! Made by `server::registry`; each channel has it.

use crate::budget::Budget;
use crate::qos::Limits;
use crate::tally::Tally;
use crate::waiters::Waiters;
use crate::workers::Workers;
use corbie::{CompletionStatus, SystemException, minor};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// What the channels of a server hold together, and what they were refused since it was started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServerStatistics {
    /// What waits in the queues of all consumers counts as so many octets
    /// ([`Limits::queues_octets`]).
    pub queued_octets: u64,
    /// How often a queue was refused room although it was within the limits of its channel.
    pub refused_events: u64,
    /// Pulls that wait for events.
    pub waiting_pulls: u64,
    /// How often a pull was not allowed to wait, since its peer had too many.
    pub refused_pulls: u64,
    /// Proxies, connected or not.
    pub proxies: u64,
    /// How often a proxy was refused since there were too many.
    pub refused_proxies: u64,
}

/// Shared by all channels of a server.
pub(crate) struct Resources {
    pub(crate) limits: Limits,
    pub(crate) workers: Arc<Workers>,
    /// What waits in the queues of all consumers.
    pub(crate) queues: Arc<Budget>,
    /// Pulls that wait.
    pub(crate) waiters: Arc<Waiters>,
    /// Threads that give events.
    pub(crate) threads: Tally,
    /// Time-outs in a second.
    pub(crate) time_outs: Tally,
    proxies: AtomicUsize,
    refused_proxies: AtomicU64,
}

/// Kept by each proxy while it is there.
pub(crate) struct ProxyRoom(Arc<Resources>);

impl Resources {
    pub(crate) fn new(limits: Limits) -> Arc<Self> {
        Arc::new(Self {
            workers: Workers::new(limits.workers),
            queues: Budget::new(limits.queues_octets),
            waiters: Waiters::new(limits.waiting_clients, limits.waiting_pulls_of_server),
            threads: Tally::new(limits.threads),
            time_outs: Tally::new(limits.time_outs),
            limits,
            proxies: AtomicUsize::new(0),
            refused_proxies: AtomicU64::new(0),
        })
    }

    pub(crate) fn statistics(&self) -> ServerStatistics {
        let (waiting_pulls, refused_pulls) = self.waiters.counts();
        ServerStatistics {
            waiting_pulls,
            refused_pulls,
            queued_octets: self.queues.used() as u64,
            refused_events: self.queues.refusals(),
            proxies: self.proxies.load(Ordering::Relaxed) as u64,
            refused_proxies: self.refused_proxies.load(Ordering::Relaxed),
        }
    }

    /// Room for one more proxy.
    ///
    /// # Errors
    /// `IMP_LIMIT` (`COMPLETED_NO`).
    pub(crate) fn room_for_proxy(self: &Arc<Self>) -> Result<ProxyRoom, SystemException> {
        let room = self.room_for_kept_proxy();
        let most = self.limits.proxies_of_server;
        if self.proxies.load(Ordering::Relaxed) <= most {
            return Ok(room);
        }
        self.refused_proxies.fetch_add(1, Ordering::Relaxed);
        let setting = "proxies_of_server";
        tracing::warn!(most, setting, "a proxy was refused: the channels have too many");
        let text = format!("the channels of this server have {most} proxies; no more may be");
        Err(SystemException::imp_limit(minor::IMP_LIMIT_NAMES, CompletionStatus::No)
            .with_detail(text))
    }

    /// Room for a proxy that was there before the server was started.
    pub(crate) fn room_for_kept_proxy(self: &Arc<Self>) -> ProxyRoom {
        self.proxies.fetch_add(1, Ordering::Relaxed);
        ProxyRoom(Arc::clone(self))
    }
}

impl Drop for ProxyRoom {
    fn drop(&mut self) {
        self.0.proxies.fetch_sub(1, Ordering::Relaxed);
    }
}
