//! The format of the log for tests from outside: fuzzing gives the reader anything.
//!
//! Nothing here touches a file.

use super::format::{Damage, SegmentHeader, walk};
use super::record::{self, Reader};
use super::segments::check_batch;
use super::{LogError, write_batch};
use crate::event::Event;
use std::path::PathBuf;
use std::sync::Arc;

/// Reads a whole segment as at a start: how many events it has, and how many octets of it are torn.
///
/// # Errors
/// [`LogError::Damaged`].
pub fn check_segment(octets: &[u8], is_last: bool) -> Result<(u64, u64), LogError> {
    let mut reader = Reader::default();
    let walk = walk(octets, is_last, |batch, body| check_batch(batch, body, &mut reader));
    let damaged = |Damage { at, why }| LogError::Damaged { path: PathBuf::new(), at, why };
    let walk = walk.map_err(damaged)?;
    Ok((walk.end - walk.header.base, walk.torn))
}

/// The octets of a segment with these batches; `mark` is what a log chooses at random.
///
/// # Errors
/// [`LogError::Unwritable`].
pub fn segment_of(mark: u64, base: u64, batches: &[Vec<Arc<Event>>]) -> Result<Vec<u8>, LogError> {
    let mut segment = SegmentHeader { base, mark }.write().to_vec();
    let (mut next, mut batch) = (base, Vec::new());
    for events in batches {
        next = write_batch(&mut batch, events, next, mark)?;
        segment.extend_from_slice(&batch);
    }
    Ok(segment)
}

/// The octets of an event of a batch, read and written again; none, when they are no event.
#[must_use]
pub fn event_again(octets: &[u8]) -> Option<Vec<u8>> {
    let event = Reader::default().read(octets).ok()?;
    let mut again = Vec::new();
    record::write(&event, &mut again).ok()?;
    Some(again)
}
