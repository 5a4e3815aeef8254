//! What the ORB core asks of an object adapter. `corbie_poa::RootPoa` implements it; the core never
//! names the POA.

use crate::Object;
use crate::server::{Servant, ServerRequest};
use corbie_settings::TlsProtection;
use corbie_types::{Ior, SystemException};
use corbie_upcall::Activation;
use std::any::Any;
use std::sync::Arc;

/// An object that is active, with its servant.
pub type ActiveObject = corbie_upcall::ActiveObject<dyn Servant>;

/// From object keys to servants.
pub trait Adapter: Any + Send + Sync {
    /// Has the servant of `request.object_key()` answer the request.
    ///
    /// # Errors
    /// The system exception that the client gets: `OBJECT_NOT_EXIST` (`COMPLETED_NO`) when no
    /// servant is found, else what the servant raised.
    fn dispatch(&self, request: &mut ServerRequest<'_>) -> Result<(), SystemException>;

    /// Whether nothing of the same connection may overtake a request to this object. Asked before
    /// the upcall, once an object was announced by [`Orb::expect_order`](crate::Orb::expect_order);
    /// a look, which calls no application code but [`Servant::_keeps_order`].
    fn keeps_order(&self, object_key: &[u8]) -> bool;

    /// Whether requests to the object with this key may come over connections that this ORB opened:
    /// its POA has the `BidirectionalPolicy` `BOTH`.
    fn takes_call_backs(&self, object_key: &[u8]) -> bool;

    /// Over which connections requests to the object with this key may come: what its POA says.
    fn tls_protection(&self, object_key: &[u8]) -> TlsProtection;

    /// Whether the object with this key, which is not known, may be there soon: the server is not
    /// ready, and requests for such objects wait.
    fn may_come(&self, object_key: &[u8]) -> bool;

    /// Puts a request aside whose object is not known and may come; `false`: it may not, or no
    /// more, and nothing was done.
    ///
    /// # Errors
    /// `TRANSIENT` (`COMPLETED_NO`) when as much is held as the limits allow.
    fn wait_for_object(&self, request: &mut ServerRequest<'_>) -> Result<bool, SystemException>;

    /// Where the object with this key is; answers `LocateRequest` (CORBA 3.3 P2 §9.4.5).
    fn locate(&self, object_key: &[u8]) -> Location;

    /// The active object with this key, for calls of this process that remember it: only objects
    /// that are in the active object map of a POA. A look, which changes nothing and calls no
    /// application code.
    fn active_object(&self, object_key: &[u8]) -> Option<Reach>;

    /// Whether the object with this key is active now, by this very activation: found by its key,
    /// as for a request. A look as well; nothing is counted.
    fn is_active_as(&self, object_key: &[u8], activation: &Activation) -> bool;

    /// The servant that a request with this key would meet, where that is known before the request
    /// is made: the active object's, or the default servant. A look, too.
    fn servant(&self, object_key: &[u8]) -> Option<Arc<dyn Servant>>;

    /// Gives `look` the names of the POAs on the way to the object with this key, each with a NUL
    /// behind it, and the object id; does nothing for keys that are not of this adapter.
    fn name(&self, object_key: &[u8], look: &mut dyn FnMut(&[u8], &[u8]));

    /// Whether both keys are of one object of this adapter.
    fn are_of_one_object(&self, one: &[u8], other: &[u8]) -> bool;

    /// A call of this process through the object adapter: with the state of the POA manager (waits
    /// while it holds requests), servant managers, thread model and Current as for a request.
    /// `upcall` is given the servant, at most once.
    ///
    /// # Errors
    /// [`LocalRefusal`]; `upcall` was not run then, unless it is
    /// [`LocalRefusal::Raised`] by a servant manager afterwards.
    fn call(
        &self,
        object_key: &[u8],
        operation: &str,
        upcall: &mut dyn FnMut(&Arc<dyn Servant>),
    ) -> Result<(), LocalRefusal>;

    /// Whether an upcall is under way: a shutdown that waits for completion waits for it.
    fn is_busy(&self) -> bool;

    /// The ORB has shut down: servants are let go.
    fn close(&self);
}

/// How calls of this process may reach an active object that they remember.
#[derive(Clone, Debug)]
pub enum Reach {
    /// Straight, as long as its gate is open (direct collocation).
    Straight(Arc<ActiveObject>),
    /// Looked up anew by each call ([`Adapter::is_active_as`]): through the POA.
    LookedUp(Arc<ActiveObject>),
}

/// Why [`Adapter::call`] did not make the call.
#[derive(Clone, Debug)]
pub enum LocalRefusal {
    /// The caller gets this exception; `COMPLETED_NO`.
    Raised(SystemException),
    /// The caller is to call this object instead.
    Forward(Object),
    /// The call has to be made as a request that is decoded: the servant must run on another
    /// thread, or takes requests only.
    Remote,
}

impl From<SystemException> for LocalRefusal {
    fn from(exception: SystemException) -> Self {
        LocalRefusal::Raised(exception)
    }
}

/// The answer to [`Adapter::locate`].
#[derive(Clone, Debug, PartialEq)]
pub enum Location {
    /// Requests may be sent here.
    Here,
    /// The object is unknown.
    Unknown,
    /// Requests are to be sent to the object of this IOR.
    Forward(Ior),
}
