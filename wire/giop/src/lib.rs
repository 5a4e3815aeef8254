//! GIOP messages: what goes over the connection between a client and a server ORB.
//!
//! `message` encodes and decodes the eight message types of GIOP 1.0, 1.1 and 1.2, and the seven of
//! GIOPlite (paper POA §3.3), which is one more [`Protocol`] to the reader and one more version to
//! the codecs; a [`MessageProtocol`] is one that an application brings along;
//! [`MessageReader`] turns received octets into whole messages; [`Fragments`] cuts an encoded
//! message into fragments; `connection` has the rules of a connection as parts ([`Roles`],
//! [`Life`], [`ReplyTable`]), and [`Attempts`] those of a call. Used by `orb/connection` and
//! `orb/core`.
//!
//! CORBA 3.3 P2 §9.4 (messages), §9.5 (connections), §9.6 (service contexts of the ORB).
//!
//! **Architecture Invariant:** no I/O, no clock, no thread, no `unsafe`. Buffers grow with what
//! arrived, not with what a length on the wire claims (but for 128 KiB, and for what an allocator
//! of the application gives).

#![forbid(unsafe_code)]

// layers: attempts error memory < message < protocol roles < reader split writer <
// connection template
mod attempts;
mod connection;
mod error;
mod memory;
mod message;
mod protocol;
mod reader;
mod roles;
mod split;
mod template;
mod writer;

pub use attempts::{Attempts, FORWARDS_MAX, Fault, Place, Step};
pub use connection::{Begun, Incoming, Life, NotBegun, Replied, ReplyTable, Stage, Word};
pub use error::{Answer, GiopError, GiopErrorKind};
pub use message::{
    AddressingDisposition, CancelRequestHeader, CodeSetContext, Cut, FragmentHeader, Frame, Head,
    ListenPoint, ListenPoints, LocateReplyHeader, LocateRequestHeader, LocateStatus, Message,
    MessageHeader, MessageKind, MessageProtocol, OwnedMessage, Plugged, ReplyHeader, ReplyStatus,
    RequestHeader, ResponseFlags, ServiceContext, ServiceContexts, Tagged, TaggedIter, TaggedList,
    Target, service_context_id,
};
pub use protocol::Protocol;
pub use reader::{MessageReader, ReaderLimits};
pub use roles::{RequestIds, Roles};
pub use split::{Fragment, Fragments};
pub use template::RequestTemplate;
pub use writer::{
    Control, MessageStart, RequestIdPlace, begin_message, cancel_request, close_connection,
    finish_message, message_error, write_locate_reply, write_locate_request, write_reply,
    write_request,
};

pub use corbie_cdr::Version;
