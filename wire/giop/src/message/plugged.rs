//! Message protocols that an application brings along, beside GIOP (paper POA, pluggable
//! protocols).
//!
//! A [`MessageProtocol`] cuts messages out of what arrives and codes what stands before their
//! bodies; bodies stay CDR. Once registered it is a [`Plugged`], a number in the process, which
//! encoders and decoders carry as a [`Version`] that no octets decode to. The codecs of this
//! folder, the reader and the writer ask for it where a message is not GIOP, so GIOP pays nothing.

use std::any::Any;
use std::fmt;
use std::sync::OnceLock;

use corbie_cdr::{ByteOrder, Decoder, Encoder, Version};

use super::{
    CancelRequestHeader, LocateReplyHeader, LocateRequestHeader, MessageHeader, MessageKind,
    ReplyHeader, RequestHeader,
};
use crate::error::{GiopError, GiopErrorKind};

/// A message protocol of an application.
///
/// What holds for all: a connection speaks one protocol, which both ends know from the profile of
/// the reference; messages are sent whole, there are no fragments; the message's first octet is the
/// origin of CDR alignment; the arguments of a Request and the body of a Reply begin at the next
/// multiple of eight behind what [`write`](Self::write) wrote (the ORB pads and skips), a
/// LocateReply's at once; values are encoded as in GIOP 1.2, in the byte order of the sender, which
/// the protocol has to tell.
///
/// Nothing in it may panic, whatever octets arrive, nor allocate by what a length in them claims.
/// `corbie_testkit::message_protocol_suite!` checks an implementation.
pub trait MessageProtocol: Any + fmt::Debug + Send + Sync {
    /// Its name in endpoints (`name+iiop://…`), object URLs and profiles: lower-case letters and
    /// digits, a letter first. Both ends have to mean the same by it, so a new version that the old
    /// one does not understand has a new name.
    fn name(&self) -> &'static str;

    /// Says where the message ends that begins with `octets`, which are what has arrived: perhaps
    /// nothing yet, perhaps more than the message.
    ///
    /// # Errors
    /// The octets cannot begin a message: the ORB answers with [`Head::MessageError`] and closes
    /// the connection.
    fn cut(&self, octets: &[u8]) -> Result<Cut, GiopError>;

    /// Looks at a whole message before anything of it is used.
    ///
    /// # Errors
    /// As [`cut`](Self::cut); a checksum that is wrong, for example.
    fn check(&self, _message: &[u8]) -> Result<(), GiopError> {
        Ok(())
    }

    /// Reads what stands before the body of a message of this kind. `d` is at the first octet of
    /// the message, and is left behind the last that [`write`](Self::write) wrote.
    ///
    /// # Errors
    /// The octets are no such message.
    fn read<'a>(&self, kind: MessageKind, d: &mut Decoder<'a>) -> Result<Head<'a>, GiopError>;

    /// Writes what stands before the body of a message into `e`, which is empty, its size aside.
    ///
    /// # Errors
    /// The encoder's.
    fn write(&self, head: &Head<'_>, e: &mut Encoder<'_>) -> Result<(), corbie_cdr::Error>;

    /// Fills in the size of the message in `e`, which is whole now, and what else depends on all of
    /// it. The message has at most [`octets_max`](Self::octets_max) octets.
    fn finish(&self, e: &mut Encoder<'_>);

    /// Changes the request id of the Request or LocateRequest in `e`, which
    /// [`finish`](Self::finish) has finished: ids of calls that do not wait are known only when
    /// they are sent.
    fn set_request_id(&self, e: &mut Encoder<'_>, request_id: u32);

    /// The most octets that a message may have. Sending a larger one raises `BAD_PARAM`; receivers
    /// have the limit `message_octets_max` as well.
    fn octets_max(&self) -> usize {
        1 << 30
    }
}

/// What [`MessageProtocol::cut`] says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    /// Where the message ends stands in its first so many octets, which are not all here: more than
    /// were given, at most 4,096.
    Needs(usize),
    /// The message's end is known, whether or not it is here.
    Message(Frame),
}

