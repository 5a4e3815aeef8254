//! Connections as this crate uses them, and those that it opens.
//!
//! A [`Connection`] is that of `orb/connection`, between [`Peer`]s. `client` is one that one call
//! uses at a time. `pool` keeps those of one endpoint and `cache` all of them; calls without a
//! connection stand in a `line`, and the `connector` opens one for them.

mod cache;
mod client;
mod connector;
mod line;
mod pool;
#[cfg(test)]
mod tests;

pub(crate) use client::ClientConnection;
pub(crate) use pool::{ConnectionPool, Lease, NotInLine, Opening, PooledConnection};

use corbie_cdr::{CodeSet, CodeSets};
use std::sync::atomic::{AtomicU64, Ordering};

/// What uses connections, here and at the other end.
#[derive(Debug)]
pub(crate) enum Peer {}

/// A connection that threads share.
pub(crate) type Connection = corbie_connection::Connection<Peer>;

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
