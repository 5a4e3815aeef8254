//! Activating objects: servants get into the active object map
//! (CORBA 3.3 P1 §15.3.9.16, §15.3.9.17).
//!
//! Called by applications through [`Poa`], by implicit activation in `references`, and by
//! `dispatch` for what a servant activator made.

use super::{Poa, PoaError, PoaInner};
use crate::active_object_map::ActiveObjectMap;
use crate::object_id::ObjectId;
use crate::policies::{IdAssignment, IdUniqueness, ServantRetention};
use crate::transitions::Busy;
use corbie_core::Interface;
use corbie_core::server::ActiveObject;
use corbie_core::server::{Servant, TypedServant};
use corbie_types::minor;
use std::sync::Arc;

/// What stands in the way of an activation.
enum Obstacle {
    /// It will not go away.
    Final(PoaError),
    /// A deactivation is being finished. The place of the object, when it is still there.
    Passing(Option<u32>),
}

impl Poa {
    /// Activates `servant` under an id of the POA's choice and gives the typed reference of the
    /// new object.
    ///
    /// # Errors
    /// As [`Poa::activate_object`] and [`Poa::id_to_reference`].
    pub fn activate<S: TypedServant>(&self, servant: S) -> Result<S::Reference, PoaError> {
        let id = self.activate_object(Arc::new(servant))?;
        self.id_to_reference(&id).map(S::Reference::from_object)
    }

    /// Activates `servant` under `id` and gives the typed reference of the new object.
    ///
    /// # Errors
    /// As [`Poa::activate_object_with_id`] and [`Poa::id_to_reference`].
    pub fn activate_with_id<S: TypedServant>(
        &self,
        id: impl AsRef<[u8]>,
        servant: S,
    ) -> Result<S::Reference, PoaError> {
        let id = ObjectId::new(id.as_ref());
        self.activate_object_with_id(&id, Arc::new(servant))?;
        self.id_to_reference(&id).map(S::Reference::from_object)
    }

    /// Activates `servant` under an id of the POA's choice.
    ///
    /// # Errors
    /// [`PoaError::WrongPolicy`] without `SYSTEM_ID` and `RETAIN`,
    /// [`PoaError::ServantAlreadyActive`] under `UNIQUE_ID`, [`PoaError::Destroyed`],
    /// [`PoaError::Full`].
    pub fn activate_object(&self, servant: Arc<dyn Servant>) -> Result<ObjectId, PoaError> {
        const OPERATION: &str = "activate_object";
        self.needs_retain(OPERATION)?;
        self.needs_system_id(OPERATION)?;
        let id = self.0.system_ids.next();
        self.0.insert(id.as_octets(), &servant)?;
        Ok(id)
    }

    /// Activates `servant` under `id`. While an earlier object of that id is being etherealised,
    /// this waits (CORBA 3.3 P1 §15.3.9.17).
    ///
    /// # Errors
    /// [`PoaError::WrongPolicy`] without `RETAIN`, [`PoaError::ObjectAlreadyActive`] (also from
    /// inside a request to an object of that id that is being deactivated),
    /// [`PoaError::ServantAlreadyActive`] under `UNIQUE_ID`; `BAD_PARAM` minor 14 under `SYSTEM_ID`
    /// for an id that this POA did not give; [`PoaError::Destroyed`], [`PoaError::Full`].
    pub fn activate_object_with_id(
        &self,
        id: &ObjectId,
        servant: Arc<dyn Servant>,
    ) -> Result<(), PoaError> {
        self.needs_retain("activate_object_with_id")?;
        self.0.check_id(id.as_octets())?;
        self.0.insert(id.as_octets(), &servant).map(|_| ())
    }

    pub(super) fn needs_retain(&self, operation: &'static str) -> Result<(), PoaError> {
        let is_met = self.0.policies.servant_retention == ServantRetention::Retain;
        PoaError::unless(is_met, operation, "RETAIN")
    }

