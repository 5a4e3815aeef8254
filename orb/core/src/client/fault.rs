//! Why an attempt of a call gave no reply, and the one function that makes a system exception of
//! that.

use crate::Operation;
use corbie_connection::{Awaited, ConnectionFault, is_refusal, not_permitted};
use corbie_giop::Fault;
use corbie_transport::Endpoint;
use corbie_types::{CompletionStatus, Minor, SystemException, minor};

/// See the module.
#[derive(Debug)]
pub(crate) enum CallFault {
    /// The connection.
    Connection(ConnectionFault),
    /// The caller, or the ORB, before anything was sent: arguments, policies, the event loop.
    Raised(SystemException),
}

/// What the detail of an exception names.
pub(crate) struct CallContext<'c> {
    pub(crate) operation: &'c Operation,
    pub(crate) endpoint: &'c Endpoint,
}

impl From<ConnectionFault> for CallFault {
    fn from(fault: ConnectionFault) -> Self {
        CallFault::Connection(fault)
    }
}

impl From<SystemException> for CallFault {
    fn from(exception: SystemException) -> Self {
        CallFault::Raised(exception)
    }
}

impl CallFault {
    /// What [`Attempts`](crate::client::attempts::Attempts) makes of it.
    pub(crate) fn kind(&self) -> Fault {
        match self {
            CallFault::Connection(fault) => fault.kind(),
            CallFault::Raised(_) => Fault::Refused,
        }
    }

    /// The exception that a call ends with.
    #[cold]
    pub(crate) fn raise(
        self,
        completed: CompletionStatus,
        call: &CallContext<'_>,
    ) -> SystemException {
        match self {
            CallFault::Raised(exception) => exception,
            CallFault::Connection(ConnectionFault::Protocol(error)) => {
                error.to_system_exception(completed)
            }
            CallFault::Connection(fault) => {
                if let ConnectionFault::Unreachable(error) = &fault
                    && let Some(refused) = not_permitted(error)
                {
                    let endpoint = call.endpoint;
                    tracing::warn!(
                        %endpoint,
                        address = %refused.address,
                        setting = "access_file",
                        "a reference that a peer handed over is not called: no rule of egress lets \
                         this server connect to what its name leads to"
                    );
                }
                code(&fault).raise(completed, detail(&fault, call))
            }
        }
    }
}

/// Which exception it becomes.
fn code(fault: &ConnectionFault) -> Minor {
    use ConnectionFault as C;
    match fault {
        C::Unreachable(error) if not_permitted(error).is_some() => minor::NO_PERMISSION_EGRESS,
        C::Unreachable(error) if is_refusal(error) => minor::NO_PERMISSION_TLS,
        C::Unreachable(_) => minor::TRANSIENT_CONNECT_FAILED,
        C::MayNotOpen => minor::REBIND_RECONNECT,
        C::NoWayBack => minor::TRANSIENT_NO_WAY_BACK,
        C::CannotBeWatched => minor::IMP_LIMIT_TRANSPORT,
        C::Full => minor::TRANSIENT_OVERLOAD,
        C::NotUnderstood(_) => minor::COMM_FAILURE_MESSAGE_ERROR,
        C::NotSent(_) | C::LostInQueue(_) => minor::COMM_FAILURE_SEND,
        C::ClosedInOrder => minor::TRANSIENT_CLOSE_CONNECTION,
        C::TimedOut(Awaited::Connection | Awaited::OneOf(_)) => minor::TIMEOUT_CONNECT,
        C::TimedOut(Awaited::Sending | Awaited::Reply(_)) => minor::TIMEOUT_CALL,
        C::Lost(_) => minor::COMM_FAILURE_CLOSED,
        C::Protocol(_) | C::Unexpected(_) => minor::COMM_FAILURE_PROTOCOL,
        C::ShutDown => minor::BAD_INV_ORDER_ORB_SHUTDOWN,
    }
}

