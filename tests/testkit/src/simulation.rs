//! A simulated network: a client and a server `Connection` in virtual time.
//!
//! Nothing sleeps and no socket is opened: a run is a sequence of events ordered by time, the same
//! for the same seed. Latency, jitter, chunking, half-close and loss of the connection are settings
//! or actions. Used by this crate's conversations and by tests of time-outs and cancel.

mod link;
mod seed;

use std::collections::BTreeMap;

use corbie_cdr::{ByteOrder, Encoder, Version};
use corbie_giop::{
    Connection, ConnectionState, Event, Fragments, GiopError, GiopErrorKind, Protocol,
    ReaderLimits, ReplyHeader, ReplyStatus, RequestHeader, ResponseFlags, Roles, ServiceContexts,
    Target, finish_message, write_reply, write_request,
};

use link::{Delivery, Link};
pub use seed::Seed;

/// One of the two ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Side {
    /// Sends requests.
    Client,
    /// Answers them.
    Server,
}

impl Side {
    /// The end on the other side.
    #[must_use]
    pub fn other(self) -> Self {
        match self {
            Self::Client => Self::Server,
            Self::Server => Self::Client,
        }
    }
}

/// How the network behaves, in both directions. Octets keep their order, as TCP's do.
#[derive(Clone, Copy, Debug)]
pub struct NetworkConditions {
    /// From sending to arriving, in microseconds of virtual time.
    pub latency_us: u64,
    /// At most so many microseconds more, at random for each chunk.
    pub jitter_us: u64,
    /// What is sent arrives in chunks of 1 to this many octets, at random.
    pub chunk_octets_max: usize,
}

impl Default for NetworkConditions {
    fn default() -> Self {
        Self { latency_us: 100, jitter_us: 0, chunk_octets_max: usize::MAX }
    }
}

/// What one end has seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// A Request with this id and operation.
    Request(u32, String),
    /// A LocateRequest.
    LocateRequest(u32),
    /// A CancelRequest for a request that has no reply yet.
    Cancel(u32),
    /// A Reply and its body.
    Reply(u32, Vec<u8>),
    /// A LocateReply.
    LocateReply(u32),
    /// The peer closed in order.
    CloseConnection,
    /// The connection failed.
    Failed(GiopErrorKind),
    /// The peer closed its half, and nothing was wrong with that.
    EndOfStream,
}

/// One end: its connection and what it has seen.
#[derive(Debug)]
pub struct End {
    /// The connection under test.
    pub connection: Connection,
    /// What arrived, with the time in microseconds.
    pub arrivals: Vec<(u64, Arrival)>,
    /// The socket is closed for sending.
    sending_closed: bool,
    /// The socket is closed for receiving.
    receiving_closed: bool,
    to_peer: Link,
}

impl End {
    fn new(role: Roles) -> Self {
        Self {
            connection: Connection::new(ReaderLimits::default(), role),
            arrivals: Vec::new(),
            sending_closed: false,
            receiving_closed: false,
            to_peer: Link::default(),
        }
    }

    /// What arrived, without the times.
    #[must_use]
    pub fn saw(&self) -> Vec<Arrival> {
        self.arrivals.iter().map(|(_, arrival)| arrival.clone()).collect()
    }

    /// Whether this arrived.
    #[must_use]
    pub fn has_seen(&self, arrival: &Arrival) -> bool {
        self.arrivals.iter().any(|(_, seen)| seen == arrival)
    }
}

/// Something that happens at a time of the virtual clock.
type Action = Box<dyn FnOnce(&mut Pair)>;

/// A client and a server, and the network between them.
pub struct Pair {
    /// The client's end.
    pub client: End,
    /// The server's end.
    pub server: End,
    /// The GIOP version that both send.
    pub version: Version,
    /// The byte order that both send.
    pub order: ByteOrder,
    /// Messages of more octets are sent in fragments.
    pub fragment_octets: usize,
    conditions: NetworkConditions,
    seed: Seed,
    now_us: u64,
    /// By time, then in the order in which they were planned.
    actions: BTreeMap<(u64, u64), Action>,
    planned: u64,
}

