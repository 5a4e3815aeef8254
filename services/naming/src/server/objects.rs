//! Contexts as objects: one persistent POA whose object ids are the store's number and the
//! context's, so that references outlive the server and any server of the store can answer them.
//!
//! Used by `server` and `walk` to turn contexts into references and back.

use super::Shared;
use super::context::Context;
use crate::cos_naming::{NamingContextExt, NamingContextExtSkeleton};
use crate::store::ContextId;
use corbie::{Object, ObjectId, Orb, Poa, PoaPolicy, SystemException};
use std::sync::Arc;

/// The path of the POA is part of every reference: it never changes.
const POA: &str = "NamingContexts";

/// The POA of the contexts.
pub(super) struct Objects {
    poa: Poa,
    uid: u64,
}

impl Objects {
    pub(super) fn new(orb: &Orb, uid: u64) -> Result<Self, SystemException> {
        let poa = orb.root_poa()?.create_poa(POA, None, &PoaPolicy::PERSISTENT_USER_ID)?;
        Ok(Self { poa, uid })
    }

    /// Begins to serve.
    pub(super) fn serve(&self, _shared: &Arc<Shared>) -> Result<(), SystemException> {
        self.poa.the_poa_manager().activate().map_err(SystemException::from)
    }

    pub(super) fn reference(
        &self,
        shared: &Arc<Shared>,
        id: ContextId,
    ) -> Result<NamingContextExt, SystemException> {
        let object_id = self.object_id(id);
        if let Ok(object) = self.poa.id_to_reference(&object_id) {
            return Ok(NamingContextExt::unchecked_narrow(object));
        }
        let servant = NamingContextExtSkeleton::new(Context::new(Arc::clone(shared), id));
        Ok(self.poa.activate_with_id(object_id.as_octets(), servant)?)
    }

    fn object_id(&self, id: ContextId) -> ObjectId {
        ObjectId::from(format!("{:016x}/{:x}", self.uid, id.0).as_str())
    }

    pub(super) fn context_of(&self, object: &Object) -> Option<ContextId> {
        let id = self.poa.reference_to_id(object).ok()?;
        let (uid, context) = std::str::from_utf8(id.as_octets()).ok()?.split_once('/')?;
        let uid = u64::from_str_radix(uid, 16).ok()?;
        let context = u64::from_str_radix(context, 16).ok()?;
        (uid == self.uid).then_some(ContextId(context))
    }
}
