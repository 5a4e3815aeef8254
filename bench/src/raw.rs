//! The limits: the same octets as the ORBs send, with nothing of an ORB around them.
//!
//! `serve` is the server process, [`RawClient`] the client; both are told how many octets a request
//! and a reply have (`sizes.rs`). A connection says with its first octet what it is for, so that
//! one server has every way of talking.

use crate::driver::{Client, Failure, serve_until_input_ends};
use crate::orders::Answer;
use crate::raw_stream::{Address, Listener, Spinning, Stream, StreamKind};
use std::io::{self, Read, Write};
use std::time::{Duration, Instant};

/// Octets of a request and of a reply, headers included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sizes {
    /// From the client.
    pub(crate) request: usize,
    /// From the server.
    pub(crate) reply: usize,
}

/// What a connection is for: its first octet.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
enum Purpose {
    /// A request, a reply, a request, …
    PingPong = b'p',
    /// Requests without waiting; the server answers as many as it has read with one write.
    Pipelined = b'l',
    /// Requests without replies; when they end, the server says how many there were.
    Oneway = b'o',
    /// A request is `Sizes::request` octets, of which the first eight say how many follow; all of
    /// it comes back.
    Octets = b'b',
}

/// How many messages `raw-tcp-pipelined` puts into one write.
const MESSAGES_PER_WRITE: usize = 10;
/// Octets read at once where messages are not waited for one by one.
const READ_OCTETS: usize = 64 * 1024;

/// Serves connections at a fresh address, one thread each, until standard input ends.
///
/// # Errors
/// When nothing can be listened to.
pub(crate) fn serve(over: StreamKind, spin: bool, sizes: Sizes) -> io::Result<()> {
    let listener = Listener::bind(over)?;
    let address = listener.address()?;
    std::thread::spawn(move || {
        while let Ok(stream) = listener.accept() {
            std::thread::spawn(move || {
                // The client going away ends its connection, and that is no news.
                let _ = serve_connection(stream, spin, sizes);
            });
        }
    });
    serve_until_input_ends(&address)
}

fn serve_connection(mut stream: Stream, spin: bool, sizes: Sizes) -> io::Result<()> {
    let mut purpose = [0];
    stream.read_exact(&mut purpose)?;
    match purpose[0] {
        p if p == Purpose::PingPong as u8 && spin => {
            ping_pong_server(Spinning::new(stream)?, sizes)
        }
        p if p == Purpose::PingPong as u8 => ping_pong_server(stream, sizes),
        p if p == Purpose::Pipelined as u8 => pipelined_server(stream, sizes),
        p if p == Purpose::Oneway as u8 => oneway_server(stream, sizes),
        p if p == Purpose::Octets as u8 => octets_server(stream, sizes),
        other => Err(io::Error::other(format!("no such purpose: {other}"))),
    }
}

fn ping_pong_server(mut stream: impl Read + Write, sizes: Sizes) -> io::Result<()> {
    let mut request = vec![0; sizes.request];
    let mut reply = vec![0; sizes.reply];
    loop {
        stream.read_exact(&mut request)?;
        reply[..8].copy_from_slice(&request[..8]);
        stream.write_all(&reply)?;
    }
}

fn pipelined_server(mut stream: Stream, sizes: Sizes) -> io::Result<()> {
    let mut requests = vec![0; READ_OCTETS];
    let replies = vec![0; (READ_OCTETS / sizes.request + 1) * sizes.reply];
    let mut held = 0;
    loop {
        let n = stream.read(&mut requests)?;
        if n == 0 {
            return Ok(());
        }
        held += n;
        stream.write_all(&replies[..held / sizes.request * sizes.reply])?;
        held %= sizes.request;
    }
}

fn oneway_server(mut stream: Stream, sizes: Sizes) -> io::Result<()> {
    let mut buffer = vec![0; READ_OCTETS];
    let mut octets = 0;
    loop {
        match stream.read(&mut buffer)? {
            0 => break,
            n => octets += n,
        }
    }
    stream.write_all(&((octets / sizes.request) as u64).to_le_bytes())
}

fn octets_server(mut stream: Stream, sizes: Sizes) -> io::Result<()> {
    let mut buffer = vec![0; READ_OCTETS];
    loop {
        let mut filled = 0;
        while filled < sizes.request {
            match stream.read(&mut buffer[filled..])? {
                0 => return Ok(()),
                n => filled += n,
            }
        }
        let total = sizes.request + payload_octets(&buffer);
        if buffer.len() < total {
            buffer.resize(total, 0);
        }
        stream.read_exact(&mut buffer[filled..total])?;
        stream.write_all(&buffer[..total])?;
    }
}

/// The payload's length: the first eight octets of a message of [`Purpose::Octets`].
fn payload_octets(message: &[u8]) -> usize {
    let mut length = [0; 8];
    length.copy_from_slice(&message[..8]);
    u64::from_le_bytes(length) as usize
}

