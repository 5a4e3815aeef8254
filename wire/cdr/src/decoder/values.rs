//! Values (CORBA 3.3 P2 §9.3.4): tags, repository ids, indirections, and chunks.
//!
//! While a chunk is read the decoder sees no octet behind its end, so that only what finds no
//! octets any more looks for the next chunk: values cost other messages nothing. What was read
//! stands in a table by its place, for indirections from later in the message.

use std::collections::HashMap;
use std::sync::Arc;

use super::Decoder;
use crate::ErrorKind::{InvalidValue, LimitExceeded, UnexpectedEnd};
use crate::context::SharedValue;
use crate::value_tag::{
    CHUNKED, HAS_CODEBASE, IDS, INDIRECTION, LIST_OF_IDS, LONGEST_ID, MOST_IDS, ONE_ID, VALUE,
};
use crate::{ByteOrder, Error};

/// The repository ids of a value, the most derived type first; empty when the sender left them out.
pub type RepositoryIds<'a> = Arc<[&'a str]>;

/// What a decoder knows of the values of its message.
#[derive(Clone)]
pub(super) struct ReadValues<'a> {
    /// All octets; `Decoder::data` ends with the chunk.
    pub(super) whole: &'a [u8],
    /// How many values in chunks are being read, one in another.
    level: u32,
    /// The values from this level on are over, by one end tag; 0: none.
    ended: u32,
    known: HashMap<usize, Known>,
    /// The values whose states are being read, one in another.
    open: Vec<usize>,
    /// Where values end that were passed over, and which end there, from this level on: none is
    /// passed over twice.
    ends: HashMap<usize, (usize, u32)>,
    /// Single repository ids by their places, and lists of them: an element of a list leads to a
    /// single one, so that a list is never longer than it says.
    ids: HashMap<usize, RepositoryIds<'a>>,
    lists: HashMap<usize, RepositoryIds<'a>>,
    /// The values that the octets name by their numbers, see `Encoder::put_values_aside`.
    aside: Option<&'a [SharedValue]>,
}

#[derive(Clone)]
enum Known {
    /// Its state is being read, and it cannot be shared before.
    BeingRead,
    /// It was passed over, at this level.
    Skipped(u32),
    Read(SharedValue),
}

/// The beginning of a value.
#[derive(Debug)]
pub enum ValueStart<'a> {
    /// There is none.
    Null,
    /// It was read before.
    Known(SharedValue),
    /// It stands here; [`Decoder::value_state`] goes on.
    New(ValueHeader<'a>),
}

/// What stands before the state of a value.
#[derive(Debug)]
pub struct ValueHeader<'a> {
    /// Its type and those to which it may be truncated.
    pub repository_ids: RepositoryIds<'a>,
    place: usize,
    is_chunked: bool,
    /// Where to go on, when an indirection led to a value that had been passed over.
    resume: Option<Resume>,
}

#[derive(Clone, Copy, Debug)]
struct Resume {
    position: usize,
    end: usize,
    level: u32,
    ended: u32,
}

/// How much of the state a reader knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StateRead {
    /// All of it.
    Whole,
    /// That of a base: what is left is passed over.
    Truncated,
}

impl<'a> Decoder<'a> {
    /// Whether a value in chunks is being read: then the octets of one thing need not lie together.
    #[inline]
    #[must_use]
    pub fn is_in_chunks(&self) -> bool {
        self.values.as_ref().is_some_and(|values| values.level > 0)
    }