impl Pair {
    /// Two open ends at time 0.
    #[must_use]
    pub fn new(conditions: NetworkConditions, seed: u64) -> Self {
        Self {
            client: End::new(Roles::CLIENT),
            server: End::new(Roles::SERVER),
            version: Version::V1_2,
            order: ByteOrder::LittleEndian,
            fragment_octets: usize::MAX,
            conditions,
            seed: Seed::new(seed),
            now_us: 0,
            actions: BTreeMap::new(),
            planned: 0,
        }
    }

    /// Two open ends at time 0 that speak `protocol`.
    #[must_use]
    pub fn speaking(protocol: Protocol, conditions: NetworkConditions, seed: u64) -> Self {
        let mut pair = Self::new(conditions, seed);
        pair.version = protocol.version();
        for end in [&mut pair.client, &mut pair.server] {
            let connection = Connection::new(ReaderLimits::default(), end.connection.role());
            end.connection = connection.with_protocol(protocol, pair.order);
        }
        pair
    }

    /// The virtual time in microseconds.
    #[must_use]
    pub fn now_us(&self) -> u64 {
        self.now_us
    }

    /// One of the ends.
    pub fn end(&mut self, side: Side) -> &mut End {
        match side {
            Side::Client => &mut self.client,
            Side::Server => &mut self.server,
        }
    }

    /// Plans an action for so many microseconds from now.
    pub fn after(&mut self, delay_us: u64, action: impl FnOnce(&mut Self) + 'static) {
        self.planned += 1;
        self.actions.insert((self.now_us + delay_us, self.planned), Box::new(action));
    }

    /// The client sends a two-way request; `false`: it may not any more.
    ///
    /// # Panics
    /// When the request has 4 GiB or more.
    pub fn request(&mut self, id: u32, body: &[u8]) -> bool {
        if self.client.connection.begin_request(id).is_err() {
            return false;
        }
        self.send_request(id, ResponseFlags::WithTarget, body);
        true
    }

    /// The client sends a oneway request.
    pub fn oneway(&mut self, id: u32) {
        if self.client.connection.state() == ConnectionState::Open {
            self.send_request(id, ResponseFlags::None, b"");
        }
    }

    fn send_request(&mut self, id: u32, response: ResponseFlags, body: &[u8]) {
        let header = RequestHeader {
            request_id: id,
            response,
            target: Target::Key(b"simulated"),
            operation: "operation",
            service_contexts: ServiceContexts::EMPTY,
        };
        let mut e = self.encoder();
        let start = write_request(&mut e, &header).expect("a small header");
        e.write_octets(body);
        finish_message(&mut e, start).expect("a small message");
        self.send_message(Side::Client, &e);
    }

    /// The server sends a reply; `false`: it owes none with this id.
    ///
    /// # Panics
    /// When the reply has 4 GiB or more.
    pub fn reply(&mut self, id: u32, body: &[u8]) -> bool {
        if !self.server.connection.outstanding().contains(id) {
            return false;
        }
        let (status, service_contexts) = (ReplyStatus::NoException, ServiceContexts::EMPTY);
        let header = ReplyHeader { request_id: id, status, service_contexts };
        let mut e = self.encoder();
        let start = write_reply(&mut e, &header).expect("a small header");
        e.write_octets(body);
        finish_message(&mut e, start).expect("a small message");
        self.send_message(Side::Server, &e);
        // The reply is on its way before a CloseConnection that it may have been waited for with.
        let owed = self.server.connection.reply_sent(id);
        self.flush(Side::Server);
        owed
    }

    /// The client gives up on a request.
    pub fn cancel(&mut self, id: u32) {
        if let Some(message) = self.client.connection.cancel_request(id) {
            self.send(Side::Client, message.octets());
        }
    }

    /// One end closes in order.
    pub fn close(&mut self, side: Side) {
        self.end(side).connection.close();
        self.flush(side);
    }

    /// One end closes its socket for sending and reads on.
    pub fn half_close(&mut self, side: Side) {
        let (now, conditions) = (self.now_us, self.conditions);
        let end = self.end(side);
        if !end.sending_closed {
            end.sending_closed = true;
            end.to_peer.close(now, conditions);
        }
    }

    /// The network breaks: what is under way is lost, both ends see the end of the stream.
    pub fn lose_connection(&mut self) {
        let (now, conditions) = (self.now_us, self.conditions);
        for side in [Side::Client, Side::Server] {
            let end = self.end(side);
            end.to_peer.lose();
            end.to_peer.close(now, conditions);
            end.sending_closed = true;
        }
    }

