//! Changes an input in the ways that break decoders: bits, lengths, cuts, repeats, splices.
//!
//! Deterministic for a seed, so that a failure of `cargo test` can be repeated. Used by the tests
//! of this crate and by the program `corbie-fuzz`.

use corbie_testkit::Seed;

/// Octets that sit at the edges of something.
const EDGES: [u8; 10] = [0, 1, 2, 3, 4, 7, 0x7f, 0x80, 0xfe, 0xff];

/// Lengths that sit at the edges of something.
const LENGTHS: [u32; 10] =
    [0, 1, 4, 0xff, 0x1_0000, 0x0100_0000, 0x7fff_ffff, 0x8000_0000, 0xffff_fffe, 0xffff_ffff];

/// The most octets of an input: what matters happens in short ones.
const MAX_OCTETS: usize = 16 << 10;

/// One to four changes of `input`; `other` is an input to splice from.
#[must_use]
pub fn mutate(input: &[u8], other: &[u8], seed: &mut Seed) -> Vec<u8> {
    let mut octets = input.to_vec();
    for _ in 0..=seed.below(4) {
        change(&mut octets, other, seed);
    }
    octets.truncate(MAX_OCTETS);
    octets
}

fn change(octets: &mut Vec<u8>, other: &[u8], seed: &mut Seed) {
    let at = seed.below(octets.len() + 1);
    match seed.below(9) {
        0 => {
            if let Some(octet) = octets.get_mut(at) {
                *octet ^= 1 << seed.below(8);
            }
        }
        1 => {
            if let Some(octet) = octets.get_mut(at) {
                *octet = EDGES[seed.below(EDGES.len())];
            }
        }
        2 => {
            if let Some(octet) = octets.get_mut(at) {
                *octet = seed.next_u64() as u8;
            }
        }
        3 => write_length(octets, at, seed),
        4 => octets.truncate(at),
        5 => octets.insert(at, seed.next_u64() as u8),
        6 => {
            let end = (at + 1 + seed.below(8)).min(octets.len());
            octets.drain(at.min(end)..end);
        }
        7 => {
            // Repeats a piece: more fragments, more nesting, more elements.
            let end = (at + 1 + seed.below(64)).min(octets.len());
            let piece = octets[at.min(end)..end].to_vec();
            let times = 1 + seed.below(20);
            for _ in 0..times {
                octets.splice(at..at, piece.iter().copied());
            }
        }
        _ => {
            let from = seed.below(other.len() + 1);
            octets.truncate(at);
            octets.extend_from_slice(&other[from..]);
        }
    }
}

/// Overwrites four octets, mostly aligned, with a length in either byte order.
fn write_length(octets: &mut [u8], at: usize, seed: &mut Seed) {
    let at = if seed.below(4) == 0 { at } else { at & !3 };
    let length = match seed.below(2) {
        0 => LENGTHS[seed.below(LENGTHS.len())],
        _ => (octets.len() + seed.below(9)).saturating_sub(4) as u32,
    };
    let length = if seed.below(2) == 0 { length.to_be_bytes() } else { length.to_le_bytes() };
    if let Some(place) = octets.get_mut(at..at + 4) {
        place.copy_from_slice(&length);
    }
}