/// Why it was raised, in words.
fn detail(fault: &ConnectionFault, call: &CallContext<'_>) -> String {
    use ConnectionFault as C;
    let (operation, endpoint) = (call.operation.name(), call.endpoint);
    match fault {
        C::Unreachable(error) if is_refusal(error) || not_permitted(error).is_some() => {
            format!("no connection to {endpoint}: {error}")
        }
        C::Unreachable(error) => format!(
            "no connection to {endpoint}: {error}; check that the server runs and that its \
             reference names an address that can be reached from here"
        ),
        C::MayNotOpen => format!(
            "a connection to {endpoint} would have to be opened, which the policy NO_RECONNECT of \
             the reference forbids; call validate_connection to bind it again"
        ),
        C::NoWayBack => format!(
            "{operation} was not sent: the client that has the object at {endpoint} has no \
             connection open to this server, and none may be opened to it"
        ),
        C::CannotBeWatched => format!(
            "no event loop can watch a connection to {endpoint}, as its transport has no \
             descriptor: only synchronous calls over connections of their own \
             (transport_multiplexing = exclusive, reply_wait = read) can use it"
        ),
        C::Full => format!(
            "{operation} was not sent: too many calls to {endpoint} wait for their replies, or \
             too many octets for it to take them; wait for some, or raise pending_requests_max or \
             queued_octets_max"
        ),
        C::NotSent(error) => {
            format!("the request {operation} could not be sent to {endpoint}: {error}")
        }
        C::NotUnderstood(octets) => format!(
            "{endpoint} answered the request {operation} of {octets} octets with MessageError \
             before it had taken all of it: it takes no message of this size, or of this form; \
             its limit is not known here"
        ),
        C::LostInQueue(error) => format!(
            "the connection to {endpoint} broke while {operation} was sent with other requests: \
             {error}; the server may have got it"
        ),
        C::ClosedInOrder => {
            format!("{endpoint} closed the connection before it served {operation}")
        }
        C::TimedOut(awaited) => overdue(*awaited, call),
        C::Lost(error) => format!(
            "the connection to {endpoint} broke while {operation} waited for its reply: {error}; \
             the server may have carried it out"
        ),
        C::Protocol(error) => error.to_string(),
        C::Unexpected(kind) => {
            format!("{endpoint} answered {operation} with {kind:?} instead of a reply")
        }
        C::ShutDown => format!("the ORB was shut down before {operation} was answered"),
    }
}

fn overdue(awaited: Awaited, call: &CallContext<'_>) -> String {
    let (operation, endpoint) = (call.operation.name(), call.endpoint);
    match awaited {
        Awaited::Connection => {
            format!("{operation} got no connection to {endpoint} in the time of the call")
        }
        Awaited::OneOf(count) => format!(
            "all {count} connections to {endpoint} stayed in use; raise connections_per_endpoint"
        ),
        Awaited::Sending => format!(
            "the request {operation} could not be sent to {endpoint}: it was not taken in time"
        ),
        Awaited::Reply(time) => {
            let within = match time {
                Some(time) => format!("no whole reply to {operation} within {time:?}"),
                None => format!("no reply to {operation} in time"),
            };
            format!(
                "{endpoint} gave {within}; allow more (request_timeout, or the policy that sets \
                 the time), or see whether more requests are under way there than it has threads \
                 (pool_threads_max of the server)"
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io;

    /// What no peer of the other tests does at will: connections that break while they are opened
    /// or sent over.
    #[test]
    fn faults_of_connections_have_codes_that_say_what_to_try() {
        let io = || io::Error::other("broken");
        let operation = Operation::twoway("call");
        let endpoint = Endpoint::Tcp { host: "192.0.2.1".into(), port: 1 };
        let call = CallContext { operation: &operation, endpoint: &endpoint };
        for (fault, code) in [
            (ConnectionFault::NotSent(io()), minor::COMM_FAILURE_SEND),
            (ConnectionFault::LostInQueue(io()), minor::COMM_FAILURE_SEND),
            (ConnectionFault::ClosedInOrder, minor::TRANSIENT_CLOSE_CONNECTION),
            (ConnectionFault::TimedOut(Awaited::Connection), minor::TIMEOUT_CONNECT),
            (ConnectionFault::TimedOut(Awaited::OneOf(2)), minor::TIMEOUT_CONNECT),
            (ConnectionFault::TimedOut(Awaited::Sending), minor::TIMEOUT_CALL),
        ] {
            let fault = CallFault::from(fault);
            let exception = fault.raise(CompletionStatus::Maybe, &call);
            assert_eq!(exception.minor, code, "{exception}");
            assert!(exception.minor_code().is_some_and(|code| code.remedy.is_some()));
            assert!(exception.to_string().contains("192.0.2.1"), "{exception}");
        }
    }
}
