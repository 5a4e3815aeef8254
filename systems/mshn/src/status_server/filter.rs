//! The proxy of the status server: passes a report on when it differs from the last one that it
//! passed on, or when that one is old; all else goes through (paper MSHN §2: "filter gathered
//! information and update … when necessary").

use crate::address::Address;
use crate::idl::MachineStatus;
use crate::messages::{Component, Done, Request, Role, accepted};
use crate::peers::Peers;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// A report at least so often, so that the machine is not taken for dead.
const AT_LEAST_EVERY: Duration = Duration::from_secs(2);

/// See the module.
pub struct StatusProxy {
    peers: Peers,
    /// None: all status servers.
    upstream: Option<Address>,
    /// Lock "proxy": not held in calls.
    passed: Mutex<HashMap<String, (Instant, MachineStatus)>>,
    received: AtomicU64,
    forwarded: AtomicU64,
}

impl StatusProxy {
    /// A proxy in front of `upstream`, or of all status servers.
    #[must_use]
    pub fn new(peers: Peers, upstream: Option<Address>) -> Self {
        let (received, forwarded) = (AtomicU64::new(0), AtomicU64::new(0));
        Self { peers, upstream, passed: Mutex::default(), received, forwarded }
    }

    /// How many reports came and how many were passed on.
    #[must_use]
    pub fn counts(&self) -> (u64, u64) {
        (self.received.load(Ordering::Relaxed), self.forwarded.load(Ordering::Relaxed))
    }

    fn is_news(&self, status: &MachineStatus) -> bool {
        let mut passed = self.passed.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        let is_news = passed
            .get(&status.machine)
            .is_none_or(|(at, last)| now - *at >= AT_LEAST_EVERY || differs(last, status));
        if is_news {
            passed.retain(|_, (at, _)| now - *at < super::FORGOTTEN_AFTER);
            passed.insert(status.machine.clone(), (now, status.clone()));
        }
        is_news
    }
}

/// Whether a schedule might be another one.
fn differs(last: &MachineStatus, now: &MachineStatus) -> bool {
    let memory = last.memory_free_kib.abs_diff(now.memory_free_kib);
    last.processors != now.processors
        || last.running != now.running
        || (last.load - now.load).abs() > 0.25
        || (last.idle - now.idle).abs() > 0.1
        || memory > last.memory_free_kib / 10
}

impl Component for StatusProxy {
    fn serve(&self, request: Request, done: Done) {
        if let Request::Report(status) = &request {
            self.received.fetch_add(1, Ordering::Relaxed);
            if !self.is_news(status) {
                return done(Ok(accepted().into()));
            }
            self.forwarded.fetch_add(1, Ordering::Relaxed);
        }
        match (&self.upstream, &request) {
            (Some(upstream), _) => self.peers.start(upstream, request, done),
            (None, Request::Status(_)) => {
                self.peers.start(&Address::any(Role::StatusServer), request, done);
            }
            (None, _) => {
                self.peers.tell_all(Role::StatusServer, &request);
                done(Ok(accepted().into()));
            }
        }
    }
}
