//! The ORB: settings, connections, servers and names of one application (CORBA 3.3 P1 §8.2).
//!
//! How it is made, starts to serve and shuts down; the data is in `handles`. Called by the façade's
//! `Orb::init` and `Orb::builder`, by the object adapter and by applications.

mod access;
mod certificates;
mod event_loop;
mod peer;
mod publish;
#[cfg(feature = "signals")]
mod signals;
mod statistics;
mod users;

use crate::handles::Part;
use crate::server::{self, Adapter};
use crate::{Object, Orb, housekeeping, memory};
use corbie_giop::{MessageProtocol, Plugged};
use corbie_settings::Settings;
use corbie_threads::thread::{self, Sleeper};
use corbie_transport::{Endpoint, Registry, Transport};
use corbie_types::{SystemException, minor};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

#[cfg(feature = "signals")]
pub use signals::UntilSignal;
pub use statistics::{Statistics, Used};

impl Orb {
    /// An ORB with these settings. Nothing is connected or listened on yet.
    pub fn new(settings: Settings) -> Self {
        made(settings, Registry::default(), Vec::new())
    }

    /// An ORB with these settings, which also speaks over `transports`, and these message
    /// protocols.
    ///
    /// # Errors
    /// `BAD_PARAM` (`COMPLETED_NO`) when the scheme or the profile tag of a transport is taken, the
    /// name of a message protocol is taken or cannot be used, or an endpoint is of one that is not
    /// among them or has an address of another form; what [`Orb::reload_access`] says.
    pub fn with_plugins(
        settings: Settings,
        transports: impl IntoIterator<Item = Arc<dyn Transport>>,
        protocols: impl IntoIterator<Item = &'static dyn MessageProtocol>,
    ) -> Result<Self, SystemException> {
        let refuse = |why: String| minor::BAD_PARAM_TRANSPORT.no(why);
        let mut registry = Registry::new();
        transports.into_iter().try_for_each(|one| registry.add(one)).map_err(refuse)?;
        let protocols = protocols.into_iter().map(Plugged::register);
        let protocols = protocols.collect::<Result<Vec<_>, _>>().map_err(refuse)?;
        let names: Vec<_> = protocols.iter().map(|one| one.protocol().name()).collect();
        let is_twice = |at: &usize| names[..*at].contains(&names[*at]);
        if let Some(at) = (0..names.len()).find(is_twice) {
            return Err(refuse(format!("two message protocols have the name {:?}", names[at])));
        }
        settings.check_plugins(&registry, &names).map_err(refuse)?;
        let orb = made(settings, registry, protocols);
        orb.reload_access()?;
        orb.read_users()?;
        Ok(orb)
    }

    /// The part of this ORB that another crate brings along, made by the first call.
    ///
    /// # Panics
    /// When the ORB has a part of another type: there is one place.
    pub fn part<P: Part + Default>(&self) -> &P {
        self.extensions().part.get()
    }

    /// Stops serving and closes all connections. Requests that are in servants are finished, and
    /// answered; with `wait_for_completion` this returns after that (or after `request_timeout`).
    /// From inside a servant it never waits, as it would wait for itself; [`Orb::try_shutdown`]
    /// refuses that instead, as the specification has it.
    pub fn shutdown(&self, wait_for_completion: bool) {
        let patience = self.settings().request_timeout.unwrap_or(Duration::from_secs(3600));
        self.shut_down(wait_for_completion.then_some(patience));
    }

    /// As [`Orb::shutdown`], waiting for requests that are in servants, and for clients to take
    /// their answers, for `grace` at most.
    pub fn shutdown_within(&self, grace: Duration) {
        self.shut_down(Some(grace));
    }

    fn shut_down(&self, patience: Option<Duration>) {
        server::stop(self, patience.filter(|_| !is_inside()));
        self.connections().close();
        self.flusher().close();
        self.initial_references().lock().clear();
        self.later_calls().shut_down();
        self.extensions().part.shut_down();
        self.note_shut_down();
        self.close_event_loop();
    }

