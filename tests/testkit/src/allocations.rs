//! Counts allocations, so that a test can assert that a call allocates nothing.
//!
//! The one module of the tests with `unsafe`: a global allocator cannot be written without.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::ops::Add;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// The system's allocator, counting.
///
/// A test crate installs it with
/// `#[global_allocator] static ALLOCATOR: CountingAllocator = CountingAllocator;`
/// and compares [`CountingAllocator::of_this_thread`] or [`CountingAllocator::of_all_threads`]
/// before and after.
#[derive(Clone, Copy, Debug)]
pub struct CountingAllocator;

/// Allocations so far. A reallocation counts as one allocation of the octets that it adds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AllocationCounts {
    /// Calls of the allocator that asked for memory.
    pub allocations: u64,
    /// Octets that they asked for.
    pub octets: u64,
    /// Octets given back.
    pub freed_octets: u64,
}

impl AllocationCounts {
    /// What was counted since `earlier`.
    #[must_use]
    pub fn since(self, earlier: Self) -> Self {
        Self {
            allocations: self.allocations - earlier.allocations,
            octets: self.octets - earlier.octets,
            freed_octets: self.freed_octets - earlier.freed_octets,
        }
    }

    /// Octets allocated and not yet given back. For one thread this is less than zero when it gave
    /// back what another one allocated.
    #[must_use]
    pub fn held_octets(self) -> i64 {
        self.octets.cast_signed() - self.freed_octets.cast_signed()
    }
}

impl Add for AllocationCounts {
    type Output = Self;

    fn add(self, more: Self) -> Self {
        Self {
            allocations: self.allocations + more.allocations,
            octets: self.octets + more.octets,
            freed_octets: self.freed_octets + more.freed_octets,
        }
    }
}

thread_local! {
    // `const`: reading it allocates nothing and registers no destructor.
    static THREAD: Cell<AllocationCounts> = const {
        Cell::new(AllocationCounts { allocations: 0, octets: 0, freed_octets: 0 })
    };
}

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);
static OCTETS: AtomicU64 = AtomicU64::new(0);
static FREED_OCTETS: AtomicU64 = AtomicU64::new(0);

impl CountingAllocator {
    /// The counts of the calling thread. Zeros when the allocator is not installed.
    #[must_use]
    pub fn of_this_thread() -> AllocationCounts {
        THREAD.with(Cell::get)
    }

    /// How many allocations a round of `calls` needs, as `count` sees them, after two rounds that
    /// are not counted: the most of three rounds in a row, the least such. It ends with three in a
    /// row that need no more than `expected`, or when there were none in eight rounds and a minute.
    ///
    /// What each call needs is needed in every round. What is not counted so is what happens now
    /// and then, when the scheduler wills it: a queue that is longer than ever before, what
    /// housekeeping does once a second, a thread that ends, a block that lies in the pool of the
    /// thread that served before, the first time that a thread has to wait for a channel of the
    /// standard library.
    pub fn needed(count: impl Fn() -> AllocationCounts, expected: u64, calls: impl Fn()) -> u64 {
        const ROUNDS: usize = 8;
        const PATIENCE: Duration = Duration::from_secs(60);
        // Buffers, threads and the connection are made by the first calls.
        calls();
        calls();
        let round = || {
            let before = count();
            calls();
            count().since(before).allocations
        };
        let begin = Instant::now();
        let mut last = [round(), round(), round()];
        let most = |rounds: [u64; 3]| rounds.into_iter().max().unwrap_or(u64::MAX);
        let (mut least, mut rounds) = (most(last), last.len());
        while least > expected && (rounds < ROUNDS || begin.elapsed() < PATIENCE) {
            last = [last[1], last[2], round()];
            least = least.min(most(last));
            rounds += 1;
        }
        least
    }

    /// The counts of all threads of the process. Zeros when the allocator is not installed.
    #[must_use]
    pub fn of_all_threads() -> AllocationCounts {
        AllocationCounts {
            allocations: ALLOCATIONS.load(Ordering::Relaxed),
            octets: OCTETS.load(Ordering::Relaxed),
            freed_octets: FREED_OCTETS.load(Ordering::Relaxed),
        }
    }
}

fn count(allocations: u64, octets: usize, freed: usize) {
    let (octets, freed) = (octets as u64, freed as u64);
    ALLOCATIONS.fetch_add(allocations, Ordering::Relaxed);
    OCTETS.fetch_add(octets, Ordering::Relaxed);
    FREED_OCTETS.fetch_add(freed, Ordering::Relaxed);
    // A thread that is ending may free memory after its counts are gone.
    let _ = THREAD.try_with(|counts| {
        let mut now = counts.get();
        now.allocations += allocations;
        now.octets += octets;
        now.freed_octets += freed;
        counts.set(now);
    });
}

// SAFETY: every method hands its arguments unchanged to `System`, which keeps the contract of
// `GlobalAlloc`; counting neither allocates nor unwinds (atomics and a `const` thread-local cell).
#[allow(unsafe_code)]
unsafe impl GlobalAlloc for CountingAllocator {
    // SAFETY: as `GlobalAlloc::alloc` asks of its caller, nothing more.
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(1, layout.size(), 0);
        // SAFETY: the caller keeps the contract of `alloc`, which is the same.
        unsafe { System.alloc(layout) }
    }

    // SAFETY: as `GlobalAlloc::alloc_zeroed` asks of its caller, nothing more.
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(1, layout.size(), 0);
        // SAFETY: the caller keeps the contract of `alloc_zeroed`, which is the same.
        unsafe { System.alloc_zeroed(layout) }
    }

    // SAFETY: as `GlobalAlloc::dealloc` asks of its caller, nothing more.
    unsafe fn dealloc(&self, octets: *mut u8, layout: Layout) {
        count(0, 0, layout.size());
        // SAFETY: `octets` came from `System` by one of the methods here, with this layout.
        unsafe { System.dealloc(octets, layout) }
    }

    // SAFETY: as `GlobalAlloc::realloc` asks of its caller, nothing more.
    unsafe fn realloc(&self, octets: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        count(1, new_size.saturating_sub(layout.size()), layout.size().saturating_sub(new_size));
        // SAFETY: `octets` came from `System` by one of the methods here, with this layout.
        unsafe { System.realloc(octets, layout, new_size) }
    }
}
