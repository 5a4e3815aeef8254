//! The one place from which all parts of the ORB take memory for messages, and to which they give
//! it back: a pool of each thread, without locks, and one of the process behind it.
//!
//! Requests and replies are written in blocks from here ([`Encoder::pooled`]), and received into
//! buffers from here. A thread's own pool makes what a call costs independent of what other
//! threads and the application do with the heap (paper POA §3.2). What a thread gives back beyond
//! its share, and what is large, goes to the process's pool, whose lock is tried and never waited
//! for.
//!
//! [`Encoder::pooled`]: crate::Encoder::pooled

mod limits;
mod shared;
mod shelf;

use arrayvec::ArrayVec;
use std::cell::RefCell;

pub use limits::{BufferLimits, limits, set_limits};
pub use shared::{held_octets as shared_octets, trim};
use shelf::{Kind, Shelf};

/// Octets of the smallest buffer here; a caller that needs less gets so much.
pub const MIN_OCTETS: usize = shelf::FIRST_OCTETS;
/// Octets of the buffers that small messages are received into.
pub const MESSAGE_OCTETS: usize = 16 << 10;

/// Lists of blocks that a thread keeps, and how long they may be.
const LISTS: usize = 4;
const LIST_LENGTH: usize = 256;

/// What one thread's pool did so far, and holds now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BufferStatistics {
    /// Buffers taken by this thread.
    pub taken: u64,
    /// Those of them that had to be allocated.
    pub allocated: u64,
    /// Those of them that came out of the process's pool.
    pub from_shared: u64,
    /// Buffers given back by this thread.
    pub given: u64,
    /// Those of them that were given on to the process's pool.
    pub to_shared: u64,
    /// Those of them that were freed, as the limits say.
    pub freed: u64,
    /// Buffers that were freed since nothing had needed them for a while.
    pub trimmed: u64,
    /// Buffers in the pool now.
    pub held_buffers: usize,
    /// Octets in them.
    pub held_octets: usize,
}

/// The pool of one thread.
struct Pool {
    /// By [`Kind`]: a buffer of the usual size ([`Kind::usual`]), if there is one. What nearly
    /// every call takes and gives back is found without looking at sizes and limits.
    front: [Vec<u8>; 2],
    /// By [`Kind`].
    shelves: [Shelf; 2],
    /// Lists that held the blocks of an encoder, empty.
    lists: Vec<Vec<Vec<u8>>>,
    /// The trimming that was done last.
    trimmed: u32,
    statistics: BufferStatistics,
}

thread_local! {
    static POOL: RefCell<Pool> = const { RefCell::new(Pool::new()) };
}

/// An empty buffer with room for `octets` at least.
#[inline]
#[must_use]
pub fn take(octets: usize) -> Vec<u8> {
    let mut buffer = Vec::new();
    with_pool(|pool| pool.take(Kind::Empty, octets, &mut buffer));
    if buffer.capacity() == 0 {
        buffer.reserve_exact(shelf::rounded(octets));
    }
    buffer.clear();
    buffer
}

/// A buffer of at least `octets` octets, whatever they are: to receive into.
#[inline]
#[must_use]
pub fn take_filled(octets: usize) -> Vec<u8> {
    let mut buffer = Vec::new();
    with_pool(|pool| pool.take(Kind::Filled, octets, &mut buffer));
    if buffer.capacity() == 0 { vec![0; shelf::rounded(octets)] } else { buffer }
}

/// As [`take_filled`], but only if nothing has to be allocated for it.
#[inline]
#[must_use]
pub fn take_kept_filled(octets: usize) -> Option<Vec<u8>> {
    let mut buffer = Vec::new();
    with_pool(|pool| pool.take(Kind::Filled, octets, &mut buffer));
    (buffer.capacity() > 0).then_some(buffer)
}

/// Takes a buffer back whose octets do not matter any more; any may be given, also one that comes
/// from elsewhere. Not for one to receive into: those are worth keeping whole ([`give_filled`]).
#[inline]
pub fn give(buffer: Vec<u8>) {
    if buffer.capacity() > 0 {
        with_pool(|pool| pool.give(Kind::Empty, buffer));
    }
}

