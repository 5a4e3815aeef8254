//! One end of a simulated connection: the parts that ship (`Life`, `Roles`, `ReplyTable`,
//! `receive`), joined as the connections of `orb/core` join them. An end asks, answers, or both.

use std::cell::Cell;
use std::rc::Rc;
use std::time::{Duration, Instant};

use corbie_cdr::{ByteOrder, Encoder, Version};
use corbie_connection::{
    Limits, ReceiveFailure, Received, SendFault, Sender, Terms, WhatIsHere, When, receive,
};
use corbie_giop::{
    Begun, Control, GiopError, Incoming, Life, LocateReplyHeader, LocateRequestHeader,
    LocateStatus, MessageReader, NotBegun, OwnedMessage, Protocol, ReaderLimits, Replied,
    ReplyHeader, ReplyStatus, ReplyTable, RequestHeader, ResponseFlags, Roles, ServiceContexts,
    Stage, Target, cancel_request, close_connection, finish_message, write_locate_reply,
    write_locate_request, write_reply, write_request,
};
use corbie_threads::thread::Patience;

use super::wire::{Wire, WireEnd};

/// How long a peer may take nothing of what waits.
const MESSAGE_TIMEOUT: Duration = Duration::from_millis(20);

/// The number of a call.
pub(super) type Call = usize;

/// What both ends of a connection speak.
#[derive(Clone, Copy, Debug)]
pub(super) struct Dialect {
    pub(super) protocol: Protocol,
    pub(super) version: Version,
    pub(super) fragment_octets: Option<usize>,
}

/// How an end sends.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sending {
    pub(super) limits: Limits,
    /// How requests are sent.
    pub(super) when: When,
    pub(super) patience: Patience,
}

/// Why a request was not put.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NotAsked {
    /// Too much waits already.
    Full,
    /// The connection is closed, or broke: the peer has not got all of it.
    Closed,
}

/// How a request is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Asked {
    Twoway,
    Oneway,
    Locate,
}

/// What a request is answered with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AnsweredWith {
    Done,
    /// The request is to be sent to this server.
    Forward(usize),
}

/// What has come.
#[derive(Debug)]
pub(super) enum Came {
    /// A request that is in service now.
    Request {
        call: Call,
        number: u32,
        id: u32,
        asked: Asked,
    },
    /// A request that was not begun, as the connection closes.
    Declined,
    /// The answer to a call, which waits no more.
    Reply(Call, AnsweredWith),
    Late,
    Unasked,
    Cancel,
    /// The peer closed in order: these calls were not begun.
    Unserved(Vec<Call>),
    /// The connection ended otherwise: nothing is known of these calls.
    Lost(Vec<Call>),
}

#[derive(Debug)]
pub(super) struct End {
    pub(super) roles: Roles,
    pub(super) life: Life<Cell<u32>>,
    pub(super) table: ReplyTable<Call>,
    pub(super) sender: Sender,
    pub(super) link: WireEnd,
    reader: MessageReader,
    dialect: Dialect,
    sending: Sending,
    /// Requests put so far.
    put: u32,
    /// A tick is planned.
    pub(super) is_ticking: bool,
}

impl End {
    pub(super) fn new(
        wire: &Rc<Wire>,
        end: usize,
        roles: Roles,
        dialect: Dialect,
        sending: Sending,
    ) -> Self {
        let reader = MessageReader::new(ReaderLimits::default(), roles);
        End {
            roles,
            life: Life::new(),
            table: ReplyTable::new(roles.ids),
            sender: Sender::new(sending.limits),
            sending,
            link: WireEnd { wire: Rc::clone(wire), end },
            reader: reader.with_protocol(dialect.protocol, ByteOrder::NATIVE),
            dialect,
            put: 0,
            is_ticking: false,
        }
    }

    /// Whether requests can be sent.
    pub(super) fn is_open(&self) -> bool {
        self.life.is_open() && !self.table.is_closed()
    }

