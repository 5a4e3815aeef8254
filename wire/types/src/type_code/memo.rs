//! What a thread knows of the TypeCodes that it has read or written lately, so that a stream of
//! `any`s of a few types neither builds a TypeCode of each nor writes one node by node.
//!
//! Asked by `wire` for outermost TypeCodes, which refer to nothing around them: the same octets
//! always mean the same type. What the octets mean otherwise, and what was allowed when they were
//! read, is a part of the key.

use std::cell::RefCell;
use std::sync::Arc;

use corbie_cdr::{ByteOrder, CodeSets, Decoder, Encoder, Version};

use super::{Repr, TypeCode};

/// TypeCodes that a thread remembers.
const ENTRIES: usize = 8;
/// Longer ones are not worth comparing, nor keeping.
const MOST_OCTETS: usize = 512;

thread_local! {
    static MEMO: RefCell<Memo> = const { RefCell::new(Memo { entries: Vec::new(), next: 0 }) };
}

struct Memo {
    entries: Vec<Entry>,
    /// The one to be replaced next.
    next: usize,
}

struct Entry {
    octets: Box<[u8]>,
    key: Key,
    type_code: TypeCode,
}

/// What the octets mean, and what was allowed. Labels of unions are text, too.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Key {
    order: ByteOrder,
    version: Version,
    code_sets: CodeSets,
    /// Nodes and nesting; none: written here.
    limits: Option<(u32, u32)>,
}

impl Key {
    fn of_reading(d: &Decoder<'_>) -> Self {
        let limits = d.limits();
        let limits = Some((limits.type_code_nodes, limits.nesting_depth));
        Self { order: d.order(), version: d.version(), code_sets: d.code_sets(), limits }
    }

    fn of_writing(e: &Encoder<'_>) -> Self {
        let limits = None;
        Self { order: e.order(), version: e.version(), code_sets: e.code_sets(), limits }
    }
}

impl Memo {
    fn keep(&mut self, entry: Entry) {
        if self.entries.len() < ENTRIES {
            return self.entries.push(entry);
        }
        if let Some(place) = self.entries.get_mut(self.next) {
            *place = entry;
        }
        self.next = (self.next + 1) % ENTRIES;
    }
}

/// The TypeCode that begins here, if it was read lately; it is read then. `octets`: how many it
/// has.
pub(super) fn read(octets: usize, d: &mut Decoder<'_>) -> Option<TypeCode> {
    let here = d.rest().get(..octets).filter(|here| here.len() <= MOST_OCTETS)?;
    let key = Key::of_reading(d);
    // A thread that ends may have no memory any more.
    let known = MEMO.try_with(|memo| {
        let memo = memo.borrow();
        let entry = memo.entries.iter().find(|entry| *entry.octets == *here && entry.key == key);
        entry.map(|entry| entry.type_code.clone())
    });
    let known = known.ok().flatten()?;
    d.read_octets(octets).ok()?;
    Some(known)
}

/// A TypeCode was read of these octets.
pub(super) fn was_read(type_code: &TypeCode, octets: &[u8], d: &Decoder<'_>) {
    keep(type_code, octets, Key::of_reading(d));
}

/// Writes a TypeCode that was written lately; whether it did.
pub(super) fn write(type_code: &TypeCode, e: &mut Encoder<'_>) -> bool {
    let Repr::Shared(shape, None) = &type_code.0 else { return false };
    let key = Key::of_writing(e);
    let written = MEMO.try_with(|memo| {
        let memo = memo.borrow();
        let is_it = |entry: &&Entry| match &entry.type_code.0 {
            Repr::Shared(known, None) => Arc::ptr_eq(known, shape) && entry.key == key,
            _ => false,
        };
        let entry = memo.entries.iter().find(is_it);
        if let Some(entry) = entry {
            e.align(4);
            e.write_octets(&entry.octets);
        }
        entry.is_some()
    });
    written.unwrap_or(false)
}

/// A TypeCode was written as these octets.
pub(super) fn was_written(type_code: &TypeCode, octets: &[u8], e: &Encoder<'_>) {
    if matches!(&type_code.0, Repr::Shared(_, None)) {
        keep(type_code, octets, Key::of_writing(e));
    }
}

fn keep(type_code: &TypeCode, octets: &[u8], key: Key) {
    if octets.len() <= MOST_OCTETS && !type_code.is_part() {
        let entry = Entry { octets: octets.into(), key, type_code: type_code.clone() };
        let _ = MEMO.try_with(|memo| memo.borrow_mut().keep(entry));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use corbie_cdr::{Limits, Marshal as _};

    fn structure(name: &str) -> TypeCode {
        let members = [("text", TypeCode::string(0)), ("value", TypeCode::LONG)];
        TypeCode::structure("IDL:S:1.0", name, &members)
    }

    fn written(type_code: &TypeCode, order: ByteOrder, before: usize) -> Vec<u8> {
        let mut e = Encoder::new(Vec::new(), order);
        (0..before).for_each(|_| e.write_octet(9));
        type_code.write(&mut e).unwrap();
        e.to_vec()
    }

    #[test]
    fn the_same_octets_are_written_and_the_same_type_is_read_again_and_again() {
        let types: Vec<_> = (0..20).map(|number| structure(&number.to_string())).collect();
        for round in 0..3 {
            for (number, of) in types.iter().enumerate() {
                for order in [ByteOrder::BigEndian, ByteOrder::LittleEndian] {
                    // Where it begins makes no difference.
                    let before = [0, 4, 5][round];
                    let octets = written(of, order, before);
                    let begin = before.next_multiple_of(4);
                    assert_eq!(octets[begin..], written(of, order, 0), "{number}");
                    let mut d = Decoder::with_position(&octets, before, order);
                    assert_eq!(TypeCode::decode(&mut d).unwrap(), *of);
                    assert_eq!(d.remaining(), 0);
                }
            }
        }
    }

    #[test]
    fn what_was_allowed_once_is_not_allowed_under_other_limits() {
        let octets = written(&structure("S"), ByteOrder::NATIVE, 0);
        let limits = Limits { type_code_nodes: 2, ..Limits::default() };
        for is_bounded in [false, true, false, true] {
            let mut d = Decoder::new(&octets, ByteOrder::NATIVE);
            if is_bounded {
                d.set_limits(&limits);
            }
            assert_eq!(TypeCode::decode(&mut d).is_err(), is_bounded);
        }
    }
}
