//! What an ORB does once a second: counts its coarse clock on and closes what was
//! unused too long; now and then it has unused buffers freed. Between, peers that take nothing of
//! what waits for them are cut when their time is over.
//!
//! One thread, started with the first connection or the first listener; it ends with the ORB. The
//! call path reads the coarse clock instead of the real one where seconds are good enough.

use crate::{Orb, memory, server};
use corbie_cdr::buffers;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// The length of a tick.
pub(crate) const TICK: Duration = Duration::from_secs(1);

/// Starts the thread unless it runs already.
pub(crate) fn ensure_running(orb: &Orb) {
    if orb.housekeeping().started.swap(true, Ordering::AcqRel) {
        return;
    }
    let thread = std::thread::Builder::new().name("corbie-housekeeping".to_owned());
    let weak = orb.downgrade();
    let started = thread.spawn(move || {
        let mut scratch = Vec::with_capacity(8);
        while let Some(orb) = Orb::upgrade(&weak) {
            if !server::cut_those_that_take_nothing(&orb, Instant::now() + TICK) {
                return;
            }
            let tick = orb.housekeeping().ticks.fetch_add(1, Ordering::Relaxed) + 1;
            let settings = orb.settings();
            memory::trim_now_and_then(settings, tick);
            orb.connections().purge(settings.client_idle_timeout, settings.client_connections_max);
            orb.connections().expire(&orb, &mut scratch);
            server::close_silent(&orb);
            orb.transports().iter().for_each(|transport| transport.on_tick());
            // Resting connections gave their buffers back here, where no call needs them.
            buffers::leave_to_others();
        }
    });
    if let Err(error) = started {
        tracing::warn!(%error, "no thread for housekeeping: unused connections stay open");
        orb.housekeeping().started.store(false, Ordering::Release);
    }
}
