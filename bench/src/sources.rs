//! The source clients of the three-tier experiments: thousands of them, in one thread.
//!
//! Each has a connection of its own and one request under way: it sends the next when the reply to
//! the last has come (paper AMH §5.1). One epoll set, one read and one write a call, no ORB: a load
//! generator that costs as much as what it loads would measure itself. Its share of the processor
//! stands in every row (`client_cpu_pct`).

use crate::driver::Failure;
use crate::orders::{Answer, Order};
use crate::raw_giop::{self, Message, REPLY_OCTETS, Request};
use corbie::Ior;
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::fd::OwnedFd;
use std::io::{self, BufRead, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// Clients that connect before the first of them is waited for.
const CONNECT_TOGETHER: usize = 100;
/// Events taken at once.
const EVENTS: usize = 1024;
/// How long the middle tier may be silent.
const PATIENCE: Duration = Duration::from_secs(60);

/// Where the middle tier is.
pub(crate) struct Target {
    host: String,
    port: u16,
    object_key: Vec<u8>,
}

impl Target {
    /// Where a reference leads: its first profile, or the sink's own `corbaloc:`.
    ///
    /// # Errors
    /// When it cannot be read or has no IIOP profile.
    pub(crate) fn of(reference: &str) -> Result<Target, Failure> {
        if let Some(place) = reference.strip_prefix("corbaloc:iiop:1.2@") {
            let (address, key) = place.split_once('/').ok_or("a corbaloc without a key")?;
            let (host, port) = address.split_once(':').ok_or("a corbaloc without a port")?;
            let object_key = key.as_bytes().to_vec();
            return Ok(Target { host: host.to_owned(), port: port.parse()?, object_key });
        }
        let ior: Ior = reference.parse()?;
        let profile = ior.iiop_profiles()?.into_iter().next().ok_or("a reference without IIOP")?;
        let (host, port, object_key) = (profile.host, profile.port, profile.object_key.to_vec());
        Ok(Target { host, port, object_key })
    }
}

/// Reads orders until the input ends.
///
/// # Errors
/// When the harness cannot be read from or written to.
pub(crate) fn drive(target: &Target) -> io::Result<()> {
    crate::machine::allow_many_files();
    let mut connected = None;
    for line in io::stdin().lock().lines() {
        let order = line?.parse().map_err(Failure::from);
        let answer = order.and_then(|order| obey(target, &order, &mut connected));
        let mut out = io::stdout().lock();
        match answer {
            Ok(answer) => writeln!(out, "{answer}")?,
            Err(failure) => writeln!(out, "error {}", failure.to_string().replace('\n', " "))?,
        }
        out.flush()?;
    }
    Ok(())
}

fn obey(
    target: &Target,
    order: &Order,
    connected: &mut Option<Sources>,
) -> Result<Answer, Failure> {
    let ms = Duration::from_millis;
    match *order {
        Order::Connect { clients } => {
            let before = Instant::now();
            *connected = Some(Sources::connect(target, clients)?);
            let nanoseconds = before.elapsed().as_nanos() as u64;
            Ok(Answer::Rate { calls: clients as u64, nanoseconds })
        }
        Order::Sources { clients, warm_up_ms, window_ms } => {
            let sources = match connected.take() {
                Some(sources) if sources.sources.len() == clients => sources,
                _ => Sources::connect(target, clients)?,
            };
            sources.run(ms(warm_up_ms), ms(window_ms))
        }
        ref other => Err(format!("source clients do not know the order `{other}`").into()),
    }
}

/// One client.
struct Source {
    stream: TcpStream,
    /// Id and value of the request under way.
    call: u32,
    /// The beginning of a reply that is not whole.
    begun: Vec<u8>,
    /// Replies in the window.
    replies: u64,
    /// When the last reply before the window came.
    first: Option<Instant>,
    /// When the last reply of the window came.
    last: Option<Instant>,
}

impl Source {
    fn new(stream: TcpStream) -> Source {
        Source { stream, call: 0, begun: Vec::new(), replies: 0, first: None, last: None }
    }

    /// Notes a reply that came at `now`.
    fn count(&mut self, now: Instant, window: (Instant, Instant)) {
        if now < window.0 {
            self.first = Some(now);
        } else if now < window.1 {
            self.replies += 1;
            self.last = Some(now);
        }
    }

    /// Replies a second: whole round trips over the time that they took, so that a short window
    /// does not count one more or one less. A client whose replies stopped is counted to the end.
    fn rate(&self, window: (Instant, Instant)) -> f64 {
        let (Some(last), calls) = (self.last, self.replies as f64) else { return 0.0 };
        let first = self.first.unwrap_or(window.0);
        let stopped = window.1 - last > 2 * ((last - first) / self.replies.max(1) as u32);
        let end = if stopped { window.1 } else { last };
        calls / (end - first).as_secs_f64()
    }
}

/// All clients of an order.
struct Sources {
    epoll: OwnedFd,
    sources: Vec<Source>,
    request: Request,
}

impl Sources {
    /// Connects them, and waits until each has been accepted: a question where the object is has
    /// to be answered on every connection.
    fn connect(target: &Target, clients: usize) -> Result<Sources, Failure> {
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        let question = raw_giop::locate_request(&target.object_key);
        let mut sources: Vec<Source> = Vec::with_capacity(clients);
        while sources.len() < clients {
            let from = sources.len();
            for _ in from..clients.min(from + CONNECT_TOGETHER) {
                let stream = TcpStream::connect((target.host.as_str(), target.port))?;
                stream.set_nodelay(true)?;
                stream.set_read_timeout(Some(PATIENCE))?;
                sources.push(Source::new(stream));
            }
            for source in &mut sources[from..] {
                source.stream.write_all(&question)?;
            }
            for (at, source) in sources.iter_mut().enumerate().skip(from) {
                let accepted = await_locate_reply(&mut source.stream);
                accepted.map_err(|e| format!("client {at} of {clients} was not served: {e}"))?;
                source.stream.set_nonblocking(true)?;
                let flags = EventFlags::IN | EventFlags::RDHUP | EventFlags::ET;
                epoll::add(&epoll, &source.stream, EventData::new_u64(at as u64), flags)?;
            }
        }
        Ok(Sources { epoll, sources, request: Request::new(&target.object_key, "echo") })
    }

    /// Calls until the window is over.
    fn run(mut self, warm_up: Duration, window: Duration) -> Result<Answer, Failure> {
        let start = Instant::now();
        let counted = (start + warm_up, start + warm_up + window);
        for source in &mut self.sources {
            send(source, &mut self.request)?;
        }
        let patience = rustix::event::Timespec { tv_sec: PATIENCE.as_secs() as i64, tv_nsec: 0 };
        let mut events = Vec::with_capacity(EVENTS);
        loop {
            let room = rustix::buffer::spare_capacity(&mut events);
            if epoll::wait(&self.epoll, room, Some(&patience))? == 0 {
                let seconds = PATIENCE.as_secs();
                return Err(format!("no client got a reply within {seconds} s").into());
            }
            let now = Instant::now();
            if now >= counted.1 {
                break;
            }
            for event in events.drain(..) {
                let source = &mut self.sources[event.data.u64() as usize];
                if receive(source)? {
                    source.count(now, counted);
                    send(source, &mut self.request)?;
                }
            }
        }
        let rate: f64 = self.sources.iter().map(|source| source.rate(counted)).sum();
        let calls: u64 = self.sources.iter().map(|source| source.replies).sum();
        if calls == 0 {
            return Err("no client got a reply in the window".into());
        }
        Ok(Answer::Rate { calls, nanoseconds: (calls as f64 / rate * 1e9) as u64 })
    }
}

fn await_locate_reply(stream: &mut TcpStream) -> Result<(), Failure> {
    let mut message = vec![0; raw_giop::HEADER_OCTETS];
    stream.read_exact(&mut message)?;
    let size = raw_giop::whole_size(&message)?.unwrap_or_default();
    message.resize(size, 0);
    stream.read_exact(&mut message[raw_giop::HEADER_OCTETS..])?;
    match raw_giop::read(&message)? {
        Message::LocateReply => Ok(()),
        other => Err(format!("{other:?} instead of a locate reply").into()),
    }
}

fn send(source: &mut Source, request: &mut Request) -> Result<(), Failure> {
    source.call = source.call.wrapping_add(1);
    let octets = request.with(source.call, source.call.into());
    // A socket with nothing under way has room for one request.
    match source.stream.write(octets)? {
        sent if sent == octets.len() => Ok(()),
        sent => Err(format!("only {sent} octets of a request were taken").into()),
    }
}

/// Reads what is there; true when the reply is whole and right.
fn receive(source: &mut Source) -> Result<bool, Failure> {
    let mut buffer = [0; 16 * REPLY_OCTETS];
    let read = match source.stream.read(&mut buffer) {
        Ok(0) => return Err("the middle tier closed a connection".into()),
        Ok(read) => read,
        Err(e) if e.kind() == ErrorKind::WouldBlock => return Ok(false),
        Err(e) => return Err(e.into()),
    };
    if source.begun.is_empty() && raw_giop::whole_size(&buffer[..read])? == Some(read) {
        return check(&buffer[..read], source.call);
    }
    source.begun.extend_from_slice(&buffer[..read]);
    if raw_giop::whole_size(&source.begun)? != Some(source.begun.len()) {
        return Ok(false);
    }
    let whole = std::mem::take(&mut source.begun);
    check(&whole, source.call)
}

fn check(message: &[u8], call: u32) -> Result<bool, Failure> {
    match raw_giop::read(message)? {
        Message::Reply { id, value } if id == call && value == i64::from(call) => Ok(true),
        other => Err(format!("{other:?} in answer to call {call}").into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_whole_round_trips_over_their_time() {
        let start = Instant::now();
        let ms = |ms: u64| start + Duration::from_millis(ms);
        let window = (ms(100), ms(300));
        let mut source = Source::new(connected());
        for at in [50, 90, 130, 170, 210, 250, 290, 330] {
            source.count(ms(at), window);
        }
        assert_eq!(source.replies, 5);
        assert!((source.rate(window) - 25.0).abs() < 1e-9, "{}", source.rate(window));
    }

    #[test]
    fn a_client_whose_replies_stopped_counts_to_the_end() {
        let start = Instant::now();
        let ms = |ms: u64| start + Duration::from_millis(ms);
        let window = (ms(100), ms(600));
        let mut source = Source::new(connected());
        for at in [90, 100, 110] {
            source.count(ms(at), window);
        }
        assert!((source.rate(window) - 2.0 / 0.51).abs() < 1e-9);
        assert_eq!(Source::new(connected()).rate(window), 0.0);
    }

    fn connected() -> TcpStream {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        TcpStream::connect(listener.local_addr().unwrap()).unwrap()
    }

    #[test]
    fn the_sinks_own_reference_is_read() {
        let target = Target::of("corbaloc:iiop:1.2@127.0.0.1:5/sink").unwrap();
        assert_eq!((target.host.as_str(), target.port), ("127.0.0.1", 5));
        assert_eq!(target.object_key, b"sink");
        assert!(Target::of("corbaloc:iiop:1.2@127.0.0.1").is_err());
        assert!(Target::of("nonsense").is_err());
    }

    #[test]
    fn a_wrong_reply_is_noticed() {
        let mut octets = Vec::new();
        raw_giop::push_reply(&mut octets, 5, 5);
        assert!(check(&octets, 5).unwrap());
        assert!(check(&octets, 6).is_err());
        octets[31] = 1;
        assert!(check(&octets, 5).is_err());
    }
}
