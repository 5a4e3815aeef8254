//! Turns received octets into whole messages.
//!
//! The driver receives straight into [`MessageReader::space`]; a message that arrived in one piece
//! is handed out from there without a copy. Fragments are put together in `reader/reassembly`, and
//! messages of more than 128 KiB have memory of their own (`reader/large`), unless the buffer has
//! room for them since others like them have come before.
//! Caller: [`crate::Connection`], `orb/core/connection`. CORBA 3.3 P2 §9.4.1, §9.4.9, §9.5.1.

mod framing;
mod large;
mod lent;
mod limits;
mod reassembly;

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use corbie_cdr::budget::{Draw, Reading};
use corbie_cdr::payload::{PayloadAllocator, PayloadMemory};
use corbie_cdr::{ByteOrder, buffers};

use crate::error::{GiopError, GiopErrorKind};
use crate::memory::Memory;
use crate::message::{Message, MessageHeader, MessageKind, OwnedMessage};
use crate::protocol::Protocol;
use crate::roles::Roles;
use framing::Framing;
use large::Large;
use reassembly::Reassembly;

pub use limits::ReaderLimits;

/// Where the message lies that `next` returned last.
#[derive(Clone, Copy, Debug)]
enum MessagePlace {
    /// `buffer[start..start + len]`.
    Buffer { start: usize, len: usize },
    /// The whole of the reassembled message.
    Reassembled,
    /// All of the large message.
    Large,
}

/// Incoming octets to whole messages.
///
/// The driver repeats: receive at most [`space`](Self::space) octets, say how many with
/// [`received`](Self::received), take messages with [`next`](Self::next) until it returns `None`.
/// While a message is incomplete, [`wanted`](Self::wanted) says how much of it is missing, so that
/// one receive call can fetch the rest of a large body.
///
/// Memory comes from the pools of the thread that receives ([`buffers`]) and goes back to them, so
/// in steady state nothing is allocated, and a reader between messages may hold nothing at all
/// ([`release`](Self::release)). It grows with what arrived: whatever a header claims, memory that
/// is not in a pool already is at most 128 KiB, or sixteen times the octets received of the present
/// message. A message that arrived in one piece is borrowed from it.
#[derive(Debug)]
pub struct MessageReader {
    roles: Roles,
    framing: Framing,
    limits: ReaderLimits,
    /// All of it is initialised; received octets are `buffer[start..end]`.
    buffer: Vec<u8>,
    /// `0 <= start <= end <= buffer.len()`; the first octet that no message was made of yet.
    start: usize,
    end: usize,
    /// All octets of the message that begins at `start`, once its header was checked; before that
    /// 0, or how many the header takes.
    total: usize,
    current: Option<(MessageHeader, MessagePlace)>,
    reassembly: Reassembly,
    /// A message that the buffer is too small for: being received, or the current one.
    large: Option<Large>,
    /// What a buffer beyond [`Self::LARGE_OCTETS`] has drawn.
    buffer_draw: Option<Draw<Reading>>,
    /// How large a buffer the last messages needed, so that they come in one receive.
    usual: usize,
    /// Messages in a row that needed less.
    small_messages: u32,
    /// The driver's clock: when messages in fragments began.
    clock: Option<Arc<AtomicU64>>,
    /// Gives the memory of large messages.
    allocator: Option<Arc<dyn PayloadAllocator>>,
    /// After CloseConnection, MessageError or an error nothing more is read.
    ended: bool,
}

impl MessageReader {
    /// Octets of a new buffer.
    const FIRST_OCTETS: usize = buffers::MESSAGE_OCTETS;
    /// Messages of more octets are received into memory of their own.
    const LARGE_OCTETS: usize = 128 << 10;
    /// Larger buffers than this are not taken before the message is known.
    const MOST_USUAL: usize = 2 << 20;
    /// After this many messages in a row that a new buffer would have had room for, the next is
    /// one.
    const SMALL_MESSAGES: u32 = 256;
    /// Less room than this at the end of the buffer is worth moving what is left to its front.
    const MIN_SPACE: usize = 2 << 10;

