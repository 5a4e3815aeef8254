//! Deactivating objects: closed at once, gone from the map when the last upcall has ended, then
//! etherealised (CORBA 3.3 P1 §15.3.9.18, §15.3.6.2).
//!
//! A request that is answered later (AMH) keeps its object only until its upcall has returned: the
//! servant is not executing any more, as in TAO. Called by applications, by the thread that leaves
//! a closed object, and when a POA or its manager ends.

use super::servant_manager::ServantActivator;
use super::{Poa, PoaError, PoaInner};
use crate::active_object_map::{ActiveObjectMap, Removed};
use crate::object_id::ObjectId;
use crate::poa_manager::Managed;
use crate::policies::{RequestProcessing, ServantRetention};
use corbie_threads::lock::assert_none_held;
use corbie_upcall::{Activation, Gate, Owner, Upcall};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;

impl Poa {
    /// Deactivates the object: requests being served go on, later ones find it gone. It leaves the
    /// active object map when the last of them has ended; then the servant activator, if there is
    /// one, etherealises it, in the thread that ended the last request, or in this one when there
    /// was none. Under `SINGLE_THREAD_MODEL` an upcall that is under way comes first, and the
    /// thread that makes it etherealises.
    ///
    /// # Errors
    /// [`PoaError::ObjectNotActive`], [`PoaError::WrongPolicy`] without `RETAIN`.
    pub fn deactivate_object(&self, id: &ObjectId) -> Result<(), PoaError> {
        self.needs_retain("deactivate_object")?;
        let closing = self.0.objects.write(|map| {
            let activation = map.by_id(id.as_octets())?.activation();
            activation.is_active().then(|| {
                activation.begin_closing();
                Arc::clone(activation)
            })
        })?;
        let closing = closing.ok_or_else(|| PoaError::ObjectNotActive(id.clone()))?;
        self.0.close(&[closing])
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
    /// Closes what has begun to close, and finishes what no thread is inside of. Other processors
    /// are interrupted with no lock held.
    fn close(&self, closing: &[Arc<Activation>]) -> Result<(), PoaError> {
        if closing.is_empty() {
            return Ok(());
        }
        reach_all();
        self.objects.write(|_| closing.iter().for_each(|activation| activation.close()))?;
        closing.iter().for_each(|activation| self.finish(activation.index()));
        Ok(())
    }

    /// Begins to close all objects, and gives those that were active.
    fn begin_closing_all(&self) -> Result<Vec<Arc<Activation>>, PoaError> {
        self.objects.write(|map| {
            let active = map.iter().map(|object| object.activation()).filter(|a| a.is_active());
            active.inspect(|activation| activation.begin_closing()).cloned().collect()
        })
    }

    /// Closes all objects and takes them out of the map; no thread is inside any.
    pub(super) fn take_objects(&self) -> Result<ActiveObjectMap, PoaError> {
        // Objects that are kept elsewhere (collocated calls) learn that they are closed.
        if !self.begin_closing_all()?.is_empty() {
            reach_all();
        }
        self.objects.write(|map| {
            map.iter().for_each(|object| object.activation().close());
            map.take()
        })
    }

    /// Takes the object at `index` out of the map and lets go of its servant, if it is closed and
    /// no thread is inside.
    pub(super) fn finish(&self, index: u32) {
        let is_closed = |index| {
            let is_closed = |map: &ActiveObjectMap| {
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
            let is_mine = self.transitions.try_begin(activation.id());
            Some((map.remove(index)?, is_mine))
        });
        if let Ok(Some((removed, is_mine))) = removed {
            self.let_go(removed, activator, is_mine);
        }
    }

    /// Etherealises an object that has left the map, in a turn. `is_mine`: this thread is busy with
    /// its id.
    fn let_go(
        &self,
        removed: Removed,
        activator: Option<Arc<dyn ServantActivator>>,
        is_mine: bool,
    ) {
        let Some(Poa(poa)) = self.handle() else { return };
        let activation = Arc::clone(removed.object.activation());
        if is_mine {
            self.transitions.hand_over(activation.id());
        }
        let departure = Departure { poa, activation, is_mine };
        self.turns.run(move || {
            let Departure { poa, activation, is_mine } = &departure;
            if *is_mine {
                poa.transitions.take_over(activation.id());
            }
            let cleanup_in_progress = poa.cleanup_in_progress.load(Ordering::Acquire);
            poa.etherealize(removed, activator, cleanup_in_progress);
        });
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
        let id = ObjectId::new(object.activation().id());
        // CORBA 3.3 P1 §15.3.6.2: exceptions of etherealize are not passed on. The servant is the
        // application's as well: dropping it may panic, and concerns no request.
        let ended = catch_unwind(AssertUnwindSafe(|| {
            let Some(activator) = activator else { return drop(object) };
            let Some(adapter) = self.handle() else { return drop(object) };
            let servant = Arc::clone(object.servant());
            drop(object);
            activator.etherealize(
                &id,
                &adapter,
                servant,
                cleanup_in_progress,
                remaining_activations,
            );
        }));
        if ended.is_err() {
            tracing::error!(poa = %self.name, object = %id, "a servant's end panicked");
        }
    }

    /// Whether the calling thread is inside a request to the object at this index, so that waiting
    /// for its end would be waiting for itself.
    pub(crate) fn is_entered_by_this_thread_at(&self, index: u32) -> bool {
        let meant = Upcall { gate: self.gate.number(), index };
        corbie_upcall::is_inside_any(|upcall| upcall == meant)
    }
}

/// An object on its way out: its id is free again when this is dropped, even by a panic or with an
/// errand that is never run.
struct Departure {
    poa: Arc<PoaInner>,
    activation: Arc<Activation>,
    /// Whether a thread is busy with the id for this.
    is_mine: bool,
}

impl Drop for Departure {
    fn drop(&mut self) {
        if self.is_mine {
            self.poa.transitions.end(self.activation.id());
        }
    }
}

/// Interrupts the other cores, which takes them a while: not to be done while threads on them wait
/// for the caller.
fn reach_all() {
    assert_none_held("other cores are interrupted");
    Activation::reach_all();
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
        // A NULL_LOCK map of another thread ends with that thread.
        let _ = self.begin_closing_all().and_then(|closing| self.close(&closing));
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
            self.transitions.wait(epoch);
        }
    }
}
