//! The one integer that a small state machine of a connection is kept in.
//!
//! One thread alone keeps it in a `Cell`, threads share it in an atomic integer, and `loom` tries
//! all interleavings with one of its own. Used by `life`.

use std::cell::Cell;
use std::sync::atomic::{AtomicU32, Ordering};

/// A word that changes in single steps, none of which is lost.
pub trait Word {
    /// A word with this value.
    fn new(value: u32) -> Self;

    /// Its value.
    fn load(&self) -> u32;

    /// Puts `new` in the place of `current`.
    ///
    /// # Errors
    /// The value, when that is not `current` (or, rarely, when it is): look again.
    fn exchange(&self, current: u32, new: u32) -> Result<(), u32>;
}

impl Word for Cell<u32> {
    fn new(value: u32) -> Self {
        Cell::new(value)
    }

    fn load(&self) -> u32 {
        self.get()
    }

    fn exchange(&self, current: u32, new: u32) -> Result<(), u32> {
        match self.get() {
            value if value == current => {
                self.set(new);
                Ok(())
            }
            value => Err(value),
        }
    }
}

impl Word for AtomicU32 {
    fn new(value: u32) -> Self {
        AtomicU32::new(value)
    }

    #[inline]
    fn load(&self) -> u32 {
        AtomicU32::load(self, Ordering::Acquire)
    }

    #[inline]
    fn exchange(&self, current: u32, new: u32) -> Result<(), u32> {
        let exchanged =
            self.compare_exchange_weak(current, new, Ordering::AcqRel, Ordering::Acquire);
        exchanged.map(drop)
    }
}
