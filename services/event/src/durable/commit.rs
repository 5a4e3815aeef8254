//! Group commit: one thread writes the events that came while it wrote the last ones, another one
//! answers their suppliers and gives them to the consumers while the next ones are written.
//!
//! A ticket is kept until its event is on the disk. What waits to be written is bounded: a thread
//! that brings more waits, so that its connection is read no further.

use super::Journal;
use crate::event::Event;
use crate::log::{BATCH_EVENTS, BATCH_OCTETS, LogError, Place};
use crate::ticket::Ticket;
use std::collections::VecDeque;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle, ThreadId};

/// Octets that may wait to be written, with what an event takes beside its own, unless it is one
/// event.
const WAITING_OCTETS: usize = 64 << 20;
/// Batches that are written and not yet given to consumers.
const WRITTEN_BATCHES: usize = 4;

/// The queue of what is to be written.
#[derive(Default)]
pub(super) struct Commit {
    /// Lock "commit": not held while writing.
    state: Mutex<CommitState>,
    /// There is something to write, or it ends.
    work: Condvar,
    /// There is room again.
    room: Condvar,
}

#[derive(Default)]
struct CommitState {
    waiting: VecDeque<Waiting>,
    /// Of what waits or is being written.
    octets: usize,
    is_closed: bool,
    /// Its threads: they do not wait for themselves.
    threads: Vec<ThreadId>,
}

impl CommitState {
    /// Whether so many octets more may wait.
    fn has_room(&self, octets: usize) -> bool {
        self.octets == 0 || self.octets.saturating_add(octets) <= WAITING_OCTETS
    }
}

struct Waiting {
    journal: Arc<Journal>,
    event: Arc<Event>,
    ticket: Arc<Ticket>,
}

/// A batch that is on the disk.
struct Written {
    journal: Arc<Journal>,
    first: u64,
    place: Place,
    events: Vec<Arc<Event>>,
    tickets: Vec<Arc<Ticket>>,
}

impl Commit {
    /// Starts the two threads. They end when it is closed and all is written.
    ///
    /// # Errors
    /// What starting a thread says.
    pub(super) fn start(self: &Arc<Self>) -> std::io::Result<Vec<JoinHandle<()>>> {
        let (written, to_give) = sync_channel(WRITTEN_BATCHES);
        let commit = Arc::clone(self);
        let name = |name: &str| thread::Builder::new().name(name.to_owned());
        let giver = name("corbie-log-give").spawn(move || give(&to_give))?;
        let writer = name("corbie-log-write").spawn(move || commit.write(&written))?;
        self.lock().threads = vec![giver.thread().id(), writer.thread().id()];
        Ok(vec![writer, giver])
    }

    /// Has `event` written. The ticket is kept until that is done.
    pub(super) fn add(&self, journal: &Arc<Journal>, event: &Arc<Event>, ticket: &Arc<Ticket>) {
        let mut state = self.lock();
        let octets = event.weight();
        if !state.has_room(octets) {
            state = self.wait_for_room(state, octets);
        }
        if state.is_closed {
            drop(state);
            return ticket.fail(LogError::Closed.to_exception());
        }
        state.octets = state.octets.saturating_add(octets);
        let is_first = state.waiting.is_empty();
        let (journal, event, ticket) = (Arc::clone(journal), Arc::clone(event), Arc::clone(ticket));
        state.waiting.push_back(Waiting { journal, event, ticket });
        drop(state);
        if is_first {
            self.work.notify_one();
        }
    }