    /// Puts a request, which waits until `deadline`.
    pub(super) fn ask(
        &mut self,
        call: Call,
        asked: Asked,
        padding: usize,
        deadline: u64,
        most: usize,
    ) -> Result<Option<Begun>, NotAsked> {
        let begun = match asked {
            Asked::Oneway if self.table.is_closed() => Err(NotBegun::Closed),
            Asked::Oneway => Ok(None),
            _ => self.table.begin(call, deadline, most).map(Some).map_err(|(_, reason)| reason),
        };
        let begun = begun.map_err(|reason| match reason {
            NotBegun::Full => NotAsked::Full,
            NotBegun::Closed => NotAsked::Closed,
        })?;
        self.put += 1;
        let key = [(call as u32).to_le_bytes(), self.put.to_le_bytes()].concat();
        // No request that waits has this number.
        let oneway = self.roles.ids.id(u32::MAX >> 1);
        let request_id = begun.map_or(oneway, |begun| begun.id);
        let mut e = self.encoder();
        let target = Target::Key(&key);
        let start = match asked {
            Asked::Locate => {
                write_locate_request(&mut e, &LocateRequestHeader { request_id, target })
            }
            _ => {
                let header = RequestHeader {
                    request_id,
                    response: match asked {
                        Asked::Oneway => ResponseFlags::None,
                        _ => ResponseFlags::WithTarget,
                    },
                    target,
                    operation: "operation",
                    service_contexts: ServiceContexts::EMPTY,
                };
                write_request(&mut e, &header)
            }
        };
        let start = start.expect("a small header");
        if asked != Asked::Locate {
            e.write_octets(&vec![7; padding]);
        }
        finish_message(&mut e, start).expect("a small message");
        let Sending { when, patience, .. } = self.sending;
        let fragment_octets = self.dialect.fragment_octets;
        let terms = Terms { fragment_octets, when, patience, until: None };
        let refused = match self.sender.put(&self.link, &mut e, &terms) {
            // Where the link broke it may have gone out: what became of it is not known.
            Ok(_) | Err(SendFault::Unknown(_)) => return Ok(begun),
            Err(SendFault::Full(_) | SendFault::TimedOut) => NotAsked::Full,
            Err(SendFault::Closed | SendFault::Failed(_)) => NotAsked::Closed,
        };
        if let Some(begun) = begun {
            self.table.withdraw(begun.id);
        }
        Err(refused)
    }

    /// A tick of the flusher at `now`. A peer that takes nothing for long is given up: the calls
    /// that waited.
    pub(super) fn tick(&mut self, now: Instant) -> Option<Vec<Call>> {
        self.is_ticking = false;
        self.sender.tick(&self.link);
        self.note_closed();
        (self.sender.stuck_for(now) > MESSAGE_TIMEOUT).then(|| self.cut())
    }

    fn encoder<'e>(&self) -> Encoder<'e> {
        let mut e = Encoder::new(Vec::new(), ByteOrder::NATIVE);
        e.set_version(self.dialect.version);
        e
    }

    /// Gives a request up that still waits.
    pub(super) fn cancel(&mut self, id: u32) -> Option<Call> {
        let call = self.table.abandon(id)?;
        self.post_cancel(id);
        Some(call)
    }

    /// The calls whose time is over.
    pub(super) fn expire(&mut self, now: u64) -> Vec<Call> {
        let over = self.table.expire(now);
        over.iter().for_each(|(id, _)| self.post_cancel(*id));
        over.into_iter().map(|(_, call)| call).collect()
    }

    fn post_cancel(&mut self, id: u32) {
        let word = cancel_request(self.dialect.version, ByteOrder::NATIVE, id);
        self.sender.post(&self.link, &word);
    }

    /// Puts the answer to a request in service. `times`: a server may answer twice.
    pub(super) fn answer(&mut self, id: u32, asked: Asked, answered: AnsweredWith, times: usize) {
        for _ in 0..times {
            if self.life.stage() >= Stage::Ending || asked == Asked::Oneway {
                break;
            }
            let mut e = self.encoder();
            let start = match (asked, answered) {
                (Asked::Locate, _) => {
                    let status = match answered {
                        AnsweredWith::Done => LocateStatus::ObjectHere,
                        AnsweredWith::Forward(_) => LocateStatus::ObjectForward,
                    };
                    write_locate_reply(&mut e, &LocateReplyHeader { request_id: id, status })
                }
                (_, answered) => {
                    let status = match answered {
                        AnsweredWith::Done => ReplyStatus::NoException,
                        AnsweredWith::Forward(_) => ReplyStatus::LocationForward,
                    };
                    let service_contexts = ServiceContexts::EMPTY;
                    let header = ReplyHeader { request_id: id, status, service_contexts };
                    write_reply(&mut e, &header).expect("a small header")
                }
            };
            if let AnsweredWith::Forward(server) = answered {
                e.write_octets(&[server as u8]);
            }
            finish_message(&mut e, start).expect("a small message");
            let fragment_octets = self.dialect.fragment_octets;
            let (when, patience) = (When::Now, Patience::Queue);
            let terms = Terms { fragment_octets, when, patience, until: None };
            // When it cannot be sent, the connection breaks, or its queue is full for ever.
            if self.sender.put(&self.link, &mut e, &terms).is_err() {
                self.sender.close(&self.link);
            }
        }
        if self.life.finish() {
            self.say_close_connection();
        }
    }

