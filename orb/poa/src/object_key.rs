//! The octets by which a server finds an object again: opaque to peers, parsed in place by us.
//!
//! ```text
//! transient:  CB 'T' │ incarnation u32 │ POA index u32, generation u32
//!             │ servant index u32, generation u32 │ id …
//! persistent: CB 'P' │ path length u16 │ path: POA names below the root, each with a NUL │ id …
//! ```
//! All numbers are big-endian. Keys come from outside: every octet string is either understood or
//! `None`, never trusted (CORBA 3.3 P2 §9.6: object keys are opaque; paper POA §2.3).

use crate::slots::SlotName;

const MAGIC: u8 = 0xCB;
const TRANSIENT: u8 = b'T';
const PERSISTENT: u8 = b'P';
/// Octets of a transient key before its id.
const TRANSIENT_OCTETS: usize = 22;

/// A key, taken apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ObjectKey<'a> {
    /// Good within one life of one ORB: found by position.
    Transient { incarnation: u32, poa: SlotName, servant: SlotName, id: &'a [u8] },
    /// Good across restarts: found by name.
    Persistent { path: &'a [u8], id: &'a [u8] },
}

impl<'a> ObjectKey<'a> {
    #[inline]
    pub(crate) fn parse(octets: &'a [u8]) -> Option<Self> {
        match octets {
            [MAGIC, TRANSIENT, ..] if octets.len() >= TRANSIENT_OCTETS => {
                let (head, id) = octets.split_at(TRANSIENT_OCTETS);
                let number = |at: usize| {
                    u32::from_be_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]])
                };
                Some(ObjectKey::Transient {
                    incarnation: number(2),
                    poa: SlotName { index: number(6), generation: number(10) },
                    servant: SlotName { index: number(14), generation: number(18) },
                    id,
                })
            }
            [MAGIC, PERSISTENT, high, low, rest @ ..] => {
                let length = usize::from(u16::from_be_bytes([*high, *low]));
                let (path, id) = rest.split_at_checked(length)?;
                Some(ObjectKey::Persistent { path, id })
            }
            _ => None,
        }
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
            ObjectKey::Persistent { path, id } => {
                // `Poa::create_poa` refuses paths of more than 65,535 octets.
                let length = u16::try_from(path.len()).unwrap_or(u16::MAX);
                octets.extend_from_slice(&[MAGIC, PERSISTENT]);
                octets.extend_from_slice(&length.to_be_bytes());
                octets.extend_from_slice(path);
                octets.extend_from_slice(id);
            }
        }
        octets
    }
}

#[cfg(test)]
mod tests {
    use super::ObjectKey;
    use crate::slots::SlotName;

    #[test]
    fn both_forms_survive_a_round_trip() {
        let transient = ObjectKey::Transient {
            incarnation: 0x0102_0304,
            poa: SlotName { index: 1, generation: 2 },
            servant: SlotName { index: 3, generation: 4 },
            id: b"id",
        };
        let persistent = ObjectKey::Persistent { path: b"a\0b\0", id: b"\xff\0" };
        for key in [transient, persistent] {
            assert_eq!(ObjectKey::parse(&key.to_octets()), Some(key));
        }
    }

    #[test]
    fn every_truncation_of_a_key_is_refused_or_understood() {
        let key = ObjectKey::Persistent { path: b"abc\0", id: b"" }.to_octets();
        for length in 0..key.len() {
            assert_eq!(ObjectKey::parse(&key[..length]), None, "{length} octets");
        }
        assert_eq!(ObjectKey::parse(b"NameService"), None);
        assert_eq!(ObjectKey::parse(&[0xCB, b'T', 0, 0, 0]), None);
    }
}
