//! What a reader accepts from its peer. Set from the ORB's configuration.
//! The connection's memory is bounded by them: invariant 9 of `ARCHITECTURE.md`.

use corbie_cdr::Limits;

/// Limits of one connection's reader. Each names the attack that it stops.
///
/// Together they bound the memory of a connection: a buffer of at most `message_octets`, and at
/// most twice `reassembly_octets` in incomplete fragmented messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReaderLimits {
    /// Octets of one message, its header and all its fragments included. Stops a peer that makes us
    /// gather an endless message. Default 64 MiB.
    pub message_octets: usize,
    /// Fragments of one message, the first included. Stops a peer that keeps a processor busy with
    /// fragments that carry next to nothing. Default 65,536.
    pub fragments_per_message: u32,
    /// Incomplete fragmented messages at a time (GIOP 1.2; 1.1 has one). Stops a peer that begins
    /// messages and never ends them. Default 32.
    pub fragmented_messages: usize,
    /// Octets in all incomplete fragmented messages. The same attack, by size. Default 64 MiB.
    pub reassembly_octets: usize,
}

impl ReaderLimits {
    /// The defaults.
    pub const DEFAULT: Self = Self {
        message_octets: 64 << 20,
        fragments_per_message: 65_536,
        fragmented_messages: 32,
        reassembly_octets: 64 << 20,
    };
}

impl Default for ReaderLimits {
    fn default() -> Self {
        Self::DEFAULT
    }
}

impl From<&Limits> for ReaderLimits {
    /// The message size of the decoder's limits, for incomplete messages too; else the defaults.
    fn from(limits: &Limits) -> Self {
        Self {
            message_octets: limits.message_octets,
            reassembly_octets: limits.message_octets,
            ..Self::DEFAULT
        }
    }
}
