//! What the calling thread serves right now: POA, object id and servant
//! (what `PortableServer::Current` tells, CORBA 3.3 P1 §15.3.10).
//!
//! The thread's record of upcalls names gate and index; from there all else is looked up, so a
//! request pays nothing for it. Requests that a default servant or a servant locator serves are in
//! no map: they leave id and servant on a stack of their thread here.

use super::{Poa, PoaInner};
use crate::object_id::ObjectId;
use corbie_core::server::Servant;
use corbie_threads::lock::{RankedRw, rank};
use corbie_upcall::Upcall;
use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::{Arc, Weak};

/// The request that this thread serves.
pub(crate) struct UpcallContext {
    pub(crate) poa: Poa,
    pub(crate) object_id: ObjectId,
    /// `None` in a servant manager that is to find one.
    pub(crate) servant: Option<Arc<dyn Servant>>,
}

impl UpcallContext {
    pub(crate) fn is_served_by(&self, servant: &Arc<dyn Servant>) -> bool {
        self.servant
            .as_ref()
            .is_some_and(|its| std::ptr::addr_eq(Arc::as_ptr(its), Arc::as_ptr(servant)))
    }
}

/// All POAs of the process, by the number of their gate.
static POAS: RankedRw<rank::Leaf, Option<HashMap<u32, Weak<PoaInner>>>> = RankedRw::new(None);

pub(crate) fn add(poa: &Arc<PoaInner>) {
    POAS.write().get_or_insert_default().insert(poa.gate.number(), Arc::downgrade(poa));
}

pub(crate) fn remove(gate: u32) {
    if let Some(poas) = &mut *POAS.write() {
        poas.remove(&gate);
    }
}

/// Requests in no map that this thread serves, innermost last. The ids lie one after the other, so
/// that serving allocates nothing once the stack has grown.
#[derive(Default)]
struct Unlisted {
    ids: Vec<u8>,
    /// Where each id begins, and its servant.
    requests: Vec<(usize, Option<Arc<dyn Servant>>)>,
}

thread_local! {
    static UNLISTED: RefCell<Unlisted> = RefCell::default();
}

/// This thread serves a request for `id` that is in no map, until the guard is dropped.
pub(crate) fn serve_unlisted(id: &[u8], servant: Option<&Arc<dyn Servant>>) -> ServesUnlisted {
    UNLISTED.with_borrow_mut(|unlisted| {
        unlisted.requests.push((unlisted.ids.len(), servant.cloned()));
        unlisted.ids.extend_from_slice(id);
    });
    ServesUnlisted(())
}

pub(crate) struct ServesUnlisted(());

impl Drop for ServesUnlisted {
    fn drop(&mut self) {
        let ended = UNLISTED.with_borrow_mut(|unlisted| {
            let ended = unlisted.requests.pop();
            unlisted.ids.truncate(ended.as_ref().map_or(0, |(start, _)| *start));
            ended
        });
        // The servant's destructor may do anything, so it runs with the stack given back.
        drop(ended);
    }
}

/// The request that the calling thread serves; `None` outside of requests.
pub(crate) fn current() -> Option<UpcallContext> {
    let Upcall { gate, index } = corbie_upcall::current()?;
    let poa = POAS.read().as_ref()?.get(&gate)?.upgrade()?;
    if index == Upcall::UNLISTED {
        let (object_id, servant) = UNLISTED.with_borrow(|unlisted| {
            let (start, servant) = unlisted.requests.last()?;
            Some((ObjectId::new(unlisted.ids.get(*start..)?), servant.clone()))
        })?;
        return Some(UpcallContext { poa: Poa(poa), object_id, servant });
    }
    // The object stays in the map while this thread is inside.
    let object = poa.objects.read(|map| map.at_index(index).cloned()).ok()??;
    let object_id = ObjectId::new(object.activation().id());
    let servant = Some(Arc::clone(object.servant()));
    Some(UpcallContext { poa: Poa(poa), object_id, servant })
}
