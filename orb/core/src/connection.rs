//! Connections as this crate uses them: those of `orb/connection`, between [`Peer`]s.
//! What they need of the ORB is in `orb/peer`.

#[cfg(test)]
mod tests;

use crate::Orb;
use crate::handles::Part;
use corbie_cdr::{CodeSet, CodeSets};
use std::sync::atomic::{AtomicU64, Ordering};

/// What uses connections, here and at the other end.
#[derive(Debug)]
pub(crate) enum Peer {}

/// A connection that threads share.
pub(crate) type Connection = corbie_connection::Connection<Peer>;

/// The connections to one endpoint.
pub(crate) type ConnectionPool = corbie_connection::Pool<Peer>;

/// A connection that one call uses.
pub(crate) type PooledConnection = corbie_connection::PooledConnection<Peer>;

/// All connections that an ORB opened.
pub(crate) type Pools = corbie_connection::Pools<Peer>;

impl Part for Pools {}

impl Orb {
    /// The connections that this ORB opened.
    pub(crate) fn connections(&self) -> &Pools {
        self.extensions().connections.get()
    }
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
