//! What the ORB core asks of an object adapter. `corbie_poa::RootPoa` implements it; the core never
//! names the POA.

use crate::server::ServerRequest;
use corbie_types::{Ior, SystemException};

/// From object keys to servants.
pub trait Adapter: Send + Sync {
    /// Has the servant of `request.object_key()` answer the request.
    ///
    /// # Errors
    /// The system exception that the client gets: `OBJECT_NOT_EXIST` (`COMPLETED_NO`) when no
    /// servant is found, else what the servant raised.
    fn dispatch(&self, request: &mut ServerRequest<'_>) -> Result<(), SystemException>;

    /// Where the object with this key is; answers `LocateRequest` (CORBA 3.3 P2 §9.4.5).
    fn locate(&self, object_key: &[u8]) -> Location;

    /// The ORB has shut down: servants are let go.
    fn close(&self);
}

/// The answer to [`Adapter::locate`].
#[derive(Clone, Debug, PartialEq)]
pub enum Location {
    /// Requests may be sent here.
    Here,
    /// No such object.
    Unknown,
    /// Requests are to be sent there.
    Forward(Ior),
}
