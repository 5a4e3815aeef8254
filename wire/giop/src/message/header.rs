//! The twelve octets that every GIOP message begins with, and the five of GIOPlite (`lite`).
//!
//! Written by `writer`, read by `reader`. CORBA 3.3 P2 §9.4.1; paper POA §3.3.

mod lite;

use corbie_cdr::{ByteOrder, Version};

use crate::error::{GiopError, GiopErrorKind};

pub(crate) use lite::REQUEST_ID as LITE_REQUEST_ID;

/// The message types. CORBA 3.3 P2 §9.4.1, table 9-3.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum MessageKind {
    /// An invocation: client to server.
    Request = 0,
    /// The answer to a Request: server to client.
    Reply = 1,
    /// The client no longer waits for a reply.
    CancelRequest = 2,
    /// Asks where an object is.
    LocateRequest = 3,
    /// The answer to a LocateRequest.
    LocateReply = 4,
    /// The connection is about to be closed in order.
    CloseConnection = 5,
    /// The last message could not be understood.
    MessageError = 6,
    /// Continues a message (GIOP 1.1 and later).
    Fragment = 7,
}

impl MessageKind {
    /// All kinds, by their number on the wire.
    pub const ALL: [Self; 8] = [
        Self::Request,
        Self::Reply,
        Self::CancelRequest,
        Self::LocateRequest,
        Self::LocateReply,
        Self::CloseConnection,
        Self::MessageError,
        Self::Fragment,
    ];

    /// The kind with this number on the wire.
    #[inline]
    #[must_use]
    pub fn from_octet(octet: u8) -> Option<Self> {
        Self::ALL.get(usize::from(octet)).copied()
    }

    /// Whether a message of this kind may be sent in fragments.
    ///
    /// CORBA 3.3 P2 §9.4.9: Request and Reply in 1.1; in 1.2 also LocateRequest and LocateReply.
    #[must_use]
    pub fn may_be_fragmented(self, version: Version) -> bool {
        match self {
            _ if !version.is_giop() => false,
            Self::Request | Self::Reply | Self::Fragment => version >= Version::V1_1,
            Self::LocateRequest | Self::LocateReply => version >= Version::V1_2,
            Self::CancelRequest | Self::CloseConnection | Self::MessageError => false,
        }
    }
}

/// The message header.
///
/// ```text
///  0   1   2   3   4     5     6     7     8   9   10  11
/// 'G' 'I' 'O' 'P' major minor flags type  message_size: ulong
///                             │           octets that follow these twelve
///                             ├ bit 0: byte order, 1 = little-endian
///                             └ bit 1: more fragments follow (1.1 and later)
/// ```
/// CORBA 3.3 P2 §9.4.1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MessageHeader {
    /// 1.0, 1.1 or 1.2; or GIOPlite, whose header [`MessageHeader::encode_lite`] makes; or the
    /// protocol of an application, which makes its own.
    pub version: Version,
    /// The byte order of everything from `message_size` on.
    pub order: ByteOrder,
    /// Whether a Fragment message continues this one.
    pub more_fragments: bool,
    /// The message type.
    pub kind: MessageKind,
    /// How many octets follow the header; in the protocol of an application, all.
    pub size: u32,
}

impl MessageHeader {
    /// The octets of a message header of GIOP.
    pub const OCTETS: usize = 12;
    /// The octets of a message header of GIOPlite.
    pub const LITE_OCTETS: usize = 5;
    /// What every message begins with.
    pub const MAGIC: [u8; 4] = *b"GIOP";
    const LITTLE_ENDIAN: u8 = 1;
    const MORE_FRAGMENTS: u8 = 2;

    /// Decodes the first twelve octets of a message.
    ///
    /// # Errors
    /// `BadMagic`, `UnsupportedVersion`, `BadFlags`, `UnknownMessageType`; all answered by
    /// MessageError.
    #[inline]
    pub fn decode(octets: &[u8; Self::OCTETS]) -> Result<Self, GiopError> {
        let [g, i, o, p, major, minor, flags, kind, size @ ..] = *octets;
        if [g, i, o, p] != Self::MAGIC || major != 1 || minor > 2 {
            return Err(Self::check_prefix(octets).err().unwrap_or_else(|| not_giop(octets)));
        }
        let version = Version { major, minor };
        let Some(kind) = MessageKind::from_octet(kind) else {
            return Err(GiopError::new(
                GiopErrorKind::UnknownMessageType,
                7,
                "message_type",
                format_args!("{kind}, known are 0 to 7"),
            ));
        };
        let order = if flags & Self::LITTLE_ENDIAN == 0 {
            ByteOrder::BigEndian
        } else {
            ByteOrder::LittleEndian
        };
        let size = match order {
            ByteOrder::BigEndian => u32::from_be_bytes(size),
            ByteOrder::LittleEndian => u32::from_le_bytes(size),
        };
        let more_fragments = flags & Self::MORE_FRAGMENTS != 0;
        let header = Self { version, order, more_fragments, kind, size };
        if more_fragments || kind == MessageKind::Fragment {
            header.check_fragment()?;
        }
        Ok(header)
    }

