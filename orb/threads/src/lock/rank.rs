//! The ranks of locks. A thread that holds a lock takes only locks of a higher rank, so locks of
//! equal rank are never held together.

/// The rank of a lock.
pub trait Rank: 'static {
    /// From 10 to 100, in steps of 10.
    const RANK: u8;
    /// What it guards, for messages.
    const NAME: &'static str;
}

macro_rules! ranks {
    ($($(#[$doc:meta])* $name:ident = $rank:literal, $text:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub enum $name {}

        impl Rank for $name {
            const RANK: u8 = $rank;
            const NAME: &'static str = $text;
        }
    )*};
}

ranks! {
    /// State of POAs and their managers.
    Poa = 10, "POA";
    /// Requests that are held.
    HeldLine = 20, "held line";
    /// The connections of a server, and other lists of an ORB.
    Registry = 30, "registry";
    /// Connections of a client that are kept.
    Pools = 40, "pools";
    /// Requests of one connection that wait for replies.
    ReplyTable = 50, "reply table";
    /// What one connection has to send.
    Sender = 60, "sender";
    /// Sources of an event loop, and who leads it.
    Reactor = 70, "reactor";
    /// The place of one call that waits for its reply.
    ReplySlot = 80, "reply slot";
    /// Pools of memory.
    Buffers = 90, "buffers";
    /// Locks under which no other lock is taken.
    Leaf = 100, "leaf";
}
