//! The collocation table: which ORB of this process listens at an endpoint (paper POA §3.1, Figure
//! 13).
//!
//! One for the process, so that ORBs find each other's objects, whatever protocol their references
//! name. An ORB enters what it publishes when it begins to listen and is taken out when it shuts
//! down; references ask once ([`super::locality`]).

use crate::Orb;
use crate::orb::OrbInner;
use corbie_settings::CollocationScope;
use corbie_transport::Endpoint;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{LazyLock, PoisonError, RwLock, Weak};

/// Lock "collocation table".
static TABLE: LazyLock<RwLock<HashMap<Endpoint, Vec<Entry>>>> = LazyLock::new(RwLock::default);

/// Changes with every change of the table; never 0.
static GENERATION: AtomicU64 = AtomicU64::new(1);

/// Changes whenever an ORB of the process begins or ends to listen.
#[inline]
pub(crate) fn generation() -> u64 {
    GENERATION.load(Ordering::Acquire)
}

/// An endpoint that an ORB publishes.
pub(crate) struct Listened {
    pub(crate) endpoint: Endpoint,
    /// The priority group whose ORBs may call without a connection; `None`: all.
    pub(crate) group: Option<u32>,
    /// The address was set, not listened on: other processes may be behind it as well.
    pub(crate) is_shared_address: bool,
}

struct Entry {
    orb: Weak<OrbInner>,
    group: Option<u32>,
    is_shared_address: bool,
}

/// Who listens at an endpoint.
pub(crate) struct Listening {
    pub(crate) orb: Orb,
    pub(crate) is_shared_address: bool,
}

impl Listening {
    /// Whether an active object has this key here.
    pub(crate) fn knows(&self, key: &[u8]) -> bool {
        let adapter = self.orb.server().adapter.get();
        adapter.is_some_and(|adapter| adapter.active_object(key).is_some())
    }
}

/// `orb` listens at `endpoints` from now on.
pub(crate) fn enter(orb: &Orb, endpoints: Vec<Listened>) {
    if orb.settings().collocation == CollocationScope::None {
        return;
    }
    let mut table = TABLE.write().unwrap_or_else(PoisonError::into_inner);
    for Listened { endpoint, group, is_shared_address } in endpoints {
        let entries = table.entry(endpoint).or_default();
        entries.retain(|entry| entry.orb.strong_count() > 0);
        entries.push(Entry { orb: orb.downgrade(), group, is_shared_address });
    }
    GENERATION.fetch_add(1, Ordering::Release);
}

/// `orb` listens no more.
pub(crate) fn leave(orb: &Orb) {
    let mut table = TABLE.write().unwrap_or_else(PoisonError::into_inner);
    let gone = orb.downgrade();
    table.retain(|_, entries| {
        entries.retain(|entry| entry.orb.strong_count() > 0 && !entry.orb.ptr_eq(&gone));
        !entries.is_empty()
    });
    GENERATION.fetch_add(1, Ordering::Release);
}

/// The ORB that listens at `endpoint` and that `caller` may call without a connection.
pub(crate) fn listening_at(endpoint: &Endpoint, caller: &Orb) -> Option<Listening> {
    let scope = caller.settings().collocation;
    if scope == CollocationScope::None {
        return None;
    }
    let group = caller.settings().priority_group;
    let table = TABLE.read().unwrap_or_else(PoisonError::into_inner);
    table.get(endpoint)?.iter().find_map(|entry| {
        let is_open = entry.group.is_none() || entry.group == group;
        let orb = Orb::upgrade(&entry.orb).filter(|_| is_open)?;
        let is_own = orb.is(caller);
        let for_all = scope == CollocationScope::Global && orb.settings().collocation == scope;
        (is_own || for_all).then_some(Listening { orb, is_shared_address: entry.is_shared_address })
    })
}
