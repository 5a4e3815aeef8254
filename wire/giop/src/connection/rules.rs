//! Which message is allowed when, and what the peer is told when it breaks the rules.
//!
//! What a connection does is data: an end that asks sends requests, an end that answers serves
//! them, and with bidirectional GIOP an end does both. Used by the reader, by every connection of
//! `orb/core` and by the simulated network. CORBA 3.3 P2 §9.4.1, table 9-3; §9.4.7; §9.4.8; §9.8.

use std::fmt;

use corbie_cdr::{ByteOrder, Version};

use crate::error::{Answer, GiopError, GiopErrorKind};
use crate::message::{Message, MessageKind};
use crate::writer::{self, Control};

/// The request ids that one end gives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum RequestIds {
    /// All numbers: only this end asks.
    #[default]
    All,
    /// Even numbers: both ends ask, and this one opened the connection. CORBA 3.3 P2 §9.8.
    Even,
    /// Odd numbers: both ends ask, and the other one opened the connection.
    Odd,
}

impl RequestIds {
    /// The id that stands for `number` among those of this end; the highest bit is lost where both
    /// ends ask.
    #[inline]
    #[must_use]
    pub const fn id(self, number: u32) -> u32 {
        match self {
            Self::All => number,
            Self::Even => number << 1,
            Self::Odd => number << 1 | 1,
        }
    }

    /// The reverse of [`id`](Self::id); `None`: an id that this end does not give.
    #[inline]
    #[must_use]
    pub const fn number(self, id: u32) -> Option<u32> {
        match self {
            Self::All => Some(id),
            Self::Even if id & 1 == 0 => Some(id >> 1),
            Self::Odd if id & 1 == 1 => Some(id >> 1),
            _ => None,
        }
    }
}

/// What one end of a connection does; it decides which messages may arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Roles {
    /// Sends requests: gets Reply and LocateReply.
    pub asks: bool,
    /// Serves requests: gets Request, LocateRequest and CancelRequest.
    pub answers: bool,
    /// The ids of the requests that it sends.
    pub ids: RequestIds,
}

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

impl Roles {
    /// Opened the connection and asks.
    pub const CLIENT: Self = Self { asks: true, answers: false, ids: RequestIds::All };
    /// Accepted the connection and answers.
    pub const SERVER: Self = Self { asks: false, answers: true, ids: RequestIds::All };

    /// Asks and answers (bidirectional GIOP); `opened`: this end opened the connection.
    #[must_use]
    pub const fn both(opened: bool) -> Self {
        let ids = if opened { RequestIds::Even } else { RequestIds::Odd };
        Self { asks: true, answers: true, ids }
    }

    /// Whether a peer may send such a message to this end. CloseConnection from a client is 1.2's,
    /// but older clients send it too and mean the same.
    #[inline]
    #[must_use]
    pub const fn accepts(self, kind: MessageKind) -> bool {
        match kind {
            MessageKind::Reply | MessageKind::LocateReply => self.asks,
            MessageKind::Request | MessageKind::LocateRequest | MessageKind::CancelRequest => {
                self.answers
            }
            MessageKind::CloseConnection | MessageKind::MessageError | MessageKind::Fragment => {
                true
            }
        }
    }

    /// What a whole message of the reader is to this end.
    ///
    /// # Errors
    /// `WrongRole`: a message, or a request id, that the peer may not send. `PeerReportedError`: a
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
        if self.ids != RequestIds::All {
            self.check_id(message, incoming)?;
        }
        Ok(incoming)
    }

    /// Where both ends ask, an id says which end gave it.
    #[cold]
    fn check_id(self, message: &Message<'_>, incoming: Incoming) -> Result<(), GiopError> {
        let Some(id) = message.request_id()? else { return Ok(()) };
        let is_own = self.ids.number(id).is_some();
        let has_to_be_own = matches!(incoming, Incoming::Reply | Incoming::LocateReply);
        if is_own == has_to_be_own {
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
            // A client just closes: only a server may say this in 1.0 and 1.1.
            Answer::CloseConnection if !self.answers => None,
            Answer::CloseConnection => Some(writer::close_connection(version, ByteOrder::NATIVE)),
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

impl fmt::Display for Roles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match (self.asks, self.answers) {
            (true, false) => "client",
            (false, true) => "server",
            _ => "peer of both roles",
        })
    }
}
