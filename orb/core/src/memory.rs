//! The memory that messages take: the limits of the pools of buffers, when they are trimmed, and
//! the application's allocator for what is received.
//!
//! The pools themselves are [`corbie_cdr::buffers`]; what is sent and received without a copy is
//! [`corbie_cdr::payload`] (paper POA §3.2).

use crate::Orb;
use crate::init::Settings;
use corbie_cdr::buffers::{self, BufferLimits};
use corbie_cdr::payload::PayloadAllocator;
use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};

/// The allocator of an ORB, if it has one. Lock "payload allocator": never held across a call.
#[derive(Default)]
pub(crate) struct AllocatorSlot(RwLock<Option<Arc<dyn PayloadAllocator>>>);

impl fmt::Debug for AllocatorSlot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AllocatorSlot").finish_non_exhaustive()
    }
}

/// The settings of this ORB hold for the pools of the process from now on.
pub(crate) fn set_limits(settings: &Settings) {
    buffers::set_limits(BufferLimits {
        thread_buffers: settings.thread_buffers_max as usize,
        thread_octets: settings.thread_buffer_octets_max,
        shared_octets: settings.shared_buffer_octets_max,
    });
}

/// Called with each tick, in seconds: frees what was not needed lately.
pub(crate) fn trim_now_and_then(settings: &Settings, tick: u64) {
    if let Some(interval) = settings.buffer_trim_interval
        && tick.is_multiple_of(interval.as_secs().max(1))
    {
        buffers::trim();
    }
}

impl Orb {
    /// Has `allocator` give the memory that messages of more than 128 KiB are received into: on
    /// connections that are made from now on, so best before the first call and before a POA is
    /// made. What a servant or a stub then gets as octets is the allocator's memory, and
    /// [`keep`](corbie_cdr::payload::keep) holds on to it without a copy.
    pub fn set_payload_allocator(&self, allocator: Arc<dyn PayloadAllocator>) {
        let slot = &self.allocator_slot().0;
        *slot.write().unwrap_or_else(PoisonError::into_inner) = Some(allocator);
    }

    /// What gives the memory that large messages are received into.
    #[must_use]
    pub fn payload_allocator(&self) -> Option<Arc<dyn PayloadAllocator>> {
        self.allocator_slot().0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