    /// As [`Orb::shutdown`], but for a thread that would wait for itself (CORBA 3.3 P1 §8.2.3.6).
    ///
    /// # Errors
    /// `BAD_INV_ORDER` with minor code 3 (`COMPLETED_NO`) when it is to wait and the calling thread
    /// serves a request; nothing was shut down then.
    pub fn try_shutdown(&self, wait_for_completion: bool) -> Result<(), SystemException> {
        if wait_for_completion && is_inside() {
            return Err(minor::BAD_INV_ORDER_WOULD_DEADLOCK.no(
                "the ORB cannot be shut down with wait_for_completion from inside a request: it \
                 would wait for this one; do not wait, or ask another thread to do it",
            ));
        }
        self.shutdown(wait_for_completion);
        Ok(())
    }

    /// Ends the ORB: shuts it down, waiting for what is under way, unless that was done. Memory
    /// goes with the last handle (CORBA 3.3 P1 §8.2.3.7).
    ///
    /// # Errors
    /// As [`Orb::try_shutdown`] when it would wait.
    pub fn destroy(&self) -> Result<(), SystemException> {
        self.try_shutdown(true)?;
        self.destroy_interceptors();
        Ok(())
    }

    /// What serves requests of this ORB; `None` before the first POA was made.
    pub fn adapter(&self) -> Option<Arc<dyn Adapter>> {
        self.server().adapter.get().cloned()
    }

    /// Gives requests to `adapter` from now on and starts listening. Called by the object adapter.
    ///
    /// # Errors
    /// `BAD_INV_ORDER` when there is an adapter already or the ORB was shut down, `INITIALIZE` when
    /// an endpoint cannot be listened on; both `COMPLETED_NO`.
    pub fn set_adapter(&self, adapter: Arc<dyn Adapter>) -> Result<(), SystemException> {
        if self.is_shut_down() {
            return Err(self.already_shut_down("making a POA"));
        }
        server::start(self, adapter)?;
        self.ensure_housekeeping();
        Ok(())
    }

    /// Everything that is listened on, of any protocol, as it was really taken.
    pub fn listen_endpoints(&self) -> Vec<Endpoint> {
        self.server().endpoints()
    }

    /// The TCP addresses listened on, with the ports that were really taken.
    pub fn listen_addresses(&self) -> Vec<SocketAddr> {
        self.server().addresses()
    }

    /// Makes `object` reachable by a plain name: `corbaloc::host:port/key`. Callers are sent on to
    /// it by `LOCATION_FORWARD`. A key that was bound before is bound anew.
    pub fn bind_object_key(&self, key: impl AsRef<[u8]>, object: &Object) {
        self.server().object_keys.bind(key.as_ref(), object.clone());
    }

    /// As [`Orb::bind_object_key`], where nothing is bound to the key; whether it is bound now.
    #[must_use]
    pub fn bind_new_object_key(&self, key: impl AsRef<[u8]>, object: &Object) -> bool {
        self.server().object_keys.bind_new(key.as_ref(), object.clone())
    }

    /// Takes a plain name back; whether it was bound.
    pub fn unbind_object_key(&self, key: impl AsRef<[u8]>) -> bool {
        self.server().object_keys.unbind(key.as_ref())
    }

    /// Sends all requests that are kept back to be sent with others, also those that a
    /// `BufferingConstraint` keeps. Does not wait for servers that take nothing.
    pub fn flush(&self) {
        self.connections().flush();
    }

    /// Sleeps until the ORB is shut down, or this is the main thread and has something to serve.
    fn wait_for_end(&self) {
        self.sleep_while(|| !self.has_main_thread_work());
    }

    /// Something waits for the main thread, that of `sleeper`.
    pub(crate) fn wake_main_thread(&self, sleeper: &Sleeper) {
        self.wake_sleepers();
        if let Some(reactor) = self.main_loop().made() {
            reactor.unblock(sleeper);
        }
    }
}

/// Whether the calling thread serves a request, of whichever ORB: waiting for upcalls to end may be
/// waiting for itself.
fn is_inside() -> bool {
    thread::is_serving() || corbie_upcall::is_inside_any(|_| true)
}

fn made(settings: Settings, transports: Registry, protocols: Vec<Plugged>) -> Orb {
    let settings = settings.with_what_they_imply();
    memory::set_limits(&settings);
    let has_spans = settings.request_spans;
    let orb = Orb::assemble(settings, transports, protocols, housekeeping::ensure_running);
    if has_spans {
        orb.server().want_spans();
    }
    orb
}
