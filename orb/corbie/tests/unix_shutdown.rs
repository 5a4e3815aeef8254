//! Shutdown over unix-domain sockets: see `unix_calls.rs`.
//! A test crate of its own, as the suite has an allocator.

#[path = "shutdown.rs"]
mod shutdown;
