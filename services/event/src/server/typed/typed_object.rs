//! The object of a proxy whose operations are events, or give them (Event Service 1.2 §2.9): it has
//! an interface that is not known at build time.
//!
//! Made by `push_consumer` and `pull_supplier`, which say how it is served.

use crate::interfaces::EventInterface;
use crate::neighbours;
use crate::server::proxy::Proxy;
use corbie::{CompletionStatus, Object, Servant, ServerRequest, SystemException, minor};
use std::sync::Arc;

/// Serves a request at the typed object of a proxy.
type Serve =
    fn(&Arc<Proxy>, &EventInterface, &mut ServerRequest<'_>) -> Result<(), SystemException>;

/// The typed object of `proxy`, served by `serve`.
pub(super) fn of(
    proxy: &Arc<Proxy>,
    interface: &Arc<EventInterface>,
    serve: Serve,
) -> Result<Object, SystemException> {
    let (called, interface) = (Arc::clone(proxy), Arc::clone(interface));
    proxy.typed_object(|| Arc::new(Called { proxy: called, interface, serve }))
}

struct Called {
    proxy: Arc<Proxy>,
    interface: Arc<EventInterface>,
    serve: Serve,
}

impl Servant for Called {
    /// Not known at build time.
    fn _interfaces(&self) -> &'static [&'static str] {
        &[]
    }

    fn _repository_id(&self) -> &str {
        self.interface.id()
    }

    fn _is_a(&self, repository_id: &str) -> bool {
        repository_id == neighbours::LINKED || self.interface.is_a(repository_id)
    }

    fn _interface(&self) -> Option<&Object> {
        self.interface.definition()
    }

    fn _dispatch(&self, request: &mut ServerRequest<'_>) -> Result<(), SystemException> {
        match neighbours::serve(&*self.proxy, request) {
            Some(outcome) => outcome,
            None => (self.serve)(&self.proxy, &self.interface, request),
        }
    }
}

/// Operations of I raise nothing; so it is a system exception.
pub(super) fn not_connected() -> SystemException {
    SystemException::bad_inv_order(minor::BAD_INV_ORDER_NOT_CONNECTED, CompletionStatus::No)
        .with_detail("the proxy is not connected: connect it before events are given or asked for")
}
