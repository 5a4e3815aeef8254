//! Which message is allowed when, and what the peer is told when it breaks the rules.
//!
//! Used by every connection of `orb/core` and by the simulated network.
//! CORBA 3.3 P2 §9.4.1, table 9-3; §9.4.7; §9.4.8; §9.8.

use corbie_cdr::{ByteOrder, Version};

use crate::error::{Answer, GiopError, GiopErrorKind};
use crate::message::{Message, MessageKind};
use crate::roles::{RequestIds, Roles};
use crate::writer::{self, Control};

/// What came in a message that is allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Incoming {
    /// A request, to be served unless the connection closes.
    Request,
    /// The question where an object is, answered as a request is.
    LocateRequest,
    /// Advice that the reply to a request is not waited for any more.
    CancelRequest,
    /// The reply to a request of this end.
    Reply,
    /// The reply to a LocateRequest of this end.
    LocateReply,
    /// The peer closes in order: it has not begun what it has not answered.
    CloseConnection,
}

impl Incoming {
    /// Whether an end that answers handles it.
    #[inline]
    #[must_use]
    pub const fn is_request(self) -> bool {
        matches!(self, Incoming::Request | Incoming::LocateRequest | Incoming::CancelRequest)
    }
}

impl Roles {
    /// What a whole message of the reader is to this end.
    ///
    /// # Errors
    /// `WrongRole`: an answer with a request id that this end does not give. `PeerReportedError`: a
    /// MessageError.
    #[inline]
    pub fn incoming(self, message: &Message<'_>) -> Result<Incoming, GiopError> {
        let incoming = match message.header.kind {
            MessageKind::Request => Incoming::Request,
            MessageKind::Reply => Incoming::Reply,
            MessageKind::LocateRequest => Incoming::LocateRequest,
            MessageKind::LocateReply => Incoming::LocateReply,
            MessageKind::CancelRequest => Incoming::CancelRequest,
            MessageKind::CloseConnection => Incoming::CloseConnection,
            kind @ (MessageKind::MessageError | MessageKind::Fragment) => return Err(ends(kind)),
        };
        let is_answer = matches!(incoming, Incoming::Reply | Incoming::LocateReply);
        if self.ids != RequestIds::All && is_answer {
            self.check_id(message)?;
        }
        Ok(incoming)
    }

    /// Where both ends ask, an id says which end gave it: an answer has one of this end. A request
    /// may have any: a client that does not offer its connection counts as it likes, and ids of
    /// requests that come are never compared with those of requests that go.
    #[cold]
    fn check_id(self, message: &Message<'_>) -> Result<(), GiopError> {
        let Some(id) = message.request_id()? else { return Ok(()) };
        if self.ids.number(id).is_some() {
            return Ok(());
        }
        let found = format_args!("{id} of {:?}, an id of the other end", message.header.kind);
        Err(GiopError::new(GiopErrorKind::WrongRole, 12, "request_id", found))
    }

    /// The last words to a peer after `error`, on a connection that speaks `version`.
    #[must_use]
    pub fn last_words(self, error: &GiopError, version: Version) -> Option<Control> {
        let version = error.answer_version(version);
        match error.answer() {
            Answer::MessageError => Some(writer::message_error(version, ByteOrder::NATIVE)),
            Answer::Nothing => None,
        }
    }
}

#[cold]
fn ends(kind: MessageKind) -> GiopError {
    let (error, found) = match kind {
        MessageKind::MessageError => (GiopErrorKind::PeerReportedError, "MessageError"),
        _ => (GiopErrorKind::UnknownFragment, "a Fragment outside of the reader"),
    };
    GiopError::new(error, 7, "message_type", found)
}
