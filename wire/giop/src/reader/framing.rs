//! Where the messages of a connection begin and end, in the protocol that it speaks.
//! Called by the reader only. CORBA 3.3 P2 §9.4.1, paper POA §3.3.

use corbie_cdr::ByteOrder;

use crate::error::GiopError;
use crate::message::MessageHeader;
use crate::protocol::Protocol;

/// What is spoken; `order` is GIOPlite's, which the profile agreed on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Framing {
    pub(super) protocol: Protocol,
    pub(super) order: ByteOrder,
}

impl Framing {
    /// The header of a message of the usual kinds.
    #[inline]
    pub(super) fn decode_plain(self, octets: &[u8]) -> Option<MessageHeader> {
        match self.protocol {
            Protocol::Giop => MessageHeader::decode_plain(octets.first_chunk()?),
            Protocol::GiopLite => MessageHeader::decode_plain_lite(octets, self.order),
            Protocol::Plugged(_) => None,
        }
    }

    /// The header of any message, or how many octets have to be here for it.
    pub(super) fn decode(self, octets: &[u8]) -> Result<Result<MessageHeader, usize>, GiopError> {
        let header = match (self.protocol, octets.first_chunk()) {
            (Protocol::GiopLite, _) => MessageHeader::decode_lite(octets, self.order)?,
            (Protocol::Giop, Some(first)) => Some(MessageHeader::decode(first)?),
            (Protocol::Giop, None) => MessageHeader::check_prefix(octets).map(|()| None)?,
            (Protocol::Plugged(plugged), _) => return plugged.cut(octets),
        };
        Ok(header.ok_or(MessageHeader::octets_in(self.protocol.version())))
    }

    /// What the protocol of an application has to say of a whole message before it is used.
    #[inline]
    pub(super) fn check(self, message: &[u8]) -> Result<(), GiopError> {
        match self.protocol {
            Protocol::Giop | Protocol::GiopLite => Ok(()),
            Protocol::Plugged(plugged) => plugged.protocol().check(message),
        }
    }

    /// Whether a whole message is here: a good guess.
    #[inline]
    pub(super) fn is_whole(self, octets: &[u8]) -> bool {
        match self.protocol {
            Protocol::Giop | Protocol::GiopLite => self.decode_plain(octets),
            Protocol::Plugged(_) => self.decode(octets).ok().and_then(Result::ok),
        }
        .is_some_and(|header| header.total() <= octets.len())
    }

    /// Where type and size stand in a header.
    pub(super) fn places(self) -> (usize, usize) {
        match self.protocol {
            Protocol::Giop => (7, 8),
            Protocol::GiopLite => (4, 0),
            Protocol::Plugged(_) => (0, 0),
        }
    }
}
