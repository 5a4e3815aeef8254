//! Activating and finding objects: the operations of `PortableServer::POA` on the active object map
//! (CORBA 3.3 P1 §15.3.9.17 to §15.3.9.26).
//!
//! Called by applications through [`Poa`].

use super::{Poa, PoaError};
use crate::ObjectId;
use crate::object_key::ObjectKey;
use crate::policies::{IdAssignment, IdUniqueness};
use crate::slots::SlotName;
use corbie_core::server::{Servant, TypedServant};
use corbie_core::{Interface, Object};
use std::sync::Arc;

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

    /// Activates `servant` under an id of the POA's choice (`SYSTEM_ID`).
    ///
    /// # Errors
    /// [`PoaError::WrongPolicy`] under `USER_ID`, [`PoaError::ServantAlreadyActive`] under
    /// `UNIQUE_ID`, [`PoaError::Destroyed`], [`PoaError::Full`].
    pub fn activate_object(&self, servant: Arc<dyn Servant>) -> Result<ObjectId, PoaError> {
        if self.0.policies.id_assignment != IdAssignment::SystemId {
            return Err(PoaError::WrongPolicy {
                operation: "activate_object",
                needed: "SYSTEM_ID; activate_object_with_id takes an id of yours",
            });
        }
        let id = self.next_system_id();
        self.insert(&id, servant)?;
        Ok(id)
    }

    /// Activates `servant` under `id`. Under `SYSTEM_ID` the id must be one that this POA gave
    /// before; that is the caller's word, as the POA forgets ids of deactivated objects.
    ///
    /// # Errors
    /// [`PoaError::ObjectAlreadyActive`], [`PoaError::ServantAlreadyActive`] under `UNIQUE_ID`,
    /// [`PoaError::Destroyed`], [`PoaError::Full`].
    pub fn activate_object_with_id(
        &self,
        id: &ObjectId,
        servant: Arc<dyn Servant>,
    ) -> Result<(), PoaError> {
        self.insert(id, servant).map(|_| ())
    }

    fn insert(&self, id: &ObjectId, servant: Arc<dyn Servant>) -> Result<SlotName, PoaError> {
        let mut objects = self.0.objects_mut();
        self.check_alive()?;
        if objects.by_id(id.as_octets()).is_some() {
            return Err(PoaError::ObjectAlreadyActive(id.clone()));
        }
        if self.0.policies.id_uniqueness == IdUniqueness::UniqueId
            && let Some(object) = objects.by_servant(&servant)
        {
            let id = ObjectId::new(object.activation().id());
            return Err(PoaError::ServantAlreadyActive(id));
        }
        objects.insert(id.clone(), servant).ok_or(PoaError::Full)
    }

    /// Deactivates the object: requests being served go on, later ones get `OBJECT_NOT_EXIST`.
    ///
    /// # Errors
    /// [`PoaError::ObjectNotActive`].
    pub fn deactivate_object(&self, id: &ObjectId) -> Result<(), PoaError> {
        let removed = self.0.objects_mut().remove(id.as_octets());
        // The servant is dropped here, after the lock: its destructor is application code.
        removed.map(drop).ok_or_else(|| PoaError::ObjectNotActive(id.clone()))
    }

    /// The reference of the active object `id`.
    ///
    /// # Errors
    /// [`PoaError::ObjectNotActive`]; [`PoaError::System`] when the ORB was shut down.
    pub fn id_to_reference(&self, id: &ObjectId) -> Result<Object, PoaError> {
        let (place, servant) = {
            let objects = self.0.objects();
            let place = objects.name_of(id.as_octets());
            let found = place.and_then(|place| Some((place, objects.at(place)?.servant().clone())));
            found.ok_or_else(|| PoaError::ObjectNotActive(id.clone()))?
        };
        self.reference(id.as_octets(), place, servant._repository_id())
    }

    /// The reference of the (first) object that `servant` stands for.
    ///
    /// # Errors
    /// [`PoaError::ServantNotActive`]; [`PoaError::System`] when the ORB was shut down.
    pub fn servant_to_reference(&self, servant: &Arc<dyn Servant>) -> Result<Object, PoaError> {
        self.id_to_reference(&self.servant_to_id(servant)?)
    }

    /// The id of the (first) object that `servant` stands for.
    ///
    /// # Errors
    /// [`PoaError::ServantNotActive`].
    pub fn servant_to_id(&self, servant: &Arc<dyn Servant>) -> Result<ObjectId, PoaError> {
        let objects = self.0.objects();
        let object = objects.by_servant(servant).ok_or(PoaError::ServantNotActive)?;
        Ok(ObjectId::new(object.activation().id()))
    }

    /// The servant of the active object `id`.
    ///
    /// # Errors
    /// [`PoaError::ObjectNotActive`].
    pub fn id_to_servant(&self, id: &ObjectId) -> Result<Arc<dyn Servant>, PoaError> {
        let objects = self.0.objects();
        let object = objects.by_id(id.as_octets());
        object
            .map(|object| Arc::clone(object.servant()))
            .ok_or_else(|| PoaError::ObjectNotActive(id.clone()))
    }

    /// The id within a reference that this POA made.
    ///
    /// # Errors
    /// [`PoaError::WrongAdapter`] for a reference that another POA, ORB or process made.
    pub fn reference_to_id(&self, reference: &Object) -> Result<ObjectId, PoaError> {
        let key = reference.object_key().ok_or(PoaError::WrongAdapter)?;
        match ObjectKey::parse(&key) {
            Some(ObjectKey::Persistent { path, id }) if *path == *self.0.path => {
                Ok(ObjectId::new(id))
            }
            Some(ObjectKey::Transient { incarnation, poa, id, .. })
                if incarnation == self.0.registry.incarnation
                    && self.0.place.get() == Some(&poa) =>
            {
                Ok(ObjectId::new(id))
            }
            _ => Err(PoaError::WrongAdapter),
        }
    }
}
