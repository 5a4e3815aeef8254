//! One simulated connection of the network: two directions of octets in virtual time, with a window
//! each. It sends short, takes nothing for a while, and breaks at any octet, as its seed says.
//! An end of it is a plugged link, as an application may bring one.

use std::collections::VecDeque;
use std::io::{self, IoSlice};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use corbie_transport::{PeerAddress, PluggedLink};

use super::Seed;

/// How the network behaves. Octets keep their order, as TCP's do.
#[derive(Clone, Copy, Debug)]
pub(super) struct Conditions {
    /// From sending to arriving, in microseconds of virtual time.
    pub(super) latency_us: u64,
    /// At most so many microseconds more, at random for each chunk.
    pub(super) jitter_us: u64,
    /// What is sent arrives in chunks of 1 to this many octets, at random.
    pub(super) chunk_octets_max: usize,
    /// Octets that can be under way in one direction.
    pub(super) window_octets: usize,
    /// One send in so many is short, or takes nothing; 0: none.
    pub(super) short_send_in: usize,
}

/// One direction.
#[derive(Debug, Default)]
struct Pipe {
    under_way: VecDeque<(u64, VecDeque<u8>)>,
    octets: usize,
    last_us: u64,
    /// All octets sent so far.
    sent: u64,
    /// When the end of the stream arrives.
    end_us: Option<u64>,
    /// The sender found no room.
    is_full: bool,
    /// When it is told of room that it was not given for once.
    room_us: u64,
}

/// A connection between two ends, 0 and 1.
#[derive(Debug)]
pub(super) struct Wire {
    now_us: Arc<AtomicU64>,
    seed: Mutex<Seed>,
    conditions: Conditions,
    pipes: [Mutex<Pipe>; 2],
    /// The direction and the octet at which it breaks.
    breaks_at: Option<(usize, u64)>,
    is_broken: AtomicBool,
    /// Times at which an end is to look at its link.
    wakes: Mutex<Vec<(u64, usize)>>,
}

