//! The threads that give events to consumers, where the thread that brings an event does not
//! (paper RTEC §4.6).
//!
//! A [`Lane`] has threads of its own and a mailbox for each of its consumers. At most one thread at
//! a time takes from a mailbox, so a consumer gets its events in order; mailboxes take turns, so a
//! consumer that is slow holds up one thread and no other consumer's events.

use corbie_event::Overflow;
use corbie_event::engine::Allotment;
use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// Gives one event to one consumer.
pub(crate) type Job = Box<dyn FnOnce() + Send>;

/// Threads, and what waits for them.
pub(crate) struct Lane {
    /// Lock "lane": not held while a job runs.
    state: Mutex<LaneState>,
    /// Signalled when a mailbox has something and no thread takes from it.
    changed: Condvar,
    /// Its threads, among those of the server.
    _threads: Option<Allotment>,
}

#[derive(Default)]
struct LaneState {
    boxes: BTreeMap<u64, Mailbox>,
    /// Mailboxes that have something and from which no thread takes, in turn.
    ready: VecDeque<u64>,
    /// Tells a mailbox from one of the same consumer before it had gone.
    lives: u64,
    is_closed: bool,
}

#[derive(Default)]
struct Mailbox {
    jobs: VecDeque<Job>,
    life: u64,
    /// A thread runs a job of it.
    is_taken: bool,
    /// It is in turn.
    is_ready: bool,
}

/// What became of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Posted {
    /// It waits.
    Taken,
    /// It waits; the oldest that waited was dropped.
    DroppedOldest,
    /// It was dropped.
    Dropped,
    /// There is no room, and its supplier is to be told so.
    Refused,
    /// There is no room, and the consumer is to be disconnected.
    Overflowed,
}

impl Lane {
    /// One with so many threads, at least one, which end when it is closed. `part` is what they
    /// are of those that the server may have.
    ///
    /// # Errors
    /// When a thread cannot be started; none runs then.
    pub(crate) fn start(threads: usize, part: Option<Allotment>) -> std::io::Result<Arc<Self>> {
        let (state, changed) = (Mutex::default(), Condvar::new());
        let lane = Arc::new(Self { state, changed, _threads: part });
        for _ in 0..threads.max(1) {
            let own = Arc::clone(&lane);
            let thread = std::thread::Builder::new().name("corbie-rtevents".to_owned());
            if let Err(error) = thread.spawn(move || own.work()) {
                lane.close();
                return Err(error);
            }
        }
        Ok(lane)
    }

    /// Puts a job into the mailbox of a consumer, in which `most` may wait.
    pub(crate) fn post(&self, consumer: u64, job: Job, most: usize, when_full: Overflow) -> Posted {
        let mut dropped = None;
        let mut state = self.lock();
        if state.is_closed {
            return Posted::Dropped;
        }
        let life = state.lives;
        let new = || Mailbox { life, ..Mailbox::default() };
        let mailbox = state.boxes.entry(consumer).or_insert_with(new);
        let is_full = mailbox.jobs.len() >= most;
        match when_full {
            Overflow::DropNewest if is_full => return Posted::Dropped,
            Overflow::BlockSupplier if is_full => return Posted::Refused,
            Overflow::Disconnect if is_full => return Posted::Overflowed,
            Overflow::DropOldest if is_full => dropped = mailbox.jobs.pop_front(),
            _ => {}
        }
        mailbox.jobs.push_back(job);
        let is_new = !mailbox.is_taken && !mailbox.is_ready;
        mailbox.is_ready |= is_new;
        if is_new {
            state.ready.push_back(consumer);
        }
        drop(state);
        if is_new {
            self.changed.notify_one();
        }
        if dropped.is_some() { Posted::DroppedOldest } else { Posted::Taken }
    }

    /// Drops the job that waits longest in the mailbox of a consumer; whether there was one.
    pub(crate) fn drop_oldest(&self, consumer: u64) -> bool {
        let mut state = self.lock();
        let dropped = state.boxes.get_mut(&consumer).and_then(|mailbox| mailbox.jobs.pop_front());
        drop(state);
        dropped.is_some()
    }

    /// How many jobs wait in the mailbox of a consumer.
    pub(crate) fn waiting(&self, consumer: u64) -> usize {
        self.lock().boxes.get(&consumer).map_or(0, |mailbox| mailbox.jobs.len())
    }

    /// A consumer has gone: what waits for it is dropped.
    pub(crate) fn forget(&self, consumer: u64) {
        let mut state = self.lock();
        state.lives += 1;
        let forgotten = state.boxes.remove(&consumer);
        state.ready.retain(|other| *other != consumer);
        drop(state);
        drop(forgotten);
    }

    /// No more jobs are run, but for those that run already.
    pub(crate) fn close(&self) {
        let mut state = self.lock();
        state.is_closed = true;
        state.ready.clear();
        let left = std::mem::take(&mut state.boxes);
        drop(state);
        drop(left);
        self.changed.notify_all();
    }

