//! Which thread reads a connection and serves its requests, for each `server_concurrency`.
//!
//! `loops` has the event loops, `pool` the threads that share one, `in_loop` what a thread does
//! with a request there. Where a connection has threads of its own, `per_connection` is what each
//! of these does, [`ConnectionThreads`] says which one reads; `watch` sees to it that requests do
//! not wait behind long upcalls, `nested` that they do not wait behind calls that servants make.
//!
//! [`ConnectionThreads`]: corbie_threads::connection_threads::ConnectionThreads

mod in_loop;
mod loops;
mod nested;
mod per_connection;
mod pool;
mod watch;

pub(crate) use in_loop::{is_too_deep, serve, serve_held};
pub(crate) use loops::{Loops, listen, start};
pub(crate) use nested::before_waiting;
pub(crate) use per_connection::begin;
pub(crate) use watch::InUpcalls;
