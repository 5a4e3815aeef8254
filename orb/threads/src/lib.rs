//! Threads of the ORB: ranked locks, the event loop, the flusher, and what a thread may do.
//!
//! Knows links and descriptors of `transport`, and nothing of GIOP or of objects: the loop and its
//! sources are generic over the context that they work for, which is the ORB. Used by `orb/core`
//! and `orb/poa`. Papers: AMI §3.1 (wait-on-reactor, leader/followers), POA §2.5.
#![deny(unsafe_code)]
// layers: lock < lookout < flusher connection_threads < thread < reactor

pub mod connection_threads;
pub mod flusher;
pub mod lock;
pub mod lookout;
pub mod reactor;
pub mod thread;
