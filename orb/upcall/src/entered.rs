//! Entering an upcall and leaving it.
//!
//! Made by [`Gate::enter`] and by [`crate::Activation::enter`].

use crate::gate::Gate;
use crate::record::{self, Place, Upcall};
use crate::{barrier, closed, protocol};
use std::marker::PhantomData;
use std::sync::atomic::AtomicU32;

/// The thread that made it is inside an upcall; dropped (also by a panic) it leaves. Upcalls of one
/// thread are left in the reverse order of entering.
#[must_use = "dropped, it leaves at once"]
#[derive(Debug)]
pub struct Entered<'g> {
    gate: &'g Gate,
    /// The state of the object, if the upcall has one; 0 while it is active.
    state: Option<&'g AtomicU32>,
    word: u64,
    place: Place,
    /// Belongs to its thread.
    not_send: PhantomData<*const ()>,
}

impl<'g> Entered<'g> {
    /// Writes the upcall down. The caller reads afterwards what may forbid it.
    #[inline(always)]
    pub(crate) fn new(gate: &'g Gate, state: Option<&'g AtomicU32>, word: u64) -> Self {
        let place = record::push(word);
        if place.is_none() {
            gate.add_unplaced(word);
        }
        barrier::light();
        Entered { gate, state, word, place, not_send: PhantomData }
    }
}

impl Drop for Entered<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        record::pop(self.place);
        if self.place.is_none() {
            self.gate.remove_unplaced(self.word);
        }
        barrier::light();
        let state = self.state.map_or(0, protocol::read_state);
        if (state | (self.gate.bits() & closed::LEAVING_MATTERS)) != 0 {
            self.gate.note_left(self.word);
        }
    }
}

impl Gate {
    /// Runs `upcall` as one of this gate and of the object at `index`, in spite of the reasons in
    /// `in_spite_of`; the reasons why not.
    ///
    /// # Errors
    /// The bits that are set and not in `in_spite_of`.
    #[inline]
    pub fn call<R>(
        &self,
        index: u32,
        in_spite_of: u32,
        upcall: impl FnOnce() -> R,
    ) -> Result<R, u32> {
        let _entered = self.enter(index, in_spite_of)?;
        Ok(upcall())
    }

    /// As [`Gate::call`], until the guard is dropped.
    ///
    /// # Errors
    /// As [`Gate::call`].
    #[inline]
    pub fn enter(&self, index: u32, in_spite_of: u32) -> Result<Entered<'_>, u32> {
        let word = Upcall { gate: self.number(), index }.to_word();
        let entered = Entered::new(self, None, word);
        match self.bits() & !in_spite_of {
            0 => Ok(entered),
            bits => Err(bits),
        }
    }
}
