//! Which of many links can be read or written: the threads of a reactor wait here.
//!
//! Each descriptor is registered once, edge-triggered: an event says that octets (or space for
//! them) have come since the last one, so that nothing has to be armed again for each message.
//! The thread that gets an event takes all there is, or remembers that there is more.
//! [`Readiness::wake`] ends one wait from another thread.

use rustix::event::{EventfdFlags, Timespec, epoll, eventfd};
use rustix::io::Errno;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

/// The token that stands for [`Readiness::wake`].
const WAKE: u64 = u64::MAX;

/// What has come to a descriptor since its last event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// What it was added under.
    pub token: u64,
    /// There is something to receive or to accept, or the peer has closed.
    pub input: bool,
    /// There is room for sending.
    pub output: bool,
    /// The peer has closed its side, or the link broke: nothing comes after what is there.
    pub end: bool,
}

/// Events that one wait takes at most.
const BATCH: usize = 64;

/// Room for the events of one wait.
#[derive(Debug)]
pub struct Events {
    space: [MaybeUninit<epoll::Event>; BATCH],
}

impl Default for Events {
    fn default() -> Self {
        Events { space: [const { MaybeUninit::uninit() }; BATCH] }
    }
}

/// A set of descriptors that threads wait on; an event goes to one of them.
#[derive(Debug)]
pub struct Readiness {
    epoll: OwnedFd,
    wake: OwnedFd,
}

impl Readiness {
    /// An empty set.
    ///
    /// # Errors
    /// What the system says, for example that there are no descriptors left.
    pub fn new() -> io::Result<Self> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let wake = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        let flags = epoll::EventFlags::IN | epoll::EventFlags::ET;
        epoll::add(&epoll, &wake, epoll::EventData::new_u64(WAKE), flags)?;
        Ok(Readiness { epoll, wake })
    }

    /// Adds `source` under `token` (less than `u64::MAX`). What is there already is its first
    /// event.
    ///
    /// # Errors
    /// What the system says, for example that its limit of watched descriptors is reached.
    pub fn add(&self, source: impl AsFd, token: u64) -> io::Result<()> {
        let both = epoll::EventFlags::IN | epoll::EventFlags::OUT | epoll::EventFlags::RDHUP;
        let data = epoll::EventData::new_u64(token);
        Ok(epoll::add(&self.epoll, source, data, both | epoll::EventFlags::ET)?)
    }

    /// Takes `source` out of the set.
    pub fn remove(&self, source: impl AsFd) {
        // It may have gone already with its descriptor.
        let _ = epoll::delete(&self.epoll, source);
    }

    /// Waits until something comes, at most for `timeout` (`None`: for ever), and takes up to
    /// `most` events (at least 1, at most 64). None after [`Readiness::wake`], a signal, or the
    /// time-out.
    ///
    /// # Errors
    /// What the system says.
    pub fn wait<'e>(
        &self,
        events: &'e mut Events,
        most: usize,
        timeout: Option<Duration>,
    ) -> io::Result<impl Iterator<Item = Event> + 'e> {
        let timeout = timeout.map(timespec);
        let space = &mut events.space[..most.clamp(1, BATCH)];
        let came: &[epoll::Event] = match epoll::wait(&self.epoll, space, timeout.as_ref()) {
            Ok((events, _)) => events,
            Err(Errno::INTR) => &[],
            Err(error) => return Err(error.into()),
        };
        Ok(came.iter().filter(|event| event.data.u64() != WAKE).map(event))
    }

    /// Ends one wait: of a thread that waits now, or else the next.
    pub fn wake(&self) {
        // The counter is never read: each write is an edge.
        let _ = rustix::io::write(&self.wake, &1u64.to_ne_bytes());
    }
}

/// Readable while an event waits, so that one set can be watched in another.
impl AsFd for Readiness {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.epoll.as_fd()
    }
}

pub(crate) fn timespec(timeout: Duration) -> Timespec {
    Timespec {
        tv_sec: i64::try_from(timeout.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: timeout.subsec_nanos().into(),
    }
}

fn event(event: &epoll::Event) -> Event {
    use epoll::EventFlags as Flags;
    let flags = event.flags;
    let end = flags.intersects(Flags::RDHUP | Flags::HUP | Flags::ERR);
    Event {
        token: event.data.u64(),
        input: end || flags.contains(Flags::IN),
        output: end || flags.contains(Flags::OUT),
        end,
    }
}

#[cfg(test)]
mod tests {
    use super::{Event, Events, Readiness};
    use crate::{Acceptor, Link};
    use std::time::Duration;

    const NOW: Option<Duration> = Some(Duration::ZERO);

    fn events(readiness: &Readiness, timeout: Option<Duration>) -> Vec<Event> {
        readiness.wait(&mut Events::default(), 64, timeout).unwrap().collect()
    }

    #[test]
    fn what_comes_is_told_once() {
        let acceptor = Acceptor::bind(([127, 0, 0, 1], 0).into()).unwrap();
        let ours = Link::connect(&acceptor.endpoint(), None, None).unwrap();
        let theirs = acceptor.accept().unwrap();
        let readiness = Readiness::new().unwrap();
        readiness.add(ours.descriptor().unwrap(), 7).unwrap();
        let can_send = Event { token: 7, input: false, output: true, end: false };
        assert_eq!(events(&readiness, None), [can_send], "the first event");
        assert_eq!(events(&readiness, NOW), []);
        theirs.send_one(b"x").unwrap();
        let has_octets = Event { input: true, ..can_send };
        assert_eq!(events(&readiness, None), [has_octets]);
        assert_eq!(events(&readiness, NOW), [], "though no thread has received it");
        theirs.send_one(b"y").unwrap();
        assert_eq!(events(&readiness, None), [has_octets], "more has come");
        theirs.shutdown();
        assert!(events(&readiness, None)[0].end);
        readiness.remove(ours.descriptor().unwrap());
    }

    #[test]
    fn a_wake_ends_one_wait() {
        let readiness = Readiness::new().unwrap();
        for _ in 0..3 {
            readiness.wake();
            assert_eq!(events(&readiness, None), [], "returns, though it may wait for ever");
            let begun = std::time::Instant::now();
            let patience = Duration::from_millis(5);
            assert_eq!(events(&readiness, Some(patience)), []);
            assert!(begun.elapsed() >= patience, "one wake, one wait");
        }
    }
}