/// Takes a buffer back to receive into, all of whose octets are initialised.
#[inline]
pub fn give_filled(buffer: Vec<u8>) {
    if buffer.capacity() > 0 {
        with_pool(|pool| pool.give(Kind::Filled, buffer));
    }
}

/// Gives all that this thread holds to the others: for a thread that only gives back what others
/// took, as one that sends what they have written. They would allocate, and it would hoard.
pub fn leave_to_others() {
    with_pool(Pool::leave);
}

/// What this thread's pool did and holds.
#[must_use]
pub fn statistics() -> BufferStatistics {
    let look = |pool: &mut Pool| {
        let mut statistics = pool.statistics;
        for front in pool.front.iter().filter(|front| front.capacity() > 0) {
            statistics.held_buffers += 1;
            statistics.held_octets += front.capacity();
        }
        statistics
    };
    with_pool(look).unwrap_or_default()
}

/// A list for the blocks of an encoder.
pub(crate) fn take_list() -> Vec<Vec<u8>> {
    with_pool(|pool| pool.lists.pop()).flatten().unwrap_or_default()
}

/// Takes back a list with its blocks.
pub(crate) fn give_list(mut list: Vec<Vec<u8>>) {
    list.drain(..).for_each(give);
    with_pool(|pool| {
        if pool.lists.len() < LISTS && list.capacity() <= LIST_LENGTH {
            pool.lists.push(list);
        }
    });
}

/// `None` when the thread is ending and its pool is gone, or when an allocator of the application
/// calls us from inside it: the caller allocates, and what is given is freed.
#[inline]
fn with_pool<T>(work: impl FnOnce(&mut Pool) -> T) -> Option<T> {
    POOL.try_with(|pool| pool.try_borrow_mut().ok().map(|mut pool| work(&mut pool))).ok().flatten()
}

impl Pool {
    const fn new() -> Self {
        Pool {
            front: [Vec::new(), Vec::new()],
            shelves: [Shelf::new(), Shelf::new()],
            lists: Vec::new(),
            trimmed: 0,
            statistics: BufferStatistics {
                taken: 0,
                allocated: 0,
                from_shared: 0,
                given: 0,
                to_shared: 0,
                freed: 0,
                trimmed: 0,
                held_buffers: 0,
                held_octets: 0,
            },
        }
    }

    /// Puts a buffer in the place of `taken`, which has no capacity, if there is one.
    #[inline]
    fn take(&mut self, kind: Kind, octets: usize, taken: &mut Vec<u8>) {
        self.statistics.taken += 1;
        let front = &mut self.front[kind as usize];
        if octets <= kind.usual() && front.capacity() > 0 {
            std::mem::swap(front, taken);
        } else {
            self.take_from_shelf(kind, octets, taken);
        }
    }

    #[inline(never)]
    fn take_from_shelf(&mut self, kind: Kind, octets: usize, taken: &mut Vec<u8>) {
        if let Some(buffer) = self.shelves[kind as usize].take(kind, octets) {
            self.statistics.held_buffers -= 1;
            self.statistics.held_octets -= buffer.capacity();
            *taken = buffer;
        } else if let Some(buffer) = self.take_elsewhere(kind, octets) {
            *taken = buffer;
        }
    }

    #[cold]
    fn take_elsewhere(&mut self, kind: Kind, octets: usize) -> Option<Vec<u8>> {
        let shelf = &mut self.shelves[kind as usize];
        let statistics = &mut self.statistics;
        let (taken, more) = shared::take(kind, octets, |buffer| {
            let octets = buffer.capacity();
            if shelf.put(kind, buffer) {
                statistics.held_octets += octets;
                statistics.held_buffers += 1;
            }
        });
        match taken {
            Some(_) => self.statistics.from_shared += 1 + more,
            None => self.statistics.allocated += 1,
        }
        taken
    }

