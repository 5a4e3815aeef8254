//! Portable interceptors: which points requests pass on either side, and what may be done there.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "portable_interceptors/client.rs"]
mod client;
mod echo;
#[path = "portable_interceptors/ior.rs"]
mod ior;
#[path = "portable_interceptors/server.rs"]
mod server;