/// The client of the server above.
pub(crate) struct RawClient {
    /// Where the server is.
    pub(crate) address: Address,
    /// Both sides try again and again instead of sleeping.
    pub(crate) spin: bool,
    /// Many requests are under way at once, ten to a write.
    pub(crate) pipelined: bool,
    /// What is sent.
    pub(crate) sizes: Sizes,
}

impl RawClient {
    fn connect(&self, purpose: Purpose) -> io::Result<Stream> {
        let mut stream = self.address.connect()?;
        stream.write_all(&[purpose as u8])?;
        Ok(stream)
    }

    fn pipeline(&self, warm_up: Duration, window: Duration) -> Result<Answer, Failure> {
        let stream = self.connect(Purpose::Pipelined)?;
        let mut sending = stream.try_clone()?;
        let requests = vec![0; MESSAGES_PER_WRITE * self.sizes.request];
        let total = warm_up + window;
        let start = Instant::now();
        std::thread::scope(|scope| {
            scope.spawn(move || -> io::Result<()> {
                while start.elapsed() < total {
                    sending.write_all(&requests)?;
                }
                sending.finish()
            });
            count_replies(stream, self.sizes, start + warm_up, start + total)
        })
    }
}

/// Reads replies until the server closes, and counts those that arrive between `from` and `to`.
fn count_replies(
    mut stream: Stream,
    sizes: Sizes,
    from: Instant,
    to: Instant,
) -> Result<Answer, Failure> {
    let mut buffer = vec![0; READ_OCTETS];
    let mut counted = 0;
    let (mut first, mut last) = (None, from);
    loop {
        let n = stream.read(&mut buffer)?;
        if n == 0 {
            break;
        }
        let now = Instant::now();
        if now >= from && now < to {
            if first.is_some() {
                counted += n;
            }
            first.get_or_insert(now);
            last = now;
        }
    }
    let first = first.ok_or("no reply came in the window")?;
    let nanoseconds = (last - first).as_nanos() as u64;
    Ok(Answer::Rate { calls: (counted / sizes.reply) as u64, nanoseconds })
}

/// One blocking or spinning ping-pong.
fn ping_pong<S: Read + Write>(
    mut stream: S,
    sizes: Sizes,
) -> impl FnMut(i64) -> Result<i64, Failure> {
    let mut request = vec![0; sizes.request];
    let mut reply = vec![0; sizes.reply];
    move |value| {
        request[..8].copy_from_slice(&value.to_le_bytes());
        stream.write_all(&request)?;
        stream.read_exact(&mut reply)?;
        let mut back = [0; 8];
        back.copy_from_slice(&reply[..8]);
        Ok(i64::from_le_bytes(back))
    }
}

impl Client for RawClient {
    fn echo(&self) -> Result<impl FnMut(i64) -> Result<i64, Failure>, Failure> {
        let stream = self.connect(Purpose::PingPong)?;
        let (mut spinning, mut blocking) = (None, None);
        if self.spin {
            spinning = Some(ping_pong(Spinning::new(stream)?, self.sizes));
        } else {
            blocking = Some(ping_pong(stream, self.sizes));
        }
        Ok(move |value| match (&mut spinning, &mut blocking) {
            (Some(call), _) => call(value),
            (None, Some(call)) => call(value),
            (None, None) => Err("not connected".into()),
        })
    }

    fn oneways(&self, window: Duration) -> Result<Answer, Failure> {
        let mut stream = self.connect(Purpose::Oneway)?;
        let request = vec![0; self.sizes.request];
        let start = Instant::now();
        let mut sent = 0;
        while start.elapsed() < window {
            for _ in 0..100 {
                stream.write_all(&request)?;
            }
            sent += 100;
        }
        stream.finish()?;
        let mut taken = [0; 8];
        stream.read_exact(&mut taken)?;
        if u64::from_le_bytes(taken) != sent {
            return Err("messages were lost".into());
        }
        Ok(Answer::Rate { calls: sent, nanoseconds: start.elapsed().as_nanos() as u64 })
    }

    fn octets(&self) -> Result<impl FnMut(&[u8], bool) -> Result<(), Failure>, Failure> {
        let mut stream = self.connect(Purpose::Octets)?;
        let header_octets = self.sizes.request;
        let mut message = Vec::new();
        let mut back = Vec::new();
        Ok(move |data: &[u8], check: bool| -> Result<(), Failure> {
            if message.len() != header_octets + data.len() {
                message.clear();
                message.resize(header_octets, 0);
                message[..8].copy_from_slice(&(data.len() as u64).to_le_bytes());
                message.extend_from_slice(data);
                back = vec![0; message.len()];
            }
            stream.write_all(&message)?;
            stream.read_exact(&mut back)?;
            if check && back != message {
                return Err("the octets came back changed".into());
            }
            Ok(())
        })
    }

    fn threads(
        &self,
        threads: usize,
        warm_up: Duration,
        window: Duration,
    ) -> Result<Answer, Failure> {
        if self.pipelined {
            return self.pipeline(warm_up, window);
        }
        crate::driver::count_calls(self, threads, warm_up, window)
    }
}

#[cfg(test)]
mod tests;
