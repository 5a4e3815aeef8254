//! Buffers by size: a stack for each power of two, found without a search.
//!
//! Each stack remembers how few buffers it held since the last trimming: so many were not
//! needed. Used by a thread's pool and by the process's.

/// Octets of the smallest buffers, and of the first that are never kept by a thread.
pub(super) const FIRST_OCTETS: usize = 4 << 10;
pub(super) const LARGE_OCTETS: usize = 1 << 20;
/// From 4 KiB to 2 GiB.
pub(super) const CLASSES: usize = 20;
/// A buffer of a stack so much higher will do, too: it is at most four times too large.
const WASTE: u32 = 1;
/// Buffers that an empty stack keeps the list for: the next one is to cost nothing.
const FEW: usize = 4;
/// Buffers of more than this are rounded up to a multiple of [`LARGE_STEP`], not to a power of two.
const LARGE_STEP: usize = 64 << 10;

/// What is known of the octets in a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Nothing: it is to be written into, from its beginning.
    Empty,
    /// All are initialised: it is to be received into.
    Filled,
}

impl Kind {
    /// Octets of the buffers that nearly every call needs.
    #[inline]
    pub(super) const fn usual(self) -> usize {
        match self {
            Kind::Empty => super::MIN_OCTETS,
            Kind::Filled => super::MESSAGE_OCTETS,
        }
    }

    /// Octets that can be used of a buffer.
    #[inline]
    pub(super) fn octets(self, buffer: &Vec<u8>) -> usize {
        match self {
            Kind::Empty => buffer.capacity(),
            Kind::Filled => buffer.len(),
        }
    }
}

/// One stack for each size.
pub(super) struct Shelf {
    stacks: [Vec<Vec<u8>>; CLASSES],
    /// How few buffers a stack held since the last trimming.
    fewest: [usize; CLASSES],
    /// Bit n: stack n is not empty.
    stocked: u32,
}

/// How many octets to allocate where `octets` are needed.
#[inline]
pub(super) fn rounded(octets: usize) -> usize {
    if octets <= LARGE_OCTETS {
        octets.max(FIRST_OCTETS).next_power_of_two()
    } else {
        octets.checked_next_multiple_of(LARGE_STEP).unwrap_or(octets)
    }
}

/// The stack of buffers with at least `octets`, which are not fewer than [`FIRST_OCTETS`].
#[inline]
fn class_of(octets: usize) -> usize {
    (octets.ilog2() - FIRST_OCTETS.ilog2()) as usize
}

impl Shelf {
    pub(super) const fn new() -> Self {
        Shelf { stacks: [const { Vec::new() }; CLASSES], fewest: [0; CLASSES], stocked: 0 }
    }

    /// Takes out a buffer that has room for `octets`.
    #[inline]
    pub(super) fn take(&mut self, kind: Kind, octets: usize) -> Option<Vec<u8>> {
        let class = class_of(rounded(octets));
        if octets > LARGE_OCTETS {
            return self.take_large(kind, octets, class);
        }
        let above = self.stocked.checked_shr(class as u32).unwrap_or(0);
        if above == 0 || above.trailing_zeros() > WASTE {
            return None;
        }
        self.pop(class + above.trailing_zeros() as usize)
    }

    /// Large ones are of any size, so the stack of their own class may have one.
    #[cold]
    fn take_large(&mut self, kind: Kind, octets: usize, class: usize) -> Option<Vec<u8>> {
        let stack = self.stacks.get_mut(class)?;
        if let Some(at) = stack.iter().rposition(|buffer| kind.octets(buffer) >= octets) {
            let last = stack.len() - 1;
            stack.swap(at, last);
            return self.pop(class);
        }
        self.pop(class + 1)
    }

    #[inline]
    fn pop(&mut self, class: usize) -> Option<Vec<u8>> {
        let stack = self.stacks.get_mut(class)?;
        let buffer = stack.pop()?;
        let left = stack.len();
        if left < self.fewest[class] {
            self.fewest[class] = left;
        }
        if left == 0 {
            self.stocked &= !(1 << class);
        }
        Some(buffer)
    }

    /// The stack that `buffer` came from or would be put into.
    pub(super) fn class_of(kind: Kind, buffer: &Vec<u8>) -> usize {
        class_of(kind.octets(buffer).max(FIRST_OCTETS))
    }

    /// The stacks that are not empty.
    pub(super) fn stocked(&self) -> impl Iterator<Item = usize> {
        (0..CLASSES).filter(|class| self.stocked & (1 << class) != 0)
    }

    /// Takes out a buffer of the stack `class`.
    pub(super) fn take_of(&mut self, class: usize) -> Option<Vec<u8>> {
        self.pop(class)
    }

    /// Takes out a buffer of the size of `buffer`.
    pub(super) fn take_like(&mut self, kind: Kind, buffer: &Vec<u8>) -> Option<Vec<u8>> {
        self.pop(Self::class_of(kind, buffer))
    }

    /// Puts a buffer in, unless it is too small or too large to be of use; whether it did.
    #[inline]
    pub(super) fn put(&mut self, kind: Kind, buffer: Vec<u8>) -> bool {
        let octets = kind.octets(&buffer);
        if octets < FIRST_OCTETS {
            return false;
        }
        let class = class_of(octets);
        let Some(stack) = self.stacks.get_mut(class) else { return false };
        stack.push(buffer);
        self.stocked |= 1 << class;
        true
    }

    /// How many buffers of the size of `buffer` there are.
    #[inline]
    pub(super) fn count_like(&self, kind: Kind, buffer: &Vec<u8>) -> usize {
        self.stacks.get(Self::class_of(kind, buffer)).map_or(0, Vec::len)
    }

    /// Takes out any buffer.
    pub(super) fn take_any(&mut self) -> Option<Vec<u8>> {
        self.pop(self.stocked.trailing_zeros() as usize)
    }

    /// Drops as many buffers of each size as were not needed since the last time; each is shown
    /// to `dropped` before.
    pub(super) fn trim(&mut self, mut dropped: impl FnMut(&Vec<u8>)) {
        for (class, stack) in self.stacks.iter_mut().enumerate() {
            let unneeded = self.fewest[class].min(stack.len());
            stack.drain(..unneeded).for_each(|buffer| dropped(&buffer));
            self.fewest[class] = stack.len();
            if stack.is_empty() {
                stack.shrink_to(FEW);
                self.stocked &= !(1 << class);
            }
        }
    }
}
