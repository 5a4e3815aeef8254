//! The end of a server of channels: what suppliers were told is taken goes to its consumers first,
//! as far as they take it; durable channels are there again when the server is started again.

use super::ChannelRegistry;
use crate::server::EVENT_CHANNEL_FACTORY;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

/// How long a server that ends waits for answers to what it has pushed.
const FAREWELL: Duration = Duration::from_secs(5);

/// How often the wait for queues to be empty looks again.
const LOOK_AGAIN: Duration = Duration::from_millis(2);

impl ChannelRegistry {
    /// Takes no more events and requests, and waits until consumers that are pushed to, and that
    /// take what they get, have what waits for them: at most for `grace`.
    pub(in crate::server) fn drain(&self, grace: Duration) {
        let deadline = Instant::now() + grace;
        // Callers are to try again elsewhere, or later. It fails when the ORB was shut down.
        let _ = self.poa.the_poa_manager().discard_requests(true);
        if let Some(kept) = &self.kept {
            let _ = kept.poa.the_poa_manager().discard_requests(true);
        }
        let lasts = self.all().into_iter().filter(|channel| channel.journal().is_none());
        let mut open: Vec<_> = lasts.collect();
        open.iter().for_each(|channel| channel.stop_suppliers());
        loop {
            open.retain(|channel| channel.is_delivering());
            if open.is_empty() {
                return;
            }
            if Instant::now() >= deadline {
                break;
            }
            thread::sleep(LOOK_AGAIN);
        }
        for channel in open {
            let name = channel.name();
            tracing::warn!(channel = name, "events are lost: consumers did not take them in time");
        }
    }

    /// Ends all: durable channels until they are served again, the others for good.
    pub(in crate::server) fn close(&self) {
        self.orb.unbind_object_key(EVENT_CHANNEL_FACTORY);
        if let Some(kept) = &self.kept {
            // Callers are to try again. It fails when the ORB was shut down.
            let _ = kept.poa.the_poa_manager().discard_requests(false);
            self.stop_durable();
            kept.store.close();
        }
        let channels = std::mem::take(&mut *self.channels());
        for found in channels.into_values() {
            match found.channel.journal() {
                Some(_) => found.channel.suspend(),
                None => {
                    found.channel.destroy();
                }
            }
        }
        self.workers().close();
        // It fails when the ORB was shut down, and the POA with it.
        let _ = self.poa.destroy(true, false);
        if let Some(kept) = &self.kept {
            let _ = kept.poa.destroy(true, false);
        }
    }

    /// Has durable channels send nothing more, and waits for the answers to what was sent, so that
    /// it is known how far consumers are.
    fn stop_durable(&self) {
        let (under_way, answered) = mpsc::channel();
        let durable = self.all().into_iter().filter(|channel| channel.journal().is_some());
        durable.for_each(|channel| channel.stop(&under_way));
        drop(under_way);
        if answered.recv_timeout(FAREWELL) == Err(RecvTimeoutError::Timeout) {
            tracing::warn!("consumers did not answer in time: they get their last events again");
        }
    }
}
