//! The octets of a segment: a header, then batches. No input or output.
//!
//! A batch is what was written and flushed at once. The next one is written only when it is on the
//! disk; so an invalid batch with nothing after it was never acknowledged and is cut off, and an
//! invalid batch with a valid one after it is damage. Every batch begins with a mark that the
//! segment's header chose at random, so that no event can contain what looks like a batch.
//!
//! Numbers are little-endian; batches begin at multiples of 8 octets.

use super::octets::Octets;

/// What a segment begins with.
const MAGIC: [u8; 8] = *b"CorbieEL";
const FORMAT: u32 = 1;

/// Octets of a segment's header.
pub(super) const SEGMENT_HEADER: usize = 40;
/// Octets of a batch's header.
pub(super) const BATCH_HEADER: usize = 32;

/// The header of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SegmentHeader {
    /// The number of its first event.
    pub(super) base: u64,
    pub(super) mark: u64,
}

impl SegmentHeader {
    pub(super) fn write(&self) -> [u8; SEGMENT_HEADER] {
        let mut out = Vec::with_capacity(SEGMENT_HEADER);
        out.extend_from_slice(&MAGIC);
        out.extend_from_slice(&FORMAT.to_le_bytes());
        out.extend_from_slice(&0_u32.to_le_bytes());
        out.extend_from_slice(&self.base.to_le_bytes());
        out.extend_from_slice(&self.mark.to_le_bytes());
        out.extend_from_slice(&crc32fast::hash(&out).to_le_bytes());
        out.resize(SEGMENT_HEADER, 0);
        out.try_into().unwrap_or([0; SEGMENT_HEADER])
    }

    /// # Errors
    /// A sentence, when `octets` do not begin with a header.
    pub(super) fn read(octets: &[u8]) -> Result<Self, String> {
        let short = || "the header is incomplete".to_owned();
        let mut rest = Octets(octets.get(..SEGMENT_HEADER).ok_or_else(short)?);
        if rest.array() != Some(MAGIC) {
            return Err("it does not begin as an event log does".to_owned());
        }
        let format = rest.u32().ok_or_else(short)?;
        if format != FORMAT {
            return Err(format!("its format is {format}; this program knows {FORMAT}"));
        }
        rest.u32();
        let (base, mark) = (rest.u64().ok_or_else(short)?, rest.u64().ok_or_else(short)?);
        if rest.u32() != octets.get(..32).map(crc32fast::hash) {
            return Err("the checksum of the header does not match".to_owned());
        }
        Ok(Self { base, mark })
    }
}

/// The header of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BatchHeader {
    /// The number of its first event.
    pub(super) first: u64,
    /// How many events it has.
    pub(super) count: u32,
    /// Octets that follow, without those that fill up.
    pub(super) length: u32,
    body_checksum: u32,
}

impl BatchHeader {
    pub(super) fn of(first: u64, count: u32, body: &[u8]) -> Option<Self> {
        let length = u32::try_from(body.len()).ok()?;
        Some(Self { first, count, length, body_checksum: crc32fast::hash(body) })
    }

    pub(super) fn write(&self, mark: u64) -> [u8; BATCH_HEADER] {
        let mut out = Vec::with_capacity(BATCH_HEADER);
        out.extend_from_slice(&mark.to_le_bytes());
        out.extend_from_slice(&self.first.to_le_bytes());
        out.extend_from_slice(&self.count.to_le_bytes());
        out.extend_from_slice(&self.length.to_le_bytes());
        out.extend_from_slice(&self.body_checksum.to_le_bytes());
        out.extend_from_slice(&crc32fast::hash(&out).to_le_bytes());
        out.try_into().unwrap_or([0; BATCH_HEADER])
    }

    /// None when `octets` do not begin with a header of a segment with that mark.
    pub(super) fn read(octets: &[u8], mark: u64) -> Option<Self> {
        let mut rest = Octets(octets.get(..BATCH_HEADER)?);
        if rest.u64()? != mark {
            return None;
        }
        let (first, count, length) = (rest.u64()?, rest.u32()?, rest.u32()?);
        let body_checksum = rest.u32()?;
        let checksum = octets.get(..BATCH_HEADER - 4).map(crc32fast::hash);
        let header = Self { first, count, length, body_checksum };
        (rest.u32() == checksum && header.end().is_some()).then_some(header)
    }

    /// Whether `body` is what was written.
    pub(super) fn fits(&self, body: &[u8]) -> bool {
        body.len() == self.body() && crc32fast::hash(body) == self.body_checksum
    }

