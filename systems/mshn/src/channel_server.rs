//! The event servers of a system: where the channels are through which components talk when they
//! talk by events (paper MSHN §3.2, §4.3: one, or several).
//!
//! `corbie mshn serve events` is one. It ends channels whose makers are gone: a caller that was
//! killed does not come back to its channel.

use crate::idl::events::{Content, Envelope, Header};
use crate::mechanism::CHANNEL_SERVERS;
use crate::node::NodeError;
use corbie::{Any, Orb, SystemException};
use corbie_event::{Event, EventServer, Limits, Ticket};
use corbie_naming::Naming;
use std::collections::HashSet;
use std::sync::{Arc, Weak};
use std::time::Duration;

/// Between two looks whether somebody listens to a channel.
const SWEEP_EVERY: Duration = Duration::from_secs(5);

/// Channels of a server: one for each component and each caller.
const CHANNELS_MAX: usize = 10_000;

/// A server of the system's channels; they end when it is dropped.
#[derive(Debug)]
pub struct ChannelServer {
    _server: Arc<EventServer>,
}

/// Serves channels in `orb`, announced under `name`.
///
/// # Errors
/// [`NodeError`].
pub fn serve(orb: &Orb, naming: &Naming, name: &str) -> Result<ChannelServer, NodeError> {
    let limits = Limits { channels: CHANNELS_MAX, ..Limits::default() };
    let server = Arc::new(EventServer::start(orb, limits)?);
    orb.root_poa()?.the_poa_manager().activate().map_err(SystemException::from)?;
    naming.make_contexts(CHANNEL_SERVERS)?;
    naming.rebind(&format!("{CHANNEL_SERVERS}/{name}"), server.factory().as_object())?;
    let swept = Arc::downgrade(&server);
    std::thread::spawn(move || sweep(&swept));
    Ok(ChannelServer { _server: server })
}

/// Pushes a probe into every channel: a consumer that is gone is noticed by it and disconnected,
/// and a channel that has had no consumer for two rounds is ended.
fn sweep(server: &Weak<EventServer>) {
    let mut deserted: HashSet<String> = HashSet::new();
    let probe = Envelope { head: Header::default(), what: Content::IsProbed(true) };
    loop {
        std::thread::sleep(SWEEP_EVERY);
        let Some(server) = server.upgrade() else { return };
        let Ok(probe) = Any::from_value::<Envelope>(&probe) else { return };
        let Ok(names) = server.factory().list() else { continue };
        let mut deserted_now = HashSet::new();
        for name in names {
            let Some(channel) = server.channel(&name) else { continue };
            if !channel.statistics().consumers.is_empty() {
                if let Ok(event) = Event::of_any(&probe) {
                    channel.publish(&Arc::new(event), &Arc::new(Ticket::default()));
                }
            } else if deserted.contains(&name) {
                tracing::info!(name, "a channel that nobody listens to is ended");
                if let Ok(Some(reference)) = server.factory().find(&name) {
                    // An error means that somebody else was faster.
                    let _ = reference.destroy();
                }
            } else {
                deserted_now.insert(name);
            }
        }
        deserted = deserted_now;
    }
}
