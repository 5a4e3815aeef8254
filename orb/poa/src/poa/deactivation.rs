//! Deactivating objects: closed at once, gone from the map when the last upcall has ended, then
//! etherealised (CORBA 3.3 P1 §15.3.9.18, §15.3.6.2).
//!
//! A request that is answered later (AMH) keeps its object only until its upcall has returned: the
//! servant is not executing any more, as in TAO. Called by applications, by the thread that leaves
//! a closed object, and when a POA or its manager ends.

use super::servant_manager::ServantActivator;
use super::{Poa, PoaError, PoaInner};
use crate::active_object_map::Removed;
use crate::object_id::ObjectId;
use crate::poa_manager::Managed;
use crate::policies::{RequestProcessing, ServantRetention};
use corbie_upcall::{Activation, Gate, Owner, Upcall};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;

impl Poa {
    /// Deactivates the object: requests being served go on, later ones find it gone. It leaves the
    /// active object map when the last of them has ended; then the servant activator, if there is
    /// one, etherealises it, in the thread that ended the last request, or in this one when there
    /// was none.
    ///
    /// # Errors
    /// [`PoaError::ObjectNotActive`], [`PoaError::WrongPolicy`] without `RETAIN`.
    pub fn deactivate_object(&self, id: &ObjectId) -> Result<(), PoaError> {
        self.needs_retain("deactivate_object")?;
        let closed = self.0.objects.write(|map| {
            let object = map.by_id(id.as_octets())?;
            let activation = object.activation();
            activation.is_active().then(|| {
                activation.close();
                activation.index()
            })
        })?;
        let index = closed.ok_or_else(|| PoaError::ObjectNotActive(id.clone()))?;
        self.0.finish(index);
        Ok(())
    }
}

impl Owner for PoaInner {
    fn left(&self, index: u32) {
        if index != Upcall::UNLISTED {
            self.finish(index);
        }
        if !self.is_alive() {
            self.try_complete_destruction();
        }
    }
}

impl PoaInner {
    /// Takes the object at `index` out of the map and lets go of its servant, if it is closed and
    /// no thread is inside.
    pub(super) fn finish(&self, index: u32) {
        let is_closed = |index| {
            let is_closed = |map: &crate::active_object_map::ActiveObjectMap| {
                map.at_index(index).is_some_and(|object| !object.activation().is_active())
            };
            // A NULL_LOCK map belongs to the thread that makes the upcalls.
            self.objects.read(is_closed).unwrap_or(false)
        };
        if !is_closed(index) {
            return;
        }
        // Looked up first: a destruction that ends meanwhile forgets it, and this object is owed
        // it.
        let activator = self.servant_activator();
        let removed = self.objects.write(|map| {
            let activation = map.at_index(index)?.activation();
            if !activation.comes_to_rest() {
                return None;
            }
            // No incarnation may begin between the removal and the etherealisation.
            let transition = self.transitions.begin(activation.id());
            Some((map.remove(index)?, transition))
        });
        if let Ok(Some((removed, transition))) = removed {
            let cleanup_in_progress = self.cleanup_in_progress.load(Ordering::Acquire);
            self.etherealize(removed, activator, cleanup_in_progress);
            drop(transition);
        }
    }

    /// Lets go of a servant; by way of the servant activator, if there is one.
    pub(super) fn etherealize(
        &self,
        removed: Removed,
        activator: Option<Arc<dyn ServantActivator>>,
        cleanup_in_progress: bool,
    ) {
        let _ending = self.registry.ends_objects();
        let Removed { object, remaining_activations } = removed;
        let Some(activator) = activator else { return drop(object) };
        let Some(adapter) = self.handle() else { return drop(object) };
        let id = ObjectId::new(object.activation().id());
        let servant = Arc::clone(object.servant());
        drop(object);
        // CORBA 3.3 P1 §15.3.6.2: exceptions of etherealize are not passed on.
        let ended = catch_unwind(AssertUnwindSafe(|| {
            activator.etherealize(
                &id,
                &adapter,
                servant,
                cleanup_in_progress,
                remaining_activations,
            );
        }));
        if ended.is_err() {
            tracing::error!(poa = %self.name, object = %id, "etherealize panicked");
        }
    }

    /// Whether the calling thread is inside a request to the object at this index, so that waiting
    /// for its end would be waiting for itself.
    pub(crate) fn is_entered_by_this_thread_at(&self, index: u32) -> bool {
        let meant = Upcall { gate: self.gate.number(), index };
        corbie_upcall::is_inside_any(|upcall| upcall == meant)
    }
}

impl Managed for PoaInner {
    fn gate(&self) -> &Gate {
        &self.gate
    }

    fn is_entered_by_this_thread(&self) -> bool {
        self.registry.is_entered_by_this_thread()
    }

    fn has_servant_activator(&self) -> bool {
        self.policies.servant_retention == ServantRetention::Retain
            && self.policies.request_processing == RequestProcessing::ServantManager
    }

    fn etherealize_all(&self) {
        self.cleanup_in_progress.store(true, Ordering::Release);
        let closed = self.objects.write(|map| {
            Activation::close_all(map.iter().map(|object| &**object.activation()));
            map.iter().map(|object| object.activation().index()).collect::<Vec<u32>>()
        });
        for index in closed.unwrap_or_default() {
            self.finish(index);
        }
    }

    fn wait_until_etherealized(&self) {
        self.gate.wait_until_idle();
        loop {
            let epoch = self.transitions.epoch();
            let is_ending = self
                .objects
                .read(|map| map.iter().any(|object| !object.activation().is_active()))
                .unwrap_or(false);
            if !is_ending && !self.transitions.are_under_way() {
                return;
            }
            self.transitions.wait(epoch, None);
        }
    }
}
