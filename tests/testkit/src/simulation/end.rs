//! One end of a simulated connection: the `Connection` that ships, with a user that writes down
//! what comes. An end asks, answers, or both.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use corbie_cdr::{ByteOrder, Encoder, Version};
use corbie_connection::{
    Answer, AnswerStatus, Bounds, Clock, Connection, ConnectionFault, Context, Limits, SendFault,
    User, When, WrittenRequest,
};
use corbie_giop::{
    Fault, GiopError, Incoming, LocateReplyHeader, LocateRequestHeader, LocateStatus,
    MessageReader, OwnedMessage, Protocol, ReaderLimits, ReplyHeader, ReplyStatus, RequestHeader,
    RequestIdPlace, ResponseFlags, Roles, ServiceContexts, Target, finish_message,
    write_locate_reply, write_locate_request, write_reply, write_request,
};
use corbie_settings::Settings;
use corbie_threads::flusher::{Flush as _, Flusher};
use corbie_threads::reactor::{Next, Reactor, Turn};
use corbie_threads::thread::{Patience, Wish};
use corbie_transport::{Link, WaitStrategy, Waiter};
use corbie_types::{CompletionStatus, SystemException, minor};

use super::wire::{Wire, WireEnd, lock};

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
    /// No answer will come to a call.
    Failed(Call, Fault),
    /// The time of a call is over.
    Expired(Call),
    Late,
    Unasked,
    Cancel,
}

/// What came to any end, with the numbers of connection and end.
pub(super) type Log = Arc<Mutex<VecDeque<(usize, usize, Came)>>>;

/// What one end works for.
#[derive(Clone)]
pub(super) struct Mind {
    /// The numbers of its connection and of itself.
    pub(super) place: (usize, usize),
    pub(super) log: Log,
    settings: Arc<Settings>,
    /// Closed: ticks are events of the simulation.
    flusher: Arc<Flusher>,
}

/// What the ends of all connections have in common.
pub(super) struct Minds {
    pub(super) log: Log,
    settings: Arc<Settings>,
    flusher: Arc<Flusher>,
}

impl Minds {
    pub(super) fn new(sending: &Sending) -> Self {
        let mut settings = Settings::default();
        settings.message_timeout = Some(MESSAGE_TIMEOUT);
        settings.batch_octets = sending.limits.batch_octets;
        let flusher = Flusher::new(|| {});
        flusher.close();
        Minds { log: Log::default(), settings: Arc::new(settings), flusher: Arc::new(flusher) }
    }

    pub(super) fn of(&self, place: (usize, usize)) -> Mind {
        let (log, settings) = (Arc::clone(&self.log), Arc::clone(&self.settings));
        Mind { place, log, settings, flusher: Arc::clone(&self.flusher) }
    }
}

impl Mind {
    fn note(&self, came: Came) {
        lock(&self.log).push_back((self.place.0, self.place.1, came));
    }
}

impl Context for Mind {
    fn settings(&self) -> &Settings {
        &self.settings
    }

    fn flusher(&self) -> &Flusher {
        &self.flusher
    }

    fn reactor(&self) -> Result<&Arc<Reactor<Self>>, SystemException> {
        Err(SystemException::no_resources(minor::NO_RESOURCES_EVENT_LOOP, CompletionStatus::No))
    }

    fn ensure_event_loop(&self) -> Result<(), SystemException> {
        Ok(())
    }

    fn is_driven_by_application(&self) -> bool {
        false
    }

    fn tick(&self) -> u64 {
        0
    }

    fn reader(&self, roles: Roles, protocol: Protocol) -> MessageReader {
        let reader = MessageReader::new(ReaderLimits::default(), roles);
        reader.with_protocol(protocol, ByteOrder::NATIVE)
    }
}

/// The simulation as a user of connections.
#[derive(Debug)]
pub(super) enum Simulated {}

/// A call that waits for its answer.
pub(super) struct Waits {
    call: Call,
    deadline: Option<Instant>,
    mind: Mind,
    slot: Arc<Slot>,
}

impl Waits {
    pub(super) fn call(&self) -> Call {
        self.call
    }
}

/// The id under which a call waits.
#[derive(Default)]
pub(super) struct Slot(AtomicU32);

impl corbie_connection::Slot for Slot {
    fn wake(&self) {}

    fn note_taken(&self) {}
}

