//! Bundles: many untyped events in one request, answered once (`CorbieEvents::BundleConsumer`).
//!
//! Made by [`crate::Supplier`], and by the channel for consumers that take them
//! ([`crate::Bundled`]); who does not is sent each event as a `push` of its own. In a bundle stand,
//! for each event, how many octets it has, a reserved `unsigned long`, and the octets as they would
//! stand in a `push`, at a multiple of eight: so that an event is cut out and put in without being
//! decoded.

use crate::event::{CODE_SETS, Event, Shape};
use corbie::buffers;
use corbie::cdr::{Error, ErrorKind};
use corbie::payload::SharedOctets;
use corbie::{Any, ByteOrder, CodeSet, CodeSets, Decoder, Encoder, Operation, Version};
use std::sync::{Arc, OnceLock};

/// The operation that takes a bundle.
pub(crate) const PUSH_BUNDLE: Operation = Operation::twoway("push_bundle");

/// The interface that has it.
pub(crate) const BUNDLE_CONSUMER: &str = crate::corbie_events::BundleConsumer::REPOSITORY_ID;

/// A bundle is sent when it has so many octets or events.
pub(crate) const FULL_OCTETS: usize = 32 << 10;
pub(crate) const FULL_EVENTS: usize = 1024;

/// What is taken from others.
const MOST_OCTETS: usize = 256 << 10;
const MOST_EVENTS: u32 = 4096;

/// What stands before the octets of an event.
const HEAD: usize = 8;

/// Room for a full bundle, whose last event may be large.
const BUFFER_OCTETS: usize = 2 * FULL_OCTETS;

/// Octets in a buffer of the pool, to which it goes back.
struct Pooled(Vec<u8>);

impl AsRef<[u8]> for Pooled {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl Drop for Pooled {
    fn drop(&mut self) {
        buffers::give(std::mem::take(&mut self.0));
    }
}

/// Whether the octets of an event can stand in a bundle of ours as they are.
pub(crate) fn is_frame(event: &Event) -> bool {
    matches!(event.shape(), Shape::Any) && event.is_as_written() && event.len() < FULL_OCTETS
}

/// A bundle that is being put together, in this machine's order.
pub(crate) struct Frames {
    e: Encoder<'static>,
    count: usize,
}

impl Default for Frames {
    fn default() -> Self {
        Self { e: encoder(Vec::new()), count: 0 }
    }
}

fn encoder(buffer: Vec<u8>) -> Encoder<'static> {
    let mut e = Encoder::new(buffer, ByteOrder::NATIVE);
    e.set_version(Version::V1_2);
    e.set_code_sets(CODE_SETS);
    e
}

impl Frames {
    /// Puts an event behind the others.
    ///
    /// # Errors
    /// When the value cannot be written; nothing was put in then.
    pub(crate) fn add(&mut self, any: &Any) -> Result<(), Error> {
        let begin = self.e.len();
        let length = self.e.reserve_ulong();
        self.e.write_ulong(0);
        // Each event is given on by itself.
        self.e.forget_all_values();
        if let Err(error) = any.encode_copied(&mut self.e) {
            self.e.truncate(begin);
            return Err(error);
        }
        // What does not fit is not bundled: see `FULL_OCTETS`.
        let octets = u32::try_from(self.e.len() - begin - HEAD).unwrap_or(u32::MAX);
        self.e.patch_ulong(length, octets);
        self.e.align(8);
        self.count += 1;
        Ok(())
    }

    /// Puts the octets of an event behind the others.
    pub(crate) fn add_octets(&mut self, octets: &[u8]) {
        self.e.write_ulong(u32::try_from(octets.len()).unwrap_or(u32::MAX));
        self.e.write_ulong(0);
        self.e.write_octets(octets);
        self.e.align(8);
        self.count += 1;
    }

    /// Puts all events of another bundle in.
    pub(crate) fn add_all(&mut self, other: &Bundle) {
        self.e.write_octets(&other.octets);
        self.count += other.count;
    }

    /// Takes back what was put in last: what begins at this octet.
    pub(crate) fn take_back(&mut self, begin: usize) {
        self.e.truncate(begin);
        self.count = self.count.saturating_sub(1);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.count == 0
    }

