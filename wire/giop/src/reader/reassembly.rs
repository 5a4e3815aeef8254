//! Puts fragmented messages together.
//!
//! GIOP 1.1 has one incomplete message at a time; 1.2 interleaves them by request id. What is held
//! grows with what arrived and is bounded by the limits. Called by the reader only.
//! CORBA 3.3 P2 §9.4.9.

use corbie_cdr::budget::{Draw, Reading};
use corbie_cdr::buffers;

use super::limits::ReaderLimits;
use crate::error::{GiopError, GiopErrorKind};
use crate::message::{FragmentHeader, MessageHeader, MessageKind};

/// A message whose last fragment has not arrived.
#[derive(Debug)]
struct Incomplete {
    /// `None` in GIOP 1.1.
    request_id: Option<u32>,
    /// The header of the first fragment.
    header: MessageHeader,
    fragments: u32,
    /// When it began, as the driver counts.
    begun: u64,
    /// The octets so far, the first header included; each Fragment's header is left out.
    octets: Vec<u8>,
}

/// The incomplete messages of a connection, and the one that was completed last.
#[derive(Debug)]
pub(super) struct Reassembly {
    incomplete: Vec<Incomplete>,
    /// The sum of all `incomplete[..].octets.len()`.
    held: usize,
    /// The message that was completed last, or an empty buffer to be used for the next.
    complete: Vec<u8>,
    /// What `held` octets have drawn of the budget.
    pub(super) draw: Option<Draw<Reading>>,
}

impl Reassembly {
    pub(super) const fn new() -> Self {
        Self { incomplete: Vec::new(), held: 0, complete: Vec::new(), draw: None }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.incomplete.is_empty()
    }

    pub(super) fn len(&self) -> usize {
        self.incomplete.len()
    }

    /// When the oldest incomplete message began.
    pub(super) fn oldest(&self) -> Option<u64> {
        self.incomplete.iter().map(|message| message.begun).min()
    }

    pub(super) fn memory_octets(&self) -> usize {
        let incomplete: usize = self.incomplete.iter().map(|m| m.octets.capacity()).sum();
        incomplete + self.complete.capacity()
    }

    /// Gives back the buffer of the message that was completed.
    #[inline]
    pub(super) fn release(&mut self) {
        if self.complete.capacity() > 0 {
            buffers::give(std::mem::take(&mut self.complete));
        }
    }

    /// The octets of the message that [`add`](Self::add) completed.
    pub(super) fn complete(&self) -> &[u8] {
        &self.complete
    }

