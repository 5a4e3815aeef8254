//! The pool of the process: takes what threads have too much of and gives it to those that have too
//! little, as when one thread reads replies and another drops them.
//!
//! Its lock is never waited for, but for the moment that a look takes: a thread that finds it
//! taken still, since its holder was preempted, allocates or frees, and inherits no priority. Small
//! buffers move in batches, so it is asked once for many of them (magazines; Bonwick and Adams,
//! USENIX 2001).
//!
//! When it is full, what is given replaces what was used least recently: else large buffers of an
//! hour ago would keep out those that every call needs now, until the next trimming.

use super::limits;
use super::shelf::{CLASSES, Kind, LARGE_OCTETS, Shelf};
use arrayvec::ArrayVec;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard};

/// Small buffers that a thread gives or takes at a time.
pub(super) const BATCH: usize = 8;

/// Attempts to lock: some hundred nanoseconds.
const TRIES: u32 = 32;

/// Buffers that are replaced at a time, at most: the lock is held meanwhile.
const REPLACED: usize = 8;

/// What is kept, and when it was used.
struct Store {
    /// By [`Kind`].
    shelves: [Shelf; 2],
    /// By [`Kind`] and stack: the value of `uses` when a buffer was last taken out or put in.
    used: [[u64; CLASSES]; 2],
    uses: u64,
}

/// Lock "shared buffers".
static STORE: Mutex<Store> =
    Mutex::new(Store { shelves: [Shelf::new(), Shelf::new()], used: [[0; CLASSES]; 2], uses: 0 });
/// Octets in it. Changed with the lock.
static OCTETS: AtomicUsize = AtomicUsize::new(0);

/// Octets that the process keeps for all threads.
#[must_use]
pub fn held_octets() -> usize {
    OCTETS.load(Ordering::Relaxed)
}

/// The pool, if its lock is to be had in about the time that an allocation takes.
fn lock() -> Option<MutexGuard<'static, Store>> {
    for _ in 0..TRIES {
        if let Ok(store) = STORE.try_lock() {
            return Some(store);
        }
        std::hint::spin_loop();
    }
    None
}

/// A buffer with room for `octets`, and up to a batch of others like it for `keep`; how many.
pub(super) fn take(
    kind: Kind,
    octets: usize,
    mut keep: impl FnMut(Vec<u8>),
) -> (Option<Vec<u8>>, u64) {
    if held_octets() == 0 {
        return (None, 0);
    }
    let Some(mut store) = lock() else { return (None, 0) };
    let Some(buffer) = store.shelves[kind as usize].take(kind, octets) else { return (None, 0) };
    store.note_use(kind, &buffer);
    OCTETS.fetch_sub(buffer.capacity(), Ordering::Relaxed);
    let mut more = 0;
    while buffer.capacity() < LARGE_OCTETS && more + 1 < BATCH as u64 {
        let Some(other) = store.shelves[kind as usize].take_like(kind, &buffer) else { break };
        OCTETS.fetch_sub(other.capacity(), Ordering::Relaxed);
        keep(other);
        more += 1;
    }
    (Some(buffer), more)
}

/// Takes as many of `buffers` as there is room for, and frees the others that it looks at; how many
/// it took.
pub(super) fn give(kind: Kind, buffers: impl Iterator<Item = Vec<u8>>) -> u64 {
    let most = limits::limits();
    // Freed when the lock is.
    let mut replaced = ArrayVec::<Vec<u8>, REPLACED>::new();
    let Some(mut store) = lock() else { return 0 };
    let mut taken = 0;
    for buffer in buffers {
        let octets = buffer.capacity();
        let Some(others) = most.shared_octets.checked_sub(octets) else { continue };
        if most.thread_buffers == 0 {
            continue;
        }
        store.note_use(kind, &buffer);
        while held_octets() > others
            && !replaced.is_full()
            && let Some(other) = store.take_stale(kind, &buffer)
        {
            OCTETS.fetch_sub(other.capacity(), Ordering::Relaxed);
            replaced.push(other);
        }
        if held_octets() <= others && store.shelves[kind as usize].put(kind, buffer) {
            OCTETS.fetch_add(octets, Ordering::Relaxed);
            taken += 1;
        }
    }
    drop(store);
    taken
}

impl Store {
    fn note_use(&mut self, kind: Kind, buffer: &Vec<u8>) {
        self.uses += 1;
        if let Some(used) = self.used[kind as usize].get_mut(Shelf::class_of(kind, buffer)) {
            *used = self.uses;
        }
    }

    /// Takes out a buffer of the stack that was used least recently, unless it is the one that
    /// `buffer` belongs to.
    #[cold]
    fn take_stale(&mut self, kind: Kind, buffer: &Vec<u8>) -> Option<Vec<u8>> {
        let own = (kind as usize, Shelf::class_of(kind, buffer));
        let stocked = self.shelves.iter().enumerate();
        let stacks = stocked.flat_map(|(kind, shelf)| shelf.stocked().map(move |at| (kind, at)));
        let others = stacks.filter(|stack| *stack != own);
        let (kind, class) = others.min_by_key(|(kind, class)| self.used[*kind][*class])?;
        self.shelves[kind].take_of(class)
    }
}

/// Frees what no message has needed since the last call: at once in the process's pool, in those of
/// threads when they next give a buffer back. An ORB calls it now and then; an application may,
/// twice, after its busiest time.
pub fn trim() {
    limits::ask_to_trim();
    let Some(mut store) = lock() else { return };
    for shelf in &mut store.shelves {
        shelf.trim(|buffer| {
            OCTETS.fetch_sub(buffer.capacity(), Ordering::Relaxed);
        });
    }
}