    pub(super) fn needs_system_id(&self, operation: &'static str) -> Result<(), PoaError> {
        let is_met = self.0.policies.id_assignment == IdAssignment::SystemId;
        let needed = "SYSTEM_ID; the operation with _with_id takes an id of yours";
        PoaError::unless(is_met, operation, needed)
    }
}

impl PoaInner {
    /// Whether `id` may be activated here: under `SYSTEM_ID` it has to be one of the POA's own
    /// (CORBA 3.3 P1 §15.3.9.17).
    pub(super) fn check_id(&self, id: &[u8]) -> Result<(), PoaError> {
        if self.policies.id_assignment == IdAssignment::UserId || self.system_ids.gave(id) {
            return Ok(());
        }
        Err(minor::BAD_PARAM_OBJECT_ID
            .no("the POA has SYSTEM_ID, and the id is not one that it gave")
            .into())
    }

    /// Activates, after what is being deactivated is gone.
    pub(crate) fn insert(
        &self,
        id: &[u8],
        servant: &Arc<dyn Servant>,
    ) -> Result<Arc<ActiveObject>, PoaError> {
        loop {
            let epoch = self.transitions.epoch();
            let outcome = self.objects.write(|map| self.try_insert(map, id, servant))?;
            let obstacle = match outcome {
                Ok(object) => return Ok(object),
                Err(Obstacle::Final(error)) => return Err(error),
                Err(Obstacle::Passing(place)) => place,
            };
            if obstacle.is_some_and(|index| self.is_entered_by_this_thread_at(index)) {
                return Err(PoaError::ObjectAlreadyActive(ObjectId::new(id)));
            }
            self.transitions.wait(epoch);
        }
    }

    fn try_insert(
        &self,
        map: &mut ActiveObjectMap,
        id: &[u8],
        servant: &Arc<dyn Servant>,
    ) -> Result<Arc<ActiveObject>, Obstacle> {
        if !self.is_alive() {
            return Err(Obstacle::Final(PoaError::Destroyed));
        }
        match self.transitions.busy(id) {
            Busy::No => {}
            Busy::OtherThread => return Err(Obstacle::Passing(None)),
            // The servant activator itself activates what it was asked for.
            Busy::ThisThread => {
                return Err(Obstacle::Final(PoaError::ObjectAlreadyActive(ObjectId::new(id))));
            }
        }
        self.insert_unless_there(map, id, servant)
    }

    fn insert_unless_there(
        &self,
        map: &mut ActiveObjectMap,
        id: &[u8],
        servant: &Arc<dyn Servant>,
    ) -> Result<Arc<ActiveObject>, Obstacle> {
        let unique = self.policies.id_uniqueness == IdUniqueness::UniqueId;
        let already = |object: &ActiveObject, error: fn(ObjectId) -> PoaError| {
            let activation = object.activation();
            if activation.is_active() {
                Obstacle::Final(error(ObjectId::new(activation.id())))
            } else {
                Obstacle::Passing(Some(activation.index()))
            }
        };
        if let Some(object) = map.by_id(id) {
            return Err(already(object, PoaError::ObjectAlreadyActive));
        }
        if unique && let Some(object) = map.by_servant(servant) {
            return Err(already(object, PoaError::ServantAlreadyActive));
        }
        if servant._keeps_order() {
            self.orb.expect_order();
        }
        let name = map.insert(id, Arc::clone(servant)).ok_or(Obstacle::Final(PoaError::Full))?;
        map.at(name, id).cloned().ok_or(Obstacle::Final(PoaError::Full))
    }

    /// Activates what the servant activator made; the caller is busy with the id. Also when the POA
    /// is being destroyed meanwhile: the destruction waits for the caller's request, and
    /// etherealises.
    pub(crate) fn insert_incarnated(
        &self,
        id: &[u8],
        servant: &Arc<dyn Servant>,
    ) -> Result<Arc<ActiveObject>, PoaError> {
        let inserted = self.objects.write(|map| self.insert_unless_there(map, id, servant))?;
        inserted.map_err(|obstacle| match obstacle {
            Obstacle::Final(error) => error,
            Obstacle::Passing(_) => PoaError::ServantAlreadyActive(ObjectId::new(id)),
        })
    }
}
