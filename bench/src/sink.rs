//! The sink of the three-tier experiments: answers `echo` after a delay, for almost nothing.
//!
//! One thread, one epoll set, a timer wheel, and no ORB: what is left of the machine belongs to the
//! middle tier, which is what is measured (paper AMH §5.1 had a machine of its own for this). All
//! replies that are due together leave in one write a connection.

use crate::driver::{Failure, serve_until_input_ends};
use crate::raw_giop::{self, Message};
use crate::timer_wheel::TimerWheel;
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::fd::OwnedFd;
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};
use std::io::{self, ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::{Duration, Instant};

/// The object key of the sink.
const KEY: &str = "sink";
/// Tokens of the epoll set that are no connections.
const LISTENER: u64 = u64::MAX;
const TIMER: u64 = u64::MAX - 1;
/// Octets read at once.
const READ_OCTETS: usize = 256 * 1024;
/// Events taken at once.
const EVENTS: usize = 1024;

/// Serves at a fresh port until standard input ends.
///
/// # Errors
/// When nothing can be listened to.
pub(crate) fn serve(delay: Duration) -> Result<(), Failure> {
    crate::machine::allow_many_files();
    let listener = TcpListener::bind("127.0.0.1:0")?;
    // The standard library asks for a queue of 128 connections; a middle tier opens thousands.
    rustix::net::listen(&listener, 4096)?;
    let reference = format!("corbaloc:iiop:1.2@{}/{KEY}", listener.local_addr()?);
    let mut sink = Sink::new(listener, delay)?;
    std::thread::spawn(move || {
        // Its end closes all connections, which the middle tier notices.
        if let Err(failure) = sink.run() {
            let _ = writeln!(io::stderr(), "sink: {failure}");
        }
    });
    Ok(serve_until_input_ends(&reference)?)
}

/// A reply held back.
struct Held {
    connection: usize,
    /// Which of the connections that had this place.
    generation: u32,
    id: u32,
    value: i64,
}

struct Connection {
    stream: TcpStream,
    /// The beginning of a message that is not whole.
    begun: Vec<u8>,
    /// What has to be sent.
    replies: Vec<u8>,
    /// Whether it stands in `Sink::answering`.
    answering: bool,
}

/// A place for a connection; the generation tells one occupant from the next.
#[derive(Default)]
struct Place {
    generation: u32,
    connection: Option<Connection>,
}

struct Sink {
    listener: TcpListener,
    epoll: OwnedFd,
    timer: OwnedFd,
    delay: Duration,
    places: Vec<Place>,
    free: Vec<usize>,
    wheel: TimerWheel<Held>,
    /// When the timer goes off, if it is set.
    alarm: Option<Instant>,
    /// Connections with something to send.
    answering: Vec<usize>,
    buffer: Vec<u8>,
}

impl Sink {
    fn new(listener: TcpListener, delay: Duration) -> io::Result<Sink> {
        listener.set_nonblocking(true)?;
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        let timer = timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::NONBLOCK)?;
        epoll::add(&epoll, &listener, EventData::new_u64(LISTENER), EventFlags::IN)?;
        // Edge-triggered: an alarm is noticed once, and never has to be read.
        let edge = EventFlags::IN | EventFlags::ET;
        epoll::add(&epoll, &timer, EventData::new_u64(TIMER), edge)?;
        Ok(Sink {
            listener,
            epoll,
            timer,
            delay,
            places: Vec::new(),
            free: Vec::new(),
            wheel: TimerWheel::new(delay, Instant::now()),
            alarm: None,
            answering: Vec::new(),
            buffer: vec![0; READ_OCTETS],
        })
    }

    fn run(&mut self) -> io::Result<()> {
        let mut events = Vec::with_capacity(EVENTS);
        loop {
            epoll::wait(&self.epoll, rustix::buffer::spare_capacity(&mut events), None)?;
            let now = Instant::now();
            for event in events.drain(..) {
                match event.data.u64() {
                    LISTENER => self.accept()?,
                    TIMER => self.alarm = None,
                    at => self.serve_connection(at as usize, now),
                }
            }
            self.answer_what_is_due();
            self.set_alarm()?;
        }
    }

    fn accept(&mut self) -> io::Result<()> {
        loop {
            let stream = match self.listener.accept() {
                Ok((stream, _)) => stream,
                Err(e) if e.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(e) => return Err(e),
            };
            stream.set_nodelay(true)?;
            stream.set_nonblocking(true)?;
            let at = self.free.pop().unwrap_or(self.places.len());
            if at == self.places.len() {
                self.places.push(Place::default());
            }
            // Edge-triggered in both directions: nothing ever has to be modified.
            let flags = EventFlags::IN | EventFlags::OUT | EventFlags::RDHUP | EventFlags::ET;
            epoll::add(&self.epoll, &stream, EventData::new_u64(at as u64), flags)?;
            let (begun, replies) = (Vec::new(), Vec::new());
            self.places[at].connection =
                Some(Connection { stream, begun, replies, answering: false });
        }
    }

    /// Takes every request that is there; a connection that ends or talks nonsense is forgotten.
    fn serve_connection(&mut self, at: usize, now: Instant) {
        let Some(mut connection) = self.places[at].connection.take() else { return };
        match self.read(&mut connection, at, now).and_then(|()| connection.send()) {
            Ok(()) => self.places[at].connection = Some(connection),
            Err(failure) => {
                if failure.kind() == ErrorKind::InvalidData {
                    let _ = writeln!(io::stderr(), "sink: {failure}");
                }
                self.places[at].generation = self.places[at].generation.wrapping_add(1);
                self.free.push(at);
            }
        }
    }

    fn read(&mut self, connection: &mut Connection, at: usize, now: Instant) -> io::Result<()> {
        let mut buffer = std::mem::take(&mut self.buffer);
        let result = loop {
            let held = connection.begun.len();
            buffer[..held].copy_from_slice(&connection.begun);
            match connection.stream.read(&mut buffer[held..]) {
                Ok(0) => break Err(ErrorKind::UnexpectedEof.into()),
                Ok(n) => {
                    if let Err(e) = self.take(connection, at, &buffer[..held + n], now) {
                        break Err(io::Error::new(ErrorKind::InvalidData, e));
                    }
                    // Less than there was room for: the next octet raises another edge.
                    if held + n < buffer.len() {
                        break Ok(());
                    }
                }
                Err(e) if e.kind() == ErrorKind::WouldBlock => break Ok(()),
                Err(e) => break Err(e),
            }
        };
        self.buffer = buffer;
        result
    }

    /// Takes whole messages and keeps the rest.
    fn take(
        &mut self,
        connection: &mut Connection,
        at: usize,
        mut octets: &[u8],
        now: Instant,
    ) -> Result<(), String> {
        while let Some(size) = raw_giop::whole_size(octets)? {
            let Some((message, rest)) = octets.split_at_checked(size) else { break };
            octets = rest;
            match raw_giop::read(message)? {
                Message::Request { id, value, answered: true } if self.delay.is_zero() => {
                    raw_giop::push_reply(&mut connection.replies, id, value);
                }
                Message::Request { id, value, answered: true } => {
                    let generation = self.places[at].generation;
                    let held = Held { connection: at, generation, id, value };
                    self.wheel.insert(now + self.delay, held);
                }
                Message::LocateRequest { id } => {
                    raw_giop::push_locate_reply(&mut connection.replies, id);
                }
                _ => {}
            }
        }
        connection.begun.clear();
        connection.begun.extend_from_slice(octets);
        Ok(())
    }

    fn answer_what_is_due(&mut self) {
        let Sink { places, wheel, answering, .. } = self;
        wheel.expire(Instant::now(), |held| {
            let place = &mut places[held.connection];
            if place.generation != held.generation {
                return;
            }
            let Some(connection) = &mut place.connection else { return };
            raw_giop::push_reply(&mut connection.replies, held.id, held.value);
            if !connection.answering {
                connection.answering = true;
                answering.push(held.connection);
            }
        });
        for at in answering.drain(..) {
            if let Some(connection) = &mut places[at].connection {
                connection.answering = false;
                // One that failed is noticed by the next event, which its end raises.
                let _ = connection.send();
            }
        }
    }

    fn set_alarm(&mut self) -> io::Result<()> {
        let Some(due) = self.wheel.next_due() else { return Ok(()) };
        if self.alarm.is_some_and(|alarm| alarm <= due) {
            return Ok(());
        }
        // Zero would switch the timer off.
        let wait = due.saturating_duration_since(Instant::now()).max(Duration::from_nanos(1));
        let it_value =
            Timespec { tv_sec: wait.as_secs() as i64, tv_nsec: wait.subsec_nanos().into() };
        let it_interval = Timespec { tv_sec: 0, tv_nsec: 0 };
        let timer = Itimerspec { it_interval, it_value };
        timerfd_settime(&self.timer, TimerfdTimerFlags::empty(), &timer)?;
        self.alarm = Some(due);
        Ok(())
    }
}