    pub(crate) fn len(&self) -> usize {
        self.e.len()
    }

    /// Whether it is to be sent.
    pub(crate) fn is_full(&self) -> bool {
        self.e.len() >= FULL_OCTETS || self.count >= FULL_EVENTS
    }

    /// Takes what was put together; nothing is left.
    pub(crate) fn take(&mut self) -> Bundle {
        let full = std::mem::replace(&mut self.e, encoder(buffers::take(BUFFER_OCTETS)));
        Bundle {
            octets: SharedOctets::new(Pooled(full.into_buffer())),
            count: std::mem::take(&mut self.count),
            order: ByteOrder::NATIVE,
            code_sets: CODE_SETS,
            events: OnceLock::new(),
        }
    }
}

/// Many untyped events. Channels share it among consumers.
#[derive(Debug)]
pub struct Bundle {
    octets: SharedOctets,
    count: usize,
    order: ByteOrder,
    code_sets: CodeSets,
    /// Each for itself, once a consumer needs that.
    events: OnceLock<Vec<Arc<Event>>>,
}

impl Bundle {
    /// The bundle that is the argument of a request.
    ///
    /// # Errors
    /// When it is none, or too large.
    pub fn read(d: &mut Decoder<'_>) -> Result<Self, Error> {
        let View { cut, count, code_sets } = View::read(d)?;
        let mut own = buffers::take(cut.octets.len());
        own.extend_from_slice(cut.octets);
        let (octets, events) = (SharedOctets::new(Pooled(own)), OnceLock::new());
        Ok(Self { octets, count, order: cut.order, code_sets, events })
    }

    /// Writes it as the argument of a request.
    ///
    /// # Errors
    /// When it is too long.
    pub(crate) fn write(&self, e: &mut Encoder<'_>) -> Result<(), Error> {
        e.write_length(self.count)?;
        e.write_ulong(self.code_sets.char_data.0);
        e.write_ulong(self.code_sets.wchar_data.0);
        e.write_length(self.octets.len())?;
        if self.octets.len() < Encoder::BORROW_THRESHOLD {
            e.write_octets(&self.octets);
        } else {
            e.write_shared_octets(self.octets.clone());
        }
        Ok(())
    }

    /// How many events it has.
    #[must_use]
    pub fn count(&self) -> usize {
        self.count
    }

    /// Octets of all of them.
    #[must_use]
    pub fn octets(&self) -> usize {
        self.octets.len()
    }

    /// What it counts as where memory is bounded: its events may come to be there for themselves.
    pub(crate) fn weight(&self) -> usize {
        let events = self.count.saturating_mul(Event::BESIDE);
        self.octets.len().saturating_mul(2).saturating_add(events)
    }

    /// Whether the octets can stand in another bundle of ours as they are.
    pub(crate) fn is_ours(&self) -> bool {
        self.order == ByteOrder::NATIVE && self.code_sets == CODE_SETS
    }

    /// The arguments of each event's `push`, in order.
    pub fn each(&self) -> impl Iterator<Item = Decoder<'_>> {
        let cut = Cut { octets: &self.octets, order: self.order };
        View { cut, count: self.count, code_sets: self.code_sets }.each()
    }

    /// The events, each for itself.
    #[must_use]
    pub fn events(&self) -> &[Arc<Event>] {
        self.events.get_or_init(|| {
            let event = |d: Decoder<'_>| {
                Arc::new(Event::read(crate::event::PUSH, crate::event::Shape::Any, &d))
            };
            self.each().map(event).collect()
        })
    }
}

/// A bundle where it lies in its request.
pub(crate) struct View<'b> {
    cut: Cut<'b>,
    count: usize,
    code_sets: CodeSets,
}

