//! SHMIOP's transport: shared memory, for processes of one machine.
//!
//! A connection is two rings of octets in a memory file (`ring`, `mapping`), handed over when it is
//! opened (`segment`), and the unix-domain socket of that moment (`link`). While both sides are
//! awake no system call is made: octets are copied into a ring and out of it. The peer is not
//! trusted: see SECURITY.md and `docs/decisions/0019-shared-memory.md`.

mod link;
mod mapping;
mod ring;
mod segment;

pub use link::ShmLink;
pub use segment::ShmAcceptor;
pub(crate) use segment::connect;

use crate::UnixOptions;

/// How shared memory is listened for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ShmOptions {
    /// The unix-domain socket over which memory is agreed on: who may connect.
    pub socket: UnixOptions,
    /// Octets of each of the two rings of a connection; rounded up to a power of two from 4 KiB to
    /// 16 MiB. A message may be larger: it goes through in pieces.
    pub ring_octets: u32,
}

impl Default for ShmOptions {
    /// Two rings of 64 KiB, for the user of the server alone.
    fn default() -> Self {
        ShmOptions { socket: UnixOptions::default(), ring_octets: 64 << 10 }
    }
}
