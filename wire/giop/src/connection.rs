//! One GIOP connection without its socket: roles, outstanding requests, cancel, close.
//!
//! Caller: `orb/core/connection` and the simulated network of `tests/testkit`.
//! CORBA 3.3 P2 §9.4.4, §9.4.7, §9.4.8, §9.5.1.

mod life;
mod outstanding;
mod reply_table;
pub(crate) mod rules;
mod word;

use corbie_cdr::{ByteOrder, Decoder, Version};

use crate::error::{Answer, GiopError, GiopErrorKind};
use crate::message::{
    LocateReplyHeader, LocateRequestHeader, Message, MessageKind, ReplyHeader, RequestHeader,
};
use crate::protocol::Protocol;
use crate::reader::{MessageReader, ReaderLimits};
use crate::writer::{self, Control};

pub use life::{Life, Stage};
pub use outstanding::{Outstanding, RequestIdTaken};
pub use reply_table::{Begun, NotBegun, Replied, ReplyTable};
pub use rules::{Incoming, RequestIds, Roles};
pub use word::Word;

/// How far a connection is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ConnectionState {
    /// Requests and replies flow.
    Open,
    /// A server that takes no more requests and sends CloseConnection after its last reply.
    Closing,
    /// Nothing more is read; what [`Connection::poll_transmit`] gives is still to be sent, then the
    /// socket is closed.
    Closed,
}

/// What has arrived.
#[derive(Clone, Debug)]
pub enum Event<'a> {
    /// A request; when `header.response` asks for a reply, [`Connection::reply_sent`] has to
    /// follow.
    Request {
        /// The whole message.
        message: Message<'a>,
        /// Its decoded header.
        header: RequestHeader<'a>,
        /// Stands at the arguments.
        arguments: Decoder<'a>,
    },
    /// A question where an object is; [`Connection::reply_sent`] has to follow.
    LocateRequest {
        /// The whole message.
        message: Message<'a>,
        /// Its decoded header.
        header: LocateRequestHeader<'a>,
    },
    /// The client gave up on a request that has no reply yet. A reply may be sent all the same.
    CancelRequest {
        /// The request.
        request_id: u32,
    },
    /// The reply to an outstanding request.
    Reply {
        /// The whole message.
        message: Message<'a>,
        /// Its decoded header.
        header: ReplyHeader<'a>,
        /// Stands at the body.
        body: Decoder<'a>,
    },
    /// The reply to an outstanding LocateRequest.
    LocateReply {
        /// The whole message.
        message: Message<'a>,
        /// Its decoded header.
        header: LocateReplyHeader,
        /// Stands at the body.
        body: Decoder<'a>,
    },
    /// The peer closes in order. A client may send the requests that are still in
    /// [`Connection::outstanding`] again elsewhere: the server has not begun them.
    CloseConnection,
}

/// A connection of one role, without I/O, clock and threads.
///
/// # How to drive it
/// - **Inputs**: receive into [`space`](Self::space), then
///   [`handle_received`](Self::handle_received);
///   [`handle_end_of_stream`](Self::handle_end_of_stream) when the peer closed.
/// - **Outputs**, in this order after each input: [`poll_event`](Self::poll_event) until `None`,
///   then [`poll_transmit`](Self::poll_transmit) until `None` (send what it gives), then close the
///   socket when [`state`](Self::state) is `Closed`. An error of `poll_event` is final: log it,
///   poll and send once more, close.
/// - **Commands of a client**: [`begin_request`](Self::begin_request) before a Request or
///   LocateRequest that expects an answer is sent, [`cancel_request`](Self::cancel_request) (send
///   what it returns), [`close`](Self::close).
/// - **Commands of a server**: [`reply_sent`](Self::reply_sent) right before the last octet of a
///   Reply or LocateReply is handed to the socket (an id is then free for the client again),
///   [`close`](Self::close): takes no more requests, and CloseConnection follows the last reply.
///
/// It reads no clock: idle and request time-outs are the driver's, which then calls
/// `cancel_request` or `close`. Requests and replies are encoded by the `write_*` functions and
/// sent by the driver.
///
/// # Cost
/// Per message: one table look-up of the request id. No allocation in steady state.
#[derive(Debug)]
pub struct Connection {
    reader: MessageReader,
    rules: Rules,
}

