//! Connections that clients opened to this process and offered for requests the other way
//! (bidirectional GIOP, CORBA 3.3 P2 §9.8): which one leads to which place.
//!
//! The ORB says which places a client may claim; what is here is one table of them, and each pool
//! of such a place knows its connection. A connection that has closed is as if it were not there:
//! its places are taken out once a second.

use super::{Opens, Pool, Pools};
use crate::connection::Connection;
use corbie_transport::{Endpoint, SSLIOP};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::net::IpAddr;
use std::sync::{Arc, Weak};

/// Where an end of a connection says that it listens: over TCP, or over TLS.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Place {
    host: String,
    port: u16,
    is_encrypted: bool,
}

/// The connections by the places that their clients claimed.
pub(super) type Backs<U> = HashMap<Place, Weak<Connection<U>>>;

impl Place {
    /// The place of this host and port, whichever way they are written.
    pub fn new(host: &str, port: u16, is_encrypted: bool) -> Self {
        let host = match host.parse::<IpAddr>() {
            Ok(address) => address.to_canonical().to_string(),
            Err(_) => host.to_ascii_lowercase(),
        };
        Place { host, port, is_encrypted }
    }

    /// The place of an endpoint; `None` where connections go one way only.
    pub fn of(endpoint: &Endpoint) -> Option<Self> {
        match endpoint {
            Endpoint::Tcp { host, port } | Endpoint::TcpWithin { host, port, .. } => {
                Some(Place::new(host, *port, false))
            }
            Endpoint::Plugged(plugged) if plugged.transport().scheme() == SSLIOP => {
                let (host, port) = plugged.address().rsplit_once(':')?;
                Some(Place::new(host.trim_matches(['[', ']']), port.parse().ok()?, true))
            }
            _ => None,
        }
    }

    /// The host: a number in its usual form, or a name in small letters.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The port.
    pub fn port(&self) -> u16 {
        self.port
    }
}

impl<U: Opens> Pools<U> {
    /// From now on, calls to `place` go over `connection`, unless another one that is open leads
    /// there, and may not be replaced; whether they do.
    pub fn go_back(
        &self,
        place: &Place,
        connection: &Arc<Connection<U>>,
        may_replace: impl FnOnce(&Connection<U>) -> bool,
    ) -> bool {
        let mut pools = self.lock();
        if pools.closed {
            return false;
        }
        match pools.backs.entry(place.clone()) {
            Entry::Vacant(free) => {
                free.insert(Arc::downgrade(connection));
            }
            Entry::Occupied(mut taken) => {
                let open = taken.get().upgrade().filter(|other| other.is_open());
                if let Some(other) = open
                    && !Arc::ptr_eq(&other, connection)
                    && !may_replace(&other)
                {
                    return false;
                }
                taken.insert(Arc::downgrade(connection));
            }
        }
        let is_there = |pool: &&Arc<Pool<U>>| pool.takes_back(place);
        pools.by_endpoint.values().filter(is_there).for_each(|pool| pool.set_back(connection));
        true
    }

    /// The connection over which calls to `place` go back, if one is open.
    pub fn back(&self, place: &Place) -> Option<Arc<Connection<U>>> {
        let back = self.lock().backs.get(place)?.upgrade();
        back.filter(|connection| connection.is_open())
    }

    /// From now on this ORB offers its connections: those that calls share are opened so.
    pub fn offer(&self) {
        let mut pools = self.lock();
        if !std::mem::replace(&mut pools.offers, true) {
            pools.by_endpoint.values().for_each(|pool| pool.offer());
        }
    }
}

impl<U: Opens> Pool<U> {
    /// Whether its calls may go over a connection that leads back to `place`.
    fn takes_back(&self, place: &Place) -> bool {
        self.protocol == corbie_giop::Protocol::Giop
            && Place::of(&self.endpoint).is_some_and(|own| own == *place)
    }

    pub(super) fn set_back(&self, connection: &Arc<Connection<U>>) {
        self.lock_shared().back = Some(Arc::downgrade(connection));
        self.note_shared_use();
    }

    /// Its connection that calls share is offered, once one is opened.
    pub(super) fn offer(&self) {
        if self.protocol == corbie_giop::Protocol::Giop && Place::of(&self.endpoint).is_some() {
            self.lock_shared().is_offered = true;
            self.note_shared_use();
        }
    }

    /// The open connection that leads back to its place.
    pub(super) fn back(&self) -> Option<Arc<Connection<U>>> {
        self.lock_shared().open_back()
    }

    /// Whether each synchronous call goes over a connection that is shared with what comes from the
    /// other end.
    pub fn is_bidirectional(&self) -> bool {
        let shared = self.lock_shared();
        shared.is_offered || shared.open_back().is_some()
    }
}
