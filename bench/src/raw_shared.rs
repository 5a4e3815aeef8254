//! The limits of shared memory: octets in the rings of `corbie-transport` without an ORB, and two
//! bare words between two threads, which is what the machine itself takes.
//!
//! `raw.rs` is the same over sockets; `command_line.rs` sends `--ring` and `--words` here.

use crate::driver::{Client, Failure, serve_until_input_ends};
use crate::orders::Answer;
use crate::raw::Sizes;
use corbie_transport::{Acceptor, Endpoint, Link, ShmOptions, WaitStrategy, Waiter};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

/// How long a side watches the ring before it sleeps.
const BUDGET: Duration = Duration::from_millis(10);

/// Which limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shared {
    /// The transport's rings, both sides spinning, or sleeping at once.
    Ring {
        /// Whether they spin.
        spin: bool,
    },
    /// One word there, one word back, within the client's process.
    Words,
}

fn strategy(spin: bool) -> WaitStrategy {
    if spin { WaitStrategy::Spin(BUDGET) } else { WaitStrategy::Block }
}

/// Serves connections over shared memory, one thread each, until standard input ends.
///
/// # Errors
/// When nothing can be listened to.
pub(crate) fn serve(shared: Shared, sizes: Sizes) -> io::Result<()> {
    let acceptor = Acceptor::bind_shm(None, ShmOptions::default())?;
    let Endpoint::Shm(name) = acceptor.endpoint() else {
        return Err(io::Error::other("not listening on shared memory"));
    };
    std::thread::spawn(move || {
        while let Ok(link) = acceptor.accept() {
            // The client going away ends its connection, and that is no news.
            std::thread::spawn(move || drop(echo(&link, shared, sizes)));
        }
    });
    serve_until_input_ends(&name.to_string())
}

fn echo(link: &Link, shared: Shared, sizes: Sizes) -> io::Result<()> {
    let mut waiter = Waiter::new(strategy(shared != Shared::Ring { spin: false }));
    let (mut request, mut reply) = (vec![0; sizes.request], vec![0; sizes.reply]);
    while receive(link, &mut waiter, &mut request)? {
        reply[..8].copy_from_slice(&request[..8]);
        link.send_one(&reply)?;
    }
    Ok(())
}

/// Fills `space`; `false` at the end.
fn receive(link: &Link, waiter: &mut Waiter, space: &mut [u8]) -> io::Result<bool> {
    let mut filled = 0;
    while filled < space.len() {
        match waiter.receive(link, &mut space[filled..])? {
            0 => return Ok(false),
            octets => filled += octets,
        }
    }
    Ok(true)
}

/// The client of the server above.
pub(crate) struct SharedClient {
    /// The name of the server's socket.
    pub(crate) address: String,
    /// Which limit.
    pub(crate) shared: Shared,
    /// What is sent.
    pub(crate) sizes: Sizes,
}

impl Client for SharedClient {
    fn echo(&self) -> Result<impl FnMut(i64) -> Result<i64, Failure>, Failure> {
        let (mut words, mut ring) = (None, None);
        match self.shared {
            Shared::Words => words = Some(SharedWords::start()?),
            Shared::Ring { spin } => ring = Some(self.connect(spin)?),
        }
        Ok(move |value| match (&mut words, &mut ring) {
            (Some(words), _) => Ok(words.echo(value)),
            (None, Some(ring)) => ring(value),
            (None, None) => Err("not connected".into()),
        })
    }

    fn oneways(&self, _: Duration) -> Result<Answer, Failure> {
        Err("this limit is of round trips".into())
    }

    fn octets(&self) -> Result<impl FnMut(&[u8], bool) -> Result<(), Failure>, Failure> {
        let refused: Failure = "this limit is of round trips".into();
        Err::<fn(&[u8], bool) -> Result<(), Failure>, _>(refused)
    }
}

impl SharedClient {
    fn connect(&self, spin: bool) -> Result<impl FnMut(i64) -> Result<i64, Failure>, Failure> {
        let link = Link::connect(&Endpoint::Shm(self.address.parse()?), None, None)?;
        let mut waiter = Waiter::new(strategy(spin));
        let (mut request, mut reply) = (vec![0; self.sizes.request], vec![0; self.sizes.reply]);
        Ok(move |value: i64| {
            request[..8].copy_from_slice(&value.to_le_bytes());
            link.send_one(&request)?;
            if !receive(&link, &mut waiter, &mut reply)? {
                return Err("the server has closed the connection".into());
            }
            let mut back = [0; 8];
            back.copy_from_slice(&reply[..8]);
            Ok(i64::from_le_bytes(back))
        })
    }
}

/// A word with cache lines to itself.
#[derive(Default)]
#[repr(align(128))]
struct Word(AtomicU64);

/// Two words between this thread and another one on a core that this one does not use.
#[derive(Default)]
struct SharedWords(Arc<(Word, Word, AtomicBool)>);

impl SharedWords {
    fn start() -> io::Result<SharedWords> {
        let words = SharedWords::default();
        let shared = Arc::clone(&words.0);
        let mut others = CpuSet::new();
        let mine = sched_getaffinity(None)?;
        (0..CpuSet::MAX_CPU).filter(|&core| !mine.is_set(core)).for_each(|core| others.set(core));
        let (sender, placed) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            let is_placed = sched_setaffinity(None, &others);
            let goes_on = is_placed.is_ok();
            if sender.send(is_placed).is_err() || !goes_on {
                return;
            }
            let (there, back, is_over) = &*shared;
            let mut last = 0;
            while !is_over.load(Ordering::Relaxed) {
                let value = there.0.load(Ordering::Acquire);
                if value != last {
                    back.0.store(value, Ordering::Release);
                    last = value;
                } else {
                    std::hint::spin_loop();
                }
            }
        });
        placed.recv().map_err(io::Error::other)??;
        Ok(words)
    }

    fn echo(&self, value: i64) -> i64 {
        let (there, back, _) = &*self.0;
        // Never what is there already.
        let sent = value as u64 + 1;
        there.0.store(sent, Ordering::Release);
        loop {
            let came = back.0.load(Ordering::Acquire);
            if came == sent {
                return (came - 1) as i64;
            }
            std::hint::spin_loop();
        }
    }
}

impl Drop for SharedWords {
    fn drop(&mut self) {
        self.0.2.store(true, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rings_echo() {
        let acceptor = Acceptor::bind_shm(None, ShmOptions::default()).unwrap();
        let Endpoint::Shm(name) = acceptor.endpoint() else { panic!() };
        let sizes = Sizes { request: 92, reply: 32 };
        for spin in [false, true] {
            let shared = Shared::Ring { spin };
            let client = SharedClient { address: name.to_string(), shared, sizes };
            std::thread::scope(|scope| {
                scope.spawn(|| echo(&acceptor.accept().unwrap(), shared, sizes).unwrap());
                let mut echo = client.echo().unwrap();
                for value in [0, 1, 7, i64::MAX] {
                    assert_eq!(echo(value).unwrap(), value);
                }
            });
        }
    }
}