/// Everything about a connection but the octets that arrive.
#[derive(Debug)]
struct Rules {
    role: Roles,
    state: ConnectionState,
    outstanding: Outstanding,
    /// The most requests of the peer that wait for a reply at a time.
    outstanding_max: usize,
    /// Version and byte order of the control messages: those of the peer's last message.
    version: Version,
    order: ByteOrder,
    /// CloseConnection or MessageError, to be sent before the socket is closed.
    farewell: Option<Control>,
    /// Replies to nothing that was asked: late ones, after a cancel.
    late_replies: u64,
}

impl Connection {
    /// Unanswered requests of one client that a server keeps by default. More are refused by
    /// CloseConnection; stops a client that only ever asks.
    pub const OUTSTANDING_MAX: usize = 16_384;

    /// An open connection.
    #[must_use]
    pub fn new(limits: ReaderLimits, role: Roles) -> Self {
        let rules = Rules {
            role,
            state: ConnectionState::Open,
            outstanding: Outstanding::new(),
            outstanding_max: Self::OUTSTANDING_MAX,
            version: Version::V1_2,
            order: ByteOrder::NATIVE,
            farewell: None,
            late_replies: 0,
        };
        Self { reader: MessageReader::new(limits, role), rules }
    }

    /// Speaks `protocol` from the first message on; `order` is the byte order that the profile
    /// agreed on, which GIOP says in every message instead. To be called before anything arrives.
    #[must_use]
    pub fn with_protocol(mut self, protocol: Protocol, order: ByteOrder) -> Self {
        self.reader = self.reader.with_protocol(protocol, order);
        self.rules.version = protocol.version();
        self.rules.order = order;
        self
    }

    /// Sets the most requests of the peer that wait for a reply at a time (servers).
    pub fn set_outstanding_max(&mut self, requests: usize) {
        self.rules.outstanding_max = requests;
    }

    /// Sets the version of control messages until the peer's first message says its own.
    pub fn set_version(&mut self, version: Version) {
        self.rules.version = version;
    }

    /// Which end it is.
    #[must_use]
    pub fn role(&self) -> Roles {
        self.rules.role
    }

    /// How far the connection is.
    #[inline]
    #[must_use]
    pub fn state(&self) -> ConnectionState {
        self.rules.state
    }

    /// The requests without a reply: sent ones of a client, received ones of a server.
    #[must_use]
    pub fn outstanding(&self) -> &Outstanding {
        &self.rules.outstanding
    }

    /// How many replies came for requests that nobody waits for.
    #[must_use]
    pub fn late_replies(&self) -> u64 {
        self.rules.late_replies
    }

    /// The reader, for [`MessageReader::wanted`] and [`MessageReader::take_message`].
    pub fn reader(&mut self) -> &mut MessageReader {
        &mut self.reader
    }

    /// Where to receive next; see [`MessageReader::space`].
    #[inline]
    pub fn space(&mut self) -> &mut [u8] {
        self.reader.space()
    }

    /// Input: so many octets were received into [`space`](Self::space).
    #[inline]
    pub fn handle_received(&mut self, octets: usize) {
        self.reader.received(octets);
    }

    /// Input: the peer closed its side, or the socket failed. Poll all events before it.
    ///
    /// # Errors
    /// `Truncated`: in the middle of a message; `Lost`: a client's requests are left without an
    /// answer and without CloseConnection. Their fate is unknown (COMM_FAILURE, COMPLETED_MAYBE).
    pub fn handle_end_of_stream(&mut self) -> Result<(), GiopError> {
        let before = std::mem::replace(&mut self.rules.state, ConnectionState::Closed);
        if before == ConnectionState::Closed {
            return Ok(());
        }
        self.reader.check_end_of_stream()?;
        if self.rules.role == Roles::CLIENT && !self.rules.outstanding.is_empty() {
            let found = format_args!("{} unanswered", self.rules.outstanding.len());
            return Err(GiopError::new(GiopErrorKind::Lost, 0, "request", found));
        }
        Ok(())
    }

