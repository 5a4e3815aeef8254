//! What the pools may hold. The limits are those of the process, as threads are: the settings of
//! the ORB that was made last. Read with every buffer that is given back, so kept in atomics.

use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

/// Limits of the pools of buffers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BufferLimits {
    /// Buffers that one thread keeps. With 0 nothing is kept anywhere.
    pub thread_buffers: usize,
    /// Octets in the buffers that one thread keeps.
    pub thread_octets: usize,
    /// Octets in the buffers that the process keeps for all threads.
    pub shared_octets: usize,
}

impl BufferLimits {
    /// 64 buffers of 1 MiB together for each thread, 64 MiB for all.
    pub const DEFAULT: Self =
        Self { thread_buffers: 64, thread_octets: 1 << 20, shared_octets: 64 << 20 };
}

impl Default for BufferLimits {
    fn default() -> Self {
        Self::DEFAULT
    }
}

static THREAD_BUFFERS: AtomicUsize = AtomicUsize::new(BufferLimits::DEFAULT.thread_buffers);
static THREAD_OCTETS: AtomicUsize = AtomicUsize::new(BufferLimits::DEFAULT.thread_octets);
static SHARED_OCTETS: AtomicUsize = AtomicUsize::new(BufferLimits::DEFAULT.shared_octets);
/// How often everything was trimmed.
static TRIMMING: AtomicU32 = AtomicU32::new(0);

/// What a thread's pool looks at with every buffer.
#[derive(Clone, Copy)]
pub(super) struct Fast {
    pub(super) thread_buffers: usize,
    pub(super) thread_octets: usize,
    pub(super) trimming: u32,
}

#[inline]
pub(super) fn fast() -> Fast {
    Fast {
        thread_buffers: THREAD_BUFFERS.load(Ordering::Relaxed),
        thread_octets: THREAD_OCTETS.load(Ordering::Relaxed),
        trimming: TRIMMING.load(Ordering::Relaxed),
    }
}

/// Every thread trims its pool when it next gives a buffer back.
pub(super) fn ask_to_trim() {
    TRIMMING.fetch_add(1, Ordering::Relaxed);
}

/// The limits that hold now.
#[must_use]
pub fn limits() -> BufferLimits {
    BufferLimits {
        thread_buffers: THREAD_BUFFERS.load(Ordering::Relaxed),
        thread_octets: THREAD_OCTETS.load(Ordering::Relaxed),
        shared_octets: SHARED_OCTETS.load(Ordering::Relaxed),
    }
}

/// Sets the limits of all pools of the process. What is held beyond them goes with the next
/// [`trim`](super::trim).
pub fn set_limits(limits: BufferLimits) {
    THREAD_BUFFERS.store(limits.thread_buffers, Ordering::Relaxed);
    THREAD_OCTETS.store(limits.thread_octets, Ordering::Relaxed);
    SHARED_OCTETS.store(limits.shared_octets, Ordering::Relaxed);
}
