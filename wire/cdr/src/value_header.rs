//! A value of one known valuetype with flat state, as it is on the wire.
//!
//! As much of value marshalling as `Messaging::ExceptionHolder` needs: every form of the header
//! (with and without repository ids, a list of them, codebase URL, indirections) and of the state
//! (plain or in chunks). CORBA 3.3 P2 §9.3.4.

use crate::ErrorKind::{InvalidValue, LimitExceeded};
use crate::{Decoder, Encoder, Error};

/// The tag of a value without anything else; flags are added to it.
const VALUE: u32 = 0x7fff_ff00;
/// A codebase URL follows.
const HAS_CODEBASE: u32 = 1;
/// What the two bits that tell about repository ids may be.
const IDS: u32 = 6;
const ONE_ID: u32 = 2;
const LIST_OF_IDS: u32 = 6;
const CHUNKED: u32 = 8;
/// "The same as there": an offset follows.
const INDIRECTION: u32 = 0xffff_ffff;

/// Repository ids that a value may have, and octets in each. Many that lead to one long string
/// would cost a reader more than they cost their sender.
const MOST_IDS: u32 = 256;
const LONGEST_ID: u32 = 16 << 10;

/// Writes the beginning of a value, plain and with its repository id; the state follows.
///
/// # Errors
/// The encoder's.
pub fn write_header(repository_id: &str, e: &mut Encoder<'_>) -> Result<(), Error> {
    e.write_ulong(VALUE | ONE_ID);
    e.write_str(repository_id)
}

/// Reads a value: `fits` says whether its most derived type, named by a repository id, or one of
/// its bases is what `state` reads.
///
/// # Errors
/// `InvalidValue` for a null value, a type that does not fit, and anything malformed; what `state`
/// returns.
pub fn read_value<'d, T>(
    d: &mut Decoder<'d>,
    fits: &dyn Fn(&str) -> bool,
    state: &dyn Fn(&mut StateReader<'_, 'd>) -> Result<T, Error>,
) -> Result<T, Error> {
    let tag = d.read_ulong()?;
    match tag {
        0 => Err(d.invalid("value", "a null value", "a value")),
        INDIRECTION => {
            let mut there = indirect(d)?;
            d.nested(|_| read_tagged_only(&mut there, fits, state))
        }
        tag => read_tagged(tag, d, fits, state),
    }
}

/// A value that an indirection leads to must not be an indirection itself.
fn read_tagged_only<'d, T>(
    d: &mut Decoder<'d>,
    fits: &dyn Fn(&str) -> bool,
    state: &dyn Fn(&mut StateReader<'_, 'd>) -> Result<T, Error>,
) -> Result<T, Error> {
    let tag = d.read_ulong()?;
    read_tagged(tag, d, fits, state)
}

fn read_tagged<'d, T>(
    tag: u32,
    d: &mut Decoder<'d>,
    fits: &dyn Fn(&str) -> bool,
    state: &dyn Fn(&mut StateReader<'_, 'd>) -> Result<T, Error>,
) -> Result<T, Error> {
    let flags = tag.wrapping_sub(VALUE);
    if flags > 0xff || flags & IDS == 4 {
        let needed = "0x7fffff00 with flags for codebase, repository ids and chunks";
        return Err(d.invalid("value tag", format!("{tag:#010x}"), needed));
    }
    if flags & HAS_CODEBASE != 0 {
        read_shared_string(d)?;
    }
    let is_exact = read_types(flags, d, fits)?;
    let is_chunked = flags & CHUNKED != 0;
    if !is_exact && !is_chunked {
        let (found, needed) =
            ("a derived value that is not in chunks", "one that can be truncated");
        return Err(d.invalid("value", found, needed));
    }
    let mut reader =
        StateReader { d, chunk: if is_chunked { Chunking::Between } else { Chunking::None } };
    let value = state(&mut reader)?;
    reader.finish(is_exact)?;
    Ok(value)
}

/// Reads the repository ids; whether the first is what is wanted (no id says: yes).
fn read_types(flags: u32, d: &mut Decoder<'_>, fits: &dyn Fn(&str) -> bool) -> Result<bool, Error> {
    match flags & IDS {
        ONE_ID => {
            let id = read_shared_string(d)?;
            if fits(id) { Ok(true) } else { Err(wrong_type(d, id)) }
        }
        LIST_OF_IDS => read_list(d, fits),
        _ => Ok(true),
    }
}

fn read_list(d: &mut Decoder<'_>, fits: &dyn Fn(&str) -> bool) -> Result<bool, Error> {
    let count = d.read_ulong()?;
    if count == INDIRECTION {
        let mut there = indirect(d)?;
        let count = there.read_ulong()?;
        return read_ids(count, &mut there, fits);
    }
    read_ids(count, d, fits)
}

/// Reads `count` ids; whether the first one fits, if any does.
fn read_ids(count: u32, d: &mut Decoder<'_>, fits: &dyn Fn(&str) -> bool) -> Result<bool, Error> {
    if count > MOST_IDS {
        let found = format!("{count} repository ids");
        return Err(d.error(LimitExceeded, "value", found, format!("at most {MOST_IDS}")));
    }
    let (mut most_derived, mut found) = ("", None);
    for at in 0..count {
        let id = read_shared_string(d)?;
        if at == 0 {
            most_derived = id;
        }
        if found.is_none() && fits(id) {
            found = Some(at == 0);
        }
    }
    found.ok_or_else(|| wrong_type(d, most_derived))
}

