//! Why a connection brought no request to its server, or no reply back.
//!
//! Raised as a system exception in one place, `client/fault`; `client/attempts` reads the kind.

use crate::ReceiveFailure;
use corbie_giop::{Fault, GiopError, MessageKind};
use corbie_transport::NotPermitted;
use std::io;
use std::time::Duration;

/// See the module.
#[derive(Debug)]
pub enum ConnectionFault {
    /// No connection can be opened.
    Unreachable(io::Error),
    /// The policy `NO_RECONNECT` forbids to open one.
    MayNotOpen,
    /// There is no connection that the client opened, and none may be opened to it.
    NoWayBack,
    /// The event loop cannot watch connections of this transport.
    CannotBeWatched,
    /// Too many calls or octets wait already.
    Full,
    /// The server has surely not got the whole request, so `COMPLETED_NO` is right
    /// (CORBA 3.3 P1 §8.11), and sending it again is safe.
    NotSent(io::Error),
    /// The server answered a request of so many octets with MessageError before it had taken them.
    NotUnderstood(usize),
    /// The server closed in order and served nothing of what was pending (CORBA 3.3 P2 §9.4.7).
    ClosedInOrder,
    /// The time of the call is over.
    TimedOut(Awaited),
    /// The connection broke when the request may have gone out with others.
    LostInQueue(io::Error),
    /// The connection broke after the request was sent.
    Lost(io::Error),
    /// The server broke the rules of GIOP.
    Protocol(GiopError),
    /// The server sent this instead of a reply.
    Unexpected(MessageKind),
    /// The ORB is shut down.
    ShutDown,
}

/// What a call waited for when its time was over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Awaited {
    /// A connection being opened.
    Connection,
    /// One of so many connections that others used.
    OneOf(u32),
    /// The server to take the request.
    Sending,
    /// The reply, in this time.
    Reply(Option<Duration>),
}

/// Whether a transport says that the two sides do not trust each other. The system's own
/// `PermissionDenied`, of a socket's file, is none.
pub fn is_refusal(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::PermissionDenied && error.raw_os_error().is_none()
}

/// The address that the name of a handed reference led to, and that may not be connected to.
pub fn not_permitted(error: &io::Error) -> Option<&NotPermitted> {
    error.get_ref()?.downcast_ref()
}

impl ConnectionFault {
    /// The same, for another call.
    #[cold]
    pub fn again(&self) -> Self {
        let copy = |error: &io::Error| match error.raw_os_error() {
            Some(number) => io::Error::from_raw_os_error(number),
            None => match not_permitted(error) {
                Some(refused) => io::Error::new(error.kind(), refused.clone()),
                None => io::Error::new(error.kind(), error.to_string()),
            },
        };
        match self {
            ConnectionFault::Unreachable(error) => ConnectionFault::Unreachable(copy(error)),
            ConnectionFault::NotSent(error) => ConnectionFault::NotSent(copy(error)),
            ConnectionFault::NotUnderstood(octets) => ConnectionFault::NotUnderstood(*octets),
            ConnectionFault::LostInQueue(error) => ConnectionFault::LostInQueue(copy(error)),
            ConnectionFault::Lost(error) => ConnectionFault::Lost(copy(error)),
            ConnectionFault::Protocol(error) => ConnectionFault::Protocol(error.clone()),
            ConnectionFault::Unexpected(kind) => ConnectionFault::Unexpected(*kind),
            ConnectionFault::TimedOut(awaited) => ConnectionFault::TimedOut(*awaited),
            ConnectionFault::MayNotOpen => ConnectionFault::MayNotOpen,
            ConnectionFault::NoWayBack => ConnectionFault::NoWayBack,
            ConnectionFault::CannotBeWatched => ConnectionFault::CannotBeWatched,
            ConnectionFault::Full => ConnectionFault::Full,
            ConnectionFault::ClosedInOrder => ConnectionFault::ClosedInOrder,
            ConnectionFault::ShutDown => ConnectionFault::ShutDown,
        }
    }

    /// What `Attempts` of a call make of it.
    pub fn kind(&self) -> Fault {
        use ConnectionFault as C;
        match self {
            C::NotSent(_) => Fault::NotSent,
            C::ClosedInOrder => Fault::ClosedInOrder,
            C::Unreachable(_) | C::CannotBeWatched | C::NoWayBack => Fault::Unreachable,
            C::Lost(_) | C::LostInQueue(_) | C::Protocol(_) | C::Unexpected(_) => Fault::Lost,
            C::TimedOut(_) | C::ShutDown => Fault::Stopped,
            C::MayNotOpen | C::Full | C::NotUnderstood(_) => Fault::Refused,
        }
    }

    /// The connection is used although it was given back.
    #[cold]
    pub fn gone() -> Self {
        ConnectionFault::Lost(io::ErrorKind::NotConnected.into())
    }

    /// The connection was closed before; another one may do.
    #[cold]
    pub fn closed() -> Self {
        ConnectionFault::NotSent(io::ErrorKind::NotConnected.into())
    }

    /// Sending failed, and the server has surely not got the whole request.
    #[cold]
    pub fn sending(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::TimedOut => ConnectionFault::TimedOut(Awaited::Sending),
            _ if is_refusal(&error) => ConnectionFault::Unreachable(error),
            _ => ConnectionFault::NotSent(error),
        }
    }

    /// No reply came to a request that was sent, in the `time` that it had.
    #[cold]
    pub fn receiving(failure: ReceiveFailure, time: Option<Duration>) -> Self {
        match failure {
            ReceiveFailure::NothingCame | ReceiveFailure::TooSlow => {
                ConnectionFault::TimedOut(Awaited::Reply(time))
            }
            failure => ConnectionFault::broken(&failure),
        }
    }

    /// The connection is of no use any more, as `failure` says, while requests waited for replies.
    #[cold]
    pub fn broken(failure: &ReceiveFailure) -> Self {
        let (kind, text) = match failure {
            ReceiveFailure::Giop(error) => return ConnectionFault::Protocol(error.clone()),
            // A server says so after the client has sent its first request, which it did not read.
            ReceiveFailure::Io(error) if is_refusal(error) => {
                let refused = io::Error::new(error.kind(), error.to_string());
                return ConnectionFault::Unreachable(refused);
            }
            ReceiveFailure::Io(error) => (error.kind(), error.to_string()),
            ReceiveFailure::TooSlow => {
                (io::ErrorKind::TimedOut, "a message was not complete in time".to_owned())
            }
            ReceiveFailure::Closed | ReceiveFailure::NothingCame => {
                (io::ErrorKind::ConnectionAborted, "the server closed it".to_owned())
            }
        };
        ConnectionFault::Lost(io::Error::new(kind, text))
    }
}