    /// A reader for this end of a connection. Allocates with the first [`space`](Self::space).
    #[must_use]
    pub fn new(limits: ReaderLimits, roles: Roles) -> Self {
        Self {
            roles,
            framing: Framing { protocol: Protocol::Giop, order: ByteOrder::NATIVE },
            reassembly: Reassembly::new(),
            limits,
            buffer: Vec::new(),
            start: 0,
            end: 0,
            total: 0,
            current: None,
            large: None,
            buffer_draw: None,
            usual: Self::FIRST_OCTETS,
            small_messages: 0,
            clock: None,
            allocator: None,
            ended: false,
        }
    }

    /// A reader of `protocol`; `order` is the byte order that the profile agreed on, which GIOP
    /// says in every message instead.
    #[must_use]
    pub fn with_protocol(mut self, protocol: Protocol, order: ByteOrder) -> Self {
        self.framing = Framing { protocol, order };
        self
    }

    /// What it reads.
    #[inline]
    #[must_use]
    pub fn protocol(&self) -> Protocol {
        self.framing.protocol
    }

    /// What this end of the connection does.
    #[inline]
    #[must_use]
    pub fn roles(&self) -> Roles {
        self.roles
    }

    /// The limits that it keeps.
    #[must_use]
    pub fn limits(&self) -> &ReaderLimits {
        &self.limits
    }

    /// Where to receive next. Not empty, when `next` returned `None` since the last `received`.
    #[inline]
    pub fn space(&mut self) -> &mut [u8] {
        if self.start < self.end || self.large.is_some() {
            return self.space_for_more();
        }
        self.current = None;
        (self.start, self.end) = (0, 0);
        if self.buffer.is_empty() {
            self.buffer = self.take_buffer(self.usual);
        }
        &mut self.buffer
    }

