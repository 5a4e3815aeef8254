//! Ids, servants and references: from each to the others
//! (CORBA 3.3 P1 §15.3.9.19 to §15.3.9.26).
//!
//! Called by applications through [`Poa`].

use super::{Poa, PoaError, PoaInner, upcall_context};
use crate::object_id::ObjectId;
use crate::object_key::{KeyHint, ObjectKey};
use crate::policies::{
    IdUniqueness, ImplicitActivation, Lifespan, RequestProcessing, ServantDemux, ServantRetention,
};
use crate::slots::SlotName;
use corbie_core::server::{Servant, TypedServant};
use corbie_core::{Interface, Object};
use std::sync::Arc;

impl Poa {
    /// A reference to an object that need not be active, with an id of the POA's choice. Requests
    /// to it are for the servant manager or the default servant, or for what is activated with its
    /// id later.
    ///
    /// # Errors
    /// [`PoaError::WrongPolicy`] without `SYSTEM_ID`, [`PoaError::Destroyed`].
    pub fn create_reference(&self, repository_id: &str) -> Result<Object, PoaError> {
        self.needs_system_id("create_reference")?;
        let id = self.0.system_ids.next();
        self.reference(id.as_octets(), SlotName::NOWHERE, repository_id)
    }

    /// A reference to the object `id`, which need not be active.
    ///
    /// # Errors
    /// `BAD_PARAM` minor 14 (`COMPLETED_NO`) under `SYSTEM_ID` for an id that this POA did not
    /// give; [`PoaError::Destroyed`].
    pub fn create_reference_with_id(
        &self,
        id: &ObjectId,
        repository_id: &str,
    ) -> Result<Object, PoaError> {
        self.0.check_id(id.as_octets())?;
        let place = self.0.objects.read(|map| map.name_of(id.as_octets()))?;
        self.reference(id.as_octets(), place.unwrap_or(SlotName::NOWHERE), repository_id)
    }

    /// The id of the object that `servant` stands for: of the request that the calling thread
    /// serves with it; else the one it was activated with (`UNIQUE_ID`); else it is activated
    /// (`IMPLICIT_ACTIVATION`).
    ///
    /// # Errors
    /// [`PoaError::ServantNotActive`]; [`PoaError::WrongPolicy`] unless the POA has
    /// `USE_DEFAULT_SERVANT`, or `RETAIN` and one of `UNIQUE_ID` and `IMPLICIT_ACTIVATION`.
    pub fn servant_to_id(&self, servant: &Arc<dyn Servant>) -> Result<ObjectId, PoaError> {
        let default = self.0.policies.request_processing == RequestProcessing::DefaultServant;
        if default && let Some(id) = self.served_with(servant) {
            return Ok(id);
        }
        self.id_by_activation(servant, "servant_to_id", default)
    }

    /// The reference of the object that `servant` stands for: of the request that the calling
    /// thread serves with it; else as [`Poa::servant_to_id`].
    ///
    /// # Errors
    /// As [`Poa::servant_to_id`]; outside of requests `USE_DEFAULT_SERVANT` alone is
    /// [`PoaError::WrongPolicy`].
    pub fn servant_to_reference(&self, servant: &Arc<dyn Servant>) -> Result<Object, PoaError> {
        let id = match self.served_with(servant) {
            Some(id) => id,
            None => self.id_by_activation(servant, "servant_to_reference", false)?,
        };
        let place = self.0.objects.read(|map| map.name_of(id.as_octets()))?;
        let place = place.unwrap_or(SlotName::NOWHERE);
        self.reference(id.as_octets(), place, servant._repository_id())
    }

    /// The id of the request of this POA that the calling thread serves with `servant`.
    fn served_with(&self, servant: &Arc<dyn Servant>) -> Option<ObjectId> {
        let current = upcall_context::current()?;
        let is_it = current.poa == *self && current.is_served_by(servant);
        is_it.then_some(current.object_id)
    }

    fn id_by_activation(
        &self,
        servant: &Arc<dyn Servant>,
        operation: &'static str,
        may_be_inactive: bool,
    ) -> Result<ObjectId, PoaError> {
        let policies = &self.0.policies;
        let retains = policies.servant_retention == ServantRetention::Retain;
        let unique = policies.id_uniqueness == IdUniqueness::UniqueId;
        let implicit = policies.implicit_activation == ImplicitActivation::Implicit;
        if !(retains && (unique || implicit)) {
            let needed = "RETAIN and one of UNIQUE_ID and IMPLICIT_ACTIVATION";
            let wrong = PoaError::WrongPolicy { operation, needed };
            return Err(if may_be_inactive { PoaError::ServantNotActive } else { wrong });
        }
        if unique && let Some(id) = self.active_id_of(servant)? {
            return Ok(id);
        }
        if !implicit {
            return Err(PoaError::ServantNotActive);
        }
        match self.activate_object(Arc::clone(servant)) {
            // Another thread was faster.
            Err(PoaError::ServantAlreadyActive(id)) => Ok(id),
            outcome => outcome,
        }
    }

    fn active_id_of(&self, servant: &Arc<dyn Servant>) -> Result<Option<ObjectId>, PoaError> {
        self.0.objects.read(|map| {
            let activation = map.by_servant(servant)?.activation();
            activation.is_active().then(|| ObjectId::new(activation.id()))
        })
    }