    /// Closes in order: when what is in service is answered.
    pub(super) fn close(&mut self) {
        if self.life.close() {
            self.say_close_connection();
        }
    }

    /// Says it whatever is in service, which no server may.
    #[cfg(test)]
    pub(super) fn lie(&mut self) {
        if self.life.end() {
            self.say_close_connection();
        }
    }

    fn say_close_connection(&mut self) {
        self.say_last(Some(close_connection(self.dialect.version, ByteOrder::NATIVE)));
    }

    fn say_last(&mut self, word: Option<Control>) {
        match word {
            Some(word) => self.sender.last(&self.link, &word),
            None => self.sender.close(&self.link),
        }
        self.note_closed();
    }

    fn note_closed(&mut self) {
        if self.sender.is_closed() {
            self.life.gone();
        }
    }

    /// Closes at once; the calls that waited.
    pub(super) fn cut(&mut self) -> Vec<Call> {
        self.life.gone();
        self.sender.close(&self.link);
        self.table.close()
    }

    /// The link tells of input or room: takes all that is here.
    pub(super) fn look(&mut self) -> Vec<Came> {
        let mut came = Vec::new();
        // A sender that finds the link broken closes.
        let _ = self.sender.flush(&self.link, Patience::Queue);
        self.note_closed();
        while self.life.stage() < Stage::Ending && (self.roles.asks || !self.life.has_declined()) {
            let mut from = WhatIsHere::of(&self.link, self.link.has_end());
            let next = match receive(&mut self.reader, &mut from) {
                Ok(Received::Nothing) => break,
                Ok(Received::Message { .. }) => match self.reader.take_message() {
                    Some(message) => self.take(&message),
                    None => break,
                },
                Err(ReceiveFailure::Giop(error)) => Err(error),
                Err(_) => Ok(Came::Lost(self.cut())),
            };
            came.push(next.unwrap_or_else(|error| self.refuse(&error)));
        }
        // Nothing comes any more to the calls that wait here.
        if self.life.stage() >= Stage::Ending && !self.table.is_closed() {
            came.push(Came::Lost(self.table.close()));
        }
        came
    }

    fn refuse(&mut self, error: &GiopError) -> Came {
        let word = self.roles.last_words(error, self.dialect.version);
        if self.life.end() {
            self.say_last(word);
        }
        Came::Lost(self.table.close())
    }

    fn take(&mut self, message: &OwnedMessage) -> Result<Came, GiopError> {
        let message = message.as_message();
        Ok(match self.roles.incoming(&message)? {
            Incoming::Request => {
                let (header, _) = message.request()?;
                let asked = match header.response {
                    ResponseFlags::None => Asked::Oneway,
                    _ => Asked::Twoway,
                };
                self.begin(header.request_id, &header.target, asked)
            }
            Incoming::LocateRequest => {
                let header = message.locate_request()?;
                self.begin(header.request_id, &header.target, Asked::Locate)
            }
            Incoming::CancelRequest => {
                message.cancel_request()?;
                Came::Cancel
            }
            Incoming::Reply => {
                let (header, body) = message.reply()?;
                let is_forward = header.status == ReplyStatus::LocationForward;
                self.replied(header.request_id, is_forward, body.rest())
            }
            Incoming::LocateReply => {
                let (header, body) = message.locate_reply()?;
                let is_forward = header.status == LocateStatus::ObjectForward;
                self.replied(header.request_id, is_forward, body.rest())
            }
            Incoming::CloseConnection => Came::Unserved(self.cut()),
        })
    }

    fn begin(&mut self, id: u32, target: &Target<'_>, asked: Asked) -> Came {
        if !self.life.begin() {
            return Came::Declined;
        }
        let key = target.object_key().unwrap_or_default();
        let number = |at: usize| {
            let octets = key.get(at..).and_then(|rest| rest.first_chunk());
            octets.map_or(u32::MAX, |octets| u32::from_le_bytes(*octets))
        };
        Came::Request { call: number(0) as Call, number: number(4), id, asked }
    }

    fn replied(&mut self, id: u32, is_forward: bool, body: &[u8]) -> Came {
        match self.table.replied(id) {
            Replied::To(call) if is_forward => {
                let server = body.first().copied().unwrap_or_default();
                Came::Reply(call, AnsweredWith::Forward(server.into()))
            }
            Replied::To(call) => Came::Reply(call, AnsweredWith::Done),
            Replied::Late => Came::Late,
            Replied::Unasked => Came::Unasked,
        }
    }
}
