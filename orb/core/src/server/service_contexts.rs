//! The service contexts of one request: those that came with it, and those that go back with its
//! reply (CORBA 3.3 P2 §9.7).
//!
//! A request has none of this until a reply context is set or a [`Current`] wants to know. From
//! then on it travels with the request: in the `ServerRequest`, while it is held, and from
//! `ServerRequest::defer` on in the `ResponseHandler`.
//!
//! [`Current`]: crate::server::Current

use crate::portable_interceptor::ServiceContext;
use crate::server::ServerConnection;
use corbie_cdr::{Encoder, Error};
use corbie_giop::{MessageStart, ReplyHeader, ReplyStatus, ServiceContexts, Tagged, write_reply};
use corbie_threads::lock::{Ranked, rank};
use corbie_transport::{PeerAddress, PeerIdentity};
use corbie_types::{SystemException, minor};
use std::sync::Arc;

/// Octets of the contexts of one request that are kept beyond its message. A deferred answer may
/// keep them for long, and a client chooses how many there are.
const KEPT_OCTETS_MAX: usize = 16 << 10;

/// What is kept of one request for its servant, whichever thread that runs on.
pub(crate) struct RequestContext {
    /// `None` for a request of this process.
    connection: Option<Arc<ServerConnection>>,
    /// `None` when they are more than is kept.
    received: Option<Vec<ServiceContext>>,
    /// What goes back with the reply.
    reply: Ranked<rank::Leaf, Vec<ServiceContext>>,
}

impl RequestContext {
    pub(crate) fn new(
        connection: Option<&Arc<ServerConnection>>,
        received: &ServiceContexts<'_>,
    ) -> Arc<Self> {
        let octets: usize = received.iter().map(|context| context.data.len()).sum();
        let copied = |Tagged { tag, data }: Tagged<'_>| ServiceContext::new(tag, data);
        let is_kept = octets <= KEPT_OCTETS_MAX && received.len() <= KEPT_OCTETS_MAX / 8;
        Arc::new(RequestContext {
            connection: connection.cloned(),
            received: is_kept.then(|| received.iter().map(copied).collect()),
            reply: Ranked::new(Vec::new()),
        })
    }

    pub(crate) fn peer(&self) -> PeerIdentity {
        match &self.connection {
            Some(connection) => connection.link().identity(),
            None => PeerIdentity::from(PeerAddress::Here),
        }
    }

    /// # Errors
    /// `IMP_LIMIT` (`COMPLETED_NO`) when there are more than is kept.
    pub(crate) fn came(&self) -> Result<&[ServiceContext], SystemException> {
        self.received.as_deref().ok_or_else(too_large)
    }

    /// `context` goes back with the reply, instead of one that was set with the same id.
    pub(crate) fn set_reply(&self, context: ServiceContext) {
        let mut contexts = self.reply.lock();
        match contexts.iter_mut().find(|known| known.id == context.id) {
            Some(known) => *known = context,
            None => contexts.push(context),
        }
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
        let tagged = contexts.iter().map(|one| Tagged { tag: one.id, data: &one.data });
        let tagged: Vec<Tagged<'_>> = tagged.collect();
        let service_contexts = ServiceContexts::new(&tagged);
        write_reply(e, &ReplyHeader { request_id, status, service_contexts })
    }
}

#[cold]
fn too_large() -> SystemException {
    minor::IMP_LIMIT_MESSAGE_SIZE.no(format!(
        "the service contexts of this request have more than {KEPT_OCTETS_MAX} octets together, \
         so they were not kept; a servant that gets the ServerRequest can read them in place"
    ))
}
