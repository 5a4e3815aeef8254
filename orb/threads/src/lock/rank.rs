//! The ranks of locks. A thread that holds a lock takes only locks of a higher rank, so locks of
//! equal rank are never held together.

/// The rank of a lock.
pub trait Rank: 'static {
    /// From 1 to 100.
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
    /// The root POA of an ORB, while it is made.
    RootPoa = 2, "root POA";
    /// The listening sockets of a server.
    Listening = 4, "listening sockets";
    /// The children of a POA.
    PoaFamily = 6, "children of a POA";
    /// The POA managers of an ORB.
    PoaManagers = 8, "POA managers";
    /// The state of a POA manager; the turn of a POA that makes one upcall at a time.
    Poa = 10, "POA";
    /// The POAs of an ORB.
    PoaTable = 12, "table of POAs";
    /// The active objects of a POA.
    ObjectMap = 14, "active object map";
    /// Objects and POAs on their way in or out, and the requests that wait for them.
    PoaKeys = 16, "keys of a POA on their way";
    /// Threads that sleep until their ORB has work for them.
    Sleepers = 18, "sleepers";
    /// Requests that are held.
    HeldLine = 20, "held line";
    /// The pollables of a set.
    PollableSet = 24, "pollable set";
    /// Dynamic requests whose answers are asked for in any order.
    DeferredRequests = 26, "deferred requests";
    /// The connections of a server, and other lists of an ORB.
    Registry = 30, "registry";
    /// Responses that are due, while threads wait for some to be given.
    DueResponses = 34, "due responses";
    /// Connections of a client that are kept.
    Pools = 40, "pools";
    /// Those of one endpoint that calls share.
    SharedConnections = 42, "shared connections";
    /// Those of one endpoint that one call uses at a time.
    Pool = 44, "pool";
    /// Requests of one connection that wait for replies.
    ReplyTable = 50, "reply table";
    /// What one connection has to send.
    Sender = 60, "sender";
    /// The event loop of an ORB, while it is made.
    EventLoop = 66, "event loop";
    /// Sources of an event loop, and the thread that leads it.
    Reactor = 70, "reactor";
    /// The place of one call that waits for its reply.
    ReplySlot = 80, "reply slot";
    /// Pools of memory.
    Buffers = 90, "buffers";
    /// Locks under which no other lock is taken.
    Leaf = 100, "leaf";
}
