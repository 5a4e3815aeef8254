//! The request ids of a connection that have no reply yet.
//!
//! A set of numbers in one flat table: open addressing, no tombstones, no allocation in steady
//! state. Called by `connection`. CORBA 3.3 P2 §9.4.2.1 (an id is not used twice at a time).

/// The id is in the set already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestIdTaken;

/// A set of request ids.
#[derive(Clone, Debug, Default)]
pub struct Outstanding {
    /// A power of two of slots, or none; at most half of them taken. Linear probing.
    slots: Vec<Option<u32>>,
    len: usize,
}

impl Outstanding {
    const FIRST_SLOTS: usize = 16;

    /// An empty set.
    #[must_use]
    pub const fn new() -> Self {
        Self { slots: Vec::new(), len: 0 }
    }

    /// How many ids are in the set.
    #[inline]
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether the set is empty.
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The ids, in no particular order.
    pub fn iter(&self) -> impl Iterator<Item = u32> {
        self.slots.iter().filter_map(|slot| *slot)
    }

    /// Where the search for an id begins. The factor is 2^32 divided by the golden ratio, so that
    /// ids that count upwards spread over the table.
    #[inline]
    fn home(&self, id: u32) -> usize {
        let bits = self.slots.len().trailing_zeros();
        (id.wrapping_mul(0x9e37_79b9) >> (32 - bits.clamp(1, 31))) as usize
    }

    /// The slot with the id, or else the free slot where it would go.
    #[inline]
    fn find(&self, id: u32) -> Result<usize, usize> {
        let mask = self.slots.len() - 1;
        let mut index = self.home(id) & mask;
        loop {
            match self.slots[index] {
                Some(taken) if taken == id => return Ok(index),
                Some(_) => index = (index + 1) & mask,
                None => return Err(index),
            }
        }
    }

    /// Whether the id is in the set.
    #[inline]
    #[must_use]
    pub fn contains(&self, id: u32) -> bool {
        !self.slots.is_empty() && self.find(id).is_ok()
    }

    /// Adds an id.
    ///
    /// # Errors
    /// [`RequestIdTaken`]: it is in the set.
    #[inline]
    pub fn insert(&mut self, id: u32) -> Result<(), RequestIdTaken> {
        if self.len * 2 >= self.slots.len() {
            self.grow();
        }
        let Err(free) = self.find(id) else {
            return Err(RequestIdTaken);
        };
        self.slots[free] = Some(id);
        self.len += 1;
        Ok(())
    }

    #[cold]
    fn grow(&mut self) {
        let slots = (self.slots.len() * 2).max(Self::FIRST_SLOTS);
        let old = std::mem::replace(&mut self.slots, vec![None; slots]);
        for id in old.into_iter().flatten() {
            if let Err(free) = self.find(id) {
                self.slots[free] = Some(id);
            }
        }
    }

    /// Removes an id; `false`: it was not in the set.
    #[inline]
    pub fn remove(&mut self, id: u32) -> bool {
        if self.len == 0 {
            return false;
        }
        let Ok(mut hole) = self.find(id) else {
            return false;
        };
        let mask = self.slots.len() - 1;
        let mut index = hole;
        // Move later ids of the same run back, so that no search stops at the hole too early.
        loop {
            index = (index + 1) & mask;
            let Some(id) = self.slots[index] else { break };
            let home = self.home(id) & mask;
            let distance_home = index.wrapping_sub(home) & mask;
            let distance_hole = index.wrapping_sub(hole) & mask;
            if distance_home >= distance_hole {
                self.slots[hole] = Some(id);
                hole = index;
            }
        }
        self.slots[hole] = None;
        self.len -= 1;
        true
    }

    /// Removes all ids.
    pub fn clear(&mut self) {
        self.slots.fill(None);
        self.len = 0;
    }
}
