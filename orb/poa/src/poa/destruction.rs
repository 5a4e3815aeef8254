//! Destroying a POA: children first; requests in servants end before the POA is gone; after that
//! its objects are etherealised (CORBA 3.3 P1 §15.3.9.4).
//!
//! Called by applications and at the shutdown of the ORB. The thread that finds nothing left which
//! keeps a POA completes its destruction: the caller of `destroy`, the thread that leaves the last
//! upcall, or the one that ends the last child.

use super::{Poa, PoaError, PoaInner, Registry};
use crate::closed;
use crate::poa_manager::Managed;
use corbie_threads::lock::{Ranked, Signal, rank};
use corbie_types::{SystemException, minor};
use std::cell::RefCell;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};

/// How far the end of a POA is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
enum Stage {
    #[default]
    Alive,
    /// The gate is being closed: until all threads have seen that, none may look for upcalls
    /// under way.
    Closing,
    /// No request begins any more; those that have begun go on.
    Closed {
        etherealize: bool,
    },
    /// It is gone for requests; its objects are being etherealised.
    Ending,
    Gone,
}

#[derive(Default)]
pub(super) struct Life {
    stage: Ranked<rank::Leaf, Stage>,
    gone: Signal,
}

impl Life {
    /// Goes from one stage to the next; `false` when it was not at the first, as another thread was
    /// faster.
    fn advance(&self, from: Stage, to: Stage) -> bool {
        let mut stage = self.stage.lock();
        let is_first = *stage == from;
        if is_first {
            *stage = to;
        }
        is_first
    }
}

impl Poa {
    /// Destroys the POA and its children. Requests that are being served go on; those that come
    /// later find no POA, unless an adapter activator makes it anew once it is gone.
    /// `etherealize_objects`: the servant activator gets back its servants. `wait_for_completion`:
    /// returns when all that has happened.
    ///
    /// # Errors
    /// `BAD_INV_ORDER` minor 3 (`COMPLETED_NO`) when it would wait and the calling thread serves a
    /// request of the same ORB or etherealises; [`PoaError::OtherThread`] for a `NULL_LOCK` POA
    /// that belongs to another thread. Nothing was destroyed then.
    pub fn destroy(
        &self,
        etherealize_objects: bool,
        wait_for_completion: bool,
    ) -> Result<(), PoaError> {
        if wait_for_completion && self.0.registry.is_entered_by_this_thread() {
            return Err(would_deadlock(self.the_name()).into());
        }
        if !self.0.objects.is_for_this_thread() {
            return Err(PoaError::OtherThread);
        }
        self.0.begin_destruction(etherealize_objects);
        if wait_for_completion {
            self.0.wait_until_gone();
        }
        Ok(())
    }
}

impl PoaInner {
    pub(crate) fn begin_destruction(self: &Arc<Self>, etherealize: bool) {
        if !self.life.advance(Stage::Alive, Stage::Closing) {
            return;
        }
        self.gate.change(closed::ENDING, 0);
        *self.life.stage.lock() = Stage::Closed { etherealize };
        for child in self.family.children() {
            child.begin_destruction(etherealize);
        }
        self.try_complete_destruction();
    }

    /// Completes the destruction if it has begun, no request is being served and no child is left.
    pub(super) fn try_complete_destruction(&self) {
        let closed = *self.life.stage.lock();
        let Stage::Closed { etherealize } = closed else { return };
        // A closed POA gets neither children nor requests, so what is not there does not come.
        if !self.family.lock().is_empty() || self.gate.count_inside() > 0 {
            return;
        }
        if !self.life.advance(closed, Stage::Ending) {
            return;
        }
        self.disappear();
        // No request is inside, but the adapter activator may be.
        match self.handle() {
            Some(Poa(poa)) => self.turns.run(move || poa.end(etherealize)),
            None => self.end(etherealize),
        }
    }

    /// Ends the objects of a POA that requests do not find any more, and then the POA.
    fn end(&self, etherealize: bool) {
        {
            let _ending = self.registry.ends_objects();
            self.end_objects(etherealize);
            self.forget_servant_sources();
            self.set_activator(None);
        }
        *self.life.stage.lock() = Stage::Gone;
        self.life.gone.wake_all();
        if let Some(parent) = self.parent.as_ref().and_then(Weak::upgrade) {
            parent.family.lock().ending -= 1;
            parent.family.note_change();
            parent.try_complete_destruction();
        }
    }

    /// The apparent destruction: requests do not find the POA, and its name is free again.
    fn disappear(&self) {
        self.registry.remove(self);
        let myself: Weak<dyn Managed> = Weak::<PoaInner>::clone(&self.myself);
        self.manager.forget(&myself);
        if let Some(parent) = self.parent.as_ref().and_then(Weak::upgrade) {
            let mut family = parent.family.lock();
            family.children.remove(&self.name);
            family.ending += 1;
            drop(family);
            parent.family.note_change();
        }
        self.transitions.note_change();
    }

    fn end_objects(&self, etherealize: bool) {
        self.cleanup_in_progress.store(true, Ordering::Release);
        // A NULL_LOCK map of another thread ends with that thread.
        let Ok(objects) = self.take_objects() else { return };
        let activator = self.servant_activator().filter(|_| etherealize);
        // With no lock held: destructors of servants are application code.
        for ended in objects.drain() {
            self.etherealize(ended, activator.clone(), true);
        }
        tracing::debug!(poa = %self.name, "a POA was destroyed");
    }

    /// Waits for the end of a destruction that has begun.
    fn wait_until_gone(&self) {
        drop(self.life.gone.wait_while(self.life.stage.lock(), |stage| *stage != Stage::Gone));
    }

    /// The handle that application code gets.
    pub(crate) fn handle(&self) -> Option<Poa> {
        self.myself.upgrade().map(Poa)
    }
}

impl Registry {
    /// Whether the calling thread is inside a request to any POA of this ORB, or ends objects of
    /// one: others wait for it, so it must not.
    pub(crate) fn is_entered_by_this_thread(&self) -> bool {
        let myself = std::ptr::from_ref(self).addr();
        let is_ending = ENDING.try_with(|ending| ending.borrow().contains(&myself));
        is_ending.unwrap_or_default()
            || corbie_upcall::is_inside_any(|upcall| self.has_gate(upcall.gate))
    }

    /// This thread calls `etherealize` or destructors of servants, until the result is dropped.
    pub(super) fn ends_objects(&self) -> EndsObjects {
        // A thread that ends has no list any more, and does not wait.
        let myself = std::ptr::from_ref(self).addr();
        let _ = ENDING.try_with(|ending| ending.borrow_mut().push(myself));
        EndsObjects(())
    }
}

thread_local! {
    /// The registries whose objects this thread ends, innermost last.
    static ENDING: RefCell<Vec<usize>> = const { RefCell::new(Vec::new()) };
}

/// See [`Registry::ends_objects`].
pub(super) struct EndsObjects(());

impl Drop for EndsObjects {
    fn drop(&mut self) {
        let _ = ENDING.try_with(|ending| ending.borrow_mut().pop());
    }
}

#[cold]
fn would_deadlock(name: &str) -> SystemException {
    minor::BAD_INV_ORDER_WOULD_DEADLOCK.no(format!(
        "the POA {name:?} cannot be destroyed with wait_for_completion from inside a request: it \
         would wait for this one"
    ))
}