    #[cold]
    fn wait_for_room<'s>(
        &'s self,
        mut state: MutexGuard<'s, CommitState>,
        octets: usize,
    ) -> MutexGuard<'s, CommitState> {
        // A consumer of this process may push from the thread that gives it an event.
        let me = thread::current().id();
        while !state.is_closed && !state.has_room(octets) && !state.threads.contains(&me) {
            state = self.room.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state
    }

    /// Nothing more is taken. What was taken is written.
    pub(super) fn close(&self) {
        self.lock().is_closed = true;
        self.work.notify_all();
        self.room.notify_all();
    }

    fn write(&self, written: &SyncSender<Written>) {
        loop {
            let mut state = self.lock();
            while state.waiting.is_empty() {
                if state.is_closed {
                    return;
                }
                state = self.work.wait(state).unwrap_or_else(PoisonError::into_inner);
            }
            let taken = std::mem::take(&mut state.waiting);
            drop(state);
            for batch in batches(taken) {
                let done: usize = batch.events.iter().map(|event| event.weight()).sum();
                write_batch(batch, written);
                let mut state = self.lock();
                state.octets = state.octets.saturating_sub(done);
                drop(state);
                self.room.notify_all();
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, CommitState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Events of one journal that are written together.
struct Batch {
    journal: Arc<Journal>,
    events: Vec<Arc<Event>>,
    tickets: Vec<Arc<Ticket>>,
    octets: usize,
}

/// Puts together what goes to the same journal, in the order in which it came.
fn batches(taken: VecDeque<Waiting>) -> Vec<Batch> {
    let mut batches: Vec<Batch> = Vec::new();
    for Waiting { journal, event, ticket } in taken {
        let octets = event.len();
        let open = batches.iter_mut().rev().find(|batch| Arc::ptr_eq(&batch.journal, &journal));
        let open = open.filter(|batch| {
            batch.events.len() < BATCH_EVENTS && batch.octets.saturating_add(octets) <= BATCH_OCTETS
        });
        match open {
            Some(batch) => {
                batch.octets += octets;
                batch.events.push(event);
                batch.tickets.push(ticket);
            }
            None => {
                let (events, tickets) = (vec![event], vec![ticket]);
                batches.push(Batch { journal, events, tickets, octets });
            }
        }
    }
    batches
}

fn write_batch(batch: Batch, written: &SyncSender<Written>) {
    let Batch { journal, events, tickets, .. } = batch;
    match journal.log().append(&events) {
        Ok((first, place)) => {
            // The thread that takes it ends only after this one.
            let _ = written.send(Written { journal, first, place, events, tickets });
        }
        // One that cannot be written is no reason to refuse the others.
        Err(LogError::Unwritable(_)) if events.len() > 1 => {
            for (event, ticket) in events.into_iter().zip(tickets) {
                let (events, tickets, octets) = (vec![event], vec![ticket], 0);
                let journal = Arc::clone(&journal);
                write_batch(Batch { journal, events, tickets, octets }, written);
            }
        }
        Err(error) => {
            tracing::error!(%error, events = events.len(), "events could not be kept");
            let exception = error.to_exception();
            tickets.iter().for_each(|ticket| ticket.fail(exception.clone()));
        }
    }
}

fn give(written: &Receiver<Written>) {
    for Written { journal, first, place, events, tickets } in written {
        if let Some(channel) = journal.channel() {
            channel.deliver(first, place, &events);
        }
        drop(tickets);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::durable::{ChannelRow, Store};
    use crate::event::{PUSH, Shape};
    use crate::qos::ChannelQos;
    use corbie::{ByteOrder, Decoder};
    use corbie_testkit::servers::ScratchFolder;

    #[test]
    fn events_without_octets_are_bounded_as_well() {
        let folder = ScratchFolder::new("commit");
        let store = Store::open(folder.path()).expect("a store");
        let (name, kind, qos) = ("test".to_owned(), String::new(), ChannelQos::default());
        let row = ChannelRow { name, kind, qos };
        let journal = store.make(&row, Vec::new()).expect("a journal");
        let nothing = Decoder::new(&[], ByteOrder::NATIVE);
        let event = Arc::new(Event::read(PUSH, Shape::Any, &nothing));
        // No thread writes.
        let (commit, ticket) = (Commit::default(), Arc::new(Ticket::default()));
        let most = WAITING_OCTETS / Event::BESIDE;
        (0..most).for_each(|_| commit.add(&journal, &event, &ticket));
        let state = commit.lock();
        assert_eq!(state.waiting.len(), most);
        assert!(!state.has_room(event.weight()), "{most} events, {} octets", state.octets);
        drop(state);
        store.close();
    }
}
