//! From the object key of a request to its servant: the server half of the call path.
//!
//! `orb/core/server/dispatch` calls this for every request. No string is copied and nothing is
//! allocated: a transient key leads to its servant by two indices (paper POA §2.2, §2.3). The locks
//! are released before the servant is called (invariant 8 of `ARCHITECTURE.md`).

use crate::RootPoa;
use crate::object_key::ObjectKey;
use crate::object_operations;
use crate::poa::PoaInner;
use crate::poa_manager::{Admitted, Pass};
use corbie_core::server::upcall::ActiveObject;
use corbie_core::server::{Adapter, LocalRefusal, Location, Servant, ServerRequest};
use corbie_types::{CompletionStatus, SystemException};
use std::sync::Arc;

impl Adapter for RootPoa {
    fn dispatch(&self, request: &mut ServerRequest<'_>) -> Result<(), SystemException> {
        if let Some(object) = self.find(request.object_key())
            && let Some(_entered) = object.activation().enter()
        {
            return serve(&**object.servant(), request);
        }
        self.dispatch_slowly(request)
    }

    fn active_object(&self, object_key: &[u8]) -> Option<Arc<ActiveObject>> {
        self.find(object_key)
    }

    fn call(
        &self,
        object_key: &[u8],
        operation: &str,
        upcall: &mut dyn FnMut(&Arc<dyn Servant>),
    ) -> Result<(), LocalRefusal> {
        let unknown = || not_here(operation, object_key);
        let poa = self.poa_of(object_key).ok_or_else(unknown)?;
        let _pass = poa.admit_call()?;
        let object = self.find(object_key).ok_or_else(unknown)?;
        let _entered =
            object.activation().enter_in_spite_of(Pass::IN_SPITE_OF).ok_or_else(unknown)?;
        upcall(object.servant());
        Ok(())
    }

    fn locate(&self, object_key: &[u8]) -> Location {
        match self.find(object_key) {
            Some(_) => Location::Here,
            None => Location::Unknown,
        }
    }

    fn close(&self) {
        self.destroy();
    }
}

impl RootPoa {
    /// The gate of the POA is not open, or the object is not there.
    #[cold]
    fn dispatch_slowly(&self, request: &mut ServerRequest<'_>) -> Result<(), SystemException> {
        loop {
            let unknown = not_here(request.operation(), request.object_key());
            let Some(poa) = self.poa_of(request.object_key()) else { return Err(unknown) };
            let _pass = match poa.admit(request)? {
                Admitted::Held => return Ok(()),
                Admitted::Serve(pass) => pass,
            };
            let Some(object) = self.find(request.object_key()) else { return Err(unknown) };
            if let Some(_entered) = object.activation().enter_in_spite_of(Pass::IN_SPITE_OF) {
                return serve(&**object.servant(), request);
            }
            if !object.activation().is_active() {
                return Err(unknown);
            }
        }
    }

    fn poa_of(&self, object_key: &[u8]) -> Option<Arc<PoaInner>> {
        let table = self.registry.read();
        let place = match ObjectKey::parse(object_key)? {
            ObjectKey::Transient { incarnation, poa, .. } => {
                (incarnation == self.registry.incarnation).then_some(poa)?
            }
            ObjectKey::Persistent { path, .. } => *table.persistent.get(path)?,
        };
        table.poas.get(place).cloned()
    }

    fn find(&self, object_key: &[u8]) -> Option<Arc<ActiveObject>> {
        let table = self.registry.read();
        match ObjectKey::parse(object_key)? {
            ObjectKey::Transient { incarnation, poa, servant, id } => {
                if incarnation != self.registry.incarnation {
                    return None;
                }
                let objects = table.poas.get(poa)?.objects();
                let object = objects.at(servant)?;
                // The id is compared too, since a key is only as good as its sender.
                (object.activation().id() == id).then(|| Arc::clone(object))
            }
            ObjectKey::Persistent { path, id } => {
                let objects = table.poas.get(*table.persistent.get(path)?)?.objects();
                objects.by_id(id).cloned()
            }
        }
    }
}

#[inline]
fn serve(servant: &dyn Servant, request: &mut ServerRequest<'_>) -> Result<(), SystemException> {
    if object_operations::is_object_operation(request.operation()) && !servant._forwards() {
        return object_operations::answer(servant, request);
    }
    servant._dispatch(request)
}

#[cold]
fn not_here(operation: &str, object_key: &[u8]) -> SystemException {
    let minor = corbie_types::minor::OBJECT_NOT_EXIST_NO_MATCH;
    SystemException::object_not_exist(minor, CompletionStatus::No).with_detail(format!(
        "{} was called on an object that is not active here (key of {} octets): it was \
         deactivated, or the reference is from a former life of this server",
        operation,
        object_key.len()
    ))
}