    /// Where to receive the rest of a message that is here in part.
    #[inline(never)]
    fn space_for_more(&mut self) -> &mut [u8] {
        self.forget_current();
        self.current = None;
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
        }
        let room = self.buffer.len() - self.end;
        let wanted = self.wanted();
        if self.large.is_some() || room < wanted.max(Self::MIN_SPACE) {
            return self.make_room(wanted);
        }
        &mut self.buffer[self.end..]
    }

    /// A large message that was handed out is not wanted any more.
    #[cold]
    fn forget_current(&mut self) {
        if let Some((_, MessagePlace::Large)) = self.current {
            self.large = None;
        }
    }

    /// Takes a buffer of the pool, or a larger one, and moves what is left to its front.
    #[cold]
    fn make_room(&mut self, wanted: usize) -> &mut [u8] {
        if self.large.is_some() {
            return self.large.as_mut().map(Large::space).unwrap_or_default();
        }
        let held = self.end - self.start;
        let most = Self::LARGE_OCTETS.max(self.usual);
        let enough = held.saturating_add(wanted).clamp(self.usual, most);
        if self.buffer.len() < enough {
            let mut other = self.take_buffer(enough);
            // Without memory for it the present one does.
            if other.len() > self.buffer.len() {
                other[..held].copy_from_slice(&self.buffer[self.start..self.end]);
                std::mem::swap(&mut self.buffer, &mut other);
                (self.start, self.end) = (0, held);
                self.usual = enough.min(self.buffer.len());
            }
            buffers::give_filled(other);
        }
        self.buffer.copy_within(self.start..self.end, 0);
        self.start = 0;
        self.end = held;
        &mut self.buffer[held..]
    }

    /// Gives memory back that holds nothing: to be called when nothing more may come for a while.
    /// There is no current message any more.
    #[inline]
    pub fn release(&mut self) {
        if self.large.is_some() {
            self.forget_current();
        }
        self.current = None;
        if self.start == self.end {
            self.start = 0;
            self.end = 0;
            buffers::give_filled(std::mem::take(&mut self.buffer));
            self.buffer_draw = None;
        }
        self.reassembly.release();
    }

    /// Says that the first `octets` of [`space`](Self::space) were filled; more than fits is cut
    /// off.
    #[inline]
    pub fn received(&mut self, octets: usize) {
        self.current = None;
        match &mut self.large {
            None => {
                debug_assert!(octets <= self.buffer.len() - self.end);
                self.end = self.end.saturating_add(octets).min(self.buffer.len());
            }
            Some(large) => large.received(octets),
        }
    }

    /// Copies octets in, for drivers that receive elsewhere; returns how many were taken, at
    /// least one of a non-empty slice.
    pub fn receive_from(&mut self, octets: &[u8]) -> usize {
        let space = self.space();
        let taken = space.len().min(octets.len());
        space[..taken].copy_from_slice(&octets[..taken]);
        self.received(taken);
        taken
    }

    /// The next whole message, valid until the next call of `next`, `space` or `received`; `None`:
    /// receive more. After CloseConnection or MessageError, which are handed out like any message,
    /// and after an error, nothing more is read: the reader then returns `None`.
    ///
    /// # Errors
    /// What breaks the rules of GIOP or a limit, as soon as it can be seen; [`GiopError::answer`]
    /// says what the peer gets before the connection is closed.
    #[inline]
    #[expect(clippy::should_implement_trait, reason = "the message borrows from the reader")]
    pub fn next(&mut self) -> Result<Option<Message<'_>>, GiopError> {
        if self.large.is_some() {
            self.forget_current();
        }
        self.current = None;
        if let Some(header) = self.framing.decode_plain(&self.buffer[self.start..self.end])
            && !self.ended
            && self.roles.accepts(header.kind)
        {
            let (start, len) = (self.start, header.total());
            if len <= self.end - start && len <= self.limits.message_octets {
                self.hand_out(header, start, len);
                let octets = &self.buffer[start..start + len];
                return Ok(Some(Message { header, octets }));
            }
        }
        self.next_of_any_kind()
    }

    /// A message lies whole in the buffer: it is the current one, the next begins behind it.
    #[inline]
    fn hand_out(&mut self, header: MessageHeader, start: usize, len: usize) {
        self.start = start + len;
        self.total = 0;
        self.current = Some((header, MessagePlace::Buffer { start, len }));
        if self.usual > Self::FIRST_OCTETS {
            self.note_size(len);
        }
    }

    /// Forgets after a while that larger messages have come.
    fn note_size(&mut self, octets: usize) {
        if octets > Self::FIRST_OCTETS {
            self.small_messages = 0;
        } else if self.small_messages < Self::SMALL_MESSAGES {
            self.small_messages += 1;
        } else {
            (self.usual, self.small_messages) = (Self::FIRST_OCTETS, 0);
        }
    }

    /// The part of [`next`](Self::next) that incomplete, fragmented, rare and bad messages take.
    fn next_of_any_kind(&mut self) -> Result<Option<Message<'_>>, GiopError> {
        loop {
            match self.advance() {
                Ok(true) if self.current.is_some() => return Ok(self.current()),
                Ok(true) => {}
                Ok(false) => return Ok(None),
                Err(error) => {
                    self.current = None;
                    self.end_reading();
                    return Err(error);
                }
            }
        }
    }

    /// The message that [`next`](Self::next) returned last, as long as it is there.
    #[inline]
    #[must_use]
    pub fn current(&self) -> Option<Message<'_>> {
        let (header, place) = self.current?;
        let octets = match place {
            MessagePlace::Buffer { start, len } => &self.buffer[start..start + len],
            MessagePlace::Reassembled => self.reassembly.complete(),
            MessagePlace::Large => self.large.as_ref()?.octets(),
        };
        Some(Message { header, octets })
    }

    /// The memory that the application's allocator gave for the current message.
    #[inline]
    #[must_use]
    pub fn current_memory(&self) -> Option<&Arc<dyn PayloadMemory>> {
        match self.current? {
            (_, MessagePlace::Large) => self.large.as_ref()?.memory().given(),
            _ => None,
        }
    }

    /// Takes one message from the front of the buffer; `false`: it is not all there.
    fn advance(&mut self) -> Result<bool, GiopError> {
        if self.ended {
            self.start = self.end;
            return Ok(false);
        }
        if self.large.is_some() {
            return self.advance_large();
        }
        let octets = &self.buffer[self.start..self.end];
        let header = match self.framing.decode(octets)? {
            Ok(header) => header,
            Err(needed) => {
                self.total = needed;
                return Ok(false);
            }
        };
        let total = header.total();
        if !self.roles.accepts(header.kind) || total > self.limits.message_octets {
            return Err(self.refuse(&header));
        }
        let fragmented = header.more_fragments || header.kind == MessageKind::Fragment;
        if fragmented {
            self.reassembly.admit(&self.limits, &header, octets)?;
        }
        if octets.len() < total {
            self.total = total;
            if total > Self::LARGE_OCTETS.max(self.buffer.len()) {
                self.begin_large(total)?;
            }
            return Ok(false);
        }
        let start = self.start;
        if fragmented {
            let now = self.now();
            self.start += total;
            self.total = 0;
            let octets = &self.buffer[start..start + total];
            if let Some(header) = self.reassembly.add(&header, octets, now)? {
                self.current = Some((header, MessagePlace::Reassembled));
            }
            return Ok(true);
        }
        self.framing.check(&octets[..total])?;
        self.hand_out(header, start, total);
        self.after(&header)?;
        Ok(true)
    }

    /// What comes of a message besides being handed out.
    fn after(&mut self, header: &MessageHeader) -> Result<(), GiopError> {
        if header.kind as u8 >= MessageKind::CloseConnection as u8 {
            self.end_reading();
        } else if header.kind == MessageKind::CancelRequest {
            self.cancel_reassembly()?;
        }
        Ok(())
    }

    /// The message whose beginning is all that the buffer holds goes on in memory of its own.
    #[cold]
    fn begin_large(&mut self, total: usize) -> Result<(), GiopError> {
        let first = &self.buffer[self.start..self.end];
        let draw = self.reassembly.draw.as_ref().map(Draw::another);
        self.large = Some(Large::begin(first, total, self.allocator.as_deref(), draw));
        // The next one like it comes in one receive, unless it belongs elsewhere.
        let is_usual = total <= Self::MOST_USUAL && self.allocator.is_none();
        self.usual = if is_usual { total } else { Self::FIRST_OCTETS };
        buffers::give_filled(std::mem::take(&mut self.buffer));
        self.buffer_draw = None;
        (self.start, self.end, self.total) = (0, 0, 0);
        self.advance_large().map(drop)
    }

    /// A large message begins, or more of it is here.
    #[cold]
    fn advance_large(&mut self) -> Result<bool, GiopError> {
        let Some(large) = &mut self.large else { return Ok(false) };
        if let Err(exhausted) = large.make_room() {
            let found = format_args!("{exhausted}");
            return Err(GiopError::new(GiopErrorKind::OverBudget, 0, "message", found));
        }
        if large.wanted() == 0 { self.complete_large() } else { Ok(false) }
    }

    /// All of a large message is here, which was looked at when it began.
    #[cold]
    fn complete_large(&mut self) -> Result<bool, GiopError> {
        let Some(large) = &self.large else { return Ok(false) };
        let Ok(header) = self.framing.decode(large.octets())? else { return Ok(false) };
        self.framing.check(large.octets())?;
        if header.more_fragments || header.kind == MessageKind::Fragment {
            let now = self.now();
            let complete = self.reassembly.add(&header, large.octets(), now)?;
            self.large = None;
            self.current = complete.map(|header| (header, MessagePlace::Reassembled));
            return Ok(true);
        }
        self.current = Some((header, MessagePlace::Large));
        self.after(&header)?;
        Ok(true)
    }

    #[cold]
    fn refuse(&self, header: &MessageHeader) -> GiopError {
        let (type_place, size_place) = self.framing.places();
        if !self.roles.accepts(header.kind) {
            let found = format_args!("{:?}, sent to a {}", header.kind, self.roles);
            return GiopError::new(GiopErrorKind::WrongRole, type_place, "message_type", found);
        }
        let limit = self.limits.message_octets;
        let found = format_args!("{}; the limit message_octets is {limit}", header.size);
        GiopError::new(GiopErrorKind::MessageTooLarge, size_place, "message_size", found)
    }

    /// CORBA 3.3 P2 §9.4.4: a client may cancel a request whose fragments it has not all sent.
    #[cold]
    fn cancel_reassembly(&mut self) -> Result<(), GiopError> {
        if let Some(message) = self.current() {
            let id = message.cancel_request()?.request_id;
            self.reassembly.cancel(id);
        }
        Ok(())
    }

    fn end_reading(&mut self) {
        self.ended = true;
        self.total = 0;
        self.start = self.end;
        if !matches!(self.current, Some((_, MessagePlace::Large))) {
            self.large = None;
        }
        self.reassembly.clear();
    }

    /// Whether reading has ended: after CloseConnection, MessageError or an error.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.ended
    }

    /// Whether a message has begun to arrive and is not complete, fragments included.
    #[must_use]
    pub fn is_mid_message(&self) -> bool {
        let is_large = || self.large.as_ref().is_some_and(|_| self.current.is_none());
        !self.ended && (self.start < self.end || !self.reassembly.is_empty() || is_large())
    }

    /// Whether another whole message in one piece is here already, behind the current one. A good
    /// guess, not a promise: it may turn out to be bad.
    #[inline]
    #[must_use]
    pub fn holds_message(&self) -> bool {
        self.framing.is_whole(&self.buffer[self.start..self.end])
    }

    /// How many octets of the present message are still missing: of its header as long as that is
    /// incomplete; 0 between messages. Meaningful when `next` has returned `None`.
    #[inline]
    #[must_use]
    pub fn wanted(&self) -> usize {
        if let Some(large) = &self.large {
            return large.wanted();
        }
        let held = self.end - self.start;
        if held == 0 {
            return 0;
        }
        let header = MessageHeader::octets_in(self.framing.protocol.version());
        self.total.max(header).saturating_sub(held)
    }

    /// Octets of memory that it holds, for a server that adds up its connections.
    #[must_use]
    pub fn memory_octets(&self) -> usize {
        let large = self.large.as_ref().map_or(0, |large| large.memory().octets().len());
        self.buffer.capacity() + large + self.reassembly.memory_octets()
    }

    /// The error for a connection that the peer closed, when that was in the middle of a message.
    ///
    /// # Errors
    /// `Truncated`, when a message is incomplete.
    pub fn check_end_of_stream(&self) -> Result<(), GiopError> {
        if !self.is_mid_message() {
            return Ok(());
        }
        let large = self.large.as_ref().map_or(0, Large::filled);
        let held = self.end - self.start + large;
        let found = format_args!(
            "the end of the stream; {held} octets received, {} missing, {} in fragments",
            self.wanted(),
            self.reassembly.len(),
        );
        Err(GiopError::new(GiopErrorKind::Truncated, held, "message", found))
    }

    /// Moves the message that [`next`](Self::next) returned last out, so that another thread may
    /// read on. In steady state nothing is allocated, and at most the smaller of the message and of
    /// what was received behind it is copied. `None` when there is no such message.
    #[inline]
    pub fn take_message(&mut self) -> Option<OwnedMessage> {
        match self.current {
            // All that the buffer holds; the next receive takes another one.
            Some((header, MessagePlace::Buffer { start, len })) if self.start == self.end => {
                self.current = None;
                (self.start, self.end) = (0, 0);
                let buffer = std::mem::take(&mut self.buffer);
                let message = OwnedMessage::new(header, Memory::Pooled(buffer), start, len);
                Some(message.counted(self.buffer_draw.take()))
            }
            _ => self.take_among_others(),
        }
    }

    /// Moves a message out that is not alone in the buffer, or elsewhere.
    #[inline(never)]
    fn take_among_others(&mut self) -> Option<OwnedMessage> {
        let (header, place) = self.current.take()?;
        let (start, len) = match place {
            MessagePlace::Buffer { start, len } => (start, len),
            MessagePlace::Reassembled => {
                let draw = self.reassembly.draw_complete();
                let octets = self.reassembly.take_complete();
                let len = octets.len();
                let message = OwnedMessage::new(header, Memory::Pooled(octets), 0, len);
                return Some(message.counted(draw));
            }
            MessagePlace::Large => {
                let large = self.large.take()?;
                let len = large.octets().len();
                let (memory, draw) = large.into_parts();
                return Some(OwnedMessage::new(header, memory, 0, len).counted(draw));
            }
        };
        let behind = self.end - self.start;
        if len <= behind {
            let mut copy = buffers::take_filled(len);
            copy[..len].copy_from_slice(&self.buffer[start..start + len]);
            return Some(OwnedMessage::new(header, Memory::Pooled(copy), 0, len));
        }
        let mut fresh = buffers::take_filled(behind.max(Self::FIRST_OCTETS));
        fresh[..behind].copy_from_slice(&self.buffer[self.start..self.end]);
        self.start = 0;
        self.end = behind;
        let buffer = std::mem::replace(&mut self.buffer, fresh);
        let message = OwnedMessage::new(header, Memory::Pooled(buffer), start, len);
        Some(message.counted(self.buffer_draw.take()))
    }
}

impl Drop for MessageReader {
    fn drop(&mut self) {
        buffers::give_filled(std::mem::take(&mut self.buffer));
    }
}
