//! Requests that found no component and wait to be made again, all by one thread: many may have
//! been under way when a component went. Used by `peers.rs`.

use super::{Address, PAUSE, Peers};
use crate::messages::{Done, Request};
use std::sync::OnceLock;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Instant;

/// A request on its way.
pub(super) struct Again {
    pub(super) peers: Peers,
    pub(super) to: Address,
    pub(super) request: Request,
    pub(super) done: Done,
    /// Until when it is tried.
    pub(super) ends: Instant,
    /// Whether an earlier attempt may have been carried out.
    pub(super) maybe_done: bool,
}

/// Those that wait. The thread is started by the first, and ends when this is dropped.
#[derive(Default)]
pub(super) struct Retries {
    sender: OnceLock<Sender<(Instant, Again)>>,
}

impl Retries {
    pub(super) fn put(&self, work: Again) {
        let sender = self.sender.get_or_init(|| {
            let (sender, receiver) = channel();
            std::thread::spawn(move || make(&receiver));
            sender
        });
        // The thread takes as long as this is there.
        let _ = sender.send((Instant::now() + PAUSE, work));
    }
}

fn make(waiting: &Receiver<(Instant, Again)>) {
    // All wait for the same time: the first is the next.
    for (at, work) in waiting {
        let left = at.saturating_duration_since(Instant::now());
        if !left.is_zero() {
            std::thread::sleep(left);
        }
        let peers = work.peers.clone();
        peers.attempt(work);
    }
}