    fn values(&mut self) -> &mut ReadValues<'a> {
        let whole = self.data;
        let values = self.values.get_or_insert_with(|| {
            let (known, ids, lists) = Default::default();
            let (ends, open) = (HashMap::new(), Vec::new());
            Arc::new(ReadValues {
                whole,
                level: 0,
                ended: 0,
                known,
                open,
                ends,
                ids,
                lists,
                aside: None,
            })
        });
        Arc::make_mut(values)
    }

    /// Whether there are values in what was read.
    #[must_use]
    pub fn has_read_values(&self) -> bool {
        self.values.is_some()
    }

    /// The values that the octets name by their numbers.
    pub fn set_values_aside(&mut self, aside: &'a [SharedValue]) {
        self.values().aside = Some(aside);
    }

    /// A decoder of octets that came with `aside` from an encoder which put its values there: with
    /// this one's limits and context, and one level deeper.
    ///
    /// # Errors
    /// `LimitExceeded` when that is too deep.
    pub fn beside<'s>(
        &self,
        octets: &'s [u8],
        aside: &'s [SharedValue],
    ) -> Result<Decoder<'s>, Error>
    where
        'a: 's,
    {
        let mut beside = Decoder::new(octets, ByteOrder::NATIVE);
        beside.depth = self.deeper()?;
        (beside.spent, beside.limits, beside.context) = (self.spent, self.limits, self.context);
        beside.set_values_aside(aside);
        Ok(beside)
    }

    /// A decoder to look ahead with, which goes no further than the present chunk and knows no
    /// values; [`Decoder::skip_to`] goes where it is.
    ///
    /// # Errors
    /// When the next chunk, where this one is over, is none.
    pub fn look_ahead(&mut self) -> Result<Decoder<'a>, Error> {
        if self.is_in_chunks() && self.position.next_multiple_of(4) >= self.data.len() {
            self.next_chunk("value")?;
        }
        Ok(self.shallow())
    }

    /// Goes on where `ahead` is, which [`Decoder::look_ahead`] gave.
    pub fn skip_to(&mut self, ahead: &Decoder<'a>) {
        self.position = ahead.position.min(self.data.len());
    }

    fn level(&self) -> u32 {
        self.values.as_ref().map_or(0, |values| values.level)
    }

    /// Sees octets up to `end`.
    fn see(&mut self, end: usize) {
        let whole = self.values().whole;
        self.data = whole.get(..end).unwrap_or(whole);
    }

    /// Reads an aligned `unsigned long` that stands between chunks.
    fn raw_ulong(&mut self) -> Result<u32, Error> {
        self.see(usize::MAX);
        let level = std::mem::take(&mut self.values().level);
        let read = self.read_ulong();
        self.values().level = level;
        self.see(self.position);
        read
    }

    /// Goes into the next chunk, for `what`.
    #[cold]
    #[inline(never)]
    pub(super) fn next_chunk(&mut self, what: &'static str) -> Result<(), Error> {
        let (level, ended) = self.values.as_ref().map_or((0, 0), |v| (v.level, v.ended));
        let found = octets_missing(self);
        if level == 0 || ended != 0 {
            return Err(self.error(UnexpectedEnd, what, found, "more of the value"));
        }
        let size = self.raw_ulong()?;
        self.enter_chunk(size)
    }

    fn enter_chunk(&mut self, size: u32) -> Result<(), Error> {
        let left = self.values().whole.len() - self.position;
        if size == 0 || size >= VALUE {
            let needed = "the size of a chunk: the state has less than its type";
            return Err(self.error_back(4, InvalidValue, "value", format!("{size:#010x}"), needed));
        }
        if size as usize > left {
            let found = format!("a chunk of {size} octets and {left} left");
            return Err(self.error_back(4, UnexpectedEnd, "value", found, "the whole chunk"));
        }
        self.see(self.position + size as usize);
        Ok(())
    }

    /// Reads the tag of a value; where it stands.
    fn value_tag(&mut self) -> Result<(usize, u32), Error> {
        if self.is_in_chunks() {
            let at = self.position.next_multiple_of(4);
            if at + 4 > self.data.len() {
                if self.values().ended != 0 {
                    return Err(self.invalid("value", "the end of the one around it", "a value"));
                }
                let tag = self.raw_ulong()?;
                if tag == 0 || tag >= VALUE {
                    return Ok((self.position - 4, tag));
                }
                // Null and indirections may stand in a chunk.
                self.enter_chunk(tag)?;
            }
        }
        let tag = self.read_ulong()?;
        Ok((self.position - 4, tag))
    }

    /// Reads the beginning of a value.
    ///
    /// # Errors
    /// `InvalidValue` for what is no value; `LimitExceeded`; `UnexpectedEnd`.
    pub fn value_start(&mut self) -> Result<ValueStart<'a>, Error> {
        if let Some(aside) = self.values.as_ref().and_then(|values| values.aside) {
            return self.value_aside(aside);
        }
        match self.value_tag()? {
            (_, 0) => Ok(ValueStart::Null),
            (_, INDIRECTION) => self.indirection(),
            (place, tag) => Ok(ValueStart::New(self.value_header(place, tag)?)),
        }
    }

    fn value_aside(&mut self, aside: &[SharedValue]) -> Result<ValueStart<'a>, Error> {
        let number = self.read_ulong()?;
        let Some(place) = number.checked_sub(1) else { return Ok(ValueStart::Null) };
        match aside.get(place as usize) {
            Some(value) => Ok(ValueStart::Known(Arc::clone(value))),
            None => Err(self.invalid("value", format!("number {number}"), "one put aside")),
        }
    }

    fn indirection(&mut self) -> Result<ValueStart<'a>, Error> {
        let place = {
            let is_between = self.is_in_chunks() && self.position == self.data.len();
            let offset = if is_between { self.raw_ulong()? } else { self.read_ulong()? };
            self.indirect(offset)?
        };
        if !self.limits.value_cycles && self.values().open.contains(&place) {
            let needed = "none: only the setting value_cycles lets values lead back to themselves";
            return Err(self.error_back(8, InvalidValue, "value", "a cycle", needed));
        }
        match self.values().known.get(&place).cloned() {
            Some(Known::Read(value)) => Ok(ValueStart::Known(value)),
            Some(Known::BeingRead) => {
                let needed = "a valuetype: a value box cannot contain itself";
                Err(self.error_back(8, InvalidValue, "value", "a cycle", needed))
            }
            Some(Known::Skipped(level)) => {
                let (position, end) = (self.position, self.data.len());
                let (outer, ended) = (self.values().level, self.values().ended);
                (self.values().level, self.values().ended) = (level, 0);
                self.see(usize::MAX);
                self.position = place;
                self.values().level = 0;
                let tag = self.read_ulong()?;
                self.values().level = level;
                let mut header = self.value_header(place, tag)?;
                header.resume = Some(Resume { position, end, level: outer, ended });
                Ok(ValueStart::New(header))
            }
            None => {
                let found = format!("an indirection to octet {}, where none is", self.base + place);
                Err(self.error_back(8, InvalidValue, "value", found, "an earlier value"))
            }
        }
    }

    /// The place that `offset`, just read, leads to (CORBA 3.3 P2 §9.3.4.3: counted from the place
    /// of the offset itself).
    fn indirect(&self, offset: u32) -> Result<usize, Error> {
        let offset = offset.cast_signed();
        let back = usize::try_from(offset.unsigned_abs()).unwrap_or(usize::MAX);
        let place = (self.position - 4).checked_sub(back);
        match place.filter(|_| offset < -4 && offset % 4 == 0) {
            Some(place) => Ok(place),
            None => {
                let needed = "the distance to an earlier place of the message, a multiple of 4";
                Err(self.error_back(4, InvalidValue, "indirection", format!("{offset}"), needed))
            }
        }
    }

    fn value_header(&mut self, place: usize, tag: u32) -> Result<ValueHeader<'a>, Error> {
        self.count_value()?;
        let flags = tag.wrapping_sub(VALUE);
        if flags > 0xff || flags & IDS == 4 {
            let needed = "0x7fffff00 with flags for codebase, repository ids and chunks";
            return Err(self.error_back(
                4,
                InvalidValue,
                "value tag",
                format!("{tag:#010x}"),
                needed,
            ));
        }
        let level = self.level();
        let is_chunked = flags & CHUNKED != 0;
        if level > 0 && !is_chunked {
            let (found, needed) = ("a value without chunks", "chunks, as the value around it");
            return Err(self.error_back(4, InvalidValue, "value", found, needed));
        }
        // The header stands outside of chunks.
        self.see(usize::MAX);
        self.values().level = 0;
        if flags & HAS_CODEBASE != 0 {
            self.shared_id()?;
        }
        let repository_ids = match flags & IDS {
            ONE_ID => self.shared_id()?,
            LIST_OF_IDS => self.id_list()?,
            _ => Arc::default(),
        };
        self.values().level = level + u32::from(is_chunked);
        if is_chunked {
            self.see(self.position);
        }
        Ok(ValueHeader { repository_ids, place, is_chunked, resume: None })
    }

    fn id_list(&mut self) -> Result<RepositoryIds<'a>, Error> {
        self.align(4)?;
        let place = self.position;
        let count = self.read_ulong()?;
        if count == INDIRECTION {
            return self.known_ids(|values| &values.lists);
        }
        if count == 0 || count > MOST_IDS {
            let found = format!("{count} repository ids");
            let (kind, needed) = match count {
                0 => (InvalidValue, "a list of one at least, or no list".to_owned()),
                _ => (LimitExceeded, format!("at most {MOST_IDS}")),
            };
            return Err(self.error_back(4, kind, "value", found, needed));
        }
        let mut ids = Vec::new();
        for _ in 0..count {
            ids.extend(self.shared_id()?.iter());
        }
        let ids: RepositoryIds<'a> = ids.into();
        self.values().lists.insert(place, Arc::clone(&ids));
        Ok(ids)
    }

    /// Reads a repository id or codebase URL: here, or where an indirection says.
    fn shared_id(&mut self) -> Result<RepositoryIds<'a>, Error> {
        self.align(4)?;
        let (place, mut ahead) = (self.position, Decoder { values: None, ..self.shallow() });
        let length = ahead.read_ulong()?;
        if length == INDIRECTION {
            self.read_ulong()?;
            return self.known_ids(|values| &values.ids);
        }
        if length > LONGEST_ID {
            let (found, needed) = (format!("{length} octets"), format!("at most {LONGEST_ID}"));
            return Err(self.error(LimitExceeded, "repository id of a value", found, needed));
        }
        let id: RepositoryIds<'a> = [self.read_str()?].into();
        self.values().ids.insert(place, Arc::clone(&id));
        Ok(id)
    }

    /// Repository ids that were read before: a single one, or a list.
    fn known_ids(
        &mut self,
        which: impl for<'v> Fn(&'v ReadValues<'a>) -> &'v HashMap<usize, RepositoryIds<'a>>,
    ) -> Result<RepositoryIds<'a>, Error> {
        let offset = self.read_ulong()?;
        let place = self.indirect(offset)?;
        which(self.values()).get(&place).cloned().ok_or_else(|| {
            let found = format!("an indirection to octet {}, where none is", self.base + place);
            self.error_back(4, InvalidValue, "repository id of a value", found, "an earlier one")
        })
    }

    /// It without what it knows of values: cheap to make.
    pub(super) fn shallow(&self) -> Decoder<'a> {
        Decoder {
            data: self.data,
            position: self.position,
            base: self.base,
            order: self.order,
            version: self.version,
            code_sets: self.code_sets,
            depth: self.depth,
            spent: self.spent,
            limits: self.limits,
            context: self.context,
            values: None,
        }
    }

    /// Makes the value known to indirections, also to those in its own state.
    pub fn value_is(&mut self, header: &ValueHeader<'a>, value: SharedValue) {
        self.values().known.insert(header.place, Known::Read(value));
    }

    /// Reads the state of a value, which `read` knows the whole of, or the beginning.
    ///
    /// # Errors
    /// What `read` returns; `InvalidValue` when the state has more, or when it is truncated without
    /// chunks; `LimitExceeded` when nested too deeply.
    pub fn value_state<T>(
        &mut self,
        header: &ValueHeader<'a>,
        how: StateRead,
        read: impl FnOnce(&mut Self) -> Result<T, Error>,
    ) -> Result<T, Error> {
        if how == StateRead::Truncated && !header.is_chunked {
            let (found, needed) = ("a derived value that is not in chunks", "one of a known type");
            return Err(self.invalid("value", found, needed));
        }
        self.values().known.entry(header.place).or_insert(Known::BeingRead);
        self.values().open.push(header.place);
        let value = self.nested(read)?;
        self.values().open.pop();
        if header.is_chunked {
            self.end_value(how)?;
        }
        if let Some(Resume { position, end, level, ended }) = header.resume {
            self.position = position;
            (self.values().level, self.values().ended) = (level, ended);
            self.see(end);
        }
        Ok(value)
    }

    /// After the state of a value in chunks: passes over what is left of it, and its end.
    fn end_value(&mut self, how: StateRead) -> Result<(), Error> {
        let level = self.level();
        // Values in what is passed over, by their places, one in another.
        let mut inner = Vec::new();
        while self.values().ended == 0 {
            let rest = self.data.len().saturating_sub(self.position);
            if rest > 0 && how == StateRead::Whole {
                let found = format!("{rest} octets more");
                return Err(self.invalid("value", found, "the end of its state"));
            }
            self.position = self.data.len();
            let tag = self.raw_ulong()?;
            let end = tag.cast_signed().wrapping_neg().cast_unsigned();
            match tag {
                _ if (1..=level + inner.len() as u32).contains(&end) => {
                    self.end_skipped(level, &mut inner, end);
                }
                _ if how == StateRead::Whole => {
                    let (found, needed) = (format!("{tag:#010x}"), format!("the end tag -{level}"));
                    return Err(self.error_back(4, InvalidValue, "value", found, needed));
                }
                0 => {}
                1..VALUE => self.enter_chunk(tag)?,
                _ => self.skip_inner(level, &mut inner, tag)?,
            }
        }
        let values = self.values();
        values.level = level - 1;
        if values.ended == level {
            values.ended = 0;
        }
        self.see(if level == 1 { usize::MAX } else { self.position });
        Ok(())
    }

    /// Here the values from the level `end` on are over, in what is passed over and around it.
    fn end_skipped(&mut self, level: u32, inner: &mut Vec<usize>, end: u32) {
        let here = self.position;
        let kept = end.saturating_sub(level + 1) as usize;
        for place in inner.drain(kept.min(inner.len())..) {
            self.values().ends.insert(place, (here, end));
        }
        if end <= level {
            self.values().ended = end;
        }
    }

    /// Passes over the beginning of a value; over all of it, when that was done before.
    fn skip_inner(&mut self, level: u32, inner: &mut Vec<usize>, tag: u32) -> Result<(), Error> {
        let place = self.position - 4;
        if let Some((position, end)) = self.values().ends.get(&place).copied() {
            self.position = position;
            self.see(position);
            self.end_skipped(level, inner, end);
            return Ok(());
        }
        let around = level + inner.len() as u32;
        self.values().level = around;
        self.value_header(place, tag)?;
        self.values().level = level;
        self.values().known.entry(place).or_insert(Known::Skipped(around));
        inner.push(place);
        Ok(())
    }

    /// Reads `n` octets that may lie in several chunks.
    pub(crate) fn gathered_octets(&mut self, n: usize) -> Result<Vec<u8>, Error> {
        if n > self.remaining() {
            return Err(self.unexpected_end("octets", n));
        }
        let mut gathered = Vec::with_capacity(n);
        while gathered.len() < n {
            if self.position == self.data.len() {
                self.next_chunk("octets")?;
            }
            let now = (self.data.len() - self.position).min(n - gathered.len());
            gathered.extend_from_slice(self.read_octets(now)?);
        }
        Ok(gathered)
    }
}

#[cold]
fn octets_missing(d: &Decoder<'_>) -> &'static str {
    if d.is_in_chunks() { "the end of its state" } else { "the end of the octets" }
}