    /// Moves the completed message out.
    pub(super) fn take_complete(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.complete)
    }

    pub(super) fn clear(&mut self) {
        self.incomplete.clear();
        self.held = 0;
        let _ = self.count(); // Less never fails.
    }

    /// Forgets the incomplete message with this id, when there is one.
    pub(super) fn cancel(&mut self, request_id: u32) {
        if let Some(index) = self.find(Some(request_id)) {
            let message = self.incomplete.swap_remove(index);
            self.held -= message.octets.len();
            let _ = self.count(); // Less never fails.
        }
    }

    /// Draws what is held.
    fn count(&mut self) -> Result<(), GiopError> {
        match self.draw.as_mut().map(|draw| draw.resize_or_end(self.held)) {
            Some(Err(exhausted)) => {
                Err(error(GiopErrorKind::OverBudget, 8, format_args!("{exhausted}")))
            }
            _ => Ok(()),
        }
    }

    /// A draw for the message that was completed.
    pub(super) fn draw_complete(&self) -> Option<Draw<Reading>> {
        let mut draw = self.draw.as_ref().map(Draw::another);
        if let Some(draw) = &mut draw {
            // It was held already: at worst it is not counted while it is served.
            let _ = draw.resize(self.complete.len());
        }
        draw
    }

    fn find(&self, request_id: Option<u32>) -> Option<usize> {
        self.incomplete.iter().position(|message| message.request_id == request_id)
    }

    /// Checks a fragment as soon as its header is there, before its octets are waited for.
    /// `octets` is what has arrived of it.
    pub(super) fn admit(
        &self,
        limits: &ReaderLimits,
        header: &MessageHeader,
        octets: &[u8],
    ) -> Result<(), GiopError> {
        let header_octets = FragmentHeader::octets(header.version);
        if octets.len() < header_octets && header.total() >= header_octets {
            return Ok(()); // The request id has not arrived.
        }
        // What lies behind a short fragment is not its request id.
        let octets = &octets[..octets.len().min(header.total())];
        let FragmentHeader { request_id } = FragmentHeader::decode(header, octets)?;
        let index = self.find(request_id);
        let added = if header.kind == MessageKind::Fragment {
            let message = index.and_then(|index| self.incomplete.get(index));
            let message = message.ok_or_else(|| unknown(request_id))?;
            let added = header.total() - header_octets;
            message.admit(limits, header, added)?;
            added
        } else {
            if index.is_some() {
                let found = format_args!("{} again", Id(request_id));
                return Err(error(GiopErrorKind::DuplicateFragmented, 12, found));
            }
            if self.incomplete.len() >= limits.fragmented_messages {
                let found = format_args!("number {}", self.incomplete.len() + 1);
                return Err(error(GiopErrorKind::TooManyFragmented, 6, found));
            }
            header.total()
        };
        if self.held.saturating_add(added) > limits.reassembly_octets {
            let limit = limits.reassembly_octets;
            let found = format_args!("{added} beyond {}; the limit is {limit}", self.held);
            return Err(error(GiopErrorKind::ReassemblyTooLarge, 8, found));
        }
        Ok(())
    }

    /// Adds a whole fragment that was admitted. The header of the message when it is complete: its
    /// size is the sum, and no fragments follow.
    pub(super) fn add(
        &mut self,
        header: &MessageHeader,
        octets: &[u8],
        now: u64,
    ) -> Result<Option<MessageHeader>, GiopError> {
        let FragmentHeader { request_id } = FragmentHeader::decode(header, octets)?;
        if header.kind != MessageKind::Fragment {
            self.begin(request_id, header, octets, now);
            return self.count().map(|()| None);
        }
        let index = self.find(request_id).ok_or_else(|| unknown(request_id))?;
        let data = octets.get(FragmentHeader::octets(header.version)..).unwrap_or_default();
        let message = &mut self.incomplete[index];
        append(&mut message.octets, data);
        message.fragments += 1;
        self.held += data.len();
        if header.more_fragments {
            return self.count().map(|()| None);
        }
        let message = self.incomplete.swap_remove(index);
        self.held -= message.octets.len();
        self.complete = message.octets;
        self.count()?;
        let size = self.complete.len() - MessageHeader::OCTETS;
        let size = u32::try_from(size).unwrap_or(u32::MAX);
        let header = MessageHeader { more_fragments: false, size, ..message.header };
        self.complete[..MessageHeader::OCTETS].copy_from_slice(&header.encode());
        Ok(Some(header))
    }

    fn begin(&mut self, request_id: Option<u32>, header: &MessageHeader, first: &[u8], begun: u64) {
        // The buffer of the last completed message is used again.
        let mut octets = std::mem::take(&mut self.complete);
        octets.clear();
        append(&mut octets, first);
        self.held += octets.len();
        let (header, fragments) = (*header, 1);
        self.incomplete.push(Incomplete { request_id, header, fragments, begun, octets });
    }
}

impl Incomplete {
    /// Whether a Fragment with this header and so many octets of data may continue the message.
    fn admit(
        &self,
        limits: &ReaderLimits,
        header: &MessageHeader,
        added: usize,
    ) -> Result<(), GiopError> {
        if header.version != self.header.version || header.order != self.header.order {
            let found = format_args!(
                "{} {:?}, the message began as {} {:?}",
                header.version, header.order, self.header.version, self.header.order
            );
            return Err(error(GiopErrorKind::BadFragment, 4, found));
        }
        if self.fragments >= limits.fragments_per_message {
            let limit = limits.fragments_per_message;
            let found = format_args!("number {}; the limit is {limit}", self.fragments + 1);
            return Err(error(GiopErrorKind::TooManyFragments, 7, found));
        }
        if self.octets.len().saturating_add(added) > limits.message_octets {
            let limit = limits.message_octets;
            let found = format_args!(
                "{added} octets behind {}; the limit message_octets is {limit}",
                self.octets.len()
            );
            return Err(error(GiopErrorKind::MessageTooLarge, 8, found));
        }
        Ok(())
    }
}

/// Puts `more` behind `octets`; when they have no room, in a larger buffer of the pool.
fn append(octets: &mut Vec<u8>, more: &[u8]) {
    let length = octets.len() + more.len();
    if octets.capacity() < length {
        let mut larger = buffers::take(length.max(octets.capacity() * 2));
        larger.extend_from_slice(octets);
        buffers::give(std::mem::replace(octets, larger));
    }
    octets.extend_from_slice(more);
}

/// A request id in words.
struct Id(Option<u32>);

impl std::fmt::Display for Id {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            Some(id) => write!(f, "request id {id}"),
            None => f.write_str("the GIOP 1.1 message in progress"),
        }
    }
}

#[cold]
fn unknown(request_id: Option<u32>) -> GiopError {
    let found = format_args!("{}, which has not begun", Id(request_id));
    error(GiopErrorKind::UnknownFragment, 12, found)
}

#[cold]
fn error(kind: GiopErrorKind, offset: usize, found: std::fmt::Arguments<'_>) -> GiopError {
    GiopError::new(kind, offset, "Fragment", found)
}