/// One thread runs a simulation, so it never waits.
pub(super) fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Wire {
    pub(super) fn new(
        now_us: Arc<AtomicU64>,
        conditions: Conditions,
        breaks_at: Option<(usize, u64)>,
        seed: Seed,
    ) -> Arc<Self> {
        Arc::new(Wire {
            now_us,
            seed: Mutex::new(seed),
            conditions,
            pipes: Default::default(),
            breaks_at,
            is_broken: AtomicBool::new(false),
            wakes: Mutex::default(),
        })
    }

    /// The looks that became due since the last call: time and end.
    pub(super) fn take_wakes(&self) -> Vec<(u64, usize)> {
        std::mem::take(&mut *lock(&self.wakes))
    }

    fn wake(&self, at_us: u64, end: usize) {
        let mut wakes = lock(&self.wakes);
        if wakes.last() != Some(&(at_us, end)) {
            wakes.push((at_us, end));
        }
    }

    /// Both ends see the connection reset; what is under way is lost.
    pub(super) fn break_now(&self) {
        self.is_broken.store(true, Ordering::Relaxed);
        for end in 0..2 {
            let mut pipe = lock(&self.pipes[end]);
            pipe.under_way.clear();
            pipe.octets = 0;
            self.wake(self.now_us.load(Ordering::Relaxed), end);
        }
    }

    /// Octets under way in the direction that `end` sends.
    pub(super) fn under_way(&self, end: usize) -> usize {
        lock(&self.pipes[end]).octets
    }

    fn send(&self, end: usize, octets: &[u8]) -> io::Result<usize> {
        let mut pipe = lock(&self.pipes[end]);
        if self.is_broken.load(Ordering::Relaxed) {
            return Err(io::ErrorKind::ConnectionReset.into());
        }
        if pipe.end_us.is_some() {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        let mut seed = lock(&self.seed);
        let room = self.conditions.window_octets - pipe.octets;
        let mut taken = octets.len().min(room);
        let one_in = self.conditions.short_send_in;
        if one_in > 0 && seed.below(one_in) == 0 {
            taken = seed.below(taken + 1);
            // A system tells of room only after a send that found none, and once.
            let now_us = self.now_us.load(Ordering::Relaxed);
            if pipe.room_us <= now_us {
                pipe.room_us = now_us + 1 + seed.next_u64() % 300;
                self.wake(pipe.room_us, end);
            }
        }
        if let Some((direction, at)) = self.breaks_at
            && direction == end
            && pipe.sent + taken as u64 >= at
        {
            taken = (at - pipe.sent) as usize;
            self.put(&mut pipe, end, &octets[..taken], &mut seed);
            self.is_broken.store(true, Ordering::Relaxed);
            let later_us = pipe.last_us.max(self.now_us.load(Ordering::Relaxed));
            self.wake(later_us, 1 - end);
            self.wake(later_us, end);
            return Ok(taken);
        }
        pipe.is_full |= taken == room && taken < octets.len();
        self.put(&mut pipe, end, &octets[..taken], &mut seed);
        Ok(taken)
    }

    fn put(&self, pipe: &mut Pipe, end: usize, mut octets: &[u8], seed: &mut Seed) {
        // What is sent to an end that has closed is lost.
        if lock(&self.pipes[1 - end]).end_us.is_some() {
            return;
        }
        pipe.octets += octets.len();
        pipe.sent += octets.len() as u64;
        while !octets.is_empty() {
            let most = octets.len().min(self.conditions.chunk_octets_max);
            let (chunk, rest) = octets.split_at(1 + seed.below(most));
            octets = rest;
            let Conditions { latency_us, jitter_us, .. } = self.conditions;
            let jitter = seed.next_u64() % (jitter_us + 1);
            pipe.last_us =
                pipe.last_us.max(self.now_us.load(Ordering::Relaxed) + latency_us + jitter);
            pipe.under_way.push_back((pipe.last_us, chunk.iter().copied().collect()));
            self.wake(pipe.last_us, 1 - end);
        }
    }

    fn receive(&self, end: usize, space: &mut [u8]) -> io::Result<Option<usize>> {
        let from = 1 - end;
        if lock(&self.pipes[end]).end_us.is_some() {
            return Ok(Some(0)); // This end was shut down.
        }
        let mut pipe = lock(&self.pipes[from]);
        let now_us = self.now_us.load(Ordering::Relaxed);
        let mut filled = 0;
        while filled < space.len()
            && let Some((time_us, chunk)) = pipe.under_way.front_mut()
            && *time_us <= now_us
        {
            let octets = chunk.len().min(space.len() - filled);
            for (to, octet) in space[filled..].iter_mut().zip(chunk.drain(..octets)) {
                *to = octet;
            }
            filled += octets;
            if chunk.is_empty() {
                pipe.under_way.pop_front();
            }
        }
        pipe.octets -= filled;
        if filled > 0 {
            if std::mem::take(&mut pipe.is_full) {
                self.wake(now_us, from);
            }
            return Ok(Some(filled));
        }
        match pipe.under_way.is_empty() {
            true if self.is_broken.load(Ordering::Relaxed) => {
                Err(io::ErrorKind::ConnectionReset.into())
            }
            true if pipe.end_us.is_some_and(|end_us| end_us <= now_us) => Ok(Some(0)),
            _ => Ok(None),
        }
    }

    fn shut_down(&self, end: usize) {
        let mut pipe = lock(&self.pipes[end]);
        if pipe.end_us.is_none() {
            let end_us =
                pipe.last_us.max(self.now_us.load(Ordering::Relaxed) + self.conditions.latency_us);
            pipe.end_us = Some(end_us);
            self.wake(end_us, 1 - end);
        }
    }
}

/// One end of a [`Wire`].
#[derive(Clone, Debug)]
pub(super) struct WireEnd {
    pub(super) wire: Arc<Wire>,
    pub(super) end: usize,
}

impl PluggedLink for WireEnd {
    fn try_receive(&self, space: &mut [u8]) -> io::Result<Option<usize>> {
        self.wire.receive(self.end, space)
    }

    fn try_send(&self, octets: &[u8]) -> io::Result<usize> {
        self.wire.send(self.end, octets)
    }

    fn shutdown(&self) {
        self.wire.shut_down(self.end);
    }

    /// No thread of a simulation waits.
    fn send(&self, _segments: &mut [IoSlice<'_>]) -> io::Result<()> {
        Err(io::ErrorKind::TimedOut.into())
    }

    fn receive(&self, _space: &mut [u8]) -> io::Result<usize> {
        Err(io::ErrorKind::TimedOut.into())
    }

    fn is_stale(&self) -> bool {
        false
    }

    fn set_receive_timeout(&self, _timeout: Option<Duration>) -> io::Result<()> {
        Ok(())
    }

    fn set_send_timeout(&self, _timeout: Option<Duration>) -> io::Result<()> {
        Ok(())
    }

    fn peer(&self) -> PeerAddress {
        PeerAddress::Here
    }
}

impl WireEnd {
    /// Whether the system says with its event that the peer has closed, or that the link is broken.
    pub(super) fn has_end(&self) -> bool {
        let end_us = lock(&self.wire.pipes[1 - self.end]).end_us;
        self.wire.is_broken.load(Ordering::Relaxed)
            || end_us.is_some_and(|end_us| end_us <= self.wire.now_us.load(Ordering::Relaxed))
    }
}
