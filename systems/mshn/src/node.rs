//! A component as part of a system: made, activated as an object, announced in the naming service.
//!
//! `corbie mshn serve` is one of these in a process of its own; tests have several in one.

pub use crate::error::NodeError;

use crate::address::Address;
use crate::advisor::{Advisor, AdvisorOptions};
use crate::daemon::{Daemon, DaemonComponent, DaemonOptions};
use crate::mechanism::{EventOptions, MechanismName};
use crate::messages::{Component, Role};
use crate::peers::Peers;
use crate::requirements::{RequirementDatabase, RequirementProxy};
use crate::status_server::{StatusOptions, StatusProxy, StatusServer};
use corbie::Orb;
use corbie_naming::Naming;
use corbie_store::StoreFailure;
use std::fmt;
use std::path::Path;
use std::sync::{Arc, OnceLock};

/// Which component, and how it works.
#[derive(Clone, Debug)]
pub enum Kind {
    /// A Scheduling Advisor.
    Advisor(AdvisorOptions),
    /// A Resource Status Server.
    StatusServer(StatusOptions),
    /// A proxy of it, in front of the component of that name, or of all.
    StatusProxy(Option<String>),
    /// A Resource Requirement Database.
    RequirementDatabase,
    /// A proxy of it, in front of the component of that name, or of any.
    RequirementProxy(Option<String>),
    /// The daemon of a machine.
    Daemon(DaemonOptions),
}

impl Kind {
    /// Where others look for it.
    #[must_use]
    pub fn role(&self) -> Role {
        match self {
            Kind::Advisor(_) => Role::Advisor,
            Kind::StatusServer(_) | Kind::StatusProxy(_) => Role::StatusServer,
            Kind::RequirementDatabase | Kind::RequirementProxy(_) => Role::RequirementDatabase,
            Kind::Daemon(_) => Role::Daemon,
        }
    }

    /// Under which name others find it.
    fn address(&self, name: &str) -> Address {
        match self {
            Kind::StatusProxy(_) | Kind::RequirementProxy(_) => Address::proxy(self.role(), name),
            _ => Address::named(self.role(), name),
        }
    }

    /// The component. `store` is where it keeps what must outlive it; none: in memory.
    ///
    /// # Errors
    /// [`NodeError::Store`].
    pub fn component(
        &self,
        store: Option<&Path>,
        peers: &Peers,
    ) -> Result<Arc<dyn Component>, NodeError> {
        let failed = |why: StoreFailure| NodeError::Store {
            path: store.unwrap_or(Path::new("in memory")).to_owned(),
            why,
        };
        let (peers, role) = (peers.clone(), self.role());
        Ok(match self {
            Kind::Advisor(options) => {
                Arc::new(Advisor::new(options.clone(), store, peers).map_err(failed)?)
            }
            Kind::StatusServer(options) => {
                Arc::new(StatusServing(StatusServer::new(options.clone(), Some(peers))))
            }
            Kind::StatusProxy(upstream) => {
                let upstream = upstream.as_ref().map(|name| Address::named(role, name));
                Arc::new(StatusProxy::new(peers, upstream))
            }
            Kind::RequirementDatabase => {
                let opened = match store {
                    Some(path) => RequirementDatabase::open(path),
                    None => RequirementDatabase::in_memory(),
                };
                let database = opened.map_err(failed)?;
                database.exchange(peers);
                Arc::new(database)
            }
            Kind::RequirementProxy(upstream) => {
                let named = upstream.as_ref().map(|name| Address::named(role, name));
                let upstream = named.unwrap_or_else(|| Address::any(role));
                Arc::new(RequirementProxy::new(peers, upstream))
            }
            Kind::Daemon(options) => Arc::new(DaemonComponent(Daemon::new(options.clone(), peers))),
        })
    }
}

/// A status server, which its own thread knows too, as a component.
struct StatusServing(Arc<StatusServer>);

impl Component for StatusServing {
    fn serve(&self, request: crate::messages::Request, done: crate::messages::Done) {
        self.0.serve(request, done);
    }
}

/// The other components, found in `naming` and called by `mechanism` from `orb`.
#[must_use]
pub fn peers(orb: &Orb, naming: Naming, mechanism: MechanismName) -> Peers {
    peers_with(orb, naming, mechanism, EventOptions::default())
}

/// The same with other options for events.
#[must_use]
pub fn peers_with(
    orb: &Orb,
    naming: Naming,
    mechanism: MechanismName,
    options: EventOptions,
) -> Peers {
    let mechanism = mechanism.mechanism(orb, &naming, options);
    Peers::new(naming, mechanism)
}

/// A component that is served.
#[derive(Clone)]
pub struct Joined {
    failure: Arc<OnceLock<String>>,
    /// Components of [`Peers::local`] have no other owner.
    _component: Arc<dyn Component>,
}

impl fmt::Debug for Joined {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Joined").field("failure", &self.failure).finish_non_exhaustive()
    }
}

impl Joined {
    /// Why the component could not go on, if that is why its ORB ended.
    #[must_use]
    pub fn failure(&self) -> Option<&str> {
        self.failure.get().map(String::as_str)
    }
}

/// Makes a component and serves it in `orb` under `name`; it is served as long as the ORB runs.
/// When it cannot go on, the ORB is shut down, so that `Orb::run` returns: the component is to be
/// made again, with its store.
///
/// # Errors
/// [`NodeError`].
pub fn join(
    orb: &Orb,
    peers: &Peers,
    kind: &Kind,
    name: &str,
    store: Option<&Path>,
) -> Result<Joined, NodeError> {
    let component = kind.component(store, peers)?;
    let joined = Joined { failure: Arc::default(), _component: Arc::clone(&component) };
    let (failure, ends) = (Arc::clone(&joined.failure), orb.clone());
    component.on_failure(Box::new(move |why| {
        // It is set once: a component fails once.
        let _ = failure.set(why.to_owned());
        ends.shutdown(false);
    }));
    peers.serve(orb, &kind.address(name), &component)?;
    Ok(joined)
}
