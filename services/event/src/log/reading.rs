//! Reading a log, batch by batch, while it grows and is shortened.
//!
//! Called for consumers that are behind, by threads of the store.

use super::format::{BATCH_HEADER, BatchHeader, events};
use super::record::Reader;
use super::{Log, LogError};
use crate::event::Event;
use std::fs::File;
use std::io::ErrorKind;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::sync::Arc;

/// Where a batch is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The number of the first event of its segment.
    pub(super) base: u64,
    pub(super) offset: u64,
}

/// Some events in a row.
#[derive(Debug)]
pub struct Part {
    /// The number of the first.
    pub first: u64,
    /// The events; none, when all that were asked for were dropped.
    pub events: Vec<Arc<Event>>,
    /// Where the batch is that they are of.
    pub here: Option<Place>,
    /// Where the next batch is, or will be.
    pub next: Option<Place>,
}

/// The segment that has what is looked for.
struct FoundSegment {
    base: u64,
    mark: u64,
    /// How far it may be read.
    length: u64,
    offset: u64,
}

impl Log {
    /// The events from the number `from` on, as far as they are in one batch; none when the log
    /// ends there. The first is a later one when events were dropped. `place` is where they may be.
    ///
    /// # Errors
    /// [`LogError::Damaged`], [`LogError::Io`].
    pub fn read(&self, from: u64, place: Option<Place>) -> Result<Option<Part>, LogError> {
        loop {
            let Some((found, from)) = self.find(from, place) else {
                let first = self.end();
                let nothing = || Part { first, events: Vec::new(), here: None, next: None };
                return Ok((from < first).then(nothing));
            };
            let path = self.folder.join(super::name_of(found.base));
            match File::open(&path) {
                Ok(file) => return read_segment(&file, &path, &found, from),
                // It was dropped since.
                Err(e) if e.kind() == ErrorKind::NotFound && self.first() > found.base => {}
                Err(error) => return Err(LogError::io("open", &path, error)),
            }
        }
    }

    fn find(&self, from: u64, place: Option<Place>) -> Option<(FoundSegment, u64)> {
        let segments = self.segments();
        let from = from.max(segments.at(from)?.base);
        let segment = segments.at(from)?;
        let known = place.filter(|place| place.base == segment.base).map(|place| place.offset);
        let offset = known.unwrap_or_else(|| segment.before(from));
        let (base, mark, length) = (segment.base, segment.mark, segment.length);
        Some((FoundSegment { base, mark, length, offset }, from))
    }

    /// Octets of the log behind a place.
    #[must_use]
    pub fn octets_behind(&self, place: Place) -> u64 {
        self.segments().octets_behind(place.base, place.offset)
    }

    /// Octets of the log from the event `number` on, nearly.
    #[must_use]
    pub fn octets_from(&self, number: u64) -> u64 {
        let segments = self.segments();
        let Some(segment) = segments.at(number) else { return 0 };
        segments.octets_behind(segment.base, segment.before(number))
    }
}

fn read_segment(
    file: &File,
    path: &Path,
    found: &FoundSegment,
    from: u64,
) -> Result<Option<Part>, LogError> {
    let mut offset = found.offset;
    loop {
        let damaged = |why: &str| LogError::Damaged {
            path: path.to_owned(),
            at: offset,
            why: why.to_owned(),
        };
        let mut header = [0; BATCH_HEADER];
        exactly(file, path, offset, &mut header)?;
        let header = BatchHeader::read(&header, found.mark);
        let header = header.ok_or_else(|| damaged("no batch begins here"))?;
        let next = offset + header.whole();
        if next > found.length {
            return Err(damaged("the batch is incomplete"));
        }
        if header.end().is_some_and(|end| end <= from) {
            offset = next;
            continue;
        }
        let mut body = vec![0; header.body()];
        exactly(file, path, offset + BATCH_HEADER as u64, &mut body)?;
        if !header.fits(&body) {
            return Err(damaged("the checksum of a batch does not match"));
        }
        let octets = events(&body, header.count).map_err(|why| damaged(&why))?;
        let first = header.first.max(from);
        let skipped = usize::try_from(first - header.first).unwrap_or(usize::MAX);
        let mut reader = Reader::default();
        let mut read = Vec::with_capacity(octets.len().saturating_sub(skipped));
        for octets in octets.into_iter().skip(skipped) {
            read.push(Arc::new(reader.read(octets).map_err(|why| damaged(&why))?));
        }
        let (here, next) = (offset, next);
        let place = |offset| Some(Place { base: found.base, offset });
        return Ok(Some(Part { first, events: read, here: place(here), next: place(next) }));
    }
}

fn exactly(file: &File, path: &Path, at: u64, into: &mut [u8]) -> Result<(), LogError> {
    file.read_exact_at(into, at).map_err(|error| match error.kind() {
        ErrorKind::UnexpectedEof => LogError::Damaged {
            path: path.to_owned(),
            at,
            why: "it is shorter than it was".to_owned(),
        },
        _ => LogError::io("read", path, error),
    })
}
