//! One object while it is active: what a call needs to know before it may enter the servant.
//!
//! Made by the object adapter when an object is activated. [`Activation`] is the part without the
//! servant: it says whether the object is still active, and does not keep the servant alive.
//! [`ActiveObject`] has both; the object adapter's map holds it until the object was deactivated
//! and the last upcall has ended.

use crate::entered::Entered;
use crate::gate::Gate;
use crate::record::Upcall;
use crate::{barrier, protocol};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicU32;

/// [`Activation::state`] of an object that may be called.
const ACTIVE: u32 = 0;
/// It is being closed: a thread that does not see that yet may still enter.
const CLOSING: u32 = 1;
/// No thread enters it any more; the object adapter knows why.
const CLOSED: u32 = 2;
/// Likewise, and no thread is inside: its index may be another object's by now.
const AT_REST: u32 = 3;

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
    /// servant alive. `None` when something is in the way; the caller asks the object adapter
    /// then.
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

    /// The first step of closing: threads that see it do not enter any more. The caller holds the
    /// lock of its map, lets go of it, calls [`Activation::reach_all`], and takes it again for
    /// [`Activation::close`].
    pub fn begin_closing(&self) {
        protocol::write_state(&self.state, CLOSING);
    }

    /// The second step, for any number of objects: interrupts the other threads of the process, so
    /// that each sees what was closed before. To be called without a lock.
    pub fn reach_all() {
        barrier::heavy();
    }

    /// The last step: no thread enters any more. From now on [`Activation::count_inside`] finds the
    /// threads that are inside, and each of them tells the owner of the gate when it leaves. The
    /// caller holds the lock of its map, and so does the caller of [`Activation::comes_to_rest`].
    pub fn close(&self) {
        if protocol::read_state(&self.state) == CLOSING {
            protocol::write_state(&self.state, CLOSED);
        }
    }

    /// All steps, for an object that no other thread closes.
    pub(crate) fn close_at_once(&self) {
        self.begin_closing();
        Self::reach_all();
        self.close();
    }

    /// How many upcalls of the object are under way; meaningful once it is closed, and before its
    /// index is used again.
    #[must_use]
    pub fn count_inside(&self) -> usize {
        self.gate.count_inside_object(self.index)
    }

    /// Whether the object is closed and no thread is inside: then its index may be used again. To
    /// be asked before that.
    #[must_use]
    pub fn comes_to_rest(&self) -> bool {
        match protocol::read_state(&self.state) {
            ACTIVE | CLOSING => false,
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
///
/// **Promise.** The servant is not dropped while an [`Entered`] of the activation lives, even if
/// this value is: a drop that finds a thread inside leaks the servant. A pointer into the servant
/// may therefore be followed by a thread that holds an `Entered` which [`Activation::enter`] gave.
/// The promise needs two things of the object adapter: an index of a gate is given to one
/// activation at a time, and a lock of the adapter keeps [`Activation::begin_closing`],
/// [`Activation::close`] and [`Activation::comes_to_rest`] apart.
pub struct ActiveObject<S: ?Sized> {
    activation: Arc<Activation>,
    servant: Arc<S>,
}

impl<S: ?Sized> ActiveObject<S> {
    /// `servant` incarnates the object.
    #[must_use]
    pub fn new(activation: Activation, servant: Arc<S>) -> Self {
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
    pub fn servant(&self) -> &Arc<S> {
        &self.servant
    }

    /// Runs `upcall` inside the object; `None` without having run it when something is in the way
    /// ([`Activation::enter`]).
    #[inline]
    pub fn call<R>(&self, upcall: impl FnOnce(&S) -> R) -> Option<R> {
        let _entered = self.activation.enter()?;
        Some(upcall(&*self.servant))
    }
}

impl<S: ?Sized> Drop for ActiveObject<S> {
    /// Leaks the servant if a thread is inside, as threads inside were promised one that lives. An
    /// object adapter that waits for the last upcall never comes to that.
    fn drop(&mut self) {
        // An activation at rest is not counted: its index may be that of an object which is called.
        if matches!(protocol::read_state(&self.activation.state), ACTIVE | CLOSING) {
            self.activation.close_at_once();
        }
        if !self.activation.comes_to_rest() {
            tracing::error!("an active object was dropped with upcalls under way");
            std::mem::forget(Arc::clone(&self.servant));
        }
    }
}

impl<S: ?Sized> fmt::Debug for ActiveObject<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ActiveObject").field("activation", &self.activation).finish()
    }
}
