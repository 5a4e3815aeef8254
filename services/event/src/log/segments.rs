//! Which segments a log has.
//!
//! Files are looked at when it is opened; after that this is a list.

use super::format::{Damage, SEGMENT_HEADER, SegmentHeader, walk};
use super::record::Reader;
use super::{LogError, Opened, Retention, format};
use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// A segment.
#[derive(Debug)]
pub(super) struct Segment {
    pub(super) base: u64,
    pub(super) mark: u64,
    /// The number after its last event.
    pub(super) end: u64,
    /// How far it is whole.
    pub(super) length: u64,
    /// When it was last written to.
    written: SystemTime,
    /// Where some of its batches begin: number of the first event, octet.
    index: Vec<(u64, u64)>,
}

impl Segment {
    pub(super) fn path(&self, folder: &Path) -> PathBuf {
        folder.join(name_of(self.base))
    }

    /// How long ago its last event came. A clock that was set back makes it young.
    pub(super) fn age(&self) -> Duration {
        self.written.elapsed().unwrap_or_default()
    }

    /// Where to look for the event of that number: the last batch known to begin before it.
    pub(super) fn before(&self, number: u64) -> u64 {
        let later = self.index.partition_point(|(first, _)| *first <= number);
        let known = later.checked_sub(1).and_then(|at| self.index.get(at));
        known.map_or(SEGMENT_HEADER as u64, |(_, offset)| *offset)
    }
}

/// The name of the segment that begins with the event of that number: names sort as numbers do.
pub(super) fn name_of(base: u64) -> String {
    format!("{base:020}.events")
}

/// The segments of a log, oldest first; they do not overlap.
#[derive(Debug, Default)]
pub(super) struct Segments(VecDeque<Segment>);

impl Segments {
    /// Reads and checks all segments in `folder`.
    pub(super) fn open(folder: &Path) -> Result<(Self, Opened), LogError> {
        let bases = bases(folder)?;
        let (mut segments, mut opened) = (Self::default(), Opened::default());
        for (place, &base) in bases.iter().enumerate() {
            let path = folder.join(name_of(base));
            let is_last = place + 1 == bases.len();
            let octets = std::fs::read(&path).map_err(|e| LogError::io("read", &path, e))?;
            if is_last && octets.len() <= SEGMENT_HEADER && SegmentHeader::read(&octets).is_err() {
                // Its making was not finished, so nothing was ever in it.
                std::fs::remove_file(&path).map_err(|e| LogError::io("remove", &path, e))?;
                opened.torn += octets.len() as u64;
                continue;
            }
            let expected = segments.last().map(|last| last.end);
            let (segment, torn) = segment(&path, &octets, (base, expected), is_last)?;
            opened.torn += torn;
            opened.missing += expected.map_or(0, |expected| segment.base - expected);
            segments.0.push_back(segment);
        }
        Ok((segments, opened))
    }

    pub(super) fn first(&self) -> Option<&Segment> {
        self.0.front()
    }

    pub(super) fn last(&self) -> Option<&Segment> {
        self.0.back()
    }

    /// The segment with the event `number`, or the one after it when that is gone.
    pub(super) fn at(&self, number: u64) -> Option<&Segment> {
        self.0.get(self.0.partition_point(|segment| segment.end <= number))
    }

    /// Octets of the whole.
    pub(super) fn octets(&self) -> u64 {
        self.0.iter().map(|segment| segment.length).sum()
    }

    /// Octets behind `offset` of the segment that begins with `base`.
    pub(super) fn octets_behind(&self, base: u64, offset: u64) -> u64 {
        let behind = self.0.iter().filter(|segment| segment.base >= base);
        behind.map(|s| s.length - if s.base == base { offset.min(s.length) } else { 0 }).sum()
    }

    /// A new last segment.
    pub(super) fn begin(&mut self, header: &SegmentHeader) {
        let SegmentHeader { base, mark } = *header;
        // One without events gives its number to the new one.
        self.0.retain(|segment| segment.base < base);
        let (length, written) = (SEGMENT_HEADER as u64, SystemTime::now());
        self.0.push_back(Segment { base, mark, end: base, length, written, index: Vec::new() });
    }

    /// The last segment has grown by a batch at `offset`.
    pub(super) fn grown(&mut self, first: u64, end: u64, offset: u64, length: u64) {
        let Some(last) = self.0.back_mut() else { return };
        (last.end, last.length, last.written) = (end, length, SystemTime::now());
        if last.index.last().is_none_or(|(_, known)| offset >= known + format::INDEX_EVERY) {
            last.index.push((first, offset));
        }
    }

    /// Takes out what is below `needed`, or beyond what is to be kept; the last one stays.
    pub(super) fn drop_below(&mut self, needed: u64, retention: Retention) -> Vec<Segment> {
        let mut dropped = Vec::new();
        while self.0.len() > 1
            && let Some(first) = self.0.front()
        {
            let is_needed = first.end > needed;
            let is_kept = first.age() <= retention.age && self.octets() <= retention.octets;
            if is_needed && is_kept {
                break;
            }
            dropped.extend(self.0.pop_front());
        }
        dropped
    }
}

/// The numbers of the segments in `folder`, ascending.
fn bases(folder: &Path) -> Result<Vec<u64>, LogError> {
    let failed = |error| LogError::io("read the folder", folder, error);
    let mut bases = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        let name = entry.map_err(failed)?.file_name();
        let base = name.to_str().and_then(|name| name.strip_suffix(".events"));
        bases.extend(base.and_then(|base| base.parse::<u64>().ok()));
    }
    bases.sort_unstable();
    Ok(bases)
}

/// Checks a segment: it, and how many octets at its end are torn.
fn segment(
    path: &Path,
    octets: &[u8],
    (base, expected): (u64, Option<u64>),
    is_last: bool,
) -> Result<(Segment, u64), LogError> {
    let damaged = |at, why| LogError::Damaged { path: path.to_owned(), at, why };
    let mut reader = Reader::default();
    let walk = walk(octets, is_last, |batch, body| check_batch(batch, body, &mut reader));
    let walk = walk.map_err(|Damage { at, why }| damaged(at, why))?;
    let format::Walk { header: SegmentHeader { base: found, mark }, end, length, torn, index } =
        walk;
    if found != base {
        return Err(damaged(0, format!("it begins with event {found}, its name says {base}")));
    }
    if let Some(expected) = expected.filter(|expected| *expected > base) {
        let why =
            format!("it begins with event {base}, which an earlier file has: up to {expected}");
        return Err(damaged(0, why));
    }
    let written = std::fs::metadata(path).and_then(|metadata| metadata.modified());
    let written = written.unwrap_or_else(|_| SystemTime::now());
    Ok((Segment { base, mark, end, length, written, index }, torn))
}

pub(super) fn check_batch(
    batch: &format::BatchHeader,
    body: &[u8],
    reader: &mut Reader,
) -> Result<(), String> {
    for event in format::events(body, batch.count)? {
        reader.read(event)?;
    }
    Ok(())
}
