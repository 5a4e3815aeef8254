//! What a caller of the sender says and learns: how a message is to be sent, what became of it, and
//! why it was not sent.

use super::queue::{Position, When};
use corbie_threads::thread::Patience;
use std::io;
use std::time::Instant;

/// How a message is to be sent.
#[derive(Clone, Copy, Debug)]
pub struct Terms {
    /// A message of more octets is cut into fragments.
    pub fragment_octets: Option<usize>,
    /// When.
    pub when: When,
    /// What the thread does without room.
    pub patience: Patience,
    /// Until when a thread that may block waits for room in the queue. How long one call of the
    /// link waits for the peer is the link's send time-out.
    pub until: Option<Instant>,
}

/// What became of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Put {
    /// It was handed to the transport.
    Sent,
    /// It ends here among what waits; the thread that sends takes it along, or the peer has to
    /// take what is before it.
    Waits(Position),
    /// It is kept back and ends here. `is_new`: a thread has to see to the next flush.
    Kept {
        /// Where it ends.
        end: Position,
        /// Nothing was kept before, or not for this flush.
        is_new: bool,
    },
}

/// Why a message was not sent.
#[derive(Debug)]
pub enum SendFault {
    /// The connection was closed before, or its last word was put.
    Closed,
    /// So many octets wait that it has no room.
    Full(usize),
    /// A thread waited for room, in vain.
    TimedOut,
    /// The link broke; the peer has surely not got all of the message.
    Failed(io::Error),
    /// The link broke, and the message may have gone out before.
    Unknown(io::Error),
}

/// What the peer does with what is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taking {
    /// It has taken all.
    Freely,
    /// Something waits that was not offered yet, or that a thread is sending now.
    Soon,
    /// Something waits, and it has taken nothing since then.
    NothingSince(Instant),
}

/// What bounds a queue.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Octets that may wait. A single message may be larger.
    pub queued_octets_max: usize,
    /// So many octets are sent together at once.
    pub batch_octets: usize,
    /// Messages of so many octets are taken whatever waits, from threads that must not wait: for
    /// connections where their number is bounded otherwise.
    pub small_octets: usize,
}

/// What a tick of the flusher found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Look {
    /// Nothing that waits for a flush.
    Nothing,
    /// Something that another thread may still send before the next tick.
    New,
    /// It tried to send, or the peer is tried less often; something still waits.
    Tried,
}
