//! The pool of the process: takes what threads have too much of and gives it to those that have too
//! little, as when one thread reads replies and another drops them.
//!
//! Its lock is never waited for, but for the moment that a look takes: whoever finds it taken
//! still, since its holder was preempted, allocates or frees, and inherits no priority. Small
//! buffers move in batches, so it is asked once for many of them (magazines; Bonwick and Adams,
//! USENIX 2001).

use super::limits;
use super::shelf::{Kind, LARGE_OCTETS, Shelf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard};

/// Small buffers that a thread gives or takes at a time.
pub(super) const BATCH: usize = 8;

/// Attempts to lock: some hundred nanoseconds.
const TRIES: u32 = 32;

/// By [`Kind`]. Lock "shared buffers".
static SHELVES: Mutex<[Shelf; 2]> = Mutex::new([Shelf::new(), Shelf::new()]);
/// Octets in it. Changed with the lock.
static OCTETS: AtomicUsize = AtomicUsize::new(0);

/// Octets that the process keeps for all threads.
#[must_use]
pub fn held_octets() -> usize {
    OCTETS.load(Ordering::Relaxed)
}

/// The pool, if its lock is to be had in about the time that an allocation takes.
fn lock() -> Option<MutexGuard<'static, [Shelf; 2]>> {
    for _ in 0..TRIES {
        if let Ok(shelves) = SHELVES.try_lock() {
            return Some(shelves);
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
    let Some(mut shelves) = lock() else { return (None, 0) };
    let shelf = &mut shelves[kind as usize];
    let Some(buffer) = shelf.take(kind, octets) else { return (None, 0) };
    OCTETS.fetch_sub(buffer.capacity(), Ordering::Relaxed);
    let mut more = 0;
    while buffer.capacity() < LARGE_OCTETS && more + 1 < BATCH as u64 {
        let Some(other) = shelf.take_like(kind, &buffer) else { break };
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
    let Some(mut shelves) = lock() else { return 0 };
    let mut taken = 0;
    for buffer in buffers {
        let octets = buffer.capacity();
        if most.thread_buffers > 0
            && held_octets().saturating_add(octets) <= most.shared_octets
            && shelves[kind as usize].put(kind, buffer)
        {
            OCTETS.fetch_add(octets, Ordering::Relaxed);
            taken += 1;
        }
    }
    taken
}

/// Frees what nobody has needed since the last call: at once in the process's pool, in those of
/// threads when they next give a buffer back. An ORB calls it now and then; an application may,
/// twice, after its busiest time.
pub fn trim() {
    limits::ask_to_trim();
    let Some(mut shelves) = lock() else { return };
    for shelf in &mut *shelves {
        shelf.trim(|buffer| {
            OCTETS.fetch_sub(buffer.capacity(), Ordering::Relaxed);
        });
    }
}