/// The frame of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Its type; not [`MessageKind::Fragment`].
    pub kind: MessageKind,
    /// The byte order of its values.
    pub order: ByteOrder,
    /// All its octets, from the first that [`MessageProtocol::cut`] was given; at least one.
    pub octets: usize,
}

/// What stands before the body of a message, by its kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Head<'a> {
    /// Before the arguments.
    Request(RequestHeader<'a>),
    /// Before the results, an exception, or a reference.
    Reply(ReplyHeader<'a>),
    /// All of a CancelRequest.
    CancelRequest(CancelRequestHeader),
    /// All of a LocateRequest.
    LocateRequest(LocateRequestHeader<'a>),
    /// Before the reference or exception, if there is one.
    LocateReply(LocateReplyHeader),
    /// All of a CloseConnection.
    CloseConnection,
    /// All of a MessageError.
    MessageError,
}

impl Head<'_> {
    /// The kind of message that begins with it.
    #[must_use]
    pub fn kind(&self) -> MessageKind {
        match self {
            Self::Request(_) => MessageKind::Request,
            Self::Reply(_) => MessageKind::Reply,
            Self::CancelRequest(_) => MessageKind::CancelRequest,
            Self::LocateRequest(_) => MessageKind::LocateRequest,
            Self::LocateReply(_) => MessageKind::LocateReply,
            Self::CloseConnection => MessageKind::CloseConnection,
            Self::MessageError => MessageKind::MessageError,
        }
    }
}

/// A registered message protocol.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Plugged(u8);

/// The protocols of the process, by number. Filled from the front, never emptied.
static TABLE: [OnceLock<&'static dyn MessageProtocol>; Version::PLUGGED] =
    [const { OnceLock::new() }; Version::PLUGGED];

impl Plugged {
    /// The most octets of [`Head::CancelRequest`], [`Head::CloseConnection`] and
    /// [`Head::MessageError`].
    pub const CONTROL_OCTETS: usize = 64;
    /// The most octets that a protocol may need to find the end of a message.
    const HEADER_OCTETS: usize = 4096;
    /// Names that mean something else in endpoints and object URLs.
    const RESERVED: [&str; 7] = ["giop", "giopl", "iiop", "uiop", "shmiop", "rir", "ssliop"];

    /// Registers a protocol with the process; again the same gives the same number.
    ///
    /// # Errors
    /// A sentence: its name cannot be used, a message without a body is too long, or the process
    /// has 64 protocols.
    pub fn register(protocol: &'static dyn MessageProtocol) -> Result<Self, String> {
        let name = protocol.name();
        let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
        if !name.starts_with(|c: char| c.is_ascii_lowercase()) || !name.chars().all(is_plain) {
            return Err(format!(
                "the name {name:?} of a message protocol is to be of lower-case letters and digits"
            ));
        }
        if Self::RESERVED.contains(&name) {
            return Err(format!("the message protocol {name:?} has a name of the ORB's own"));
        }
        let full = || format!("no number is left for the message protocol {name:?}: at most 64");
        let number =
            TABLE.iter().position(|place| is_same(*place.get_or_init(|| protocol), protocol));
        let number = number.and_then(|number| u8::try_from(number).ok()).ok_or_else(full)?;
        let plugged = Self(number);
        for head in [
            Head::CancelRequest(CancelRequestHeader { request_id: u32::MAX }),
            Head::CloseConnection,
            Head::MessageError,
        ] {
            let message = plugged.control(&head, ByteOrder::NATIVE);
            if message.is_empty() || message.len() > Self::CONTROL_OCTETS {
                let (kind, octets) = (head.kind(), message.len());
                let most = Self::CONTROL_OCTETS;
                return Err(format!("{kind:?} of {name:?} has {octets} octets, not 1 to {most}"));
            }
        }
        Ok(plugged)
    }

    /// The protocol.
    ///
    /// # Panics
    /// Never: each value was registered.
    #[must_use]
    pub fn protocol(self) -> &'static dyn MessageProtocol {
        *TABLE[usize::from(self.0)].get().expect("a registered protocol")
    }

    /// The version that encoders and decoders of its messages carry.
    #[must_use]
    pub const fn version(self) -> Version {
        Version::of_plugged(self.0)
    }

    /// The protocol whose messages have this version; `None`: GIOP, or GIOPlite.
    #[must_use]
    pub fn of(version: Version) -> Option<Self> {
        let number = version.plugged()?;
        TABLE.get(usize::from(number))?.get().map(|_| Self(number))
    }

    /// The header of the message that begins with `octets`; else how many more have to be here.
    pub(crate) fn cut(self, octets: &[u8]) -> Result<Result<MessageHeader, usize>, GiopError> {
        let Frame { kind, order, octets } = match self.protocol().cut(octets)? {
            Cut::Message(frame) => frame,
            Cut::Needs(most) if most > Self::HEADER_OCTETS => {
                let found = format_args!("not in the first 4,096 octets, but within {most}");
                return Err(GiopError::new(
                    GiopErrorKind::MessageTooLarge,
                    0,
                    "the end of the message",
                    found,
                ));
            }
            Cut::Needs(most) => return Ok(Err(most.max(octets.len() + 1))),
        };
        if kind == MessageKind::Fragment || octets == 0 {
            let found = format_args!("{kind:?} of {octets} octets");
            return Err(GiopError::new(GiopErrorKind::UnknownMessageType, 0, "message", found));
        }
        let Ok(size) = u32::try_from(octets) else {
            let found = format_args!("{octets} octets");
            return Err(GiopError::new(GiopErrorKind::MessageTooLarge, 0, "message", found));
        };
        Ok(Ok(MessageHeader { version: self.version(), order, more_fragments: false, kind, size }))
    }

    /// A whole message without a body.
    pub(crate) fn control(self, head: &Head<'_>, order: ByteOrder) -> Vec<u8> {
        let mut e = Encoder::new(Vec::with_capacity(Self::CONTROL_OCTETS), order);
        e.set_version(self.version());
        match self.protocol().write(head, &mut e) {
            Ok(()) => self.protocol().finish(&mut e),
            // It can be longer than the encoder takes at most, which `register` refuses.
            Err(_) => return Vec::new(),
        }
        e.into_buffer()
    }
}

impl fmt::Debug for Plugged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Plugged({})", self.protocol().name())
    }
}

