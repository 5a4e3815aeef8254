//! What tests of several crates share: a simulated network with virtual time, a counting
//! allocator, a peer that sends raw octets over a real socket, the log as a test sees it, the
//! servers of other people that tests start, the clients that they compile, a disk that fails, and
//! the conformance suites of transports and of message protocols.
//!
//! Depends on the wire crates and the transport only, so that any crate may use it as a
//! dev-dependency. Nothing that is shipped depends on it.

// layers: allocations certificates disk log octets peer servers simulation < clients
//    message_protocol_suite transport_suite
mod allocations;
pub mod certificates;
pub mod clients;
pub mod disk;
mod log;
pub mod message_protocol_suite;
mod octets;
mod peer;
pub mod servers;
mod simulation;
pub mod transport_suite;

pub use allocations::{AllocationCounts, CountingAllocator};
pub use corbie_giop::MessageKind;
pub use log::CapturedLog;
pub use octets::{
    RawRequest, corbaloc, fragment_of_1_2, made_up_keys, message_header,
    neighbour_cannot_be_made_up, object_key_in,
};
pub use peer::{Answered, RawPeer};
pub use simulation::{CallPlan, Counts, Plan, Seed, ServerPlan, hostile_peer, simulate};