impl Connection {
    /// Sends what there is; what does not go leaves with the next edge.
    fn send(&mut self) -> io::Result<()> {
        let mut sent = 0;
        let result = loop {
            if sent == self.replies.len() {
                break Ok(());
            }
            match self.stream.write(&self.replies[sent..]) {
                Ok(n) => sent += n,
                Err(e) if e.kind() == ErrorKind::WouldBlock => break Ok(()),
                Err(e) => break Err(e),
            }
        };
        self.replies.drain(..sent);
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::raw_giop::{REPLY_OCTETS, Request};

    fn start(delay: Duration) -> std::net::SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let mut sink = Sink::new(listener, delay).unwrap();
        std::thread::spawn(move || sink.run());
        address
    }

    fn reply(stream: &mut TcpStream) -> Message {
        let mut octets = [0; REPLY_OCTETS];
        stream.read_exact(&mut octets).unwrap();
        raw_giop::read(&octets).unwrap()
    }

    #[test]
    fn replies_come_after_the_delay_and_in_order() {
        for delay in [Duration::ZERO, Duration::from_millis(12)] {
            let mut stream = TcpStream::connect(start(delay)).unwrap();
            let mut request = Request::new(b"sink", "echo");
            let before = Instant::now();
            for id in 0..100 {
                // In two pieces: a message may arrive in any.
                let octets = request.with(id, 10 * i64::from(id)).to_vec();
                stream.write_all(&octets[..17]).unwrap();
                stream.write_all(&octets[17..]).unwrap();
            }
            for id in 0..100 {
                assert_eq!(reply(&mut stream), Message::Reply { id, value: 10 * i64::from(id) });
                assert!(before.elapsed() >= delay);
            }
        }
    }

    #[test]
    fn a_client_that_leaves_or_talks_nonsense_harms_nobody() {
        let address = start(Duration::from_millis(5));
        let mut gone = TcpStream::connect(address).unwrap();
        gone.write_all(Request::new(b"sink", "echo").with(1, 1)).unwrap();
        drop(gone);
        let mut rude = TcpStream::connect(address).unwrap();
        rude.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
        assert_eq!(rude.read(&mut [0; 8]).unwrap(), 0);
        let mut stream = TcpStream::connect(address).unwrap();
        stream.write_all(&raw_giop::locate_request(b"sink")).unwrap();
        let mut located = [0; 20];
        stream.read_exact(&mut located).unwrap();
        assert_eq!(raw_giop::read(&located), Ok(Message::LocateReply));
        stream.write_all(Request::new(b"sink", "echo").with(2, 5)).unwrap();
        assert_eq!(reply(&mut stream), Message::Reply { id: 2, value: 5 });
    }
}
