//! How a thread passes the time until octets arrive: block, spin, or find out which pays.
//!
//! Waking a sleeping thread on another core costs more than everything else in a call (some 50 µs
//! against 5 on the machines of `docs/src/benchmarks.md`), while spinning on a core that the peer
//! needs only delays it. [`WaitStrategy::Adaptive`] spins within a budget while that succeeds, and
//! after failures spins ever more rarely, so that it costs next to nothing where it does not pay.
//! Each connection has one [`Waiter`] a side, since what pays depends on the peer.

use crate::Link;
use std::io;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// What a thread does while it waits for octets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum WaitStrategy {
    /// Sleep until the system wakes the thread: no CPU is used.
    #[default]
    Block,
    /// Always ask again and again for at most the given time, then sleep.
    Spin(Duration),
    /// Spin as above while it pays, and ever more rarely after it did not.
    Adaptive(Duration),
}

/// Receive attempts between two looks at the clock while spinning.
const TRIES_PER_LOOK: u32 = 8;
/// After this many failures in a row (as a power of two), one wait in 2^10 tries spinning again.
const MAX_BACKOFF: u32 = 10;

/// Threads of this process that spin right now. More than there are cores would only take the
/// processor from those that have work, so a thread that finds no place blocks instead.
static SPINNING: AtomicUsize = AtomicUsize::new(0);
static CORES: LazyLock<usize> =
    LazyLock::new(|| std::thread::available_parallelism().map_or(1, usize::from));

/// Applies a [`WaitStrategy`] to one connection and remembers what paid.
#[derive(Debug)]
pub struct Waiter {
    strategy: WaitStrategy,
    /// Spins in a row that ended in blocking: `0 <= failures <= MAX_BACKOFF`.
    failures: u32,
    /// Waits that still go straight to blocking before spinning is tried again.
    skip: u32,
}

impl Waiter {
    /// A waiter that has seen nothing yet.
    pub fn new(strategy: WaitStrategy) -> Self {
        Waiter { strategy, failures: 0, skip: 0 }
    }

    /// Waits for octets as the strategy says and takes them; `Ok(0)` when the peer has closed.
    ///
    /// # Errors
    /// `TimedOut` after the link's receive time-out, else what the system says.
    #[inline]
    pub fn receive(&mut self, link: &Link, space: &mut [u8]) -> io::Result<usize> {
        match self.strategy {
            WaitStrategy::Block => link.receive(space),
            _ => self.receive_spinning(link, space),
        }
    }

    #[inline(never)]
    fn receive_spinning(&mut self, link: &Link, space: &mut [u8]) -> io::Result<usize> {
        let budget = match self.strategy {
            WaitStrategy::Block => return link.receive(space),
            WaitStrategy::Spin(budget) => budget,
            WaitStrategy::Adaptive(_) if self.skip > 0 => {
                self.skip -= 1;
                return link.receive(space);
            }
            WaitStrategy::Adaptive(budget) => budget,
        };
        // What is there already came without waiting, and says nothing about spinning: on one
        // core the peer often ran inside our send, and spinning for it would be in vain.
        if let Some(octets) = link.spin_receive(space)? {
            return Ok(octets);
        }
        match spin(link, space, budget)? {
            Some(octets) => {
                self.failures = 0;
                Ok(octets)
            }
            None => {
                self.failures = (self.failures + 1).min(MAX_BACKOFF);
                self.skip = (1 << self.failures) - 1;
                link.receive(space)
            }
        }
    }
}

/// Asks for octets until some come or `budget` has passed (`None`).
fn spin(link: &Link, space: &mut [u8], budget: Duration) -> io::Result<Option<usize>> {
    let Some(_place) = SpinningPlace::take() else { return Ok(None) };
    let start = Instant::now();
    loop {
        for _ in 0..TRIES_PER_LOOK {
            if let Some(octets) = link.spin_receive(space)? {
                return Ok(Some(octets));
            }
            std::hint::spin_loop();
        }
        if start.elapsed() >= budget {
            return Ok(None);
        }
    }
}

/// One of the places for spinning threads; given back when dropped.
struct SpinningPlace;

impl SpinningPlace {
    fn take() -> Option<Self> {
        if SPINNING.fetch_add(1, Ordering::Relaxed) < *CORES {
            return Some(SpinningPlace);
        }
        SPINNING.fetch_sub(1, Ordering::Relaxed);
        None
    }
}

impl Drop for SpinningPlace {
    fn drop(&mut self) {
        SPINNING.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::{MAX_BACKOFF, WaitStrategy, Waiter};
    use crate::{Acceptor, Link};
    use std::time::Duration;

    const BUDGET: Duration = Duration::from_micros(20);

    fn silent_pair() -> (Link, Link) {
        let acceptor = Acceptor::bind(([127, 0, 0, 1], 0).into()).unwrap();
        let ours = Link::connect(&acceptor.endpoint(), None, None).unwrap();
        ours.set_receive_timeout(Some(Duration::from_millis(1))).unwrap();
        (ours, acceptor.accept().unwrap())
    }

    #[test]
    fn spinning_in_vain_becomes_ever_rarer() {
        let (ours, _theirs) = silent_pair();
        let mut waiter = Waiter::new(WaitStrategy::Adaptive(BUDGET));
        let mut spins = 0;
        for _ in 0..200 {
            spins += u32::from(waiter.skip == 0);
            assert!(waiter.receive(&ours, &mut [0; 8]).is_err(), "nothing comes");
        }
        // The first, the third, then the 7th, 15th, 31st, 63rd and 127th.
        assert_eq!(spins, 7, "of 200 waits");
        assert!(waiter.failures <= MAX_BACKOFF);
    }

    #[test]
    fn octets_that_are_there_say_nothing_about_spinning() {
        let (ours, theirs) = silent_pair();
        let mut waiter = Waiter::new(WaitStrategy::Adaptive(BUDGET));
        assert!(waiter.receive(&ours, &mut [0; 8]).is_err());
        assert_eq!((waiter.failures, waiter.skip), (1, 1));
        for _ in 0..2 {
            theirs.send_one(b"x").unwrap();
            while !ours.is_stale() {
                std::thread::yield_now();
            }
            assert_eq!(waiter.receive(&ours, &mut [0; 8]).unwrap(), 1);
        }
        assert_eq!((waiter.failures, waiter.skip), (1, 0));
    }
}