    /// Octets of the body.
    pub(super) fn body(&self) -> usize {
        usize::try_from(self.length).unwrap_or(usize::MAX)
    }

    /// Octets of header, body and filling.
    pub(super) fn whole(&self) -> u64 {
        (BATCH_HEADER as u64 + u64::from(self.length)).next_multiple_of(8)
    }

    /// The number after its last event.
    pub(super) fn end(&self) -> Option<u64> {
        self.first.checked_add(self.count.into())
    }
}

/// The octets of each event of a batch's body.
///
/// # Errors
/// A sentence, when the body is not made of as many.
pub(super) fn events(body: &[u8], count: u32) -> Result<Vec<&[u8]>, String> {
    let mut rest = Octets(body);
    let mut found = Vec::new();
    while !rest.0.is_empty() {
        found.push(rest.block().ok_or("an event is longer than its batch")?);
    }
    if found.len() as u64 != u64::from(count) {
        return Err(format!("a batch says it has {count} events, and has {}", found.len()));
    }
    Ok(found)
}

/// What a walk through a segment found.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Walk {
    pub(super) header: SegmentHeader,
    /// The number after its last event.
    pub(super) end: u64,
    /// How far it is whole.
    pub(super) length: u64,
    /// Octets after that: what was being written when the process or the machine died.
    pub(super) torn: u64,
    /// Where some of the batches begin: number of the first event, octet.
    pub(super) index: Vec<(u64, u64)>,
}

/// Octets between batches that are in the index.
pub(super) const INDEX_EVERY: u64 = 64 << 10;

/// What is wrong, and where.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Damage {
    pub(super) at: u64,
    pub(super) why: String,
}

/// Walks through a segment, checking all of it and giving each batch to `see`. The last segment of
/// a log may end in a torn batch.
///
/// # Errors
/// [`Damage`].
pub(super) fn walk(
    octets: &[u8],
    is_last: bool,
    mut see: impl FnMut(&BatchHeader, &[u8]) -> Result<(), String>,
) -> Result<Walk, Damage> {
    let header = SegmentHeader::read(octets).map_err(|why| Damage { at: 0, why })?;
    let (mut end, mut at) = (header.base, SEGMENT_HEADER);
    let mut index: Vec<(u64, u64)> = Vec::new();
    while let Some(rest) = octets.get(at..).filter(|rest| !rest.is_empty()) {
        let (batch, body) = match batch(rest, header.mark, end) {
            Ok(found) => found,
            Err(why) => {
                if is_last && !has_batch_after(rest, header.mark, end) {
                    break;
                }
                return Err(Damage { at: at as u64, why });
            }
        };
        see(&batch, body).map_err(|why| Damage { at: at as u64, why })?;
        if index.last().is_none_or(|(_, last)| at as u64 >= last + INDEX_EVERY) {
            index.push((batch.first, at as u64));
        }
        end = batch.end().unwrap_or(end);
        at += usize::try_from(batch.whole()).unwrap_or(usize::MAX - at);
    }
    let torn = octets.len().saturating_sub(at) as u64;
    Ok(Walk { header, end, length: at as u64, torn, index })
}

/// The batch that `octets` begin with, which has to begin with the event `first`.
fn batch(octets: &[u8], mark: u64, first: u64) -> Result<(BatchHeader, &[u8]), String> {
    let header = BatchHeader::read(octets, mark).ok_or("no batch begins here")?;
    if header.first != first {
        return Err(format!("event {first} should be here, and it is {}", header.first));
    }
    let whole = usize::try_from(header.whole()).unwrap_or(usize::MAX);
    let whole = octets.get(..whole).ok_or("the batch is incomplete")?;
    let (body, filling) = whole
        .get(BATCH_HEADER..)
        .and_then(|rest| rest.split_at_checked(header.body()))
        .ok_or("the batch is incomplete")?;
    if !header.fits(body) || filling.iter().any(|&octet| octet != 0) {
        return Err("the checksum of a batch does not match".to_owned());
    }
    Ok((header, body))
}

/// Whether a batch that is later than `first` begins anywhere behind the beginning of `octets`.
fn has_batch_after(octets: &[u8], mark: u64, first: u64) -> bool {
    (8..octets.len()).step_by(8).any(|at| {
        let header = octets.get(at..).and_then(|rest| BatchHeader::read(rest, mark));
        header.is_some_and(|header| header.first > first)
    })
}
