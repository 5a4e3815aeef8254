//! What one end of a connection does, as data: an end that asks sends requests, an end that answers
//! serves them, and with bidirectional GIOP an end does both.
//!
//! Used by the reader and by `connection/rules`. CORBA 3.3 P2 §9.4.1, table 9-3; §9.8.

use std::fmt;

use crate::message::MessageKind;

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
