//! What waits to be sent over one connection, in order, with what decides when. Under the sender's
//! lock; nothing here sends.

use super::notices::SentNotices;
use super::pieces::Pieces;
use super::terms::Limits;
use corbie_cdr::Encoder;
use corbie_cdr::budget::{Draw, Sending};
use corbie_threads::thread::Patience;
use std::time::Instant;

/// A peer that takes nothing is tried at every so manieth tick at last.
const RARE_TICKS: u32 = 16;

/// A thread that must not wait may fill the queue to so many times its limit.
pub(super) const OVERDRAFT: usize = 4;

/// Where a message ends among the octets of the queue. The rest of a message that went past the
/// queue is put in front of it and counted backwards, so the first positions may be negative.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position(i64);

impl Position {
    fn after(self, octets: usize) -> Position {
        Position(self.0 + octets as i64)
    }

    fn before(self, octets: usize) -> Position {
        Position(self.0 - octets as i64)
    }
}

/// When a message is to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// At once.
    Now,
    /// With those that follow: when a batch is full, or at the next flush.
    Later,
    /// By policy: when so many octets or messages wait (0: however many), or at its release.
    Held {
        /// So many octets.
        octets: usize,
        /// So many messages.
        messages: u32,
        /// What else sends them.
        until: Release,
    },
}

/// What sends kept messages before they are enough.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Release {
    /// Any flush.
    #[default]
    Flush,
    /// A flush at this time or later.
    Time(Instant),
    /// Only a flush of all.
    FlushAll,
}

/// What a tick does about what is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tick {
    /// Nothing yet: it has just come.
    First,
    /// It sends.
    Try,
    /// Nothing now: a peer that takes nothing is tried less and less often.
    Rest,
}

/// See the module.
#[derive(Debug)]
pub struct SendQueue {
    limits: Limits,
    pieces: Pieces,
    /// An empty one, for what is added while that is sent.
    spare: Pieces,
    /// Messages that were queued since it was empty.
    messages: u32,
    release: Release,
    /// Where the last message ends.
    end: Position,
    /// Where what was sent ends; what is put in front lowers it.
    sent: Position,
    /// Octets that were sent from here so far: only rises.
    moved: u64,
    /// Ticks since the queue was empty or the peer took something.
    ticks: u32,
    /// While the sender is blocked: when the peer took something last, or first took nothing.
    blocked_since: Option<Instant>,
    /// Threads that wait for a change.
    pub(super) waiters: u32,
    /// Whether the connection closes when all is sent.
    pub(super) ends: Ends,
    pub(super) notices: SentNotices,
    /// What waits has drawn of the memory budget.
    pub(super) draw: Option<Draw<Sending>>,
}

/// Whether the last word is in the queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Ends {
    #[default]
    NotYet,
    WhenSent,
}

impl SendQueue {
    /// Nothing waits.
    pub(super) fn new(limits: Limits) -> Self {
        SendQueue {
            limits,
            pieces: Pieces::default(),
            spare: Pieces::default(),
            messages: 0,
            release: Release::Flush,
            end: Position::default(),
            sent: Position::default(),
            moved: 0,
            ticks: 0,
            blocked_since: None,
            waiters: 0,
            ends: Ends::NotYet,
            notices: SentNotices::default(),
            draw: None,
        }
    }

    /// Whether there is room for a message of so many octets, `after` with all that waits.
    pub(super) fn has_room(&self, after: usize, octets: usize, patience: Patience) -> bool {
        let most = self.limits.queued_octets_max;
        match patience {
            Patience::Block | Patience::Refuse => after <= most,
            Patience::RunLoop | Patience::Queue => {
                after <= most.saturating_mul(OVERDRAFT) || octets <= self.limits.small_octets
            }
            Patience::Take => true,
        }
    }

    /// Whether so much waits that nothing more shall be asked for.
    pub(super) fn is_over_half(&self) -> bool {
        self.waiting() > self.limits.queued_octets_max / 2
    }

    /// Octets that no thread has taken to send them yet.
    pub(super) fn octets(&self) -> usize {
        self.pieces.octets()
    }

    /// Octets that wait, with those that a thread is sending from here.
    pub(super) fn waiting(&self) -> usize {
        usize::try_from(self.end.0 - self.sent.0).unwrap_or(0)
    }

    /// Where what was sent ends.
    pub(super) fn sent(&self) -> Position {
        self.sent
    }

    pub(super) fn moved(&self) -> u64 {
        self.moved
    }

    /// Puts the finished message in `encoder` behind what waits: where it ends.
    pub(super) fn append(
        &mut self,
        encoder: &mut Encoder<'_>,
        fragment_octets: Option<usize>,
    ) -> Position {
        let before = self.octets();
        self.pieces.add_message(encoder, fragment_octets, 0);
        self.note_appended(before)
    }

    /// As [`SendQueue::append`], of a message in one piece.
    pub(super) fn append_octets(&mut self, message: &[u8]) -> Position {
        let before = self.octets();
        self.pieces.add(message);
        self.note_appended(before)
    }

