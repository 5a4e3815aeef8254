//! What a driver lends its reader: memory for large messages, a clock, an account of the memory
//! budget.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use corbie_cdr::budget::{Account, Draw};
use corbie_cdr::payload::PayloadAllocator;

use super::MessageReader;

impl MessageReader {
    /// Has `allocator` give the memory of messages with more than 128 KiB from now on.
    pub fn set_allocator(&mut self, allocator: Option<Arc<dyn PayloadAllocator>>) {
        self.allocator = allocator;
    }

    /// Has the driver's `clock` say when messages in fragments begin; it counts what the driver
    /// likes, seconds for example.
    pub fn set_clock(&mut self, clock: Arc<AtomicU64>) {
        self.clock = Some(clock);
    }

    /// When the oldest message began of which fragments are still missing, by the driver's clock.
    #[inline]
    #[must_use]
    pub fn oldest_incomplete(&self) -> Option<u64> {
        self.reassembly.oldest()
    }

    /// What the driver's clock shows.
    pub(super) fn now(&self) -> u64 {
        self.clock.as_ref().map_or(0, |clock| clock.load(Ordering::Relaxed))
    }

    /// Has large messages and those in fragments draw on `account`.
    pub fn set_account(&mut self, account: &Arc<Account>) {
        self.reassembly.draw = Some(Draw::of(account));
    }
}
