//! Why one attempt of a call failed, and whether another attempt is safe.
//!
//! A request may be sent again only when the server has surely not begun to serve it: nothing was
//! sent, or the server said so by `CloseConnection` (CORBA 3.3 P2 §9.4.7).

use corbie_types::SystemException;

/// The outcome of an attempt that gave no reply.
#[derive(Debug)]
pub(crate) struct CallFailure {
    pub(crate) exception: SystemException,
    pub(crate) retry: Retry,
}

/// Whether the request may be sent again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Retry {
    /// The server did not get the request; the same target on a new connection may do.
    SameTarget,
    /// The target cannot be reached now; another address of the reference may do.
    NextTarget,
    /// The server may have begun: the caller has to decide.
    Never,
}

impl CallFailure {
    pub(crate) fn new(exception: SystemException, retry: Retry) -> Self {
        CallFailure { exception, retry }
    }
}

impl From<SystemException> for CallFailure {
    /// Failures without further word are final.
    fn from(exception: SystemException) -> Self {
        CallFailure { exception, retry: Retry::Never }
    }
}
