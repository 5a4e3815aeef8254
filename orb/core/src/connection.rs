//! Where GIOP meets the transport: the only place that knows both.
//!
//! `driver` moves whole messages over a link, for clients and servers alike; `client` is a
//! connection that we opened; `pool` keeps those of one endpoint and `cache` all of them. Accepted
//! connections are in `server/connection`.

mod cache;
mod client;
pub(crate) mod driver;
mod pool;

pub(crate) use cache::ConnectionCache;
pub(crate) use client::ClientConnection;
pub(crate) use pool::{ConnectionPool, PooledConnection};