    /// Command of a client: a request that expects an answer is about to be sent.
    ///
    /// # Errors
    /// `Closed`: nothing may be sent any more (TRANSIENT, COMPLETED_NO); `DuplicateRequestId`.
    #[inline]
    pub fn begin_request(&mut self, request_id: u32) -> Result<(), GiopError> {
        if self.rules.state != ConnectionState::Open {
            return Err(GiopError::new(GiopErrorKind::Closed, 0, "request", request_id));
        }
        let inserted = self.rules.outstanding.insert(request_id);
        inserted.map_err(|RequestIdTaken| taken(0, request_id))
    }

    /// Command of a client: nobody waits for this reply any more. The message to send, when the
    /// request is outstanding and the connection open. The reply is dropped if it comes.
    pub fn cancel_request(&mut self, request_id: u32) -> Option<Control> {
        let Rules { state, version, order, .. } = self.rules;
        if !self.rules.outstanding.remove(request_id) || state != ConnectionState::Open {
            return None;
        }
        Some(writer::cancel_request(version, order, request_id))
    }

    /// Command of a server: the reply to this request is being sent. `false`: there is no such
    /// request, and the reply must not be sent.
    #[inline]
    pub fn reply_sent(&mut self, request_id: u32) -> bool {
        let known = self.rules.outstanding.remove(request_id);
        if self.rules.state == ConnectionState::Closing {
            self.rules.close_when_answered();
        }
        known
    }

    /// Command: close in order. A server sends CloseConnection after its last reply; requests that
    /// arrive from now on are not begun. A client is closed at once, its requests stay outstanding.
    pub fn close(&mut self) {
        if self.rules.state != ConnectionState::Open {
            return;
        }
        match self.rules.role.answers {
            false => self.rules.state = ConnectionState::Closed,
            true => {
                self.rules.state = ConnectionState::Closing;
                self.rules.close_when_answered();
            }
        }
    }

    /// Output: the octets to send before the socket is closed.
    #[inline]
    pub fn poll_transmit(&mut self) -> Option<Control> {
        self.rules.farewell.take()
    }

    /// Output: the next thing that arrived; `None`: receive more. It borrows the reader's buffer
    /// until the next call.
    ///
    /// # Errors
    /// The connection is then `Closed`; [`poll_transmit`](Self::poll_transmit) has the answer to
    /// the peer.
    #[inline]
    pub fn poll_event(&mut self) -> Result<Option<Event<'_>>, GiopError> {
        let Self { reader, rules } = self;
        loop {
            if rules.state == ConnectionState::Closed {
                return Ok(None);
            }
            match reader.next().and_then(|message| rules.step(message)) {
                Ok(Step::Wait) => return Ok(None),
                Ok(Step::Skip) => {}
                Ok(Step::Event) => break,
                Err(error) => {
                    rules.refuse(&error);
                    return Err(error);
                }
            }
        }
        let Some(message) = reader.current() else {
            return Ok(None);
        };
        match Event::decode(message) {
            Ok(event) => Ok(Some(event)),
            Err(error) => {
                rules.refuse(&error);
                Err(error)
            }
        }
    }
}

/// What becomes of a message.
enum Step {
    /// There is none.
    Wait,
    /// It is nobody's concern.
    Skip,
    /// It is the next event.
    Event,
}

