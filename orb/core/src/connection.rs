//! Where GIOP meets the transport: the only place that knows both.
//!
//! `driver` moves whole messages over a link, for clients and servers alike; `client` is a
//! connection that we opened for one call at a time, `muxed` one that many calls share, with its
//! `outbox`, its `pending` requests and the `flusher` behind it; `pool` keeps those of one endpoint
//! and `cache` all of them. Accepted connections are in `server/connection`.

mod backlog;
mod cache;
mod client;
pub(crate) mod driver;
mod fault;
pub(crate) mod muxed;
pub(crate) mod outbox;
pub(crate) mod pending;
mod pool;

pub(crate) use client::ClientConnection;
pub(crate) use fault::{Awaited, ConnectionFault};
pub(crate) use muxed::MuxedConnection;
pub(crate) use pool::{ConnectionPool, Opening, PooledConnection};
