//! The server half of a call: from an accepted connection to the servant and back.
//!
//! `listener` accepts; `turn` says which thread serves what (paper POA §2.5), takes messages from a
//! `connection` and gives them to `dispatch`, which asks the [`Adapter`] (the POA) for the servant.
//! `registry` keeps the open connections and what is known of `peers`, `due_responses` counts
//! deferred answers.

mod access;
mod adapter;
mod admission;
mod attention;
pub(crate) mod bidirectional;
mod connection;
mod csi;
pub(crate) mod current;
pub(crate) mod dispatch;
mod due_responses;
mod forward_servant;
pub mod held;
pub mod interceptor;
mod listener;
mod listening;
mod locality;
mod object_keys;
mod operation_name;
pub mod operation_table;
pub(crate) mod panic;
mod peers;
mod registry;
mod request;
mod response_handler;
mod servant;
mod service_contexts;
mod shutdown;
pub(crate) mod turn;
mod typed_response;
mod untaken;

pub use crate::portable_interceptor::ServiceContext;
pub use adapter::{ActiveObject, Adapter, LocalRefusal, Location, Reach};
pub use current::Current;
pub use dispatch::serve_local;
pub use forward_servant::ForwardServant;
pub use panic::caught;
pub use request::{Postinvoke, ServerRequest};
pub use response_handler::ResponseHandler;
pub use servant::{Servant, TypedServant};
pub use typed_response::{SharedResponse, TypedResponse, not_raised};

pub(crate) use connection::{Accepted, has_room, may_read, request};
pub(crate) use csi::Caller;
pub(crate) use listener::start;
pub(crate) use listening::PublishedProfile;
pub(crate) use object_keys::ObjectKeys;
pub(crate) use shutdown::{close_silent, stop};
pub(crate) use untaken::{cut_those_that_take_nothing, has_to_take};

use crate::Orb;
use crate::connection::Connection as ServerConnection;
use crate::handles::Part;
pub(crate) use attention::Wanted;
use corbie_threads::connection_threads::StandIns;
use due_responses::DueResponses;
use listening::Listeners;
use registry::Registry;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, OnceLock};

/// Everything that one ORB serves with. Lock order: "listeners", "connections" (registry), then a
/// connection's "reading", then its "sending".
#[derive(Default)]
pub(crate) struct Server {
    pub(crate) adapter: OnceLock<Arc<dyn Adapter>>,
    pub(crate) object_keys: ObjectKeys,
    listeners: Listeners,
    registry: Registry,
    loops: turn::Loops,
    stand_ins: OnceLock<Arc<StandIns>>,
    in_upcalls: turn::InUpcalls,
    /// There are, or were, objects that keep the order of requests: the adapter is asked.
    has_order: AtomicBool,
    pub(crate) attention: attention::Attention,
    pub(crate) access: access::Access,
    pub(crate) csi: csi::Csi,
    pub(crate) closing: AtomicBool,
    pub(crate) refused_connections: AtomicU64,
    pub(crate) hasty_connections: AtomicU64,
    pub(crate) evicted_connections: AtomicU64,
    /// How often the watch found requests of a connection behind upcalls.
    pub(crate) requests_behind: AtomicU64,
    due_responses: DueResponses,
    untaken: untaken::Untaken,
    held: held::HeldLimits,
    held_queues: held::Queues,
    pub(crate) main_thread: held::MainThread,
    pub(crate) interceptors: interceptor::Interceptors,
    pub(crate) offers: bidirectional::Offers,
}

impl Part for Server {}

impl Orb {
    /// What this ORB serves with.
    #[inline]
    pub(crate) fn server(&self) -> &Server {
        self.extensions().server.get()
    }
}

impl Server {
    /// What references carry; `None` before listening begins.
    pub(crate) fn published(&self) -> Option<&[PublishedProfile]> {
        self.listeners.published()
    }

    /// From now on these access rules hold, also for connections that are open.
    pub(crate) fn set_access(&self, rules: corbie_access::AccessRules) {
        self.access.set(rules);
        self.attention.want(Wanted::Access);
    }

    /// From now on the users of requests are judged so, also over connections that are open.
    pub(crate) fn set_users(&self, change: impl FnOnce(&mut csi::Terms)) {
        self.csi.set(change);
        self.attention.want(Wanted::Users);
    }

    /// Each request is a span from now on.
    pub(crate) fn want_spans(&self) {
        self.attention.want(Wanted::Spans);
    }

    /// A connection has gone: a listener may wait for its place.
    pub(crate) fn forget(&self, connection: u64) {
        self.registry.remove(connection);
        self.loops.note_place();
    }

    /// How many connections peers have open.
    pub(crate) fn open_connections(&self) -> usize {
        self.registry.len()
    }

    /// How many peers have connections, and how many the one has that has most.
    pub(crate) fn peers(&self) -> (usize, usize) {
        self.registry.peers()
    }

    /// What is held back, and how many responses are due.
    pub(crate) fn waiting(&self) -> (&held::HeldLimits, &DueResponses) {
        (&self.held, &self.due_responses)
    }

    /// What is listened on.
    pub(crate) fn endpoints(&self) -> Vec<corbie_transport::Endpoint> {
        self.listeners.endpoints()
    }

    /// The TCP addresses listened on.
    pub(crate) fn addresses(&self) -> Vec<std::net::SocketAddr> {
        self.listeners.addresses()
    }
}
