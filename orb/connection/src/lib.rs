//! Where GIOP meets the transport: how messages go over one link.
//!
//! [`Sender`] is the sending half of a connection that threads share, for requests and replies
//! alike; [`receive`] takes the next whole message of a link. Both are generic over [`Octets`], the
//! part of a link that never blocks, so the simulated network of the tests drives the code that
//! ships. Used by `orb/core`.

// layers: octets < receive < sender
mod octets;
mod receive;
mod sender;

pub use octets::Octets;
pub use receive::{Arrivals, ReceiveFailure, Received, WhatComes, WhatIsHere, receive};
pub use sender::{
    Limits, Look, Position, Put, Release, SendFault, Sender, Terms, Then, When, writing,
};
