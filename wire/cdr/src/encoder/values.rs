//! Values (CORBA 3.3 P2 §9.3.4): each is written once in a message, and an indirection wherever it
//! comes again. Values that a receiver may truncate, custom ones, and all in these, are in chunks.

use std::collections::HashMap;
use std::sync::Arc;

use super::{Encoder, Placeholder};
use crate::value_tag::{CHUNKED, INDIRECTION, LIST_OF_IDS, MOST_NESTED, ONE_ID, VALUE};
use crate::{Error, ErrorKind, SharedValue};

/// What an encoder knows of the values of its message.
#[derive(Clone, Default)]
pub(super) struct WrittenValues {
    /// Where each value stands, by its address; kept alive, so that no other one gets that.
    written: HashMap<usize, (usize, SharedValue)>,
    /// Where repository ids stand.
    ids: HashMap<String, usize>,
    lists: HashMap<Vec<String>, usize>,
    /// The values that are not written, see [`Encoder::put_values_aside`].
    aside: Vec<SharedValue>,
    /// How many times what is written does not live long enough to be borrowed.
    copying: u32,
    /// Values that are being written, one in another.
    depth: u32,
    /// Those in chunks among them.
    level: u32,
    chunk: Option<OpenChunk>,
    /// The last end tag, and how long the message was after it.
    ended: Option<(Placeholder, usize)>,
}

/// A chunk being written.
#[derive(Clone)]
struct OpenChunk {
    size: Placeholder,
    /// How long the message was before its size, and with it.
    before: usize,
    begin: usize,
}

impl<'a> Encoder<'a> {
    /// Whether octets have to be copied.
    pub(super) fn is_copying(&self) -> bool {
        self.values.as_ref().is_some_and(|values| values.copying > 0)
    }

    /// From now on values are not written: they are put aside, and the octets name them by their
    /// numbers. So the values of an any in this process stay what they are.
    pub fn put_values_aside(&mut self) {
        self.puts_aside = true;
    }

    /// Puts a value aside, where this is asked for; whether it is.
    pub fn put_aside(&mut self, value: impl FnOnce() -> SharedValue) -> bool {
        if self.puts_aside {
            self.values().aside.push(value());
            // As many as there are octets at most, 4 GiB.
            let number = u32::try_from(self.values().aside.len()).unwrap_or(u32::MAX);
            self.write_ulong(number);
        }
        self.puts_aside
    }

    /// The values that were put aside.
    pub fn take_aside(&mut self) -> Vec<SharedValue> {
        let values = self.values.as_mut().map(Arc::make_mut);
        values.map(|values| std::mem::take(&mut values.aside)).unwrap_or_default()
    }

    /// Writes a null value.
    pub fn write_null_value(&mut self) {
        self.write_ulong(0);
    }

    /// Writes an indirection to a value that was written before; whether it was.
    pub fn write_known_value(&mut self, value: &SharedValue) -> bool {
        let written = self.values.as_ref().and_then(|values| values.written.get(&address(value)));
        let Some(place) = written.map(|(place, _)| *place) else { return false };
        self.write_ulong(INDIRECTION);
        self.write_distance(place);
        true
    }

    /// Writes how far `place` is from here.
    fn write_distance(&mut self, place: usize) {
        let here = self.position().next_multiple_of(4);
        // A message is shorter than 2 GiB; beyond, the receiver says what is wrong.
        let back = i32::try_from(here.wrapping_sub(place)).unwrap_or(0);
        self.write_long(-back);
    }

    /// Writes a value that was not written before: its type and the types that a receiver may
    /// truncate it to, nearest first, and its state. In chunks where there are such types, or
    /// `is_custom`, or the value around is.
    ///
    /// # Errors
    /// What `state` returns; `BadParameter` when it is too long.
    pub fn write_new_value(
        &mut self,
        value: SharedValue,
        repository_ids: &[&str],
        is_custom: bool,
        state: impl FnOnce(&mut Self) -> Result<(), Error>,
    ) -> Result<(), Error> {
        self.deeper()?;
        self.end_chunk()?;
        let is_list = repository_ids.len() > 1;
        let is_chunked = is_list || is_custom || self.values().level > 0;
        let ids = if is_list { LIST_OF_IDS } else { ONE_ID };
        self.write_ulong(VALUE | ids | if is_chunked { CHUNKED } else { 0 });
        let place = self.position() - 4;
        self.values().written.insert(address(&value), (place, value));
        if is_list {
            self.write_ids(repository_ids)?;
        } else {
            self.write_id(repository_ids.first().copied().unwrap_or_default())?;
        }
        self.values().level += u32::from(is_chunked);
        self.begin_chunk();
        let written = state(self);
        self.end_chunk()?;
        let level = self.values().level;
        if is_chunked {
            self.write_end(level);
        }
        self.values().level -= u32::from(is_chunked);
        self.begin_chunk();
        self.values().depth -= 1;
        written
    }