    /// Sends raw octets, for ends that misbehave.
    pub fn send(&mut self, from: Side, octets: &[u8]) {
        let (now, conditions) = (self.now_us, self.conditions);
        let mut seed = self.seed.clone();
        let end = self.end(from);
        if !end.sending_closed {
            end.to_peer.send(octets, now, conditions, &mut seed);
        }
        self.seed = seed;
    }

    fn encoder<'a>(&self) -> Encoder<'a> {
        let mut e = Encoder::new(Vec::new(), self.order);
        e.set_version(self.version);
        e
    }

    fn send_message(&mut self, from: Side, message: &Encoder<'_>) {
        match Fragments::of(message, self.fragment_octets) {
            None => self.send(from, &message.to_vec()),
            Some(fragments) => {
                for fragment in fragments {
                    self.send(from, fragment.head());
                    for piece in fragment.pieces(message.segments()) {
                        self.send(from, piece);
                    }
                }
            }
        }
    }

    /// Sends what the connection wants to say last, and closes the socket of a closed one.
    fn flush(&mut self, side: Side) {
        while let Some(message) = self.end(side).connection.poll_transmit() {
            self.send(side, message.octets());
        }
        if self.end(side).connection.state() == ConnectionState::Closed {
            self.half_close(side);
            self.end(side).receiving_closed = true;
        }
    }

    /// Lets the next thing happen; `false`: nothing is left to happen.
    pub fn step(&mut self) -> bool {
        let action = self.actions.first_key_value().map(|((time, _), _)| *time);
        let to_server = self.client.to_peer.next_delivery();
        let to_client = self.server.to_peer.next_delivery();
        let Some(next) = [action, to_server, to_client].into_iter().flatten().min() else {
            return false;
        };
        self.now_us = next;
        // At the same time, what was planned comes first, and then the older end.
        if action == Some(next)
            && let Some((_, action)) = self.actions.pop_first()
        {
            action(self);
        } else if to_server == Some(next) {
            self.deliver(Side::Server);
        } else {
            self.deliver(Side::Client);
        }
        true
    }

    /// Lets everything happen that is planned or under way.
    pub fn run(&mut self) {
        while self.step() {}
    }

    fn deliver(&mut self, to: Side) {
        let Some(delivery) = self.end(to.other()).to_peer.take_delivery() else { return };
        let now = self.now_us;
        let end = self.end(to);
        if end.receiving_closed {
            return;
        }
        match delivery {
            Delivery::Octets(octets) => {
                let mut rest = &octets[..];
                while !rest.is_empty() {
                    let space = end.connection.space();
                    let taken = space.len().min(rest.len());
                    space[..taken].copy_from_slice(&rest[..taken]);
                    end.connection.handle_received(taken);
                    rest = &rest[taken..];
                    end.take_events(now);
                }
            }
            Delivery::End => {
                let arrival = match end.connection.handle_end_of_stream() {
                    Ok(()) => Arrival::EndOfStream,
                    Err(error) => Arrival::Failed(error.kind()),
                };
                end.arrivals.push((now, arrival));
                end.receiving_closed = true;
            }
        }
        self.flush(to);
    }
}

impl End {
    fn take_events(&mut self, now_us: u64) {
        loop {
            let arrival = match self.connection.poll_event() {
                Ok(None) => return,
                Ok(Some(event)) => arrival(event),
                Err(error) => failed(&error),
            };
            self.arrivals.push((now_us, arrival));
        }
    }
}

fn arrival(event: Event<'_>) -> Arrival {
    match event {
        Event::Request { header, .. } => {
            Arrival::Request(header.request_id, header.operation.to_owned())
        }
        Event::LocateRequest { header, .. } => Arrival::LocateRequest(header.request_id),
        Event::CancelRequest { request_id } => Arrival::Cancel(request_id),
        Event::Reply { header, body, .. } => {
            Arrival::Reply(header.request_id, body.rest().to_vec())
        }
        Event::LocateReply { header, .. } => Arrival::LocateReply(header.request_id),
        Event::CloseConnection => Arrival::CloseConnection,
    }
}

fn failed(error: &GiopError) -> Arrival {
    Arrival::Failed(error.kind())
}

impl std::fmt::Debug for Pair {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pair")
            .field("now_us", &self.now_us)
            .field("client", &self.client.arrivals)
            .field("server", &self.server.arrivals)
            .finish_non_exhaustive()
    }
}
