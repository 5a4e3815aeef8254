//! From the object key of a request to its servant: the server half of the call path.
//!
//! `orb/core/server/dispatch` calls this for every request. No string is copied and nothing is
//! allocated: a transient key leads to its servant by two indices (paper POA §2.2, §2.3). The locks
//! are released before the servant is called (invariant 8 of `ARCHITECTURE.md`).

use crate::RootPoa;
use crate::object_key::ObjectKey;
use crate::object_operations;
use corbie_core::server::{Adapter, Location, Servant, ServerRequest};
use corbie_types::{CompletionStatus, SystemException};
use std::sync::Arc;

impl Adapter for RootPoa {
    fn dispatch(&self, request: &mut ServerRequest<'_>) -> Result<(), SystemException> {
        let servant = self.find(request.object_key()).ok_or_else(|| not_here(request))?;
        if object_operations::is_object_operation(request.operation()) && !servant._forwards() {
            return object_operations::answer(&*servant, request);
        }
        servant._dispatch(request)
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
    fn find(&self, object_key: &[u8]) -> Option<Arc<dyn Servant>> {
        let table = self.registry.read();
        match ObjectKey::parse(object_key)? {
            ObjectKey::Transient { incarnation, poa, servant, id } => {
                if incarnation != self.registry.incarnation {
                    return None;
                }
                let objects = table.poas.get(poa)?.objects();
                let object = objects.at(servant)?;
                // The id is compared too, since a key is only as good as its sender.
                (object.id.as_octets() == id).then(|| Arc::clone(&object.servant))
            }
            ObjectKey::Persistent { path, id } => {
                let objects = table.poas.get(*table.persistent.get(path)?)?.objects();
                objects.by_id(id).map(|object| Arc::clone(&object.servant))
            }
        }
    }
}

#[cold]
fn not_here(request: &ServerRequest<'_>) -> SystemException {
    let minor = corbie_types::minor::OBJECT_NOT_EXIST_NO_MATCH;
    SystemException::object_not_exist(minor, CompletionStatus::No).with_detail(format!(
        "{} was called on an object that is not active here (key of {} octets): it was \
         deactivated, or the reference is from a former life of this server",
        request.operation(),
        request.object_key().len()
    ))
}