/// Reads a repository id or codebase URL: here, or where an indirection says.
fn read_shared_string<'d>(d: &mut Decoder<'d>) -> Result<&'d str, Error> {
    if d.clone().read_ulong()? != INDIRECTION {
        return read_short(d);
    }
    d.read_ulong()?;
    read_short(&mut indirect(d)?)
}

fn read_short<'d>(d: &mut Decoder<'d>) -> Result<&'d str, Error> {
    let length = d.clone().read_ulong()?;
    if length > LONGEST_ID {
        let (found, needed) = (format!("{length} octets"), format!("at most {LONGEST_ID}"));
        return Err(d.error(LimitExceeded, "repository id of a value", found, needed));
    }
    d.read_str()
}

/// A decoder at the place, earlier in the message, that the offset just before `d` leads to
/// (CORBA 3.3 P2 §9.3.4.3: counted from the place of the offset itself).
fn indirect<'d>(d: &mut Decoder<'d>) -> Result<Decoder<'d>, Error> {
    let offset = d.read_long()?;
    // All that indirections lead to begins with a `long`.
    let place = d.position() - 4;
    let back = usize::try_from(offset.unsigned_abs()).unwrap_or(usize::MAX);
    let target = place.checked_sub(back).filter(|_| offset < 0 && offset % 4 == 0);
    let Some(target) = target else {
        let needed = "the distance to an earlier place of the message, a multiple of 4";
        return Err(d.error(InvalidValue, "indirection", format!("{offset}"), needed));
    };
    // Octets before the value are 4-aligned as those here are: nothing in it needs more.
    let mut there = Decoder::new(d.octets_since(target), d.order());
    there.set_version(d.version());
    there.set_code_sets(d.code_sets());
    there.set_limits(d.limits());
    there.set_context(d.context());
    Ok(there)
}

#[cold]
fn cut(d: &Decoder<'_>) -> Error {
    d.invalid("chunk of a value", "a primitive cut by its end", "whole primitives")
}

#[cold]
fn wrong_type(d: &Decoder<'_>, id: &str) -> Error {
    d.invalid("value", format!("a value of type {id:?}"), "the type that the IDL says")
}

/// Reads the state of a value, whether it is in chunks or not.
pub struct StateReader<'r, 'd> {
    d: &'r mut Decoder<'d>,
    chunk: Chunking,
}

enum Chunking {
    /// The value is not in chunks.
    None,
    /// A chunk is to begin.
    Between,
    /// In a chunk that ends at this position.
    Until(usize),
}

impl<'d> StateReader<'_, 'd> {
    /// The decoder, for a primitive: those are never cut by the end of a chunk.
    ///
    /// # Errors
    /// `InvalidValue` when there is no further chunk.
    pub fn primitive(&mut self) -> Result<&mut Decoder<'d>, Error> {
        self.left()?;
        Ok(self.d)
    }

    /// Reads `length` octets, which any number of chunks may hold.
    ///
    /// # Errors
    /// `UnexpectedEnd`; `InvalidValue` when the chunks end before.
    pub fn octets(&mut self, length: usize) -> Result<Vec<u8>, Error> {
        // The length is checked against what is there before anything is reserved for it.
        let mut octets = Vec::with_capacity(length.min(self.d.remaining()));
        while octets.len() < length {
            let now = self.left()?.min(length - octets.len());
            octets.extend_from_slice(self.d.read_octets(now)?);
        }
        Ok(octets)
    }

    /// Octets left in the present chunk, the next one begun if need be; at least one.
    fn left(&mut self) -> Result<usize, Error> {
        match self.chunk {
            Chunking::None => return Ok(self.d.remaining().max(1)),
            Chunking::Until(end) if end > self.d.position() => return Ok(end - self.d.position()),
            Chunking::Until(end) if end < self.d.position() => return Err(cut(self.d)),
            Chunking::Until(_) | Chunking::Between => {}
        }
        let size = self.d.read_long()?;
        if size <= 0 || size.cast_unsigned() >= VALUE {
            return Err(self.d.invalid("chunk of a value", format!("{size:#x}"), "its size"));
        }
        let size = usize::try_from(size).unwrap_or(usize::MAX);
        let end = self.d.position().saturating_add(size);
        self.chunk = Chunking::Until(end);
        Ok(size)
    }

    /// After the state: skips what a derived type has beyond it, and reads the end tag.
    fn finish(self, is_exact: bool) -> Result<(), Error> {
        let d = self.d;
        match self.chunk {
            Chunking::None => return Ok(()),
            Chunking::Until(end) if end < d.position() => return Err(cut(d)),
            Chunking::Until(end) => {
                let rest = end - d.position();
                if rest > 0 && is_exact {
                    return Err(d.invalid("value", format!("{rest} octets too many"), "its state"));
                }
                d.read_octets(rest)?;
            }
            Chunking::Between => {}
        }
        loop {
            let tag = d.read_long()?;
            match tag {
                // This value is not inside another, so one end tag ends it (CORBA 3.3 P2 §9.3.4.5).
                -1 => return Ok(()),
                size if size > 0 && size.cast_unsigned() < VALUE && !is_exact => {
                    d.read_octets(usize::try_from(size).unwrap_or(usize::MAX))?;
                }
                tag => {
                    let needed = "the end tag -1, or chunks of a derived type";
                    return Err(d.invalid("end of a value", format!("{tag:#x}"), needed));
                }
            }
        }
    }
}
