//! What tests of several crates share: a simulated network with virtual time, a counting
//! allocator, and a peer that sends raw octets over a real socket.
//!
//! Depends on the wire crates only, so that any crate may use it as a dev-dependency. Nothing that
//! is shipped depends on it.

mod allocations;
mod peer;
mod simulation;

pub use allocations::{AllocationCounts, CountingAllocator};
pub use peer::{Answered, RawPeer};
pub use simulation::{Arrival, End, NetworkConditions, Pair, Seed, Side};
