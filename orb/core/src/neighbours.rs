//! The collocation table: which ORB of this process listens at an endpoint (paper POA §3.1, Figure
//! 13).
//!
//! One for the process, so that ORBs find each other's objects, whatever protocol their references
//! name. An ORB enters what it publishes when it begins to listen and is taken out when it shuts
//! down; references ask once (`collocation/locality`), and keep the answer in a [`Locality`].

use crate::Orb;
use crate::handles::{NEIGHBOURS, OrbInner};
use corbie_settings::CollocationScope;
use corbie_threads::lock::{RankedRw, rank};
use corbie_transport::Endpoint;
use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::atomic::Ordering;
use std::sync::{LazyLock, OnceLock, Weak};

/// Lock "collocation table".
static TABLE: LazyLock<RankedRw<rank::Leaf, HashMap<Endpoint, Vec<Entry>>>> =
    LazyLock::new(RankedRw::default);

/// An endpoint that an ORB publishes.
pub(crate) struct Listened {
    pub(crate) endpoint: Endpoint,
    /// The priority group whose ORBs may call without a connection; `None`: all.
    pub(crate) group: Option<u32>,
    /// The address was set, not listened on: other processes may be behind it as well.
    pub(crate) is_shared_address: bool,
}

#[derive(Clone)]
struct Entry {
    orb: Weak<OrbInner>,
    group: Option<u32>,
    is_shared_address: bool,
}

/// The ORB that listens at an endpoint.
pub(crate) struct Neighbour {
    pub(crate) orb: Orb,
    pub(crate) is_shared_address: bool,
}

/// `orb` listens at `endpoints` from now on.
pub(crate) fn enter(orb: &Orb, endpoints: Vec<Listened>) {
    if orb.settings().collocation == CollocationScope::None {
        return;
    }
    let mut table = TABLE.write();
    for Listened { endpoint, group, is_shared_address } in endpoints {
        let entries = table.entry(endpoint).or_default();
        entries.retain(|entry| entry.orb.strong_count() > 0);
        entries.push(Entry { orb: orb.downgrade(), group, is_shared_address });
    }
    NEIGHBOURS.fetch_add(1, Ordering::Release);
}

/// `orb` listens no more.
pub(crate) fn leave(orb: &Orb) {
    let mut table = TABLE.write();
    let gone = orb.downgrade();
    table.retain(|_, entries| {
        entries.retain(|entry| entry.orb.strong_count() > 0 && !entry.orb.ptr_eq(&gone));
        !entries.is_empty()
    });
    NEIGHBOURS.fetch_add(1, Ordering::Release);
}

/// The ORB that listens at `endpoint` and that `caller` may call without a connection.
pub(crate) fn listening_at(endpoint: &Endpoint, caller: &Orb) -> Option<Neighbour> {
    let scope = caller.settings().collocation;
    if scope == CollocationScope::None {
        return None;
    }
    let group = caller.settings().priority_group;
    // Not under the lock: what is looked at may be the last handle of its ORB.
    let entries = TABLE.read().get(endpoint)?.clone();
    entries.iter().find_map(|entry| {
        let is_open = entry.group.is_none() || entry.group == group;
        let orb = Orb::upgrade(&entry.orb).filter(|_| is_open)?;
        let is_own = orb.is(caller);
        let for_all = scope == CollocationScope::Global && orb.settings().collocation == scope;
        (is_own || for_all).then_some(Neighbour { orb, is_shared_address: entry.is_shared_address })
    })
}

/// Which place of a binding is of this process, once that was found out.
#[derive(Default)]
pub(crate) struct Locality(pub(crate) OnceLock<Here>);

/// One of the places is of this process.
pub(crate) struct Here {
    /// The ORB that listens there; `None`: the reference's own, which needs no counting.
    pub(crate) orb: Option<Weak<OrbInner>>,
    /// Which target of the binding it is.
    pub(crate) target: usize,
}

impl Here {
    /// The ORB that serves the object; `None` when there is none any more.
    #[inline]
    pub(crate) fn orb<'o>(&self, caller: &'o Orb) -> Option<Cow<'o, Orb>> {
        match &self.orb {
            None => Some(Cow::Borrowed(caller)),
            Some(orb) => Orb::upgrade(orb).map(Cow::Owned),
        }
    }
}
