//! One object while it is active: what a call needs to know before it may enter the servant.
//!
//! Made by the object adapter when an object is activated. [`Activation`] is the part without the
//! servant: who keeps it may ask whether the object is active still and does not keep the servant
//! alive. [`ActiveObject`] has both; the object adapter's map holds it until the object was
//! deactivated and the last upcall has ended.

use super::entered::Entered;
use super::gate::Gate;
use super::record::Upcall;
use super::{barrier, protocol};
use crate::server::Servant;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicU32;

/// [`Activation::state`] of an object that may be called.
const ACTIVE: u32 = 0;
/// It may not be entered any more; the object adapter knows more.
const CLOSED: u32 = 1;
/// Likewise, and nobody is inside: its index may be another object's by now.
const AT_REST: u32 = 2;

/// That an object is active, from activation to deactivation. Another activation of the same object
/// id is another value.
pub struct Activation {
    state: AtomicU32,
    index: u32,
    word: u64,
    gate: Arc<Gate>,
    id: Box<[u8]>,
}

impl Activation {
    /// The object `id` at `index` in the map of the POA behind `gate`. The index must not be used
    /// again before the last upcall has ended.
    #[must_use]
    pub fn new(gate: &Arc<Gate>, index: u32, id: &[u8]) -> Self {
        Activation {
            state: AtomicU32::new(ACTIVE),
            index,
            word: Upcall { gate: gate.number(), index }.to_word(),
            gate: Arc::clone(gate),
            id: id.into(),
        }
    }

    /// The gate of the object's POA.
    #[inline]
    #[must_use]
    pub fn gate(&self) -> &Arc<Gate> {
        &self.gate
    }

    /// Where the object stands in the map of its POA.
    #[inline]
    #[must_use]
    pub fn index(&self) -> u32 {
        self.index
    }

    /// The object id.
    #[inline]
    #[must_use]
    pub fn id(&self) -> &[u8] {
        &self.id
    }

    /// Whether the object may be called: it was not deactivated.
    #[inline]
    #[must_use]
    pub fn is_active(&self) -> bool {
        protocol::read_state(&self.state) == ACTIVE
    }

    /// Enters the object: until the guard is dropped it stays in the map of its POA, and its
    /// servant alive. `None` when something is in the way; the object adapter knows what to do
    /// then ([`crate::server::Adapter::call`]).
    #[inline(always)]
    #[must_use]
    pub fn enter(&self) -> Option<Entered<'_>> {
        self.enter_in_spite_of(0)
    }

    /// As [`Activation::enter`], although the gate is closed for the reasons `in_spite_of`.
    #[inline(always)]
    #[must_use]
    pub fn enter_in_spite_of(&self, in_spite_of: u32) -> Option<Entered<'_>> {
        let entered = Entered::new(&self.gate, Some(&self.state), self.word);
        let state = protocol::read_state(&self.state);
        if (state | (self.gate.bits() & !in_spite_of)) == ACTIVE { Some(entered) } else { None }
    }

    /// Nobody enters any more. When this returns, those who are inside are found by
    /// [`Gate::count_inside_object`], and each of them tells the owner of the gate when it leaves.
    pub fn close(&self) {
        protocol::write_state(&self.state, CLOSED);
        barrier::heavy();
    }

    /// As [`Activation::close`] for many objects of one gate at once: the caller makes all threads
    /// see it by [`Gate::reach_others`] afterwards.
    pub fn close_with_gate(&self) {
        protocol::write_state(&self.state, CLOSED);
    }

    /// How many upcalls of the object are under way; meaningful once it is closed, and before its
    /// index is used again.
    #[must_use]
    pub fn count_inside(&self) -> usize {
        self.gate.count_inside_object(self.index)
    }

    /// Whether the object is closed and nobody is inside: then its index may be used again. To be
    /// asked before that, and after all threads have seen that it is closed.
    #[must_use]
    pub fn comes_to_rest(&self) -> bool {
        match protocol::read_state(&self.state) {
            ACTIVE => false,
            CLOSED if self.count_inside() > 0 => false,
            _ => {
                protocol::write_state(&self.state, AT_REST);
                true
            }
        }
    }
}

impl fmt::Debug for Activation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Activation")
            .field("gate", &self.gate)
            .field("index", &self.index)
            .field("is_active", &self.is_active())
            .finish_non_exhaustive()
    }
}

/// An active object with its servant.
pub struct ActiveObject {
    activation: Arc<Activation>,
    servant: Arc<dyn Servant>,
}

impl ActiveObject {
    /// `servant` incarnates the object.
    #[must_use]
    pub fn new(activation: Activation, servant: Arc<dyn Servant>) -> Self {
        ActiveObject { activation: Arc::new(activation), servant }
    }

    /// The part without the servant.
    #[inline]
    #[must_use]
    pub fn activation(&self) -> &Arc<Activation> {
        &self.activation
    }

    /// Its servant.
    #[inline]
    #[must_use]
    pub fn servant(&self) -> &Arc<dyn Servant> {
        &self.servant
    }

    /// Runs `upcall` inside the object; `None` without having run it when something is in the way
    /// ([`Activation::enter`]).
    #[inline]
    pub fn call<R>(&self, upcall: impl FnOnce(&dyn Servant) -> R) -> Option<R> {
        let _entered = self.activation.enter()?;
        Some(upcall(&*self.servant))
    }
}

impl Drop for ActiveObject {
    /// Whoever is inside was promised a servant that lives: should anybody be, it is leaked. An
    /// object adapter that waits for the last upcall never comes to that.
    fn drop(&mut self) {
        // What came to rest is not asked: its index may be that of an object which is called.
        if self.activation.is_active() {
            self.activation.close();
        }
        if !self.activation.comes_to_rest() {
            tracing::error!("an active object was dropped with upcalls under way");
            std::mem::forget(Arc::clone(&self.servant));
        }
    }
}

impl fmt::Debug for ActiveObject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ActiveObject").field("activation", &self.activation).finish()
    }
}