    /// Decodes the header of a message that is neither fragmented nor one of those which end a
    /// connection or a request (types 0, 1, 3 and 4 only); `None`: anything else, for
    /// [`Self::decode`] to look at. The path that nearly every message takes.
    #[inline]
    pub(crate) fn decode_plain(octets: &[u8; Self::OCTETS]) -> Option<Self> {
        const MAGIC: u32 = u32::from_le_bytes(MessageHeader::MAGIC);
        let [g, i, o, p, major, minor, flags, kind, size @ ..] = *octets;
        let plain = u32::from_le_bytes([g, i, o, p]) == MAGIC
            && major == 1
            && minor <= 2
            && flags <= Self::LITTLE_ENDIAN;
        if !plain {
            return None;
        }
        let kind = match kind {
            0 => MessageKind::Request,
            1 => MessageKind::Reply,
            3 => MessageKind::LocateRequest,
            4 => MessageKind::LocateReply,
            _ => return None,
        };
        let order = ByteOrder::from_flag(flags);
        let size = u32::from_le_bytes(size);
        let size = if order.is_little() { size } else { size.swap_bytes() };
        let version = Version { major, minor };
        Some(Self { version, order, more_fragments: false, kind, size })
    }

    /// Whether the type and version allow what the header says about fragments.
    #[cold]
    fn check_fragment(&self) -> Result<(), GiopError> {
        if self.kind.may_be_fragmented(self.version) {
            return Ok(());
        }
        let Version { major, minor } = self.version;
        let found = format_args!("a fragment of {:?} in GIOP {major}.{minor}", self.kind);
        Err(GiopError::new(GiopErrorKind::BadFlags, 6, "flags and message_type", found))
    }

    /// Checks as much of a header as has arrived, so that garbage is refused at its first octet.
    ///
    /// # Errors
    /// `BadMagic` or `UnsupportedVersion`, answered by MessageError.
    pub fn check_prefix(octets: &[u8]) -> Result<(), GiopError> {
        let magic = &octets[..octets.len().min(4)];
        if !Self::MAGIC.starts_with(magic) {
            return Err(not_giop(octets));
        }
        let version = &octets[magic.len()..octets.len().min(6)];
        match *version {
            [1, 0..=2] | [1] | [] => Ok(()),
            [major, ref minor @ ..] => {
                let minor = minor.first().copied().unwrap_or(0);
                Err(GiopError::new(
                    GiopErrorKind::UnsupportedVersion,
                    4,
                    "GIOP_version",
                    format_args!("{major}.{minor}, supported are 1.0, 1.1 and 1.2"),
                ))
            }
        }
    }

    /// How many octets this header has.
    #[inline]
    #[must_use]
    pub const fn octets(&self) -> usize {
        Self::octets_in(self.version)
    }

    /// How many octets a header of this version has.
    #[inline]
    pub(crate) const fn octets_in(version: Version) -> usize {
        match version.is_giop() {
            true => Self::OCTETS,
            false if version.is_lite() => Self::LITE_OCTETS,
            // Its header is its own affair: all of the message is looked at.
            false => 0,
        }
    }

    /// The twelve octets of this header in GIOP.
    #[inline]
    #[must_use]
    pub fn encode(&self) -> [u8; Self::OCTETS] {
        let Self { version, order, more_fragments, kind, size } = *self;
        let (order_flag, size) = match order {
            ByteOrder::BigEndian => (0, size.to_be_bytes()),
            ByteOrder::LittleEndian => (Self::LITTLE_ENDIAN, size.to_le_bytes()),
        };
        let flags = order_flag | if more_fragments { Self::MORE_FRAGMENTS } else { 0 };
        let [g, i, o, p] = Self::MAGIC;
        let [a, b, c, d] = size;
        [g, i, o, p, version.major, version.minor, flags, kind as u8, a, b, c, d]
    }

    /// The octets of the whole message, header included. `usize` is at least 64 bits or the sum
    /// saturates, and is then beyond every limit.
    #[inline]
    #[must_use]
    pub fn total(&self) -> usize {
        usize::try_from(self.size).unwrap_or(usize::MAX).saturating_add(self.octets())
    }
}

#[cold]
fn not_giop(octets: &[u8]) -> GiopError {
    let seen = &octets[..octets.len().min(12)];
    let hint = match MessageHeader::resembles_lite(octets) {
        true => "; it may be GIOPlite: that needs a giopl:// endpoint here, or gioplite off there",
        false => "",
    };
    let found = format_args!("{:02x?} (\"{}\"){hint}", seen, seen.escape_ascii());
    GiopError::new(GiopErrorKind::BadMagic, 0, "magic", found)
}
