//! Connections that clients opened to this process and offered for requests the other way
//! (bidirectional GIOP, CORBA 3.3 P2 §9.8): which one leads to which place.
//!
//! The ORB says which places a client may claim; what is here is one table of them, and each pool
//! of such a place knows its connection. A connection that has closed is as if it were not there:
//! its places are taken out once a second.

use super::{Opens, Pool, Pools, Table};
use crate::connection::Connection;
use corbie_transport::{Endpoint, SSLIOP};
use std::collections::HashMap;
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
pub(super) type Backs<U> = HashMap<Place, Ways<U>>;

/// Those of one place, the newest last.
pub(super) struct Ways<U: Opens>(Vec<Weak<Connection<U>>>);

/// So many of one place are remembered.
const WAYS_MAX: usize = 8;

impl<U: Opens> Default for Ways<U> {
    fn default() -> Self {
        Ways(Vec::new())
    }
}

impl<U: Opens> Clone for Ways<U> {
    fn clone(&self) -> Self {
        Ways(self.0.clone())
    }
}

impl<U: Opens> Ways<U> {
    /// The newest that is open.
    pub(super) fn open(&self) -> Option<Arc<Connection<U>>> {
        self.0.iter().rev().filter_map(Weak::upgrade).find(|back| back.is_open())
    }

    /// Also this one.
    fn add(&mut self, connection: &Arc<Connection<U>>) {
        let is_open = |back: &Weak<Connection<U>>| back.upgrade().is_some_and(|b| b.is_open());
        self.0
            .retain(|back| is_open(back) && !std::ptr::eq(back.as_ptr(), Arc::as_ptr(connection)));
        if self.0.len() >= WAYS_MAX {
            self.0.remove(0);
        }
        self.0.push(Arc::downgrade(connection));
    }
}

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
        let is_taken = pools.backs.get(place).and_then(Ways::open);
        if is_taken.is_some_and(|other| !Arc::ptr_eq(&other, connection) && !may_replace(&other)) {
            return false;
        }
        let Table { by_endpoint, backs, .. } = &mut *pools;
        let of_place: Vec<_> = by_endpoint.values().filter(|pool| pool.takes_back(place)).collect();
        // A place that this process reaches itself stays what it is.
        if of_place.iter().any(|pool| pool.is_connected()) {
            return false;
        }
        backs.entry(place.clone()).or_default().add(connection);
        of_place.iter().for_each(|pool| pool.set_back(connection));
        true
    }

    /// The connection over which calls to `place` go back, if one is open.
    pub fn back(&self, place: &Place) -> Option<Arc<Connection<U>>> {
        self.lock().backs.get(place)?.open()
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

    /// Calls to its place go over a connection that leads back, or not at all.
    pub fn expect_back(&self) {
        self.lock_shared().is_offered = true;
        self.note_shared_use();
    }

    /// A new pool of a place to which connections lead back already.
    pub(super) fn set_ways(&self, ways: &Ways<U>) {
        self.lock_shared().back.clone_from(ways);
        self.note_shared_use();
    }

    pub(super) fn set_back(&self, connection: &Arc<Connection<U>>) {
        self.lock_shared().back.add(connection);
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
