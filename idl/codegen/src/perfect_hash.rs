//! The search for a perfect hash over the operation names of an interface.
//!
//! Called when a skeleton is generated; the table found is looked up by `orb/core`'s
//! `server/operation_table.rs`, which holds the same `hash`, `bucket` and `slot` (a test compares
//! them). Method: names are put into buckets, and the largest bucket first, each bucket gets the
//! first displacement that sends all its names to free slots (compress, hash and displace).

/// What the search found; the fields are those of the table at run time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PerfectHash {
    /// Starts the hash.
    pub seed: u64,
    /// One displacement for each bucket.
    pub displacements: Vec<u16>,
    /// For each slot, the index of its name in the list given.
    pub slots: Vec<u16>,
}

/// Names for each bucket, on average: more saves displacements, fewer saves search time.
const NAMES_PER_BUCKET: usize = 3;

/// Builds the table for `names`, of which no two may be equal; slots are as many as names.
///
/// Returns `None` when two names are equal or there are more than 65,535: no seed could help.
#[must_use]
pub fn build(names: &[&str]) -> Option<PerfectHash> {
    let mut sorted = names.to_vec();
    sorted.sort_unstable();
    if sorted.windows(2).any(|pair| pair[0] == pair[1]) || names.len() > usize::from(u16::MAX) {
        return None;
    }
    (0..u64::MAX).find_map(|seed| with_seed(names, seed))
}

/// One try: `None` when two names share all 64 bits of the hash or a bucket finds no displacement.
fn with_seed(names: &[&str], seed: u64) -> Option<PerfectHash> {
    let bucket_count = names.len().div_ceil(NAMES_PER_BUCKET);
    let mut buckets: Vec<Vec<(u64, u16)>> = vec![Vec::new(); bucket_count];
    for (index, name) in names.iter().enumerate() {
        let hash = hash(seed, name.as_bytes());
        buckets[bucket(hash, bucket_count)].push((hash, u16::try_from(index).ok()?));
    }
    let mut order: Vec<usize> = (0..bucket_count).collect();
    order.sort_by_key(|&at| std::cmp::Reverse(buckets[at].len()));

    let mut slots: Vec<Option<u16>> = vec![None; names.len()];
    let mut displacements = vec![0; bucket_count];
    let mut wanted = Vec::new();
    for at in order {
        let found = (0..=u16::MAX).find(|&displacement| {
            wanted.clear();
            buckets[at].iter().all(|&(hash, _)| {
                let slot = slot(hash, displacement, slots.len());
                let free = slots[slot].is_none() && !wanted.contains(&slot);
                wanted.push(slot);
                free
            })
        })?;
        displacements[at] = found;
        for (&slot, &(_, index)) in wanted.iter().zip(&buckets[at]) {
            slots[slot] = Some(index);
        }
    }
    let slots = slots.into_iter().collect::<Option<Vec<u16>>>()?;
    Some(PerfectHash { seed, displacements, slots })
}

/// As `hash` in `operation_table.rs`.
#[must_use]
pub fn hash(seed: u64, name: &[u8]) -> u64 {
    let mut state = mix(seed ^ name.len() as u64);
    let mut rest = name;
    while let Some((word, after)) = rest.split_first_chunk::<8>() {
        state = mix(state ^ u64::from_le_bytes(*word));
        rest = after;
    }
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

fn mix(value: u64) -> u64 {
    let product = u128::from(value ^ 0xa076_1d64_78bd_642f) * 0x9e37_79b9_7f4a_7c15;
    (product >> 64) as u64 ^ product as u64
}

/// As `bucket` in `operation_table.rs`.
#[must_use]
pub fn bucket(hash: u64, buckets: usize) -> usize {
    (((hash >> 32) * buckets as u64) >> 32) as usize
}

/// As `slot` in `operation_table.rs`.
#[must_use]
pub fn slot(hash: u64, displacement: u16, slots: usize) -> usize {
    let spread = mix(hash.wrapping_add(u64::from(displacement)));
    (((spread >> 32) * slots as u64) >> 32) as usize
}
