//! The event servers of a system: where the channels are through which components talk when they
//! talk by events (paper MSHN §3.2, §4.3: one, or several).
//!
//! `corbie mshn serve events` is one. It ends channels whose makers are gone: a caller that was
//! killed does not come back to its channel.

use crate::error::NodeError;
use crate::mechanism::CHANNEL_SERVERS;
use crate::messages::event_descriptions;
use corbie::{Orb, SystemException};
use corbie_event::corbie_events::EventChannelFactory;
use corbie_event::{EventServer, Limits};
use corbie_naming::Naming;
use std::collections::HashSet;
use std::sync::{Arc, Weak};
use std::time::Duration;

/// Between two looks whether a component listens to a channel.
const SWEEP_EVERY: Duration = Duration::from_secs(5);

/// A consumer that took nothing for so long is asked whether it is there.
const ASKED_AFTER: Duration = Duration::from_secs(15);

/// Channels of a server: one for each component and each caller.
const CHANNELS_MAX: usize = 10_000;

/// A server of the system's channels; they end when it is dropped.
#[derive(Debug)]
pub struct ChannelServer {
    server: Arc<EventServer>,
}

impl ChannelServer {
    /// Ends in peace, as [`EventServer::drain`] does.
    pub fn drain(&self, grace: Duration) {
        self.server.drain(grace);
    }
}

/// Serves channels in `orb`, announced under `name`.
///
/// # Errors
/// [`NodeError`].
pub fn serve(orb: &Orb, naming: &Naming, name: &str) -> Result<ChannelServer, NodeError> {
    let limits = Limits { channels: CHANNELS_MAX, idle_limit: ASKED_AFTER, ..Limits::default() };
    let server = Arc::new(EventServer::start(orb, limits)?);
    event_descriptions().into_iter().for_each(|known| server.interfaces().add(known));
    orb.root_poa()?.the_poa_manager().activate().map_err(SystemException::from)?;
    naming.make_contexts(CHANNEL_SERVERS)?;
    naming.rebind(&format!("{CHANNEL_SERVERS}/{name}"), server.factory().as_object())?;
    let swept = Arc::downgrade(&server);
    std::thread::spawn(move || sweep(&swept));
    Ok(ChannelServer { server })
}

/// Ends channels that had no consumer for two rounds: those that are gone are disconnected by the
/// server, and no other process comes to the channel of one.
fn sweep(server: &Weak<EventServer>) {
    let mut deserted: HashSet<String> = HashSet::new();
    loop {
        std::thread::sleep(SWEEP_EVERY);
        let Some(server) = server.upgrade() else { return };
        let Ok(names) = server.factory().list() else { continue };
        let is_deserted = |name: &String| {
            let channel = server.channel(name);
            channel.is_some_and(|channel| channel.statistics().consumers.is_empty())
        };
        let now: HashSet<String> = names.into_iter().filter(is_deserted).collect();
        for name in now.intersection(&deserted) {
            tracing::info!(name, "a channel without listeners is ended");
            end(server.factory(), name);
        }
        deserted = now;
    }
}

/// An error means that another process was faster.
fn end(factory: &EventChannelFactory, name: &str) {
    if let Ok(Some(channel)) = factory.find(name) {
        let _ = channel.destroy();
    } else if let Ok(Some(channel)) = factory.find_typed(name) {
        let _ = channel.destroy();
    }
}
