//! Where GIOP meets the transport: connections, and how messages go over their links.
//!
//! [`Connection`] is one state machine for clients and servers, which threads share; what its
//! messages mean is up to its [`User`], which is `orb/core`, or a test. [`Sender`] is its sending
//! half; [`receive`] takes the next whole message of a link. These two are generic over [`Octets`],
//! the part of a link that never blocks. [`Pools`] keeps those that this end opened.

// layers: clock < octets < receive < sender < activity fault < connection exclusive < pools
mod activity;
mod clock;
mod connection;
mod exclusive;
mod fault;
mod octets;
mod pools;
mod receive;
mod sender;

pub use activity::{Activity, Heard};
pub use clock::Clock;
pub use connection::{
    Answer, AnswerStatus, Arrived, Bounds, Call, Connection, Context, Follower, InService, Reading,
    Slot, User, WrittenRequest, copy_from,
};
pub use exclusive::ExclusiveConnection;
pub use fault::{Awaited, ConnectionFault, is_refusal, not_permitted};
pub use octets::Octets;
pub use pools::{Lease, NotInLine, Opening, Opens, Place, Pool, PooledConnection, Pools};
pub use receive::{Arrivals, ReceiveFailure, Received, WhatComes, WhatIsHere, receive};
pub use sender::{
    Limits, Look, Position, Put, Release, SendFault, Sender, Taking, Terms, Then, When, writing,
};
