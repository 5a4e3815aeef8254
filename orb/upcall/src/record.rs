//! What each thread writes down about the upcalls that it is inside of.
//!
//! A record has a place for each of the first [`PLACES`] nested upcalls; deeper ones are counted at
//! their gate. Records are never freed, only used again by later threads, so any thread may read
//! all of them at any time.

use crate::protocol;
use std::cell::{Cell, RefCell};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Nested upcalls of one thread that cost no lock: a cache line of places.
const PLACES: usize = 8;

/// What a thread is inside of: the number of a gate, and an index of an object in its POA's map.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Upcall {
    /// [`crate::Gate::number`]; never 0.
    pub gate: u32,
    /// The index of the object; [`Upcall::UNLISTED`] for a servant that is in no map.
    pub index: u32,
}

impl Upcall {
    /// The index of a request that a default servant or a servant locator serves.
    pub const UNLISTED: u32 = u32::MAX;

    pub(crate) const fn to_word(self) -> u64 {
        ((self.gate as u64) << 32) | self.index as u64
    }

    const fn from_word(word: u64) -> Self {
        Upcall { gate: (word >> 32) as u32, index: word as u32 }
    }
}

/// The places of one thread; 0 in those that are free.
#[repr(align(64))]
struct Record {
    places: [AtomicU64; PLACES],
}

impl Record {
    /// The place of the upcall with so many around it; `None` also where upcalls were not left in
    /// the reverse order of entering and another one stands there.
    #[inline(always)]
    fn free_place(&self, depth: usize) -> Option<&AtomicU64> {
        self.places.get(depth).filter(|place| place.load(Ordering::Relaxed) == 0)
    }
}

/// Lock "upcall records": held to take or give back a record, and to look through all.
static RECORDS: Mutex<Records> = Mutex::new(Records { all: Vec::new(), free: Vec::new() });

struct Records {
    all: Vec<&'static Record>,
    free: Vec<&'static Record>,
}

/// Has no destructor, so it is there at any time of a thread's life.
struct Local {
    record: Cell<Option<&'static Record>>,
    depth: Cell<usize>,
}

thread_local! {
    static LOCAL: Local = const { Local { record: Cell::new(None), depth: Cell::new(0) } };
    /// The upcalls that have no place in the record, innermost last.
    static DEEPER: RefCell<Vec<u64>> = const { RefCell::new(Vec::new()) };
    static GIVES_BACK: GivesBack = const { GivesBack };
}

/// Gives the record of its thread back when the thread ends.
struct GivesBack;

impl Drop for GivesBack {
    fn drop(&mut self) {
        LOCAL.with(|local| {
            // A thread that ends inside an upcall (a servant's destructor may do odd things) keeps
            // its record for good.
            if local.depth.get() == 0
                && let Some(record) = local.record.take()
            {
                records().free.push(record);
            }
        });
    }
}

fn records() -> MutexGuard<'static, Records> {
    RECORDS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Where an upcall of this thread was written down; `None`: there was no place for it.
pub(crate) type Place = Option<&'static AtomicU64>;

/// Writes down that this thread goes into `word`.
#[inline(always)]
pub(crate) fn push(word: u64) -> Place {
    LOCAL.with(|local| {
        let depth = local.depth.get();
        let record = local.record.get();
        let place = record.and_then(|record| record.free_place(depth));
        let Some(place) = place else { return push_slowly(local, word) };
        local.depth.set(depth + 1);
        protocol::write_place(place, word);
        Some(place)
    })
}

#[cold]
fn push_slowly(local: &Local, word: u64) -> Place {
    let depth = local.depth.get();
    if local.record.get().is_none() && GIVES_BACK.try_with(|_| ()).is_ok() {
        local.record.set(Some(take_record()));
    }
    local.depth.set(depth + 1);
    if let Some(place) = local.record.get().and_then(|record| record.free_place(depth)) {
        protocol::write_place(place, word);
        return Some(place);
    }
    // Without it, only [`current`] answers wrong.
    let _ = DEEPER.try_with(|deeper| deeper.borrow_mut().push(word));
    None
}

fn take_record() -> &'static Record {
    let mut records = records();
    if let Some(record) = records.free.pop() {
        return record;
    }
    let record: &'static Record =
        Box::leak(Box::new(Record { places: [const { AtomicU64::new(0) }; PLACES] }));
    records.all.push(record);
    record
}

/// Records that exist, with and without a thread.
#[cfg(test)]
pub(crate) fn records_in_use() -> usize {
    records().all.len()
}

/// Takes back the innermost [`push`] of this thread, which gave `place`.
#[inline(always)]
pub(crate) fn pop(place: Place) {
    LOCAL.with(|local| local.depth.set(local.depth.get().wrapping_sub(1)));
    match place {
        Some(place) => protocol::clear_place(place),
        None => pop_deeper(),
    }
}

#[cold]
fn pop_deeper() {
    let _ = DEEPER.try_with(|deeper| deeper.borrow_mut().pop());
}

/// How many places of all threads satisfy `is_meant`. For after [`crate::barrier::heavy`].
pub(crate) fn count(is_meant: impl Fn(Upcall) -> bool) -> usize {
    let all = records().all.clone();
    all.iter()
        .flat_map(|record| &record.places)
        .map(protocol::read_place)
        .filter(|word| *word != 0 && is_meant(Upcall::from_word(*word)))
        .count()
}

/// The innermost upcall that this thread is inside of.
#[must_use]
pub fn current() -> Option<Upcall> {
    LOCAL.with(|local| {
        let depth = local.depth.get().checked_sub(1)?;
        let deeper = DEEPER.try_with(|deeper| deeper.borrow().last().copied());
        deeper.unwrap_or_default().or_else(|| local.place(depth)).map(Upcall::from_word)
    })
}

/// How many upcalls this thread is inside of.
#[must_use]
pub fn depth() -> usize {
    LOCAL.with(|local| local.depth.get())
}

/// Whether this thread is inside an upcall, however deep, that satisfies `is_meant`.
#[must_use]
pub fn is_inside_any(is_meant: impl Fn(Upcall) -> bool) -> bool {
    let is_meant = |word: u64| is_meant(Upcall::from_word(word));
    LOCAL.with(|local| {
        (0..PLACES).filter_map(|depth| local.place(depth)).any(is_meant)
            || DEEPER
                .try_with(|deeper| deeper.borrow().iter().copied().any(is_meant))
                .unwrap_or_default()
    })
}

impl Local {
    fn place(&self, depth: usize) -> Option<u64> {
        let place = self.record.get()?.places.get(depth)?;
        Some(place.load(Ordering::Relaxed)).filter(|word| *word != 0)
    }
}
