//! `PortableServer::Current`: which object the calling thread is serving a request for
//! (CORBA 3.3 P1 §15.3.10).
//!
//! The upcall protocol of the ORB core knows the POA by the number of its gate and the object by
//! its place; this module knows the POA of a number. Nothing here is on the path of a call.

use crate::poa::PoaInner;
use crate::root::Registry;
use corbie_core::server::upcall;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

/// The POAs of the process, by the number of their gate. Lock "POAs by gate".
static POAS: Mutex<Option<HashMap<u32, Weak<PoaInner>>>> = Mutex::new(None);

fn lock() -> MutexGuard<'static, Option<HashMap<u32, Weak<PoaInner>>>> {
    POAS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// `poa` is there from now on.
pub(crate) fn note(poa: &Arc<PoaInner>) {
    let mut poas = lock();
    let poas = poas.get_or_insert_default();
    poas.retain(|_, poa| poa.strong_count() > 0);
    poas.insert(poa.gate.number(), Arc::downgrade(poa));
}

fn of_gate(number: u32) -> Option<Arc<PoaInner>> {
    lock().as_ref()?.get(&number)?.upgrade()
}

/// Whether the calling thread is inside an upcall of a POA of the ORB of `registry`.
pub(crate) fn is_inside_upcall_of(registry: &Arc<Registry>) -> bool {
    upcall::is_inside_any(|upcall| {
        of_gate(upcall.gate).is_some_and(|poa| Arc::ptr_eq(poa.registry(), registry))
    })
}
