//! What a thread does when there is no room: for one request more, for its octets, for a reply.
//! Asked by connections before they keep something for a peer.

use super::{delivers, loop_to_run, runs_loop};

/// What a thread does when there is no room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Patience {
    /// It waits.
    Block,
    /// It runs its event loop until there is room, as no other thread does.
    RunLoop,
    /// It never waits, and may exceed the limit fourfold; beyond that it is told `Full`.
    Queue,
    /// It never waits, and is told `Full` at the limit.
    Refuse,
}

/// What is to be done with room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wish {
    /// A call whose caller may wait: a synchronous one, or one whose policies say so.
    Wait,
    /// A call whose caller never waits.
    NotWait,
    /// Something that was accepted before: an answer, a call that is sent again.
    Accepted,
}

/// What this thread does when there is no room for `wish`.
///
/// A thread that delivers replies or runs a loop must not wait for room, as it may be the one that
/// makes room; so it may queue more than others.
pub fn patience(wish: Wish) -> Patience {
    let is_inside = delivers() || runs_loop();
    match wish {
        Wish::Accepted => Patience::Queue,
        Wish::Wait if !is_inside => Patience::Block,
        Wish::Wait if !delivers() && loop_to_run().is_some() => Patience::RunLoop,
        _ if is_inside => Patience::Queue,
        _ => Patience::Refuse,
    }
}
