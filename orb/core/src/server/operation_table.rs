//! Finding an operation by its name: the tables that generated skeletons hold.
//!
//! A skeleton's `_dispatch` asks one of these tables which operation a request names. The default,
//! [`PerfectHash`], costs the same for one operation and for two thousand: one pass over the name,
//! two table reads and one comparison, without allocation (paper POA §2.2: operation demultiplexing
//! by perfect hashing). [`BinarySearch`] and [`LinearSearch`] are kept to be measured against it.
//!
//! The tables are built at compile time by `corbie_codegen` (`perfect_hash.rs` there holds the same
//! hash function and a test that compares the two). This file imports nothing, so that the test can
//! include it as it stands.

/// A collision-free table of operation names, found by the generator.
///
/// A name's hash picks a displacement, hash and displacement together pick the only slot where the
/// name can be.
#[derive(Debug, Clone, Copy)]
pub struct PerfectHash {
    /// Starts the hash; chosen by the generator so that the displacements exist.
    pub seed: u64,
    /// One displacement for each bucket of names.
    pub displacements: &'static [u16],
    /// One operation for each slot: its name on the wire and its index in the skeleton.
    pub slots: &'static [(&'static str, u16)],
}

impl PerfectHash {
    /// The index that the skeleton gave to `operation`; `None` if it has no such operation.
    #[inline]
    #[must_use]
    pub fn lookup(&self, operation: &str) -> Option<usize> {
        let hash = hash(self.seed, operation.as_bytes());
        let displacement = *self.displacements.get(bucket(hash, self.displacements.len()))?;
        let (name, index) = *self.slots.get(slot(hash, displacement, self.slots.len()))?;
        (name == operation).then_some(usize::from(index))
    }
}

/// Operation names in ascending order of their octets, each with its index in the skeleton.
#[derive(Debug, Clone, Copy)]
pub struct BinarySearch {
    /// Sorted by name.
    pub names: &'static [(&'static str, u16)],
}

impl BinarySearch {
    /// The index that the skeleton gave to `operation`; `None` if it has no such operation.
    #[inline]
    #[must_use]
    pub fn lookup(&self, operation: &str) -> Option<usize> {
        let at = self.names.binary_search_by(|(name, _)| (*name).cmp(operation)).ok()?;
        self.names.get(at).map(|(_, index)| usize::from(*index))
    }
}

/// Operation names in the order of the skeleton's indices.
#[derive(Debug, Clone, Copy)]
pub struct LinearSearch {
    /// The name at place `i` is that of operation `i`.
    pub names: &'static [&'static str],
}

impl LinearSearch {
    /// The index that the skeleton gave to `operation`; `None` if it has no such operation.
    #[inline]
    #[must_use]
    pub fn lookup(&self, operation: &str) -> Option<usize> {
        self.names.iter().position(|name| *name == operation)
    }
}

/// Spreads the octets of a name over 64 bits, eight at a time.
#[inline]
#[must_use]
pub fn hash(seed: u64, name: &[u8]) -> u64 {
    let mut state = mix(seed ^ name.len() as u64);
    let mut rest = name;
    while let Some((word, after)) = rest.split_first_chunk::<8>() {
        state = mix(state ^ u64::from_le_bytes(*word));
        rest = after;
    }
    // What is left, at most seven octets, is read as one or two overlapping halves.
    let last = match (rest.first_chunk::<4>(), rest.last_chunk::<4>(), rest) {
        (Some(first), Some(last), _) => {
            u64::from(u32::from_le_bytes(*first)) << 32 | u64::from(u32::from_le_bytes(*last))
        }
        (_, _, &[a, .., c]) => {
            u64::from(a) << 16 | u64::from(rest[rest.len() / 2]) << 8 | u64::from(c)
        }
        (_, _, &[a]) => u64::from(a),
        (_, _, &[]) => return state,
    };
    mix(state ^ last)
}

/// Multiplies by an odd constant (2^64 divided by the golden ratio) and folds the 128-bit product.
#[inline]
fn mix(value: u64) -> u64 {
    let product = u128::from(value ^ 0xa076_1d64_78bd_642f) * 0x9e37_79b9_7f4a_7c15;
    (product >> 64) as u64 ^ product as u64
}

/// The bucket of a hash: its upper half, scaled to `0..buckets`.
#[inline]
#[must_use]
pub fn bucket(hash: u64, buckets: usize) -> usize {
    (((hash >> 32) * buckets as u64) >> 32) as usize
}

/// The slot of a hash under a displacement: scaled to `0..slots`.
#[inline]
#[must_use]
pub fn slot(hash: u64, displacement: u16, slots: usize) -> usize {
    // Mixed again, so that names of one bucket move apart as the displacement changes.
    let spread = mix(hash.wrapping_add(u64::from(displacement)));
    (((spread >> 32) * slots as u64) >> 32) as usize
}
