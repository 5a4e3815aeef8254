//! The servant for a request, by the policies of its POA (CORBA 3.3 P1 §15.2.3.2, §15.3.8.6):
//! active object map, default servant, servant activator, servant locator.
//!
//! Used by `long_way` inside the POA's gate, with no lock held.

use crate::active_object_map::ActiveObjectMap;
use crate::error::PoaError;
use crate::object_id::ObjectId;
use crate::object_key::ObjectKey;
use crate::poa::servant_manager::{Cookie, ServantActivator, ServantLocator, ServantRefusal};
use crate::poa::{Poa, PoaInner, no_default_servant, no_servant_manager, upcall_context};
use crate::policies::{RequestProcessing, ServantRetention};
use crate::transitions::Busy;
use corbie_core::Object;
use corbie_core::server::ActiveObject;
use corbie_core::server::Servant;
use corbie_types::{SystemException, minor};
use std::sync::Arc;

/// A search for one request, whose operation lives for `'o`.
pub(super) struct Search<'s, 'o> {
    pub(super) poa: &'s Arc<PoaInner>,
    pub(super) key: &'s ObjectKey<'s>,
    pub(super) operation: &'o str,
}

/// What it ends in.
pub(super) enum Found<'o> {
    /// An active object.
    Listed(Arc<ActiveObject>),
    Default(Arc<dyn Servant>),
    /// What a servant locator gave for this request.
    Located(Located<'o>),
    Forward(Object),
    Nothing,
    /// A thread is busy with the object.
    Wait(Awaited),
    /// Something has changed: look again.
    Again,
}

/// The end of what a thread does with an object.
pub(super) struct Awaited {
    /// Of the POA's transitions, before it was seen.
    pub(super) epoch: u64,
    /// Whether it is the calling thread that does it.
    pub(super) is_own: bool,
}

/// What is in the way of a request in the active object map.
enum Listed {
    Active(Arc<ActiveObject>),
    /// It is being deactivated; its place, while it is in the map.
    Leaving(Option<u32>),
    No,
}

impl PoaInner {
    /// Whether a request with this key would be served.
    pub(super) fn may_serve(&self, key: &ObjectKey<'_>) -> bool {
        match self.policies.request_processing {
            RequestProcessing::ActiveObjectMapOnly => {
                self.active(key).is_some_and(|object| object.activation().is_active())
            }
            RequestProcessing::DefaultServant => {
                self.active(key).is_some() || self.default_servant().is_some()
            }
            RequestProcessing::ServantManager => {
                self.servant_activator().is_some() || self.servant_locator().is_some()
            }
        }
    }
}

impl<'o> Search<'_, 'o> {
    /// # Errors
    /// What the client gets.
    pub(super) fn find(&self) -> Result<Found<'o>, SystemException> {
        if !self.poa.objects.is_for_this_thread() {
            return Err(PoaError::OtherThread.into());
        }
        let retains = self.poa.policies.servant_retention == ServantRetention::Retain;
        let epoch = self.poa.transitions.epoch();
        let listed = if retains { self.listed() } else { Listed::No };
        match (self.poa.policies.request_processing, listed) {
            (_, Listed::Active(object)) => Ok(Found::Listed(object)),
            (RequestProcessing::ActiveObjectMapOnly, _) => Ok(Found::Nothing),
            (RequestProcessing::DefaultServant, _) => {
                self.poa.default_servant().map(Found::Default).ok_or_else(no_default_servant)
            }
            (RequestProcessing::ServantManager, Listed::Leaving(place)) => {
                Ok(self.wait(epoch, place))
            }
            (RequestProcessing::ServantManager, Listed::No) if retains => self.incarnate(epoch),
            (RequestProcessing::ServantManager, Listed::No) => self.locate(),
        }
    }

    fn listed(&self) -> Listed {
        match self.poa.active(self.key) {
            Some(object) if object.activation().is_active() => Listed::Active(object),
            Some(object) => Listed::Leaving(Some(object.activation().index())),
            None => match self.poa.transitions.busy(self.key.id()) {
                Busy::No => Listed::No,
                Busy::ThisThread | Busy::OtherThread => Listed::Leaving(None),
            },
        }
    }

    /// CORBA 3.3 P1 §15.3.6: a new incarnation waits for the end of etherealisation, and for one
    /// that is under way.
    fn wait(&self, epoch: u64, place: Option<u32>) -> Found<'o> {
        let is_own = match place {
            Some(index) => self.poa.is_entered_by_this_thread_at(index),
            None => self.poa.transitions.busy(self.key.id()) == Busy::ThisThread,
        };
        Found::Wait(Awaited { epoch, is_own })
    }

    fn incarnate(&self, epoch: u64) -> Result<Found<'o>, SystemException> {
        let activator: Arc<dyn ServantActivator> =
            self.poa.servant_activator().ok_or_else(no_servant_manager)?;
        let id = self.key.id();
        let Some(_transition) = self.poa.transitions.begin(id) else {
            return Ok(self.wait(epoch, None));
        };
        // It may have been activated since we looked.
        let is_there = |map: &ActiveObjectMap| map.by_id(id).is_some();
        if self.poa.objects.read(is_there)? {
            return Ok(Found::Again);
        }
        let object_id = ObjectId::new(id);
        let adapter = Poa(Arc::clone(self.poa));
        match activator.incarnate(&object_id, &adapter) {
            Ok(servant) => {
                let inserted = self.poa.insert_incarnated(id, &servant);
                inserted.map(Found::Listed).map_err(|error| not_activated(&error))
            }
            Err(ServantRefusal::ForwardRequest(object)) => Ok(Found::Forward(object)),
            Err(ServantRefusal::Raise(exception)) => Err(exception),
        }
    }

    fn locate(&self) -> Result<Found<'o>, SystemException> {
        let locator = self.poa.servant_locator().ok_or_else(no_servant_manager)?;
        let id = ObjectId::new(self.key.id());
        let adapter = Poa(Arc::clone(self.poa));
        match locator.preinvoke(&id, &adapter, self.operation) {
            Ok((servant, cookie)) => Ok(Found::Located(Located {
                locator,
                id,
                adapter,
                operation: self.operation,
                servant,
                cookie,
            })),
            Err(ServantRefusal::ForwardRequest(object)) => Ok(Found::Forward(object)),
            Err(ServantRefusal::Raise(exception)) => Err(exception),
        }
    }
}

/// A servant for one request, and what the locator is to get back.
pub(super) struct Located<'o> {
    locator: Arc<dyn ServantLocator>,
    id: ObjectId,
    adapter: Poa,
    operation: &'o str,
    servant: Arc<dyn Servant>,
    cookie: Cookie,
}

impl Located<'_> {
    pub(super) fn servant(&self) -> &Arc<dyn Servant> {
        &self.servant
    }

    /// The servant is done with the request.
    ///
    /// # Errors
    /// What the caller gets instead of the servant's answer.
    pub(super) fn postinvoke(self) -> Result<(), SystemException> {
        let Located { locator, id, adapter, operation, servant, cookie } = self;
        let _serving = upcall_context::serve_unlisted(id.as_octets(), None);
        locator.postinvoke(&id, &adapter, operation, cookie, &servant)
    }
}

/// The servant activator gave a servant that stands for another object under `UNIQUE_ID`, or has
/// activated the object itself (CORBA 3.3 P1 §15.3.6.1).
#[cold]
fn not_activated(error: &PoaError) -> SystemException {
    minor::OBJ_ADAPTER_INCARNATE_POLICY
        .no(format!("the servant activator's servant cannot be activated: {error}"))
}