    fn note_appended(&mut self, before: usize) -> Position {
        if before == 0 {
            self.ticks = 0;
        }
        self.messages += 1;
        self.end = self.end.after(self.octets() - before);
        self.count();
        self.end
    }

    /// Draws what waits; a peer that takes nothing, and has most waiting, is given up.
    fn count(&mut self) {
        let waiting = self.waiting();
        if let Some(draw) = &mut self.draw
            && let Err(exhausted) = draw.resize(waiting)
        {
            draw.account().refuse(exhausted);
        }
    }

    /// A message that is to be sent `when` was queued, behind others unless it is the first:
    /// whether a thread has to see to the next flush.
    pub(super) fn keep(&mut self, when: When, is_first: bool) -> bool {
        let before = self.release;
        match when {
            When::Now => {}
            When::Later => self.release = Release::Flush,
            // Behind what goes out sooner it goes out sooner, too.
            When::Held { until, .. } if is_first => self.release = until,
            When::Held { .. } => {}
        }
        is_first || self.release != before
    }

    /// Whether a message that is to be sent `when`, and was queued, goes out now with all others.
    pub(super) fn is_enough(&self, when: When) -> bool {
        match when {
            When::Now => true,
            When::Later => self.octets() >= self.limits.batch_octets,
            When::Held { octets, messages, .. } => {
                self.octets() >= octets.min(self.limits.queued_octets_max)
                    || (messages > 0 && self.messages >= messages)
            }
        }
    }

    /// Whether a flush sends what is kept.
    pub(super) fn is_due(&self, now: impl FnOnce() -> Instant) -> bool {
        match self.release {
            Release::Flush => true,
            Release::Time(time) => now() >= time,
            Release::FlushAll => false,
        }
    }

    /// Whether the flusher has to come again for what is kept.
    pub(super) fn awaits_flush(&self) -> bool {
        self.release != Release::FlushAll
    }

    /// A tick of the flusher has found something due.
    pub(super) fn tick(&mut self) -> Tick {
        self.ticks = self.ticks.saturating_add(1);
        match self.ticks - 1 {
            0 => Tick::First,
            tries if tries.is_power_of_two() || tries.is_multiple_of(RARE_TICKS) => Tick::Try,
            _ => Tick::Rest,
        }
    }

    /// A tick of the flusher has found the queue empty: the second in a row frees the memory.
    pub(super) fn rest(&mut self) {
        self.ticks = self.ticks.saturating_add(1);
        if self.ticks > 1 {
            self.pieces.rest();
            self.spare.rest();
        }
    }

    /// All that waits, to be sent; `None` when nothing does.
    pub(super) fn take(&mut self) -> Option<Pieces> {
        if self.octets() == 0 {
            return None;
        }
        let spare = std::mem::take(&mut self.spare);
        self.messages = 0;
        self.release = Release::Flush;
        Some(std::mem::replace(&mut self.pieces, spare))
    }

    /// So many octets of what was taken out were sent; `rest` is what is left.
    pub(super) fn note_sent(&mut self, octets: usize, rest: Pieces) {
        self.sent = self.sent.after(octets);
        self.count();
        self.note_moved(octets);
        if rest.octets() > 0 { self.put_in_front(rest) } else { self.spare = rest }
    }

    fn note_moved(&mut self, octets: usize) {
        self.moved += octets as u64;
        if octets > 0 {
            // The next tick but one tries again.
            self.ticks = self.ticks.min(1);
        }
    }

    /// Of a message that went past the queue these first octets were sent: what is left goes before
    /// what was queued meanwhile. Where it ends.
    pub(super) fn put_rest(&mut self, encoder: &mut Encoder<'_>, octets: usize) -> Position {
        self.note_moved(octets);
        let mut rest = std::mem::take(&mut self.spare);
        rest.add_message(encoder, None, octets);
        let end = self.sent;
        self.sent = end.before(rest.octets());
        self.count();
        self.messages += 1;
        self.put_in_front(rest);
        end
    }

    /// A message of which a part is out is not kept back.
    fn put_in_front(&mut self, mut rest: Pieces) {
        rest.append(&mut self.pieces);
        self.spare = std::mem::replace(&mut self.pieces, rest);
        self.release = Release::Flush;
    }

    /// The peer took so many octets now, and takes no more.
    pub(super) fn note_blocked(&mut self, taken: usize) {
        if taken > 0 || self.blocked_since.is_none() {
            self.blocked_since = Some(Instant::now());
        }
    }

    /// All that waited was taken.
    pub(super) fn note_taken(&mut self) {
        self.blocked_since = None;
    }

    /// Since when the peer has taken nothing, if the sender is blocked.
    pub(super) fn blocked_since(&self) -> Option<Instant> {
        self.blocked_since
    }

    /// Forgets what waits.
    pub(super) fn clear(&mut self) {
        self.draw = None;
        self.pieces.clear();
    }

    /// Octets of memory that it holds.
    #[cfg(test)]
    pub(super) fn memory_octets(&self) -> usize {
        self.pieces.memory_octets() + self.spare.memory_octets()
    }
}
