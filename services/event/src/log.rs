//! The log of a durable channel: events in segment files, numbered from 0 in the order in which
//! they were taken.
//!
//! [`Log::append`] returns when a batch of events is on the disk; [`Log::read`] gives them again,
//! from any number on. Whole segments are dropped when no consumer needs them, or when they are too
//! old or too many. One thread appends (`durable::commit`), any may read.

mod error;
mod file;
mod format;
mod octets;
mod outside;
mod reading;
mod record;
mod segments;
#[cfg(test)]
mod tests;

pub use error::LogError;
pub use outside::{check_segment, event_again, segment_of};
pub use reading::{Part, Place};

use crate::event::Event;
use file::SegmentFile;
use format::{BATCH_HEADER, BatchHeader, SegmentHeader};
use segments::{Segments, name_of};
use std::hash::{BuildHasher as _, RandomState};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

/// How long a log keeps events that a consumer still needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retention {
    /// Events that are older are dropped.
    pub age: Duration,
    /// When there are more octets, the oldest are dropped.
    pub octets: u64,
}

impl Default for Retention {
    /// A week, and 1 GiB.
    fn default() -> Self {
        Self { age: Duration::from_secs(7 * 24 * 3600), octets: 1 << 30 }
    }
}

/// Retention goes by segments, of which there are about so many.
const SEGMENTS: u32 = 8;
const SEGMENT_OCTETS_MIN: u64 = 64 << 10;
const SEGMENT_OCTETS_MAX: u64 = 8 << 20;
/// Most octets and events of a batch, unless it is one event: what is read at once.
pub const BATCH_OCTETS: usize = 1 << 20;
/// Most events of a batch.
pub const BATCH_EVENTS: usize = 1024;
/// A larger buffer is not kept for the next batch.
const BUFFER_KEPT: usize = 2 * BATCH_OCTETS;

/// A log.
pub struct Log {
    folder: PathBuf,
    retention: Retention,
    /// The number after the last event on the disk.
    end: AtomicU64,
    /// Lock "segments": not held in input and output.
    segments: Mutex<Segments>,
    /// Lock "writing": held while a batch is written, which is what it is there for.
    writing: Mutex<Writing>,
}

struct Writing {
    file: Option<SegmentFile>,
    /// The file holds a batch that failed and may be on the disk: a new one is begun after it.
    is_unsure: bool,
    began: SystemTime,
    buffer: Vec<u8>,
}

/// What was found when a log was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Opened {
    /// Octets that were cut off: what was being written when the process died, and so was never
    /// acknowledged.
    pub torn: u64,
    /// Events that are missing between segments.
    pub missing: u64,
}

impl Log {
    /// Opens the log in `folder`, which is there, or begins one, with the number `least` at least.
    /// All of it is read and checked.
    ///
    /// # Errors
    /// [`LogError::Damaged`] when what was acknowledged cannot be read, [`LogError::Io`].
    pub fn open(
        folder: &Path,
        retention: Retention,
        least: u64,
    ) -> Result<(Self, Opened), LogError> {
        let (segments, opened) = Segments::open(folder)?;
        let last = segments.last();
        let file = match last {
            Some(last) => Some(SegmentFile::open(&last.path(folder), last.length)?),
            None => None,
        };
        let end = last.map_or(least, |last| last.end);
        // A log that ends before what consumers have seen goes on behind that, in a new segment.
        let is_unsure = end < least;
        let log = Self {
            folder: folder.to_owned(),
            retention,
            end: AtomicU64::new(end.max(least)),
            segments: Mutex::new(segments),
            writing: Mutex::new(Writing {
                file,
                is_unsure,
                began: SystemTime::now(),
                buffer: Vec::new(),
            }),
        };
        Ok((log, opened))
    }

    /// The number after the last event on the disk.
    #[must_use]
    pub fn end(&self) -> u64 {
        self.end.load(Ordering::Acquire)
    }

    /// The number of the first event that is kept.
    #[must_use]
    pub fn first(&self) -> u64 {
        self.segments().first().map_or_else(|| self.end(), |first| first.base)
    }

    /// Octets of its files.
    #[must_use]
    pub fn octets(&self) -> u64 {
        self.segments().octets()
    }

