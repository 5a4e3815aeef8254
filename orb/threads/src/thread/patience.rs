//! What a thread does when there is no room: for one request more, for its octets, for a reply.
//! Asked by connections before they keep something for a peer.

use super::{delivers, runs_loop};

/// What a thread does when there is no room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Patience {
    /// It waits.
    Block,
    /// It runs its event loop until there is room, as no other thread does.
    RunLoop,
    /// It never waits, and may exceed the limit fourfold; beyond that it is told `Full`.
    Queue,
    /// It never waits, and is never told `Full`: for a reply where no thread may wait for the
    /// peer. There are few, as no more requests are read meanwhile, and they count in `memory_max`.
    Take,
    /// It never waits, and is told `Full` at the limit.
    Refuse,
}

/// What a caller lets the thread that sends do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wish {
    /// It may wait: that of a synchronous call, or of a oneway.
    Wait,
    /// It never waits: that of an asynchronous call, or of one that is sent again.
    NotWait,
}

/// What this thread does when there is no room, where its caller has this `wish`. `lends_threads`:
/// only threads of the application run the event loop, so one that waits has to run it.
///
/// A thread that delivers replies or runs a loop must not wait for room, as it may be the one that
/// makes room.
#[inline]
#[must_use]
pub fn patience(wish: Wish, lends_threads: bool) -> Patience {
    match wish {
        Wish::NotWait => Patience::Queue,
        Wish::Wait if runs_loop() || delivers() => Patience::Queue,
        Wish::Wait if lends_threads => Patience::RunLoop,
        Wish::Wait => Patience::Block,
    }
}
