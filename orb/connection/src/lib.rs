//! Where GIOP meets the transport: how messages go over one link.
//!
//! [`receive`] takes the next whole message of a link. It is generic over [`Octets`], the part of a
//! link that never blocks, so the simulated network of the tests drives the code that ships. Used
//! by `orb/core`.

// layers: octets < receive
mod octets;
mod receive;

pub use octets::Octets;
pub use receive::{Arrivals, ReceiveFailure, Received, WhatComes, WhatIsHere, receive};
