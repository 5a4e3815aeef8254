//! What guards an active object map: a lock, or the rule that one thread only comes near it
//! (paper POA §2.4: `THREAD_LOCK`, `NULL_LOCK`).
//!
//! The map of a `NULL_LOCK` POA stands in a table of the thread that used the POA first, so that no
//! other thread can reach it by mistake.

use super::{ActiveObjectMap, MapShape};
use crate::closed;
use crate::error::PoaError;
use crate::policies::Synchronization;
use crate::slots::{SlotName, Slots};
use corbie_threads::lock::{RankedRw, rank};
use corbie_upcall::Gate;
use std::cell::{Cell, RefCell};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

/// The map of one POA and its guard.
pub(crate) enum MapLock {
    Thread(RankedRw<rank::ObjectMap, ActiveObjectMap>),
    Null(OneThread),
}

/// Where the map of a `NULL_LOCK` POA is.
pub(crate) struct OneThread {
    shape: MapShape,
    gate: Arc<Gate>,
    /// The thread that used it first, and the place in its table.
    owner: OnceLock<(u64, SlotName)>,
}

/// The numbers of threads; see [`this_thread`].
static NEXT_THREAD: AtomicU64 = AtomicU64::new(1);

thread_local! {
    static THREAD: Cell<u64> = const { Cell::new(0) };
    /// The maps of the POAs that belong to this thread.
    static MAPS: RefCell<Slots<ActiveObjectMap>> = const { RefCell::new(Slots::new()) };
}

/// A number that no other thread of this process has or had.
#[inline]
pub(crate) fn this_thread() -> u64 {
    match THREAD.get() {
        0 => {
            let number = NEXT_THREAD.fetch_add(1, Ordering::Relaxed);
            THREAD.set(number);
            number
        }
        number => number,
    }
}

impl MapLock {
    /// For a POA with this policy, which is not `DefaultLock` any more.
    pub(crate) fn new(lock: Synchronization, shape: MapShape, gate: &Arc<Gate>) -> Self {
        let gate = Arc::clone(gate);
        match lock {
            Synchronization::NullLock => {
                MapLock::Null(OneThread { shape, gate, owner: OnceLock::new() })
            }
            _ => MapLock::Thread(RankedRw::new(ActiveObjectMap::new(shape, gate))),
        }
    }

    /// Looks at the map.
    ///
    /// # Errors
    /// [`PoaError::OtherThread`].
    #[inline]
    pub(crate) fn read<R>(&self, look: impl FnOnce(&ActiveObjectMap) -> R) -> Result<R, PoaError> {
        match self {
            MapLock::Thread(map) => Ok(look(&map.read())),
            MapLock::Null(one) => one.with(|map| look(map)),
        }
    }

    /// Looks at the map if it is this thread's. Unlike the other ways to it, a look gives
    /// the map no owner: callers within the process look from any thread.
    #[inline]
    pub(crate) fn look<R>(&self, look: impl FnOnce(&ActiveObjectMap) -> R) -> Option<R> {
        match self {
            MapLock::Thread(map) => Some(look(&map.read())),
            MapLock::Null(one) if !one.belongs_to_this_thread() => None,
            MapLock::Null(one) => one.with(|map| look(map)).ok(),
        }
    }

    /// Changes the map.
    ///
    /// # Errors
    /// [`PoaError::OtherThread`].
    pub(crate) fn write<R>(
        &self,
        change: impl FnOnce(&mut ActiveObjectMap) -> R,
    ) -> Result<R, PoaError> {
        match self {
            MapLock::Thread(map) => Ok(change(&mut map.write())),
            MapLock::Null(one) => one.with(change),
        }
    }

    /// Whether the calling thread is the one that the map belongs to, or any may use it.
    pub(crate) fn belongs_to_this_thread(&self) -> bool {
        match self {
            MapLock::Thread(_) => true,
            MapLock::Null(one) => one.belongs_to_this_thread(),
        }
    }

    /// Whether the calling thread may use the map.
    pub(crate) fn is_for_this_thread(&self) -> bool {
        match self {
            MapLock::Thread(_) => true,
            MapLock::Null(one) => one.owner.get().is_none_or(|(owner, _)| *owner == this_thread()),
        }
    }
}

impl OneThread {
    /// Whether this thread has used it already.
    fn belongs_to_this_thread(&self) -> bool {
        self.owner.get().is_some_and(|(owner, _)| *owner == this_thread())
    }

    #[inline]
    fn with<R>(&self, use_it: impl FnOnce(&mut ActiveObjectMap) -> R) -> Result<R, PoaError> {
        let (owner, place) = self.owner.get_or_init(|| self.belong_to_this_thread());
        if *owner != this_thread() {
            return Err(PoaError::OtherThread);
        }
        // No map is there when the thread's table is gone: the thread is ending.
        let used = MAPS.try_with(|maps| maps.borrow_mut().get_mut(*place).map(use_it));
        used.ok().flatten().ok_or(PoaError::OtherThread)
    }

    #[cold]
    fn belong_to_this_thread(&self) -> (u64, SlotName) {
        let map = ActiveObjectMap::new(self.shape, Arc::clone(&self.gate));
        let inserted = MAPS.try_with(|maps| {
            let mut maps = maps.borrow_mut();
            let gone = remove_destroyed(&mut maps);
            (maps.insert(map), gone)
        });
        // What is gone is dropped here, after the table was given back: servants are dropped.
        let (place, _gone) = inserted.unwrap_or_default();
        (this_thread(), place.unwrap_or(SlotName::NOWHERE))
    }
}

/// Maps whose POA was destroyed by another thread, at the shutdown of its ORB.
fn remove_destroyed(maps: &mut Slots<ActiveObjectMap>) -> Vec<ActiveObjectMap> {
    let is_destroyed = |map: &ActiveObjectMap| map.gate().bits() & closed::ENDING != 0;
    let destroyed: Vec<_> =
        maps.iter_named().filter(|(_, map)| is_destroyed(map)).map(|(name, _)| name).collect();
    destroyed.into_iter().filter_map(|name| maps.remove(name)).collect()
}
