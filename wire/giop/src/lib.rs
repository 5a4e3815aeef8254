//! GIOP messages: what goes over the connection between a client and a server ORB.
//!
//! `message` encodes and decodes the eight message types of GIOP 1.0, 1.1 and 1.2, and the seven of
//! GIOPlite (paper POA §3.3), which is one more [`Protocol`] to the reader and one more version to
//! the codecs;
//! [`MessageReader`] turns received octets into whole messages; [`Fragments`] cuts an encoded
//! message into fragments; [`Connection`] keeps the rules of a connection (roles, outstanding
//! requests, orderly close). The one caller is `orb/core/connection`.
//!
//! CORBA 3.3 P2 §9.4 (messages), §9.5 (connections), §9.6 (service contexts of the ORB).
//!
//! **Architecture Invariant:** no I/O, no clock, no thread, no `unsafe`. Buffers grow with what
//! arrived, not with what a length on the wire claims (but for 128 KiB, and for what an allocator
//! of the application gives).

#![forbid(unsafe_code)]

// layers: error memory protocol < message < reader split writer < connection template
mod connection;
mod error;
mod memory;
mod message;
mod protocol;
mod reader;
mod split;
mod template;
mod writer;

pub use connection::{
    Begun, Connection, ConnectionState, Event, Incoming, Life, NotBegun, Outstanding, Replied,
    ReplyTable, RequestIdTaken, RequestIds, Roles, Stage, Word,
};
pub use error::{Answer, GiopError, GiopErrorKind};
pub use message::{
    AddressingDisposition, CancelRequestHeader, CodeSetContext, FragmentHeader, LocateReplyHeader,
    LocateRequestHeader, LocateStatus, Message, MessageHeader, MessageKind, OwnedMessage,
    ReplyHeader, ReplyStatus, RequestHeader, ResponseFlags, ServiceContext, ServiceContexts,
    Tagged, TaggedIter, TaggedList, Target, service_context_id,
};
pub use protocol::Protocol;
pub use reader::{MessageReader, ReaderLimits};
pub use split::{Fragment, Fragments};
pub use template::RequestTemplate;
pub use writer::{
    Control, MessageStart, begin_message, cancel_request, close_connection, finish_message,
    message_error, request_id_place, write_locate_reply, write_locate_request, write_reply,
    write_request,
};

pub use corbie_cdr::Version;