    /// A value within values. What a peer sent flat, each value pointing at the one before, is this
    /// deep when the last one is sent on.
    fn deeper(&mut self) -> Result<(), Error> {
        if self.values().depth >= MOST_NESTED {
            let found = format!("more than {MOST_NESTED} values within values");
            let needed = "values in a sequence instead of a chain";
            return Err(self.error(ErrorKind::LimitExceeded, "value", found, needed));
        }
        self.values().depth += 1;
        Ok(())
    }

    /// Writes the end of a value: where one within it has just ended, by the same tag. omniORB does
    /// not take one after the other.
    fn write_end(&mut self, level: u32) {
        let ended = self.values().ended.take().filter(|(_, len)| *len == self.len());
        let tag = ended.map_or_else(|| self.reserve_ulong(), |(tag, _)| tag);
        self.patch_ulong(tag, level.wrapping_neg());
        self.values().ended = Some((tag, self.len()));
    }

    fn values(&mut self) -> &mut WrittenValues {
        Arc::make_mut(self.values.get_or_insert_default())
    }

    fn write_id(&mut self, id: &str) -> Result<(), Error> {
        if let Some(place) = self.values().ids.get(id).copied() {
            self.write_ulong(INDIRECTION);
            self.write_distance(place);
            return Ok(());
        }
        self.align(4);
        let place = self.position();
        self.values().ids.insert(id.to_owned(), place);
        self.write_str(id)
    }

    fn write_ids(&mut self, ids: &[&str]) -> Result<(), Error> {
        let list: Vec<String> = ids.iter().copied().map(str::to_owned).collect();
        if let Some(place) = self.values().lists.get(&list).copied() {
            self.write_ulong(INDIRECTION);
            self.write_distance(place);
            return Ok(());
        }
        let place = self.position();
        self.values().lists.insert(list, place);
        self.write_length(ids.len())?;
        ids.iter().try_for_each(|id| self.write_id(id))
    }

    /// Begins a chunk, where values are in chunks; [`Encoder::end_chunk`] takes an empty one back.
    fn begin_chunk(&mut self) {
        if self.values().level > 0 {
            let before = self.len();
            let size = self.reserve_ulong();
            let begin = self.len();
            self.values().chunk = Some(OpenChunk { size, before, begin });
        }
    }

    fn end_chunk(&mut self) -> Result<(), Error> {
        let Some(OpenChunk { size, before, begin }) = self.values().chunk.take() else {
            return Ok(());
        };
        match self.len() - begin {
            0 => self.cut(before),
            octets => match u32::try_from(octets).ok().filter(|octets| *octets < VALUE) {
                Some(octets) => self.patch_ulong(size, octets),
                None => {
                    let found = format!("{octets} octets");
                    let needed = format!("at most {VALUE}");
                    return Err(self.error(ErrorKind::BadParameter, "chunk", found, needed));
                }
            },
        }
        Ok(())
    }

    /// What is written from now on is read by itself: nothing in it leads back before it.
    pub fn forget_all_values(&mut self) {
        self.forget_values(0);
    }

    /// Forgets the values that were written at `position` or later.
    pub(super) fn forget_values(&mut self, position: usize) {
        if let Some(values) = self.values.as_mut().map(Arc::make_mut) {
            values.written.retain(|_, (place, _)| *place < position);
            values.ids.retain(|_, place| *place < position);
            values.lists.retain(|_, place| *place < position);
        }
    }

    /// Runs `write` with things that live shorter than what the encoder borrows: they are copied.
    pub fn copied<'s, T>(&mut self, write: impl FnOnce(&mut Encoder<'s>) -> T) -> T
    where
        'a: 's,
    {
        self.values().copying += 1;
        let chunks = self.chunks.clone();
        let empty = Encoder::new(Vec::new(), self.order);
        let mut shorter: Encoder<'s> = std::mem::replace(self, empty);
        let result = write(&mut shorter);
        debug_assert_eq!(shorter.chunks.len(), chunks.len(), "in values octets are copied");
        *self = Encoder {
            buffer: std::mem::take(&mut shorter.buffer),
            shift: shorter.shift,
            borrowed: shorter.borrowed,
            linked: shorter.linked,
            order: shorter.order,
            version: shorter.version,
            code_sets: shorter.code_sets,
            has_text: shorter.has_text,
            growth: std::mem::replace(&mut shorter.growth, super::chain::Growth::Contiguous),
            blocks: std::mem::take(&mut shorter.blocks),
            chunks,
            shared: std::mem::take(&mut shorter.shared),
            puts_aside: shorter.puts_aside,
            values: shorter.values.take(),
        };
        self.values().copying -= 1;
        result
    }
}

fn address(value: &SharedValue) -> usize {
    Arc::as_ptr(value).cast::<()>().addr()
}
