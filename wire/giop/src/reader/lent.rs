//! What a driver lends its reader: memory for large messages, a clock, an account of the memory
//! budget.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use corbie_cdr::budget::{Account, Draw};
use corbie_cdr::buffers;
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

    /// A buffer of `octets` at least, unless there is no memory for one beyond
    /// [`Self::LARGE_OCTETS`].
    #[inline]
    pub(super) fn take_buffer(&mut self, octets: usize) -> Vec<u8> {
        let buffer = buffers::take_filled(octets);
        if buffer.len() > Self::LARGE_OCTETS { self.draw_for(buffer) } else { buffer }
    }

    /// So much may have come before the thread that receives looks again: it is drawn beforehand.
    #[cold]
    fn draw_for(&mut self, buffer: Vec<u8>) -> Vec<u8> {
        let mut draw = self.reassembly.draw.as_ref().map(Draw::another);
        if draw.as_mut().is_none_or(|draw| draw.resize(buffer.len()).is_ok()) {
            self.buffer_draw = draw;
            return buffer;
        }
        buffers::give_filled(buffer);
        self.usual = Self::FIRST_OCTETS;
        vec![0; Self::LARGE_OCTETS]
    }

    /// Has large messages and those in fragments draw on `account`, and buffers for them.
    pub fn set_account(&mut self, account: &Arc<Account>) {
        self.reassembly.draw = Some(Draw::of(account));
    }
}