impl<'b> View<'b> {
    /// The bundle that is the argument of a request.
    ///
    /// # Errors
    /// When it is none, or too large.
    pub(crate) fn read(d: &mut Decoder<'b>) -> Result<Self, Error> {
        let count = d.read_ulong()?;
        let char_data = CodeSet(d.read_ulong()?);
        let code_sets = CodeSets { char_data, wchar_data: CodeSet(d.read_ulong()?) };
        let octets = d.read_octet_sequence()?;
        if octets.len() > MOST_OCTETS || count > MOST_EVENTS {
            let found = format!("{count} events with {} octets", octets.len());
            let most = format!("at most {MOST_EVENTS} events with {MOST_OCTETS} octets");
            return Err(d.error(ErrorKind::LimitExceeded, "a bundle", found, most));
        }
        let cut = Cut { octets, order: d.order() };
        let mut rest = cut.clone();
        let found = rest.by_ref().count();
        if !rest.octets.is_empty() || found != count as usize {
            let found = format!("{found} events, and {} octets behind them", rest.octets.len());
            return Err(d.invalid("a bundle", found, format!("{count} events")));
        }
        Ok(Self { cut, count: found, code_sets })
    }

    /// The arguments of each event's `push`, in order.
    pub(crate) fn each(self) -> impl Iterator<Item = Decoder<'b>> {
        let (order, code_sets) = (self.cut.order, self.code_sets);
        self.cut.map(move |octets| {
            let mut d = Decoder::new(octets, order);
            d.set_version(Version::V1_2);
            d.set_code_sets(code_sets);
            d
        })
    }
}

/// Cuts a bundle's octets into those of its events; what is left cannot be cut.
#[derive(Clone)]
struct Cut<'b> {
    octets: &'b [u8],
    order: ByteOrder,
}

impl<'b> Iterator for Cut<'b> {
    type Item = &'b [u8];

    fn next(&mut self) -> Option<&'b [u8]> {
        let (length, _) = self.octets.split_first_chunk::<4>()?;
        let length = match self.order {
            ByteOrder::BigEndian => u32::from_be_bytes(*length),
            ByteOrder::LittleEndian => u32::from_le_bytes(*length),
        };
        let end = HEAD.checked_add(length as usize)?;
        let event = self.octets.get(HEAD..end)?;
        self.octets = self.octets.get(end.checked_next_multiple_of(8)?..)?;
        Some(event)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use corbie::Marshal as _;

    fn frames(values: &[i32]) -> Frames {
        let mut frames = Frames::default();
        for value in values {
            frames.add(&Any::from_value::<i32>(value).unwrap()).unwrap();
        }
        frames
    }

    fn written(bundle: &Bundle) -> Vec<u8> {
        let mut e = Encoder::native();
        bundle.write(&mut e).unwrap();
        e.to_vec()
    }

    fn values(bundle: &Bundle) -> Vec<i32> {
        let value = |mut d: Decoder<'_>| Any::decode(&mut d).unwrap().extract::<i32>().unwrap();
        bundle.each().map(value).collect()
    }

    #[test]
    fn what_was_put_in_comes_out_together_and_one_by_one() {
        let mut all = frames(&[1, 2, 3]);
        all.add_all(&frames(&[4]).take());
        let single = Event::of_any(&Any::from_value::<i32>(&5).unwrap()).unwrap();
        all.add_octets(single.octets());
        let octets = written(&all.take());
        assert!(all.is_empty());
        let read = Bundle::read(&mut Decoder::new(&octets, ByteOrder::NATIVE)).unwrap();
        assert_eq!(values(&read), [1, 2, 3, 4, 5]);
        assert!(read.is_ours() && read.count() == 5);
        let value = |event: &Arc<Event>| event.any().unwrap().extract::<i32>().unwrap();
        assert_eq!(read.events().iter().map(value).collect::<Vec<_>>(), [1, 2, 3, 4, 5]);
        assert_eq!(written(&read), octets);
    }

    #[test]
    fn what_is_no_bundle_is_refused_wherever_it_is_wrong() {
        let octets = written(&frames(&[1, 2]).take());
        for end in 0..octets.len() {
            assert!(Bundle::read(&mut Decoder::new(&octets[..end], ByteOrder::NATIVE)).is_err());
        }
        for (place, value) in [(0, 3_u8), (0, 1), (16, 200), (19, 255), (16, 255)] {
            let mut wrong = octets.clone();
            wrong[place] = value;
            let read = Bundle::read(&mut Decoder::new(&wrong, ByteOrder::NATIVE));
            assert!(read.is_err(), "{value} at {place}");
        }
    }
}
