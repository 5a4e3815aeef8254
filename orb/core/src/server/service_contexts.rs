//! The service contexts of one request: those that came with it, and those that go back with its
//! reply (CORBA 3.3 P2 §9.7).
//!
//! A request has none of this until a reply context is set or a [`Current`] wants to know. From
//! then on it travels with the request: in the `ServerRequest`, while it is held, and from
//! `ServerRequest::defer` on in the `ResponseHandler`.
//!
//! [`Current`]: crate::server::Current

use crate::portable_interceptor::{ServiceContext, service_contexts};
use crate::server::{Caller, ServerConnection};
use corbie_cdr::{Encoder, Error};
use corbie_giop::{MessageStart, ReplyHeader, ReplyStatus, ServiceContexts, Tagged, write_reply};
use corbie_threads::lock::{Ranked, rank};
use corbie_transport::{PeerAddress, PeerIdentity};
use corbie_types::SystemException;
use std::sync::Arc;

/// What is kept of one request for its servant, whichever thread that runs on.
pub(crate) struct RequestContext {
    /// `None` for a request of this process.
    connection: Option<Arc<ServerConnection>>,
    /// The user that it is made for.
    caller: Option<Arc<Caller>>,
    /// `None` when they are more than is kept.
    received: Option<Vec<ServiceContext>>,
    /// What goes back with the reply.
    reply: Ranked<rank::Leaf, Vec<ServiceContext>>,
}

impl RequestContext {
    pub(crate) fn new(
        connection: Option<&Arc<ServerConnection>>,
        caller: &Option<Arc<Caller>>,
        received: &ServiceContexts<'_>,
    ) -> Arc<Self> {
        Arc::new(RequestContext {
            connection: connection.cloned(),
            caller: caller.clone(),
            received: service_contexts::kept(received),
            reply: Ranked::new(Vec::new()),
        })
    }

    pub(crate) fn peer(&self) -> PeerIdentity {
        match (&self.caller, &self.connection) {
            (Some(caller), _) => PeerIdentity::clone(caller.identity()),
            (None, Some(connection)) => connection.link().identity(),
            (None, None) => PeerIdentity::from(PeerAddress::Here),
        }
    }

    /// The user that it is made for.
    pub(crate) fn caller(&self) -> Option<&Arc<Caller>> {
        self.caller.as_ref()
    }

    /// # Errors
    /// `IMP_LIMIT` (`COMPLETED_NO`) when there are more than is kept.
    pub(crate) fn came(&self) -> Result<&[ServiceContext], SystemException> {
        service_contexts::all(self.received.as_deref())
    }

    /// `context` goes back with the reply, instead of one that was set with the same id.
    pub(crate) fn set_reply(&self, context: ServiceContext) {
        // Nothing is refused that may replace.
        let _ = service_contexts::add(&mut self.reply.lock(), context, true);
    }

    /// What goes back with the reply, as far as it was set.
    pub(crate) fn reply_contexts(&self) -> Vec<ServiceContext> {
        self.reply.lock().clone()
    }

    /// Writes everything of the reply up to its body.
    ///
    /// # Errors
    /// As [`write_reply`].
    #[cold]
    pub(crate) fn write_reply(
        &self,
        e: &mut Encoder<'_>,
        request_id: u32,
        status: ReplyStatus,
    ) -> Result<MessageStart, Error> {
        let contexts = self.reply.lock();
        let tagged: Vec<Tagged<'_>> = contexts.iter().map(ServiceContext::as_tagged).collect();
        let service_contexts = ServiceContexts::new(&tagged);
        write_reply(e, &ReplyHeader { request_id, status, service_contexts })
    }
}
