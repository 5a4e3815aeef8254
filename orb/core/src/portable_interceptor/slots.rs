//! PICurrent (CORBA 3.3 P1 §16.4.8): a table of slots that a thread has, that its requests take
//! along, and that a servant's thread gets from its request.
//!
//! Slots are numbered by `OrbInitInfo::allocate_slot_id`. A request copies the slots of its thread
//! when it begins, and its interceptors see the copy; on a server the slots begin empty, and what
//! interceptors set there is in the slots of the upcall's thread. Each ORB has slots of its own.

use crate::Orb;
use corbie_types::Any;
use std::cell::RefCell;
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// The number of a slot (`PortableInterceptor::SlotId`).
pub type SlotId = u32;

/// `PortableInterceptor::InvalidSlot`: no slot has this number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InvalidSlot(pub SlotId);

impl fmt::Display for InvalidSlot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "no slot of PICurrent has the number {}: OrbInitInfo::allocate_slot_id gives them",
            self.0
        )
    }
}

impl std::error::Error for InvalidSlot {}

/// The slots that a thread or a request has; those that were never set are not stored.
#[derive(Clone, Debug, Default)]
pub(crate) struct Slots(Vec<(SlotId, Any)>);

impl Slots {
    /// What is in the slot; an any of type `null` where nothing was put.
    pub(crate) fn get(&self, id: SlotId, count: SlotId) -> Result<Any, InvalidSlot> {
        if id >= count {
            return Err(InvalidSlot(id));
        }
        let found = self.0.iter().find(|(slot, _)| *slot == id);
        Ok(found.map_or_else(Any::default, |(_, any)| any.clone()))
    }

    pub(crate) fn set(&mut self, id: SlotId, any: Any, count: SlotId) -> Result<(), InvalidSlot> {
        if id >= count {
            return Err(InvalidSlot(id));
        }
        match self.0.iter_mut().find(|(slot, _)| *slot == id) {
            Some((_, there)) => *there = any,
            None => self.0.push((id, any)),
        }
        Ok(())
    }
}

thread_local! {
    /// The slots of this thread, by the number of the ORB.
    static SLOTS: RefCell<Vec<(u64, Slots)>> = const { RefCell::new(Vec::new()) };
}

/// The slots of this thread in the ORB with this number.
pub(crate) fn of_this_thread(orb: u64) -> Slots {
    SLOTS.with_borrow(|all| {
        let found = all.iter().find(|(of, _)| *of == orb);
        found.map_or_else(Slots::default, |(_, slots)| slots.clone())
    })
}

/// Gives this thread other slots; those that it had.
fn exchange(orb: u64, slots: Slots) -> Slots {
    SLOTS.with_borrow_mut(|all| match all.iter_mut().position(|(of, _)| *of == orb) {
        Some(at) if slots.0.is_empty() => all.swap_remove(at).1,
        Some(at) => std::mem::replace(&mut all[at].1, slots),
        None if slots.0.is_empty() => Slots::default(),
        None => {
            all.push((orb, slots));
            Slots::default()
        }
    })
}

/// Slots that a thread has for a while. Dropped, the thread has again what it had before.
pub(crate) struct SlotScope {
    orb: u64,
    before: Slots,
    on_this_thread: PhantomData<*const ()>,
}

impl SlotScope {
    pub(crate) fn enter(orb: u64, slots: Slots) -> Self {
        SlotScope { orb, before: exchange(orb, slots), on_this_thread: PhantomData }
    }
}

impl Drop for SlotScope {
    fn drop(&mut self) {
        exchange(self.orb, std::mem::take(&mut self.before));
    }
}

/// The slots of the calling thread (`PortableInterceptor::Current`). Made by [`Orb::pi_current`].
#[derive(Clone, Debug)]
pub struct PiCurrent {
    orb: u64,
    /// How many slots there are.
    count: Arc<AtomicU32>,
}

impl PiCurrent {
    pub(crate) fn new(orb: u64, count: Arc<AtomicU32>) -> Self {
        PiCurrent { orb, count }
    }

    /// What this thread has in the slot; an any of type `null` where nothing was put.
    ///
    /// # Errors
    /// [`InvalidSlot`].
    pub fn get_slot(&self, id: SlotId) -> Result<Any, InvalidSlot> {
        of_this_thread(self.orb).get(id, self.count.load(Ordering::Relaxed))
    }

    /// Puts `data` into the slot of this thread: requests that it makes from now on take it along.
    ///
    /// # Errors
    /// [`InvalidSlot`].
    pub fn set_slot(&self, id: SlotId, data: Any) -> Result<(), InvalidSlot> {
        let mut slots = of_this_thread(self.orb);
        slots.set(id, data, self.count.load(Ordering::Relaxed))?;
        exchange(self.orb, slots);
        Ok(())
    }
}

impl Orb {
    /// PICurrent: the slots of the calling thread in this ORB. The initial reference `PICurrent` is
    /// the same ([`PiCurrent::narrow`]).
    #[must_use]
    pub fn pi_current(&self) -> PiCurrent {
        self.interceptors().current()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_of_a_thread_and_of_an_orb() {
        let two = || Arc::new(AtomicU32::new(2));
        let (one, other) = (PiCurrent::new(101, two()), PiCurrent::new(102, two()));
        one.set_slot(1, Any::string("a").expect("is text")).expect("there are two");
        assert_eq!(one.get_slot(1).expect("is there").extract::<String>().expect("is text"), "a");
        assert_eq!(one.get_slot(0), Ok(Any::default()));
        assert_eq!(other.get_slot(1), Ok(Any::default()));
        assert_eq!(one.get_slot(2), Err(InvalidSlot(2)));
        assert_eq!(one.set_slot(2, Any::default()), Err(InvalidSlot(2)));
        let elsewhere = one.clone();
        let there = std::thread::spawn(move || elsewhere.get_slot(1)).join();
        assert_eq!(there.expect("ends"), Ok(Any::default()));
        {
            let _scope = SlotScope::enter(101, Slots::default());
            assert_eq!(one.get_slot(1), Ok(Any::default()));
            one.set_slot(0, Any::string("b").expect("is text")).expect("there are two");
        }
        assert_eq!(one.get_slot(0), Ok(Any::default()), "the scope has ended");
        assert_eq!(one.get_slot(1).expect("is there").extract::<String>().expect("is text"), "a");
    }
}
