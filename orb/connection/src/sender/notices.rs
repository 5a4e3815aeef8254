//! The callers that are told what became of a message that waits for the peer to take it: each
//! once, whether it was handed to the transport. Kept under the lock of the queue; told without it.

use super::queue::Position;
use std::fmt;

/// Takes whether a message was handed to the transport.
pub type Then = Box<dyn FnOnce(bool) + Send>;

/// The callers that are to be told, with where their message ends.
#[derive(Default)]
pub(super) struct SentNotices(Vec<(Position, Then)>);

impl SentNotices {
    /// `then` is to be told when all before `position` was sent.
    pub(super) fn add(&mut self, position: Position, then: Then) {
        self.0.push((position, then));
    }

    /// Takes out those whose message ends at `sent` or before it.
    #[inline]
    pub(super) fn take_sent(&mut self, sent: Position) -> Due {
        if self.0.is_empty() {
            return Due::default();
        }
        let (mut out, rest): (Vec<_>, _) =
            std::mem::take(&mut self.0).into_iter().partition(|(end, _)| *end <= sent);
        self.0 = rest;
        out.sort_by_key(|(end, _)| *end);
        Due { sent: out, lost: Vec::new() }
    }

    /// Takes out all: nothing is sent any more. What is lost is told from the last to the first,
    /// so a caller that puts it back in front of a queue restores the order.
    pub(super) fn take_lost(&mut self) -> Due {
        let mut lost = std::mem::take(&mut self.0);
        lost.sort_by_key(|(end, _)| std::cmp::Reverse(*end));
        Due { sent: Vec::new(), lost }
    }
}

impl Drop for SentNotices {
    fn drop(&mut self) {
        self.take_lost().tell();
    }
}

impl fmt::Debug for SentNotices {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SentNotices").field(&self.0.len()).finish()
    }
}

/// What is to be told once the lock was given back.
#[derive(Default)]
#[must_use = "told by `tell`, without the lock"]
pub(super) struct Due {
    sent: Vec<(Position, Then)>,
    lost: Vec<(Position, Then)>,
}

impl Due {
    pub(super) fn extend(&mut self, mut later: Due) {
        self.sent.append(&mut later.sent);
        self.lost.append(&mut later.lost);
    }

    /// With no lock held.
    #[inline]
    pub(super) fn tell(self) {
        self.sent.into_iter().for_each(|(_, then)| then(true));
        self.lost.into_iter().for_each(|(_, then)| then(false));
    }
}