    fn work(&self) {
        let mut state = self.lock();
        while !state.is_closed {
            let Some(consumer) = state.ready.pop_front() else {
                state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            let Some(mailbox) = state.boxes.get_mut(&consumer) else { continue };
            mailbox.is_ready = false;
            let Some(job) = mailbox.jobs.pop_front() else { continue };
            mailbox.is_taken = true;
            let life = mailbox.life;
            drop(state);
            run(job);
            state = self.lock();
            // It may have gone meanwhile, and be there again.
            if let Some(mailbox) = state.boxes.get_mut(&consumer)
                && mailbox.life == life
            {
                mailbox.is_taken = false;
                if !mailbox.jobs.is_empty() {
                    mailbox.is_ready = true;
                    state.ready.push_back(consumer);
                }
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, LaneState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn run(job: Job) {
    if std::panic::catch_unwind(std::panic::AssertUnwindSafe(job)).is_err() {
        tracing::error!("giving an event to a consumer panicked");
    }
}

impl fmt::Debug for Lane {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lane").field("consumers", &self.lock().boxes.len()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::{Receiver, Sender, channel};
    use std::time::Duration;

    const PATIENCE: Duration = Duration::from_secs(60);

    /// A job that says its number when the gate is opened.
    fn gated(number: usize, say: &Sender<usize>) -> (Job, Sender<()>, Receiver<()>) {
        let ((open, gate), (begin, begun)) = (channel(), channel());
        let say = say.clone();
        let job = move || {
            let _ = begin.send(());
            let _ = gate.recv_timeout(PATIENCE);
            let _ = say.send(number);
        };
        (Box::new(job), open, begun)
    }

    fn saying(number: usize, say: &Sender<usize>) -> Job {
        let say = say.clone();
        Box::new(move || say.send(number).expect("it listens"))
    }

    #[test]
    fn a_consumer_gets_its_events_in_order_from_many_threads() {
        let lane = Lane::start(4, None).expect("threads");
        let (say, said) = channel();
        for number in 0..1000 {
            let posted = lane.post(7, saying(number, &say), usize::MAX, Overflow::DropNewest);
            assert_eq!(posted, Posted::Taken);
        }
        let got: Vec<_> = (0..1000).map(|_| said.recv_timeout(PATIENCE).expect("one")).collect();
        assert_eq!(got, Vec::from_iter(0..1000));
        lane.close();
    }

    #[test]
    fn one_that_hangs_holds_up_no_other() {
        let lane = Lane::start(2, None).expect("threads");
        let (say, said) = channel();
        let (hanging, open, begun) = gated(0, &say);
        lane.post(1, hanging, 10, Overflow::DropNewest);
        begun.recv_timeout(PATIENCE).expect("it runs");
        lane.post(1, saying(1, &say), 10, Overflow::DropNewest);
        lane.post(2, saying(2, &say), 10, Overflow::DropNewest);
        assert_eq!(said.recv_timeout(PATIENCE), Ok(2));
        drop(open);
        assert_eq!(said.recv_timeout(PATIENCE), Ok(0));
        assert_eq!(said.recv_timeout(PATIENCE), Ok(1));
        lane.close();
    }

    #[test]
    fn a_full_mailbox_does_what_is_chosen() {
        let kinds = [
            (Overflow::DropOldest, Posted::DroppedOldest, vec![0, 2, 3]),
            (Overflow::DropNewest, Posted::Dropped, vec![0, 1, 2]),
            (Overflow::BlockSupplier, Posted::Refused, vec![0, 1, 2]),
            (Overflow::Disconnect, Posted::Overflowed, vec![0, 1, 2]),
        ];
        for (when_full, posted, kept) in kinds {
            let lane = Lane::start(1, None).expect("a thread");
            let (say, said) = channel();
            let (hanging, open, begun) = gated(0, &say);
            lane.post(1, hanging, 2, when_full);
            begun.recv_timeout(PATIENCE).expect("it runs");
            for number in 1..3 {
                assert_eq!(lane.post(1, saying(number, &say), 2, when_full), Posted::Taken);
            }
            assert_eq!(lane.post(1, saying(3, &say), 2, when_full), posted, "{when_full:?}");
            assert_eq!(lane.waiting(1), 2);
            drop((open, say));
            let got: Vec<_> = (0..3).filter_map(|_| said.recv_timeout(PATIENCE).ok()).collect();
            assert_eq!(got, kept, "{when_full:?}");
            lane.close();
        }
    }

    #[test]
    fn what_waits_for_one_that_goes_is_dropped() {
        let lane = Lane::start(1, None).expect("a thread");
        let (say, said) = channel();
        let (hanging, open, begun) = gated(0, &say);
        lane.post(1, hanging, 10, Overflow::DropNewest);
        begun.recv_timeout(PATIENCE).expect("it runs");
        lane.post(1, saying(1, &say), 10, Overflow::DropNewest);
        lane.forget(1);
        lane.post(1, saying(2, &say), 10, Overflow::DropNewest);
        drop(open);
        assert_eq!(said.recv_timeout(PATIENCE), Ok(0));
        assert_eq!(said.recv_timeout(PATIENCE), Ok(2));
        lane.close();
        assert_eq!(lane.post(1, saying(3, &say), 10, Overflow::DropNewest), Posted::Dropped);
    }
}
