//! The memory of a received message: a buffer of the thread's pool, or what the application's
//! allocator gave. Used by the reader for large messages, and by [`OwnedMessage`].
//!
//! [`OwnedMessage`]: crate::OwnedMessage

use std::fmt;
use std::sync::Arc;

use corbie_cdr::buffers;
use corbie_cdr::payload::PayloadMemory;

/// Initialised octets; dropped, a buffer goes back to the pool of the thread that drops it.
pub(crate) enum Memory {
    Pooled(Vec<u8>),
    Given(Arc<dyn PayloadMemory>),
}

impl Memory {
    #[inline]
    pub(crate) fn octets(&self) -> &[u8] {
        match self {
            Memory::Pooled(buffer) => buffer,
            Memory::Given(memory) => (**memory).as_ref(),
        }
    }

    /// Empty when it has another owner, too.
    #[inline]
    pub(crate) fn octets_mut(&mut self) -> &mut [u8] {
        match self {
            Memory::Pooled(buffer) => buffer,
            Memory::Given(memory) => Arc::get_mut(memory).map(AsMut::as_mut).unwrap_or_default(),
        }
    }

    /// What the application's allocator gave.
    #[inline]
    pub(crate) fn given(&self) -> Option<&Arc<dyn PayloadMemory>> {
        match self {
            Memory::Pooled(_) => None,
            Memory::Given(memory) => Some(memory),
        }
    }
}

impl Drop for Memory {
    #[inline]
    fn drop(&mut self) {
        if let Memory::Pooled(buffer) = self {
            buffers::give_filled(std::mem::take(buffer));
        }
    }
}

impl fmt::Debug for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_given = self.given().is_some();
        f.debug_struct("Memory")
            .field("octets", &self.octets().len())
            .field("is_given", &is_given)
            .finish()
    }
}
