//! The user of a request, and what is kept of it with its service contexts: set by `server/csi`
//! before the request is admitted, asked by rules of access and by servants.

use super::ServerRequest;
use crate::server::service_contexts::RequestContext;
use crate::server::{Caller, ServerConnection};
use std::sync::Arc;

impl<'r> ServerRequest<'r> {
    /// What is kept of its service contexts.
    #[cold]
    pub(crate) fn context(&self) -> &Arc<RequestContext> {
        let (connection, received) = (self.connection, &self.header.service_contexts);
        let caller = &self.carried.caller;
        self.carried.context.get_or_init(|| RequestContext::new(connection, caller, received))
    }

    /// The user that it is made for, as CSIv2 says it: proven by a password, or asserted by a peer
    /// that is trusted to. `None`: no user, as for calls of this process.
    #[must_use]
    pub fn user(&self) -> Option<&str> {
        self.caller()?.user().map(|user| &**user)
    }

    pub(crate) fn caller(&self) -> Option<&Arc<Caller>> {
        self.carried.caller.as_ref()
    }

    /// It is made for this one. To be called before anything is kept of its contexts.
    pub(crate) fn set_caller(&mut self, caller: Arc<Caller>) {
        self.carried.caller = Some(caller);
    }

    /// It will be held before it is admitted.
    pub(crate) fn note_to_admit(&mut self) {
        self.carried.is_to_admit = true;
    }

    /// Its connection, if it was held before it was admitted; asked once.
    pub(crate) fn take_to_admit(&mut self) -> Option<&'r Arc<ServerConnection>> {
        if std::mem::take(&mut self.carried.is_to_admit) { self.connection } else { None }
    }
}