impl corbie_connection::Call for Waits {
    type Slot = Slot;

    fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    fn octets(&self) -> usize {
        0
    }

    fn keep(&mut self, _arguments: Vec<u8>) {}

    fn take_kept(&mut self) -> Option<Vec<u8>> {
        None
    }

    fn slot(&self) -> Option<&Arc<Slot>> {
        Some(&self.slot)
    }
}

impl User for Simulated {
    type Context = Mind;
    type Call = Waits;
    type State = Mind;

    fn note_sent(
        slot: &Slot,
        _connection: &Arc<Connection<Self>>,
        id: u32,
        _deadline: Option<Instant>,
    ) -> bool {
        slot.0.store(id, Ordering::Relaxed);
        false
    }

    fn request(
        connection: &Arc<Connection<Self>>,
        mind: &Mind,
        message: OwnedMessage,
        incoming: Incoming,
        _turn: Option<(&mut Turn<'_, Mind>, bool)>,
    ) -> Next {
        match serve(connection, &message, incoming) {
            Ok(came) => mind.note(came),
            Err(error) => connection.refuse(&error),
        }
        Next::Wait
    }

    fn reply(_connection: &Arc<Connection<Self>>, mind: &Mind, waits: Waits, answer: Answer) {
        let is_forward = match answer.status {
            AnswerStatus::Reply(status) => status == ReplyStatus::LocationForward,
            AnswerStatus::Locate(status) => status == LocateStatus::ObjectForward,
        };
        let body = answer.message.as_message().octets.get(answer.body..).unwrap_or_default();
        mind.note(Came::Reply(
            waits.call,
            match is_forward {
                true => AnsweredWith::Forward(body.first().copied().unwrap_or_default().into()),
                false => AnsweredWith::Done,
            },
        ));
    }

    fn failed(waits: Waits, fault: ConnectionFault) {
        waits.mind.note(match fault {
            ConnectionFault::TimedOut(_) => Came::Expired(waits.call),
            fault => Came::Failed(waits.call, fault.kind()),
        });
    }

    fn ignored(connection: &Connection<Self>, _id: u32, is_late: bool) {
        connection.state().note(if is_late { Came::Late } else { Came::Unasked });
    }
}

/// Begins to serve a request, if it may be begun.
fn serve(
    connection: &Connection<Simulated>,
    message: &OwnedMessage,
    incoming: Incoming,
) -> Result<Came, GiopError> {
    let message = message.as_message();
    let (id, target, asked) = match incoming {
        Incoming::Request => {
            let (header, _) = message.request()?;
            let asked = match header.response {
                ResponseFlags::None => Asked::Oneway,
                _ => Asked::Twoway,
            };
            (header.request_id, header.target, asked)
        }
        Incoming::LocateRequest => {
            let header = message.locate_request()?;
            (header.request_id, header.target, Asked::Locate)
        }
        _ => {
            message.cancel_request()?;
            return Ok(Came::Cancel);
        }
    };
    let Some(_in_service) = connection.begin_request() else { return Ok(Came::Declined) };
    // The answer is deferred.
    connection.life().keep();
    let key = target.object_key().unwrap_or_default();
    let number = |at: usize| {
        let octets = key.get(at..).and_then(|rest| rest.first_chunk());
        octets.map_or(u32::MAX, |octets| u32::from_le_bytes(*octets))
    };
    Ok(Came::Request { call: number(0) as Call, number: number(4), id, asked })
}

pub(super) struct End {
    pub(super) connection: Arc<Connection<Simulated>>,
    pub(super) link: WireEnd,
    dialect: Dialect,
    when: When,
    /// Requests put so far.
    put: u32,
    /// A tick is planned.
    pub(super) is_ticking: bool,
}

impl End {
    pub(super) fn new(
        wire: &Arc<Wire>,
        roles: Roles,
        dialect: Dialect,
        sending: Sending,
        pending_requests_max: usize,
        mind: Mind,
    ) -> Self {
        let link = WireEnd { wire: Arc::clone(wire), end: mind.place.1 };
        let plugged = Link::Plugged(Box::new(link.clone()));
        let bounds = Bounds { queue: sending.limits, pending_requests_max };
        let speaks = (roles, dialect.protocol);
        let waiter = Waiter::new(WaitStrategy::Block);
        let connection = Connection::new(&mind, speaks, plugged, waiter, &bounds, mind.clone());
        End { connection, link, dialect, when: sending.when, put: 0, is_ticking: false }
    }