    /// The servant of the object that `reference` leads to, or the default servant.
    ///
    /// # Errors
    /// [`PoaError::ObjectNotActive`], [`PoaError::WrongAdapter`] for a reference of another POA;
    /// [`PoaError::WrongPolicy`] without `RETAIN` or `USE_DEFAULT_SERVANT`.
    pub fn reference_to_servant(&self, reference: &Object) -> Result<Arc<dyn Servant>, PoaError> {
        self.needs_servants("reference_to_servant")?;
        self.servant_of(&self.reference_to_id(reference)?)
    }

    /// The id within a reference that this POA made. The object need not be active.
    ///
    /// # Errors
    /// [`PoaError::WrongAdapter`] for a reference that another POA, ORB or process made.
    pub fn reference_to_id(&self, reference: &Object) -> Result<ObjectId, PoaError> {
        let key = reference.object_key().ok_or(PoaError::WrongAdapter)?;
        let id = match ObjectKey::parse(&key) {
            Some(ObjectKey::Persistent { path, id, .. }) => {
                let is_persistent = self.0.policies.lifespan == Lifespan::Persistent;
                (is_persistent && *path == *self.0.path()).then(|| ObjectId::new(id))
            }
            Some(ObjectKey::Transient { incarnation, poa, id, .. }) => {
                let is_mine = incarnation == self.0.registry.incarnation && poa == self.0.place();
                is_mine.then(|| ObjectId::new(id))
            }
            None => None,
        };
        id.ok_or(PoaError::WrongAdapter)
    }

    /// The servant of the active object `id`, or the default servant.
    ///
    /// # Errors
    /// [`PoaError::ObjectNotActive`]; [`PoaError::WrongPolicy`] without `RETAIN` or
    /// `USE_DEFAULT_SERVANT`.
    pub fn id_to_servant(&self, id: &ObjectId) -> Result<Arc<dyn Servant>, PoaError> {
        self.needs_servants("id_to_servant")?;
        self.servant_of(id)
    }

    fn needs_servants(&self, operation: &'static str) -> Result<(), PoaError> {
        let policies = &self.0.policies;
        let is_met = policies.servant_retention == ServantRetention::Retain
            || policies.request_processing == RequestProcessing::DefaultServant;
        PoaError::unless(is_met, operation, "RETAIN or USE_DEFAULT_SERVANT")
    }

    fn servant_of(&self, id: &ObjectId) -> Result<Arc<dyn Servant>, PoaError> {
        let active = self.0.objects.read(|map| {
            let object = map.by_id(id.as_octets())?;
            object.activation().is_active().then(|| Arc::clone(object.servant()))
        })?;
        let found = active.or_else(|| self.0.default_servant());
        found.ok_or_else(|| PoaError::ObjectNotActive(id.clone()))
    }

    /// The reference of the active object `id`.
    ///
    /// # Errors
    /// [`PoaError::ObjectNotActive`], [`PoaError::WrongPolicy`] without `RETAIN`;
    /// [`PoaError::System`] when the ORB was shut down.
    pub fn id_to_reference(&self, id: &ObjectId) -> Result<Object, PoaError> {
        self.needs_retain("id_to_reference")?;
        let found = self.0.objects.read(|map| {
            let place = map.name_of(id.as_octets())?;
            let object = map.at(place, id.as_octets())?;
            object.activation().is_active().then(|| (place, Arc::clone(object.servant())))
        })?;
        let (place, servant) = found.ok_or_else(|| PoaError::ObjectNotActive(id.clone()))?;
        self.reference(id.as_octets(), place, servant._repository_id())
    }

    /// The reference of the object `id`, which stands at `place` in the map if that is known.
    pub(crate) fn reference(
        &self,
        id: &[u8],
        place: SlotName,
        repository_id: &str,
    ) -> Result<Object, PoaError> {
        self.check_alive()?;
        let key = self.0.key(id, place).to_octets();
        let PoaInner { orb, policies, components, .. } = &*self.0;
        let protection = policies.tls_protection;
        Ok(orb.create_protected_reference(&key, repository_id, protection, components)?)
    }
}

impl super::PoaInner {
    fn key<'k>(&'k self, id: &'k [u8], place: SlotName) -> ObjectKey<'k> {
        match self.policies.lifespan {
            Lifespan::Persistent => {
                let active = self.policies.servant_demux == ServantDemux::Active;
                let hint = active.then(|| KeyHint {
                    poa_index: self.place().index,
                    path_hash: self.path_hash,
                    servant_index: place.index,
                });
                ObjectKey::Persistent { hint, path: &self.path, id }
            }
            Lifespan::Transient => ObjectKey::Transient {
                incarnation: self.registry.incarnation,
                poa: self.place(),
                servant: place,
                id,
            },
        }
    }
}

/// `_this` for every servant with a generated skeleton.
pub trait This: TypedServant + Sized {
    /// The typed reference of the object that this servant stands for. Inside a request that it
    /// serves: the object of the request. Otherwise as `default_poa` has it, which may activate the
    /// servant ([`crate::ImplicitActivation`]).
    ///
    /// # Errors
    /// As [`Poa::servant_to_reference`].
    fn _this(self: &Arc<Self>, default_poa: &Poa) -> Result<Self::Reference, PoaError> {
        let servant: Arc<dyn Servant> = Arc::<Self>::clone(self);
        let serving = upcall_context::current();
        let poa = match &serving {
            Some(current) if current.is_served_by(&servant) => &current.poa,
            _ => default_poa,
        };
        poa.servant_to_reference(&servant).map(Self::Reference::from_object)
    }
}

impl<S: TypedServant> This for S {}
