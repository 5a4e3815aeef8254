//! A thread is inside an upcall until this is dropped. Made by [`Gate::enter`] and by
//! [`super::Activation::enter`].

use super::gate::Gate;
use super::record::{self, Place};
use super::{barrier, closed, protocol};
use std::marker::PhantomData;
use std::sync::atomic::AtomicU32;

/// The thread that made it is inside an upcall; dropped (also by a panic) it leaves. Upcalls of one
/// thread are left in the reverse order of entering.
#[must_use = "dropped, it leaves at once"]
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
    /// Writes the upcall down. What may forbid it is to be read afterwards.
    #[inline(always)]
    pub(super) fn new(gate: &'g Gate, state: Option<&'g AtomicU32>, word: u64) -> Self {
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
