//! Bad input over unix-domain sockets: see `unix_calls.rs`.
//! A test crate of its own, as the suite has an allocator.

#[path = "bad_input.rs"]
mod bad_input;