    #[inline]
    fn give(&mut self, kind: Kind, buffer: Vec<u8>) {
        self.statistics.given += 1;
        let limits = limits::fast();
        let front = &mut self.front[kind as usize];
        if front.capacity() == 0
            && kind.octets(&buffer) == kind.usual()
            && self.trimmed == limits.trimming
            && limits.thread_buffers > 0
        {
            *front = buffer;
        } else {
            self.give_to_shelf(kind, buffer, limits);
        }
    }

    #[inline(never)]
    fn give_to_shelf(&mut self, kind: Kind, buffer: Vec<u8>, limits: limits::Fast) {
        if self.trimmed != limits.trimming {
            self.trim(limits.trimming);
        }
        let statistics = &mut self.statistics;
        let octets = buffer.capacity();
        // Those in front count as well.
        let (buffers, fronts) = (statistics.held_buffers + 1, self.front.len());
        let total = statistics.held_octets + octets + MIN_OCTETS + MESSAGE_OCTETS;
        if buffers + fronts <= limits.thread_buffers
            && total <= limits.thread_octets
            && (MIN_OCTETS..shelf::LARGE_OCTETS).contains(&octets)
            && self.shelves[kind as usize].count_like(kind, &buffer) < 2 * shared::BATCH
        {
            if self.shelves[kind as usize].put(kind, buffer) {
                statistics.held_buffers += 1;
                statistics.held_octets += octets;
            } else {
                statistics.freed += 1;
            }
        } else {
            self.give_on(kind, buffer, limits.thread_buffers);
        }
    }

    /// There is no room for the buffer: the process's pool takes it, and others with it, so that
    /// it need not be asked for each.
    #[cold]
    fn give_on(&mut self, kind: Kind, buffer: Vec<u8>, most: usize) {
        let statistics = &mut self.statistics;
        if buffer.capacity() < MIN_OCTETS {
            statistics.freed += 1;
            return;
        }
        let is_large = buffer.capacity() >= shelf::LARGE_OCTETS;
        let batch = if is_large { 0 } else { shared::BATCH.min(most) };
        let shelf = &mut self.shelves[kind as usize];
        let mut others = ArrayVec::<Vec<u8>, { shared::BATCH + 1 }>::new();
        while others.len() < batch
            && let Some(other) = shelf.take_like(kind, &buffer)
        {
            statistics.held_buffers -= 1;
            statistics.held_octets -= other.capacity();
            others.push(other);
        }
        others.push(buffer);
        let count = others.len() as u64;
        let taken = shared::give(kind, others.into_iter());
        statistics.to_shared += taken;
        statistics.freed += count - taken;
    }

    /// Gives all buffers to the process's pool, unless its lock is taken.
    fn leave(&mut self) {
        let Pool { front, shelves, statistics, .. } = self;
        for (kind, (shelf, front)) in
            [Kind::Empty, Kind::Filled].into_iter().zip(shelves.iter_mut().zip(front))
        {
            if front.capacity() == 0 && shelf.stocked().next().is_none() {
                continue;
            }
            let mut left = 0;
            let from_shelf = std::iter::from_fn(|| {
                let buffer = shelf.take_any()?;
                statistics.held_buffers -= 1;
                statistics.held_octets -= buffer.capacity();
                Some(buffer)
            });
            let from_front = std::iter::from_fn(|| {
                Some(std::mem::take(front)).filter(|front| front.capacity() > 0)
            });
            let all = from_shelf.chain(from_front).inspect(|_| left += 1);
            let taken = shared::give(kind, all);
            statistics.to_shared += taken;
            statistics.freed += left - taken;
        }
    }

    /// Frees what no message has needed since the last time.
    #[cold]
    fn trim(&mut self, trimming: u32) {
        self.trimmed = trimming;
        let statistics = &mut self.statistics;
        for shelf in &mut self.shelves {
            shelf.trim(|buffer| {
                statistics.trimmed += 1;
                statistics.held_buffers -= 1;
                statistics.held_octets -= buffer.capacity();
            });
        }
    }
}

/// A thread that ends leaves its buffers to the others.
impl Drop for Pool {
    fn drop(&mut self) {
        self.leave();
    }
}
