//! Contexts as objects: one persistent POA whose object ids are the store's number and the
//! context's, so that references outlive the server and any server of the store can answer them.
//!
//! No context is activated: a servant locator makes the servant of a request from the object id
//! (CORBA 3.3 P1 §15.3.7). Used by `server` and `walk` to turn contexts into references and back.

use super::Shared;
use super::context::{Client, Context};
use crate::cos_naming::{NamingContextExt, NamingContextExtSkeleton};
use crate::refusal::system;
use crate::store::{ContextId, StoreError};
use corbie::codegen::View;
use corbie::{
    Cookie, IdAssignment, Lifespan, Object, ObjectId, Orb, Poa, PoaPolicy, RequestProcessing,
    Servant, ServantLocator, ServantManager, ServantRefusal, ServantRetention, ServerRequest,
    SystemException,
};
use std::sync::{Arc, Weak};

/// The path of the POA is part of every reference: it never changes.
const POA: &str = "NamingContexts";

const POLICIES: [PoaPolicy; 4] = [
    PoaPolicy::Lifespan(Lifespan::Persistent),
    PoaPolicy::IdAssignment(IdAssignment::UserId),
    PoaPolicy::ServantRetention(ServantRetention::NonRetain),
    PoaPolicy::RequestProcessing(RequestProcessing::ServantManager),
];

/// The POA of the contexts.
pub(super) struct Objects {
    poa: Poa,
    uid: u64,
}

impl Objects {
    pub(super) fn new(orb: &Orb, uid: u64) -> Result<Self, SystemException> {
        let poa = orb.root_poa()?.create_poa(POA, None, &POLICIES)?;
        Ok(Self { poa, uid })
    }

    /// Begins to serve.
    pub(super) fn serve(&self, shared: &Arc<Shared>) -> Result<(), SystemException> {
        let locator = Contexts { shared: Arc::downgrade(shared) };
        self.poa.set_servant_manager(ServantManager::locator(locator))?;
        self.poa.the_poa_manager().activate().map_err(SystemException::from)
    }

    /// Stops serving.
    pub(super) fn close(&self) {
        // It fails when the ORB was shut down, and the POA with it.
        let _ = self.poa.destroy(true, false);
    }

    pub(super) fn reference(&self, id: ContextId) -> Result<NamingContextExt, SystemException> {
        let id = ObjectId::from(format!("{:016x}/{:x}", self.uid, id.0).as_str());
        let object = self.poa.create_reference_with_id(&id, NamingContextExt::REPOSITORY_ID)?;
        Ok(NamingContextExt::unchecked_narrow(object))
    }

    /// The context of our store that `object` is, if it is one. The servers of one store know each
    /// other's by the number of the store in the key.
    pub(super) fn context_of(&self, object: &Object) -> Option<ContextId> {
        self.context(&self.poa.reference_to_id(object).ok()?)
    }

    fn context(&self, id: &ObjectId) -> Option<ContextId> {
        let (uid, context) = std::str::from_utf8(id.as_octets()).ok()?.split_once('/')?;
        let uid = u64::from_str_radix(uid, 16).ok()?;
        let context = u64::from_str_radix(context, 16).ok()?;
        (uid == self.uid).then_some(ContextId(context))
    }
}

/// The servant of one request, which tells the context which peer it is of.
struct OfClient {
    skeleton: NamingContextExtSkeleton<Context>,
    client: Client,
}

impl Servant for OfClient {
    fn _interfaces(&self) -> &'static [&'static str] {
        self.skeleton._interfaces()
    }

    fn _dispatch(&self, request: &mut ServerRequest<'_>) -> Result<(), SystemException> {
        let _ = self.client.set(request.peer().origin());
        self.skeleton._dispatch(request)
    }

    fn _view<'a>(&'a self, view: &mut View<'a>) {
        self.skeleton._view(view);
    }
}

/// Makes servants for requests. The server that is gone serves no more.
struct Contexts {
    shared: Weak<Shared>,
}

impl ServantLocator for Contexts {
    fn preinvoke(
        &self,
        id: &ObjectId,
        _adapter: &Poa,
        operation: &str,
    ) -> Result<(Arc<dyn Servant>, Cookie), ServantRefusal> {
        let not_there = || system(&StoreError::NoContext);
        let shared = self.shared.upgrade().ok_or_else(not_there)?;
        let context = shared.objects.context(id).ok_or_else(not_there)?;
        // What is answered without the store has to ask whether the context is there.
        if operation.starts_with('_') && !shared.store.exists(context).map_err(|e| system(&e))? {
            return Err(not_there().into());
        }
        let client = Client::default();
        let skeleton =
            NamingContextExtSkeleton::new(Context::new(shared, context, Arc::clone(&client)));
        Ok((Arc::new(OfClient { skeleton, client }), Box::new(())))
    }

    fn postinvoke(
        &self,
        _: &ObjectId,
        _: &Poa,
        _: &str,
        _: Cookie,
        _: &Arc<dyn Servant>,
    ) -> Result<(), SystemException> {
        Ok(())
    }
}
