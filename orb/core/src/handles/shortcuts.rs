//! What a reference knows of the servants behind it, so that a call of the same process goes
//! straight to one.
//!
//! Asked by every call of a generated stub, so the usual answer takes a handful of loads and no
//! locked instruction. A shortcut that was made is kept as long as the reference; one whose object
//! was deactivated is passed over.

use super::borrowed::{Borrowed, Lent, Show};
use crate::policy::has_thread_overrides;
use corbie_upcall::ActiveObject;
use std::any::TypeId;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Shortcuts of one reference at most: each activation of its object and each interface that it is
/// called by needs one. Beyond that calls go through the object adapter.
const MOST: usize = 16;

/// In [`Shortcuts::in_the_way`]: a server has forwarded the reference.
const FORWARDED: u64 = 1 << 63;

#[derive(Default)]
pub(crate) struct Shortcuts {
    /// 0 when calls may go straight on; [`FORWARDED`], and how often requests were sent that a call
    /// must not overtake.
    in_the_way: AtomicU64,
    first: OnceLock<Shortcut>,
    /// Of an object that each call looks up: the usual one spares the count on it. One activation
    /// and one interface; others go the longer way.
    looked_up: OnceLock<Shortcut>,
    /// The object adapter does not lend this object: no use in asking again.
    is_refused: AtomicBool,
    is_for_messages: AtomicBool,
}

struct Shortcut {
    borrowed: Borrowed,
    /// The state of the ORB's policies in which calls need nothing that only a message has.
    policies: u32,
    next: OnceLock<Box<Shortcut>>,
}

impl Shortcut {
    #[inline]
    fn is_good_for(&self, interface: TypeId, policies: u32) -> bool {
        self.policies == policies && self.borrowed.is_good_for(interface)
    }
}

impl Shortcuts {
    /// The first shortcut, for a call that nothing is in the way of. `policies` is only asked for
    /// when there is one.
    #[inline(always)]
    pub(crate) fn first(&self, policies: impl FnOnce() -> u32) -> Option<&Borrowed> {
        let first = self.first.get()?;
        if self.is_usual(first, policies()) { Some(&first.borrowed) } else { None }
    }

    /// The servant of an object that the call has to look up before it enters.
    pub(crate) fn looked_up(&self, policies: u32) -> Option<&Borrowed> {
        let looked_up = self.looked_up.get()?;
        if self.is_usual(looked_up, policies) { Some(&looked_up.borrowed) } else { None }
    }

    #[inline(always)]
    fn is_usual(&self, shortcut: &Shortcut, policies: u32) -> bool {
        self.in_the_way.load(Ordering::Relaxed) == 0
            && shortcut.policies == policies
            && !has_thread_overrides()
    }

    /// Enters the object by a later shortcut: the first is of another interface, or out of date.
    pub(crate) fn enter_another<T: ?Sized + 'static>(&self, policies: u32) -> Option<Lent<'_, T>> {
        if self.in_the_way.load(Ordering::Relaxed) != 0 || has_thread_overrides() {
            return None;
        }
        self.find(TypeId::of::<T>(), policies)?.enter()
    }

    /// A server has forwarded the reference, or it is called where it led first again.
    pub(crate) fn set_forwarded(&self, is_forwarded: bool) {
        if is_forwarded {
            self.in_the_way.fetch_or(FORWARDED, Ordering::SeqCst);
        } else {
            self.in_the_way.fetch_and(!FORWARDED, Ordering::SeqCst);
        }
    }

    /// A request was sent that later calls of this thread must not overtake.
    pub(crate) fn note_shared_request(&self) {
        self.in_the_way.fetch_add(1, Ordering::SeqCst);
    }

    /// Whether a call has to wait behind requests that were sent before: `are_pending` says whether
    /// there are any still.
    pub(crate) fn must_follow(&self, are_pending: impl FnOnce() -> bool) -> bool {
        let seen = self.in_the_way.load(Ordering::SeqCst);
        if seen & !FORWARDED == 0 {
            return false;
        }
        if are_pending() {
            return true;
        }
        // Unless another was sent meanwhile: then the next call looks again.
        let free = seen & FORWARDED;
        let _ = self.in_the_way.compare_exchange(seen, free, Ordering::SeqCst, Ordering::SeqCst);
        false
    }

    /// The shortcut of this interface, whatever may be in the way of it.
    #[inline(never)]
    pub(crate) fn find(&self, interface: TypeId, policies: u32) -> Option<&Borrowed> {
        let mut all = self.all();
        Some(&all.find(|shortcut| shortcut.is_good_for(interface, policies))?.borrowed)
    }

    /// Whether it is worth while to ask the object adapter for the object.
    pub(crate) fn are_wanted(&self) -> bool {
        !self.is_refused.load(Ordering::Relaxed)
    }

    /// Whether the servant takes nothing but messages.
    pub(crate) fn is_for_messages(&self) -> bool {
        self.is_for_messages.load(Ordering::Relaxed)
    }

    /// The servant does not show itself as what it is called by. Remembered, so that a servant
    /// locator is not asked twice for each call.
    pub(crate) fn note_for_messages(&self) {
        self.is_for_messages.store(true, Ordering::Relaxed);
    }

    /// The object adapter does not lend the object, or its servant cannot be called so.
    pub(crate) fn note_refused(&self) {
        self.is_refused.store(true, Ordering::Relaxed);
    }

    /// Remembers `object`, as it is called by `interface`, for calls that look it up.
    pub(crate) fn add_looked_up<S: ?Sized>(
        &self,
        object: &ActiveObject<S>,
        show: Show<S>,
        interface: TypeId,
        policies: u32,
    ) {
        if let Some(borrowed) = Borrowed::new(object, show, interface) {
            let shortcut = Shortcut { borrowed, policies, next: OnceLock::new() };
            let _ = self.looked_up.set(shortcut);
        }
        self.note_refused();
    }

    /// Adds one for `object`, as it is called by `interface`.
    pub(crate) fn add<S: ?Sized>(
        &self,
        object: &ActiveObject<S>,
        show: Show<S>,
        interface: TypeId,
        policies: u32,
    ) {
        let Some(borrowed) = Borrowed::new(object, show, interface) else {
            return self.note_refused();
        };
        let shortcut = Shortcut { borrowed, policies, next: OnceLock::new() };
        let Err(shortcut) = self.first.set(shortcut) else { return };
        let mut shortcut = Box::new(shortcut);
        for (at, place) in self.all().enumerate() {
            if at + 1 == MOST {
                return self.note_refused();
            }
            match place.next.set(shortcut) {
                Ok(()) => return,
                Err(back) => shortcut = back,
            }
        }
    }

    fn all(&self) -> impl Iterator<Item = &Shortcut> {
        std::iter::successors(self.first.get(), |shortcut| Some(&**shortcut.next.get()?))
    }
}
