//! Where GIOP meets the transport: the only place that knows both.
//!
//! `client` is a connection that we opened for one call at a time, `muxed` one that many calls
//! share, with its `pending` requests; both send and receive by `orb/connection`. `pool` keeps
//! those of one endpoint and `cache` all of them; calls without a connection stand in a `line`, and
//! the `connector` opens one for them. Accepted connections are in `server/connection`.

mod cache;
mod client;
mod connector;
mod fault;
mod line;
pub(crate) mod muxed;
pub(crate) mod pending;
mod pool;

pub(crate) use client::ClientConnection;
pub(crate) use fault::{Awaited, ConnectionFault};
pub(crate) use muxed::MuxedConnection;
pub(crate) use pool::{ConnectionPool, Lease, NotInLine, Opening, PooledConnection};
