//! Shared values by index, read without a lock: where requests find their POA.
//!
//! `registry` writes under its own lock; a request reads one pointer of its index and one of the
//! value, and writes to no memory that another core reads. The blocks of the array are never moved,
//! so that making the n-th value costs what making the first did.

use arc_swap::{ArcSwapOption, Guard};
use std::sync::{Arc, OnceLock};

/// The first block has `2^FIRST` places, each other as many as all before it.
const FIRST: u32 = 4;
const BLOCKS: usize = (u32::BITS - FIRST + 1) as usize;

type Block<T> = Box<[ArcSwapOption<T>]>;

/// The array. An index is that of a `Slots` beside it.
pub(crate) struct Places<T> {
    blocks: [OnceLock<Block<T>>; BLOCKS],
}

impl<T> Places<T> {
    pub(crate) fn new() -> Self {
        Places { blocks: [const { OnceLock::new() }; BLOCKS] }
    }

    /// What stands at `index` now; it stays alive as long as the result.
    #[inline]
    pub(crate) fn get(&self, index: u32) -> Option<Guard<Option<Arc<T>>>> {
        let (block, at) = place_of(index);
        Some(self.blocks.get(block)?.get()?.get(at)?.load())
    }

    /// Puts `value` there, or takes away what is there. One thread at a time.
    pub(crate) fn set(&self, index: u32, value: Option<Arc<T>>) {
        let (block, at) = place_of(index);
        let size = 1_usize << (FIRST + u32::try_from(block).unwrap_or(0).saturating_sub(1));
        let make = || (0..size).map(|_| ArcSwapOption::empty()).collect();
        self.blocks[block].get_or_init(make)[at].store(value);
    }
}

/// Which block, and where in it.
#[inline]
fn place_of(index: u32) -> (usize, usize) {
    match (index >> FIRST).checked_ilog2() {
        None => (0, index as usize),
        Some(log) => (log as usize + 1, (index - (1 << (log + FIRST))) as usize),
    }
}

#[cfg(test)]
mod tests {
    use super::{BLOCKS, Places, place_of};
    use std::sync::Arc;

    #[test]
    fn every_index_has_a_place_of_its_own() {
        let mut next = vec![0; BLOCKS];
        for index in 0..100_000 {
            let (block, at) = place_of(index);
            assert_eq!(at, next[block], "index {index} in block {block}");
            next[block] += 1;
        }
        assert_eq!(&next[..4], [16, 16, 32, 64]);
        assert_eq!(place_of(u32::MAX).0, BLOCKS - 1);
    }

    #[test]
    fn what_was_taken_away_is_found_no_more() {
        let places = Places::new();
        assert!(places.get(70).is_none());
        places.set(70, Some(Arc::new("here")));
        let found = places.get(70).unwrap();
        assert_eq!(found.as_deref(), Some(&"here"));
        assert!(places.get(71).unwrap().is_none());
        places.set(70, None);
        assert!(places.get(70).unwrap().is_none());
        assert_eq!(found.as_deref(), Some(&"here"), "a reader keeps what it found");
    }
}
