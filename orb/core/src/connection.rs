//! Connections as this crate uses them, and those that it opens.
//!
//! A [`Connection`] is that of `orb/connection`, between [`Peer`]s. `client` is one that one call
//! uses at a time. `pool` keeps those of one endpoint and `cache` all of them; calls without a
//! connection stand in a line until the time of `line_clock`, and the `connector` opens one for
//! them.

mod cache;
mod client;
mod connector;
mod line_clock;
mod pool;
#[cfg(test)]
mod tests;

pub(crate) use client::ClientConnection;
pub(crate) use pool::{ConnectionPool, Lease, NotInLine, Opening, PooledConnection};

use corbie_cdr::{CodeSet, CodeSets};
use corbie_connection::User;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// What uses connections, here and at the other end.
#[derive(Debug)]
pub(crate) enum Peer {}

/// A connection that threads share.
pub(crate) type Connection = corbie_connection::Connection<Peer>;

/// What waits for a reply, or for a connection.
type Call = <Peer as User>::Call;

/// A call that stood in a line.
pub(crate) trait StoodInLine {
    /// It goes over the `connection` that was opened for the line of `pool`.
    fn send_over(self, pool: &ConnectionPool, connection: &Arc<Connection>);
}

/// The code sets of a connection.
pub(crate) struct SharedCodeSets(AtomicU64);

impl SharedCodeSets {
    pub(crate) fn new(code_sets: CodeSets) -> Self {
        SharedCodeSets(AtomicU64::new(pack(code_sets)))
    }

    #[inline]
    pub(crate) fn get(&self) -> CodeSets {
        let packed = self.0.load(Ordering::Relaxed);
        CodeSets { char_data: CodeSet((packed >> 32) as u32), wchar_data: CodeSet(packed as u32) }
    }

    pub(crate) fn set(&self, code_sets: CodeSets) {
        self.0.store(pack(code_sets), Ordering::Relaxed);
    }
}

fn pack(code_sets: CodeSets) -> u64 {
    u64::from(code_sets.char_data.0) << 32 | u64::from(code_sets.wchar_data.0)
}