/// Reads the head of a message of this kind, whose protocol is that of the decoder; `pick` takes
/// it out.
///
/// # Errors
/// The protocol's; it read another kind.
#[cold]
pub(super) fn read<'a, T>(
    kind: MessageKind,
    d: &mut Decoder<'a>,
    pick: impl FnOnce(Head<'a>) -> Option<T>,
) -> Result<T, GiopError> {
    let plugged = Plugged::of(d.version());
    let Some(plugged) = plugged else { return Err(other_kind(kind, "an unknown protocol")) };
    let head = plugged.protocol().read(kind, d)?;
    let found = head.kind();
    pick(head).ok_or_else(|| other_kind(kind, &format!("{found:?}")))
}

/// Writes the head of a message of the encoder's protocol.
///
/// # Errors
/// The protocol's.
#[cold]
pub(super) fn write(head: &Head<'_>, e: &mut Encoder<'_>) -> Result<(), corbie_cdr::Error> {
    Plugged::of(e.version()).map_or(Ok(()), |plugged| plugged.protocol().write(head, e))
}

/// Whether both are one protocol. Values without octets may share an address.
fn is_same(one: &dyn MessageProtocol, other: &dyn MessageProtocol) -> bool {
    let type_of = |protocol: &dyn MessageProtocol| protocol.type_id();
    let is_one_place = std::ptr::addr_eq(one, other) || size_of_val(one) == 0;
    type_of(one) == type_of(other) && is_one_place && one.name() == other.name()
}

#[cold]
fn other_kind(kind: MessageKind, found: &str) -> GiopError {
    let found = format_args!("{found} where the frame said {kind:?}");
    GiopError::new(GiopErrorKind::UnknownMessageType, 0, "message", found)
}