    fn mind(&self) -> &Mind {
        self.connection.state()
    }

    /// Puts a request, which waits until `deadline`, at `now`: its id, if it waits.
    pub(super) fn ask(
        &mut self,
        call: Call,
        asked: Asked,
        padding: usize,
        deadline: Option<Instant>,
        now: Instant,
    ) -> Result<Option<u32>, ConnectionFault> {
        self.put += 1;
        let key = [(call as u32).to_le_bytes(), self.put.to_le_bytes()].concat();
        let mut e = self.written(asked, &key, 0, padding);
        let id_place = RequestIdPlace::of(&e).expect("a message that was written");
        let request = WrittenRequest {
            version: self.dialect.version,
            fragment_octets: self.dialect.fragment_octets,
            body_place: None,
            id_place,
            when: self.when,
            wish: Wish::NotWait,
            is_deferred: false,
        };
        let mut clock = Clock::start(None);
        clock.start = now;
        let mind = self.mind().clone();
        if asked == Asked::Oneway {
            return match self.connection.send_oneway(&mind, &mut e, &request, &clock) {
                // Where the link broke it may have gone out.
                Ok(()) | Err(ConnectionFault::LostInQueue(_)) => Ok(None),
                Err(fault) => Err(fault),
            };
        }
        let slot = Arc::<Slot>::default();
        let waits = Waits { call, deadline, mind: mind.clone(), slot: Arc::clone(&slot) };
        let sent = self.connection.send(&mind, waits, &mut e, &request, &clock);
        sent.map(|()| Some(slot.0.load(Ordering::Relaxed))).map_err(|(_, fault)| fault)
    }

    fn written<'e>(
        &self,
        asked: Asked,
        key: &[u8],
        request_id: u32,
        padding: usize,
    ) -> Encoder<'e> {
        let mut e = self.encoder();
        let target = Target::Key(key);
        let start = match asked {
            Asked::Locate => {
                write_locate_request(&mut e, &LocateRequestHeader { request_id, target })
            }
            _ => {
                let response = match asked {
                    Asked::Oneway => ResponseFlags::None,
                    _ => ResponseFlags::WithTarget,
                };
                let service_contexts = ServiceContexts::EMPTY;
                let operation = "operation";
                let header =
                    RequestHeader { request_id, response, target, operation, service_contexts };
                write_request(&mut e, &header)
            }
        };
        let start = start.expect("a small header");
        if asked != Asked::Locate {
            e.write_octets(&vec![7; padding]);
        }
        finish_message(&mut e, start).expect("a small message");
        e
    }

    fn encoder<'e>(&self) -> Encoder<'e> {
        let mut e = Encoder::new(Vec::new(), ByteOrder::NATIVE);
        e.set_version(self.dialect.version);
        e
    }

    /// A tick of the flusher at `now`. A peer that takes nothing for long is given up.
    pub(super) fn tick(&mut self, now: Instant) {
        self.is_ticking = false;
        self.connection.flush_old();
        if self.connection.is_stuck(self.mind(), now) {
            self.connection.cut();
        }
    }

    /// Puts the answer to a request in service. `times`: a server may answer twice.
    pub(super) fn answer(&mut self, id: u32, asked: Asked, answered: AnsweredWith, times: usize) {
        for _ in 0..times {
            if self.connection.is_ending() || asked == Asked::Oneway {
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
                        .expect("a small header")
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
            let (mind, patience) = (self.mind().clone(), Patience::Queue);
            match self.connection.send_reply(&mind, &mut e, fragment_octets, patience) {
                Ok(_) | Err(SendFault::Closed) => {}
                Err(_) => self.connection.cut(),
            }
        }
        self.connection.end_request();
    }

    /// Says CloseConnection whatever is in service, which no server may.
    #[cfg(test)]
    pub(super) fn lie(&mut self) {
        if self.connection.life().end() {
            let word = corbie_giop::close_connection(self.dialect.version, ByteOrder::NATIVE);
            self.connection.sender().last(self.connection.link(), &word);
        }
    }

    /// The link tells of input or room: takes all that is here.
    pub(super) fn look(&mut self) {
        self.connection.flush();
        self.connection.read_available(&self.mind().clone(), self.link.has_end());
    }
}
