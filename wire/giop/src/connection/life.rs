//! How a connection ends: one word with its stage and the requests that it has in service.
//!
//! Stage and count are one word, so that CloseConnection, which says that no unanswered request was
//! begun, is never a lie. Used by every connection of `orb/core` and by the simulated network.
//! CORBA 3.3 P2 §9.4.7, §9.5.1.

#[cfg(test)]
mod tests;

use crate::connection::word::Word;
use std::fmt;
use std::sync::atomic::AtomicU32;

/// How far a connection is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Stage {
    /// Requests and replies flow.
    Open,
    /// No request is begun any more; those in service get their replies.
    Closing,
    /// Only last words are sent: replies that wait to be sent, then CloseConnection or
    /// MessageError, if any.
    Ending,
    /// Nothing is sent or received.
    Closed,
}

/// The life of a connection.
///
/// | stage | input | next |
/// |---|---|---|
/// | Open | close | Closing; without requests in service Ending, CloseConnection |
/// | Open | close if idle | Ending, CloseConnection; with requests in service Open |
/// | Closing | request | not begun |
/// | Closing | last reply put | Ending, CloseConnection |
/// | any | bad octets | Ending, what `GiopError::answer` says |
/// | any | CloseConnection, end of stream | Closed |
/// | Ending | last words sent, or too slow | Closed |
///
/// A method that returns `true` has changed the stage, which one call alone does: the thread that
/// gets it does what the method says, so that happens once.
pub struct Life<W = AtomicU32>(W);

/// The stage, in the highest bits.
const STAGE_SHIFT: u32 = 30;
/// A request came that was not begun.
const DECLINED: u32 = 1 << 29;
/// Requests in service, in the lowest bits.
const COUNT: u32 = DECLINED - 1;

fn stage_of(word: u32) -> Stage {
    match word >> STAGE_SHIFT {
        0 => Stage::Open,
        1 => Stage::Closing,
        2 => Stage::Ending,
        _ => Stage::Closed,
    }
}

/// `word` in another stage.
fn in_stage(word: u32, stage: Stage) -> u32 {
    word & (DECLINED | COUNT) | (stage as u32) << STAGE_SHIFT
}

impl<W: Word> Default for Life<W> {
    fn default() -> Self {
        Self::new()
    }
}

impl<W: Word> Life<W> {
    /// An open connection without requests.
    #[must_use]
    pub fn new() -> Self {
        Life(W::new(0))
    }

    /// Changes the word as `next` says; the word before, or `None` when `next` wants no change.
    #[inline]
    fn change(&self, next: impl Fn(u32) -> Option<u32>) -> Option<u32> {
        let mut word = self.0.load();
        loop {
            match self.0.exchange(word, next(word)?) {
                Ok(()) => return Some(word),
                Err(seen) => word = seen,
            }
        }
    }

    /// How far the connection is.
    #[inline]
    #[must_use]
    pub fn stage(&self) -> Stage {
        stage_of(self.0.load())
    }

    /// Whether requests are begun.
    #[inline]
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.stage() == Stage::Open
    }

    /// How many requests are in service: in a servant, or with a reply that is due.
    #[inline]
    #[must_use]
    pub fn in_service(&self) -> u32 {
        self.0.load() & COUNT
    }

    /// Whether a request came that was not begun: there is no use in reading on.
    #[inline]
    #[must_use]
    pub fn has_declined(&self) -> bool {
        self.0.load() & DECLINED != 0
    }

    /// A request came. `true`: it is in service until [`finish`](Self::finish). `false`: it must
    /// not be begun; the client learns that by CloseConnection and sends it again elsewhere.
    #[inline]
    #[must_use]
    pub fn begin(&self) -> bool {
        let begun = self.change(|word| (stage_of(word) == Stage::Open).then_some(word + 1));
        begun.is_some() || self.decline()
    }

    #[cold]
    fn decline(&self) -> bool {
        self.change(|word| Some(word | DECLINED));
        false
    }

    /// A request in service stays so for one [`finish`](Self::finish) more.
    #[inline]
    pub fn keep(&self) {
        self.change(|word| Some(word + 1));
    }

    /// A request is not in service any more: its reply was put, or it needs none. `true`: it was
    /// the last of a connection that closes, which is `Ending` now. Send CloseConnection.
    #[inline]
    #[must_use]
    pub fn finish(&self) -> bool {
        let is_last = |word: u32| stage_of(word) == Stage::Closing && word & COUNT == 1;
        let before = self.change(|word| {
            debug_assert!(word & COUNT > 0, "no request is in service");
            match word.saturating_sub(1) {
                rest if is_last(word) => Some(in_stage(rest, Stage::Ending)),
                rest => Some(rest),
            }
        });
        before.is_some_and(is_last)
    }

    /// Closes in order. `true`: no request is in service, and the connection is `Ending` now. Send
    /// CloseConnection. Else the last [`finish`](Self::finish) says so.
    #[must_use]
    pub fn close(&self) -> bool {
        let is_idle = |word: u32| word & COUNT == 0;
        let before = self.change(|word| match stage_of(word) {
            Stage::Open if is_idle(word) => Some(in_stage(word, Stage::Ending)),
            Stage::Open => Some(in_stage(word, Stage::Closing)),
            _ => None,
        });
        before.is_some_and(is_idle)
    }

    /// As [`close`](Self::close), and does nothing when a request is in service.
    #[must_use]
    pub fn close_if_idle(&self) -> bool {
        let idle = |word| stage_of(word) == Stage::Open && word & COUNT == 0;
        self.change(|word| idle(word).then_some(in_stage(word, Stage::Ending))).is_some()
    }

    /// The connection ends at once, whatever is in service. `true`: it is `Ending` now. Send what
    /// [`GiopError::answer`](crate::GiopError::answer) says, if anything.
    #[must_use]
    pub fn end(&self) -> bool {
        self.advance(Stage::Ending)
    }

    /// Nothing is sent or received any more. `true`: that is so from now on.
    pub fn gone(&self) -> bool {
        self.advance(Stage::Closed)
    }

    fn advance(&self, to: Stage) -> bool {
        self.change(|word| (stage_of(word) < to).then_some(in_stage(word, to))).is_some()
    }
}

impl<W: Word> fmt::Debug for Life<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (stage, in_service) = (self.stage(), self.in_service());
        f.debug_struct("Life").field("stage", &stage).field("in_service", &in_service).finish()
    }
}
