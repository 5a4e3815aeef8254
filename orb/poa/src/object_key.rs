//! The octets by which a server finds an object again: opaque to peers, parsed in place by us.
//!
//! ```text
//! transient:  CB 'T' │ incarnation u32 │ POA index u32, generation u32
//!             │ servant index u32, generation u32 │ id …
//! persistent: CB 'P' │ path length u16 │ path: POA names below the root, each with a NUL │ id …
//! and hinted: CB 'H' │ POA index u32, path hash u64, servant index u32 │ path length u16 …
//! ```
//! All numbers are big-endian. Hints say where POA and object stood when the reference was made;
//! they are followed only where path hash and id agree, so they are harmless in another life. Keys
//! come from outside: every octet string is either understood or `None`, never trusted
//! (CORBA 3.3 P2 §9.6: object keys are opaque; paper POA §2.3).

use crate::slots::SlotName;

const MAGIC: u8 = 0xCB;
const TRANSIENT: u8 = b'T';
const PERSISTENT: u8 = b'P';
const HINTED: u8 = b'H';
/// Octets of a hint.
const HINT_OCTETS: usize = 16;
/// Octets of a transient key before its id.
const TRANSIENT_OCTETS: usize = 22;

/// A key, taken apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ObjectKey<'a> {
    /// Good within one life of one ORB: found by position.
    Transient { incarnation: u32, poa: SlotName, servant: SlotName, id: &'a [u8] },
    /// Good across restarts: found by name.
    Persistent { hint: Option<KeyHint>, path: &'a [u8], id: &'a [u8] },
}

/// Where a persistent object stood when its reference was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct KeyHint {
    pub(crate) poa_index: u32,
    /// [`hash_of_path`]. It stands for the path, so that long paths cost no more than short ones.
    pub(crate) path_hash: u64,
    pub(crate) servant_index: u32,
}

/// The hash that hints carry: FNV-1a, as it has to be the same in every life of a server.
pub(crate) fn hash_of_path(path: &[u8]) -> u64 {
    path.iter().fold(0xCBF2_9CE4_8422_2325, |hash, octet| {
        (hash ^ u64::from(*octet)).wrapping_mul(0x0100_0000_01B3)
    })
}

impl<'a> ObjectKey<'a> {
    #[inline]
    pub(crate) fn parse(octets: &'a [u8]) -> Option<Self> {
        match octets {
            [MAGIC, TRANSIENT, ..] if octets.len() >= TRANSIENT_OCTETS => {
                let (head, id) = octets.split_at(TRANSIENT_OCTETS);
                let number = |at: usize| number(head, at);
                Some(ObjectKey::Transient {
                    incarnation: number(2),
                    poa: SlotName { index: number(6), generation: number(10) },
                    servant: SlotName { index: number(14), generation: number(18) },
                    id,
                })
            }
            [MAGIC, PERSISTENT, rest @ ..] => Self::parse_names(None, rest),
            [MAGIC, HINTED, rest @ ..] if rest.len() >= HINT_OCTETS => {
                let (head, names) = rest.split_at(HINT_OCTETS);
                let hint = KeyHint {
                    poa_index: number(head, 0),
                    path_hash: u64::from(number(head, 4)) << 32 | u64::from(number(head, 8)),
                    servant_index: number(head, 12),
                };
                Self::parse_names(Some(hint), names)
            }
            _ => None,
        }
    }

    #[inline]
    fn parse_names(hint: Option<KeyHint>, octets: &'a [u8]) -> Option<Self> {
        let (length, rest) = octets.split_first_chunk::<2>()?;
        let (path, id) = rest.split_at_checked(usize::from(u16::from_be_bytes(*length)))?;
        Some(ObjectKey::Persistent { hint, path, id })
    }

    /// The object id.
    #[inline]
    pub(crate) fn id(&self) -> &'a [u8] {
        match self {
            ObjectKey::Transient { id, .. } | ObjectKey::Persistent { id, .. } => id,
        }
    }

    pub(crate) fn to_octets(self) -> Vec<u8> {
        let mut octets = Vec::new();
        match self {
            ObjectKey::Transient { incarnation, poa, servant, id } => {
                octets.extend_from_slice(&[MAGIC, TRANSIENT]);
                for number in
                    [incarnation, poa.index, poa.generation, servant.index, servant.generation]
                {
                    octets.extend_from_slice(&number.to_be_bytes());
                }
                octets.extend_from_slice(id);
            }
            ObjectKey::Persistent { hint, path, id } => {
                // `Poa::create_poa` refuses paths of more than 65,535 octets.
                let length = u16::try_from(path.len()).unwrap_or(u16::MAX);
                if let Some(KeyHint { poa_index, path_hash, servant_index }) = hint {
                    octets.extend_from_slice(&[MAGIC, HINTED]);
                    octets.extend_from_slice(&poa_index.to_be_bytes());
                    octets.extend_from_slice(&path_hash.to_be_bytes());
                    octets.extend_from_slice(&servant_index.to_be_bytes());
                } else {
                    octets.extend_from_slice(&[MAGIC, PERSISTENT]);
                }
                octets.extend_from_slice(&length.to_be_bytes());
                octets.extend_from_slice(path);
                octets.extend_from_slice(id);
            }
        }
        octets
    }
}

/// The number at `at`; `head` is long enough for it.
#[inline]
fn number(head: &[u8], at: usize) -> u32 {
    let octets = head.get(at..).and_then(<[u8]>::first_chunk::<4>);
    octets.map_or(0, |octets| u32::from_be_bytes(*octets))
}

#[cfg(test)]
mod tests {
    use super::{KeyHint, ObjectKey};
    use crate::slots::SlotName;

    #[test]
    fn both_forms_survive_a_round_trip() {
        let transient = ObjectKey::Transient {
            incarnation: 0x0102_0304,
            poa: SlotName { index: 1, generation: 2 },
            servant: SlotName { index: 3, generation: 4 },
            id: b"id",
        };
        let persistent = ObjectKey::Persistent { hint: None, path: b"a\0b\0", id: b"\xff\0" };
        let hint = KeyHint { poa_index: 1, path_hash: 0x0203_0405_0607_0809, servant_index: 10 };
        let hinted = ObjectKey::Persistent { hint: Some(hint), path: b"a\0b\0", id: b"id" };
        for key in [transient, persistent, hinted] {
            assert_eq!(ObjectKey::parse(&key.to_octets()), Some(key));
        }
    }

    #[test]
    fn every_truncation_of_a_key_is_refused_or_understood() {
        let hint = KeyHint { poa_index: 1, path_hash: 2, servant_index: 3 };
        for hint in [None, Some(hint)] {
            let key = ObjectKey::Persistent { hint, path: b"abc\0", id: b"" }.to_octets();
            for length in 0..key.len() {
                assert_eq!(ObjectKey::parse(&key[..length]), None, "{length} octets");
            }
        }
        assert_eq!(ObjectKey::parse(b"NameService"), None);
        assert_eq!(ObjectKey::parse(&[0xCB, b'T', 0, 0, 0]), None);
    }
}
