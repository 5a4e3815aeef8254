//! What can be wrong with a message or a connection, who is at fault, and what the peer is told.
//!
//! Every decoder and the connection return [`GiopError`]; `orb/core` logs it with the peer's
//! address, sends what [`GiopError::answer`] says and raises what
//! [`GiopError::to_system_exception`] makes of it. CORBA 3.3 P2 §9.4.8 (MessageError), §9.5.1
//! (connection management).

use std::fmt;

use corbie_cdr::Version;
use corbie_types::{CompletionStatus, Minor, SystemException, minor};

/// What the peer gets after an error, before the connection is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// A MessageError message: its octets were not GIOP, or broke the rules of GIOP.
    MessageError,
    /// Nothing: the peer closed, or said itself that there was an error.
    Nothing,
}

macro_rules! error_kinds {
    ($($(#[$doc:meta])* $name:ident, $answer:ident, $minor:ident, $text:literal;)*) => {
        /// What is wrong.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum GiopErrorKind { $($(#[$doc])* $name,)* }

        impl GiopErrorKind {
            /// All kinds, in the order of the table.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// What the peer gets.
            #[must_use]
            pub const fn answer(self) -> Answer {
                match self { $(Self::$name => Answer::$answer,)* }
            }

            /// The fault in words, the start of a sentence.
            #[must_use]
            pub const fn text(self) -> &'static str {
                match self { $(Self::$name => $text,)* }
            }

            /// The minor code of the exception that it becomes.
            const fn minor(self) -> Minor {
                match self { $(Self::$name => minor::$minor,)* }
            }
        }
    };
}

error_kinds! {
    /// The first four octets are not `GIOP`.
    BadMagic, MessageError, COMM_FAILURE_PROTOCOL, "the octets are not a GIOP message";
    /// A GIOP message where GIOPlite was agreed.
    OtherProtocol, MessageError, COMM_FAILURE_PROTOCOL,
        "the peer speaks GIOP where GIOPlite was agreed";
    /// Octets that the message protocol of an application does not know.
    NotOfProtocol, MessageError, COMM_FAILURE_PROTOCOL,
        "the octets are no message of the protocol agreed on";
    /// A checksum or the like is wrong.
    Damaged, MessageError, COMM_FAILURE_PROTOCOL, "the message was changed on its way";
    /// A version other than 1.0, 1.1 and 1.2.
    UnsupportedVersion, MessageError, COMM_FAILURE_PROTOCOL, "the GIOP version is not supported";
    /// A message type that the version does not have.
    UnknownMessageType, MessageError, COMM_FAILURE_PROTOCOL, "the message type is unknown";
    /// Flags that the version or the message type does not allow.
    BadFlags, MessageError, COMM_FAILURE_PROTOCOL, "the flags do not fit the message";
    /// A message that a peer in its role must not send.
    WrongRole, MessageError, COMM_FAILURE_PROTOCOL,
        "the peer must not send this message in its role";
    /// The header of a message, or the part before its body, cannot be decoded.
    Malformed, MessageError, MARSHAL_HEADER, "the message cannot be decoded";
    /// A status or discriminator outside its range.
    BadValue, MessageError, MARSHAL_HEADER, "the value is outside its range";
    /// The message is longer than the limit `message_octets`.
    MessageTooLarge, MessageError, IMP_LIMIT_MESSAGE_SIZE, "the message is larger than the limit";
    /// A Fragment message for which there is no beginning.
    UnknownFragment, MessageError, COMM_FAILURE_PROTOCOL, "the fragment belongs to no message";
    /// A fragment that does not continue its message: other version or byte order, or no request
    /// id.
    BadFragment, MessageError, COMM_FAILURE_PROTOCOL, "the fragment does not fit its message";
    /// A second message begins with the request id of one that is not complete.
    DuplicateFragmented, MessageError, COMM_FAILURE_PROTOCOL, "a fragmented message begins twice";
    /// More fragments than the limit `fragments_per_message`.
    TooManyFragments, MessageError, IMP_LIMIT_FRAGMENTS,
        "the message has more fragments than the limit";
    /// More incomplete messages than the limit `fragmented_messages`.
    TooManyFragmented, MessageError, IMP_LIMIT_FRAGMENTS, "more incomplete messages than the limit";
    /// More octets in incomplete messages than the limit `reassembly_octets`.
    ReassemblyTooLarge, MessageError, IMP_LIMIT_FRAGMENTS,
        "incomplete messages hold more than the limit";
    /// The memory budget of the process is used up, and this connection holds most of it.
    OverBudget, MessageError, IMP_LIMIT_MEMORY, "the limit of what peers may hold is reached";
    /// The peer closed the connection in the middle of a message.
    Truncated, Nothing, COMM_FAILURE_CLOSED, "the connection ended in the middle of a message";
    /// The peer answered with MessageError.
    PeerReportedError, Nothing, COMM_FAILURE_MESSAGE_ERROR, "the peer reported a message error";
}

/// An error of the message layer: what was read, at which octet of the message, what was found.
///
/// `Display` is one sentence. The value is one pointer wide, so that results stay small.
#[derive(Clone, PartialEq, Eq)]
pub struct GiopError(Box<Details>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Details {
    kind: GiopErrorKind,
    offset: usize,
    what: &'static str,
    found: Box<str>,
}

impl GiopErrorKind {
    /// The setting of the ORB whose limit was reached; `None`: it is no limit.
    #[must_use]
    pub const fn setting(self) -> Option<&'static str> {
        match self {
            Self::MessageTooLarge => Some("message_octets_max"),
            Self::TooManyFragments => Some("fragments_max"),
            Self::TooManyFragmented => Some("reassembly_messages_max"),
            Self::ReassemblyTooLarge => Some("reassembly_octets_max"),
            Self::OverBudget => Some("memory_max"),
            _ => None,
        }
    }
}

impl GiopError {
    /// An error found while reading `what` at octet `offset` of its message.
    #[cold]
    #[must_use]
    pub fn new(
        kind: GiopErrorKind,
        offset: usize,
        what: &'static str,
        found: impl fmt::Display,
    ) -> Self {
        let found = found.to_string().into_boxed_str();
        Self(Box::new(Details { kind, offset, what, found }))
    }

    /// Wraps an error of the CDR decoder, met while reading `what`.
    #[cold]
    #[must_use]
    pub fn malformed(what: &'static str, error: &corbie_cdr::Error) -> Self {
        Self::new(GiopErrorKind::Malformed, error.offset(), what, error)
    }

    /// What is wrong.
    #[must_use]
    pub fn kind(&self) -> GiopErrorKind {
        self.0.kind
    }

    /// The octet of the message (0 is its `G`) at which it was found.
    #[must_use]
    pub fn offset(&self) -> usize {
        self.0.offset
    }

    /// What was being read: a field of the specification.
    #[must_use]
    pub fn what(&self) -> &'static str {
        self.0.what
    }

    /// What was found there, in words.
    #[must_use]
    pub fn found(&self) -> &str {
        &self.0.found
    }

    /// What the peer gets before the connection is closed.
    #[must_use]
    pub fn answer(&self) -> Answer {
        self.0.kind.answer()
    }

    /// The version in which the peer is told, on a connection that speaks `spoken`: a peer that
    /// speaks GIOP where GIOPlite was agreed would not understand GIOPlite.
    #[must_use]
    pub fn answer_version(&self, spoken: Version) -> Version {
        match self.0.kind {
            GiopErrorKind::OtherProtocol => Version::V1_0,
            _ => spoken,
        }
    }

    /// The system exception for requests that this error leaves without a reply.
    ///
    /// COMM_FAILURE for a broken connection, TRANSIENT after an orderly close, MARSHAL for a
    /// message that cannot be decoded, IMP_LIMIT for one beyond a limit; `completed` is the
    /// caller's to know.
    #[must_use]
    pub fn to_system_exception(&self, completed: CompletionStatus) -> SystemException {
        self.0.kind.minor().raise(completed, self.to_string())
    }
}

impl fmt::Display for GiopError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Details { kind, offset, what, found } = &*self.0;
        write!(f, "{}: {what} at octet {offset} is {found}", kind.text())
    }
}

impl fmt::Debug for GiopError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "GiopError({:?}: {self})", self.0.kind)
    }
}

impl std::error::Error for GiopError {}