impl Rules {
    /// Applies the rules to the next message.
    #[inline]
    fn step(&mut self, message: Option<Message<'_>>) -> Result<Step, GiopError> {
        let Some(message) = message else {
            return Ok(Step::Wait);
        };
        self.version = message.header.version;
        self.order = message.header.order;
        let id = message.request_id()?;
        match (message.kind(), id) {
            (MessageKind::Request, Some(id)) => self.admit(id, message.response_expected()?),
            (MessageKind::LocateRequest, Some(id)) => self.admit(id, true),
            (MessageKind::CancelRequest, Some(id)) if self.outstanding.contains(id) => {
                Ok(Step::Event)
            }
            (MessageKind::Reply | MessageKind::LocateReply, Some(id)) => {
                if self.outstanding.remove(id) {
                    return Ok(Step::Event);
                }
                self.late_replies += 1;
                Ok(Step::Skip)
            }
            (MessageKind::CloseConnection, _) => {
                self.state = ConnectionState::Closed;
                Ok(Step::Event)
            }
            (MessageKind::MessageError, _) => {
                let kind = GiopErrorKind::PeerReportedError;
                Err(GiopError::new(kind, 7, "message_type", "MessageError"))
            }
            _ => Ok(Step::Skip),
        }
    }

    /// Whether a server begins a request.
    #[inline]
    fn admit(&mut self, id: u32, response_expected: bool) -> Result<Step, GiopError> {
        if self.state == ConnectionState::Closing {
            // CORBA 3.3 P2 §9.5.1.1: not begun, and the client learns that by CloseConnection.
            return Ok(Step::Skip);
        }
        if !response_expected {
            return Ok(Step::Event);
        }
        if self.outstanding.len() >= self.outstanding_max {
            let found = format_args!("number {}", self.outstanding.len() + 1);
            return Err(GiopError::new(GiopErrorKind::TooManyRequests, 12, "request", found));
        }
        self.outstanding.insert(id).map_err(|RequestIdTaken| taken(12, id))?;
        Ok(Step::Event)
    }

    /// CORBA 3.3 P2 §9.5.1.1: a server may close only when it owes no reply.
    fn close_when_answered(&mut self) {
        if self.outstanding.is_empty() {
            self.say_farewell(Answer::CloseConnection, self.version);
        }
    }

    fn refuse(&mut self, error: &GiopError) {
        self.say_farewell(error.answer(), error.answer_version(self.version));
    }

    fn say_farewell(&mut self, answer: Answer, version: Version) {
        self.state = ConnectionState::Closed;
        let order = self.order;
        self.farewell = match (answer, self.role.answers) {
            (Answer::MessageError, _) => Some(writer::message_error(version, order)),
            (Answer::CloseConnection, true) => Some(writer::close_connection(version, order)),
            // Only a server may send CloseConnection in 1.0 and 1.1; a client just closes.
            (Answer::CloseConnection, false) | (Answer::Nothing, _) => None,
        };
    }
}

impl<'a> Event<'a> {
    /// The event of a message that the rules let through.
    #[inline]
    fn decode(message: Message<'a>) -> Result<Self, GiopError> {
        Ok(match message.kind() {
            MessageKind::Request => {
                let (header, arguments) = message.request()?;
                Event::Request { message, header, arguments }
            }
            MessageKind::Reply => {
                let (header, body) = message.reply()?;
                Event::Reply { message, header, body }
            }
            MessageKind::LocateRequest => {
                Event::LocateRequest { message, header: message.locate_request()? }
            }
            MessageKind::LocateReply => {
                let (header, body) = message.locate_reply()?;
                Event::LocateReply { message, header, body }
            }
            MessageKind::CancelRequest => {
                Event::CancelRequest { request_id: message.cancel_request()?.request_id }
            }
            MessageKind::CloseConnection | MessageKind::MessageError | MessageKind::Fragment => {
                Event::CloseConnection
            }
        })
    }
}

#[cold]
fn taken(offset: usize, id: u32) -> GiopError {
    let found = format_args!("{id}, which has no reply yet");
    GiopError::new(GiopErrorKind::DuplicateRequestId, offset, "request_id", found)
}
