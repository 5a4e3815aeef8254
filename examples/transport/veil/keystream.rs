//! The octets that a direction of a link is combined with: SplitMix64 from a secret.
//! Combining twice gives back what was there, so that both ends do the same.

/// A place in the stream of one direction.
#[derive(Clone, Debug)]
pub(super) struct Keystream {
    seed: u64,
    /// Octets that went through already.
    place: u64,
}

impl Keystream {
    /// Those of the two directions, which differ.
    pub(super) fn both(secret: u64) -> [Keystream; 2] {
        [secret, !secret].map(|seed| Keystream { seed, place: 0 })
    }

    /// Combines `octets` with what comes at this place, and stays there.
    pub(super) fn combine(&self, octets: &mut [u8]) {
        for (place, octet) in (self.place..).zip(octets) {
            *octet ^= self.word(place / 8)[(place % 8) as usize];
        }
    }

    /// So many octets went through.
    pub(super) fn advance(&mut self, octets: usize) {
        self.place += octets as u64;
    }

    fn word(&self, index: u64) -> [u8; 8] {
        let mut z = self.seed.wrapping_add((index + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)).to_be_bytes()
    }
}