    /// Appends events as one batch; returns when they are on the disk: the number of the first, and
    /// where they are.
    ///
    /// # Errors
    /// [`LogError::Io`], [`LogError::Unwritable`]: then none of them is in the log.
    pub fn append(&self, events: &[Arc<Event>]) -> Result<(u64, Place), LogError> {
        let mut writing = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let writing = &mut *writing;
        let first = self.end();
        let is_full = writing.is_unsure || self.is_full(writing);
        if is_full && let Some(mut full) = writing.file.take() {
            // If what failed cannot be cut off, nothing more is written.
            if writing.is_unsure
                && let Err(error) = full.cut()
            {
                writing.file = Some(full);
                return Err(error);
            }
        }
        let file = match &mut writing.file {
            Some(file) => file,
            none => none.insert(self.begin_segment(first)?),
        };
        if is_full {
            (writing.is_unsure, writing.began) = (false, SystemTime::now());
        }
        let segment = self.segments().last().map(|last| (last.base, last.mark));
        let Some((base, mark)) = segment else {
            return Err(LogError::Unwritable("the log has no segment".to_owned()));
        };
        let end = write_batch(&mut writing.buffer, events, first, mark)?;
        let place = Place { base, offset: file.length() };
        let written = file.append(&writing.buffer);
        let length = file.length();
        if writing.buffer.capacity() > BUFFER_KEPT {
            writing.buffer = Vec::new();
        }
        if let Err(not) = written {
            writing.is_unsure |= not.is_unsure;
            return Err(not.error);
        }
        self.segments().grown(first, end, place.offset, length);
        self.end.store(end, Ordering::Release);
        Ok((first, place))
    }

    fn is_full(&self, writing: &Writing) -> bool {
        let Some(file) = &writing.file else { return true };
        let octets = self.retention.octets / u64::from(SEGMENTS);
        let octets = octets.clamp(SEGMENT_OCTETS_MIN, SEGMENT_OCTETS_MAX);
        let age = writing.began.elapsed().unwrap_or_default();
        file.length() >= octets || age >= (self.retention.age / SEGMENTS).max(SHORTEST)
    }

    fn begin_segment(&self, base: u64) -> Result<SegmentFile, LogError> {
        let header = SegmentHeader { base, mark: RandomState::new().hash_one(base) };
        let path = self.folder.join(name_of(base));
        // One without events, of the same number, is there when its first batch failed.
        let _ = std::fs::remove_file(&path);
        let file = SegmentFile::create(&path, &header)?;
        self.segments().begin(&header);
        Ok(file)
    }

    /// Drops the segments in which all events are below `needed`, and those that are too old or
    /// too many, needed or not. The last segment stays unless it is too old.
    ///
    /// # Errors
    /// [`LogError::Io`] when a file cannot be removed; it is out of use all the same.
    pub fn drop_below(&self, needed: u64) -> Result<(), LogError> {
        self.end_old_segment();
        let dropped = self.segments().drop_below(needed, self.retention);
        let mut outcome = Ok(());
        for segment in dropped {
            let path = segment.path(&self.folder);
            let removed = std::fs::remove_file(&path);
            // The others are out of use as well, and no later call removes them.
            outcome = outcome.and(removed.map_err(|error| LogError::io("remove", &path, error)));
        }
        outcome
    }

    /// Nothing more is written to a segment of which all events are too old, so that it can go.
    fn end_old_segment(&self) {
        let is_old = self
            .segments()
            .last()
            .is_some_and(|last| last.end > last.base && last.age() > self.retention.age);
        if !is_old {
            return;
        }
        let mut writing = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        if !writing.is_unsure
            && let Ok(file) = self.begin_segment(self.end())
        {
            (writing.file, writing.began) = (Some(file), SystemTime::now());
        }
    }

    fn segments(&self) -> MutexGuard<'_, Segments> {
        self.segments.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// No segment is ended for its age earlier.
const SHORTEST: Duration = Duration::from_millis(500);

impl std::fmt::Debug for Log {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Log").field("folder", &self.folder).field("end", &self.end()).finish()
    }
}

/// Makes a batch of `events` in `out`: the number after the last.
fn write_batch(
    out: &mut Vec<u8>,
    events: &[Arc<Event>],
    first: u64,
    mark: u64,
) -> Result<u64, LogError> {
    out.clear();
    out.resize(BATCH_HEADER, 0);
    for event in events {
        let start = out.len();
        out.extend_from_slice(&[0; 4]);
        record::write(event, out).map_err(LogError::Unwritable)?;
        let length = u32::try_from(out.len() - start - 4);
        let length = length.map_err(|_| too_long(out.len()))?;
        if let Some(place) = out.get_mut(start..start + 4) {
            place.copy_from_slice(&length.to_le_bytes());
        }
    }
    let count = u32::try_from(events.len()).map_err(|_| too_long(out.len()))?;
    let body = out.get(BATCH_HEADER..).unwrap_or_default();
    let header = BatchHeader::of(first, count, body).ok_or_else(|| too_long(out.len()))?;
    if let Some(place) = out.get_mut(..BATCH_HEADER) {
        place.copy_from_slice(&header.write(mark));
    }
    out.resize(out.len().next_multiple_of(8), 0);
    header.end().ok_or_else(|| too_long(out.len()))
}

fn too_long(octets: usize) -> LogError {
    LogError::Unwritable(format!("{octets} octets are more than a batch can have"))
}
