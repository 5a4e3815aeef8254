//! The one loop that receives: octets of a link become whole messages.
//!
//! Connections of clients and servers, exclusive and shared, come through here; they differ in how
//! octets arrive ([`Arrivals`]): a thread waits for them ([`WhatComes`]), or takes what is here
//! already ([`WhatIsHere`]). In steady state a message costs one system call and no allocation.

use crate::Octets;
use corbie_giop::{GiopError, MessageHeader, MessageReader};
use corbie_threads::lock::assert_none_held;
use corbie_transport::{Link, Waiter};
use std::io;
use std::time::Instant;

/// Why no message will come.
#[derive(Debug)]
pub enum ReceiveFailure {
    /// The peer closed the connection between two messages.
    Closed,
    /// No octet of a message came within the time-out of the link.
    NothingCame,
    /// The message began but was not complete in time.
    TooSlow,
    /// The peer closed in the middle of a message, or broke the rules of GIOP.
    Giop(GiopError),
    /// The system says that the connection is broken.
    Io(io::Error),
}

impl From<GiopError> for ReceiveFailure {
    #[cold]
    fn from(error: GiopError) -> Self {
        ReceiveFailure::Giop(error)
    }
}

/// What came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Received {
    /// A whole message, which is the reader's current one. `is_drained`: the link has no more, or
    /// tells so by another event.
    Message {
        /// See above.
        is_drained: bool,
    },
    /// No whole message is here now.
    Nothing,
}

/// How octets arrive. 0 octets: the peer has closed its side. `None`: none are here now.
pub trait Arrivals {
    /// Receives the first octets of a message.
    ///
    /// # Errors
    /// Why none will come.
    fn first(&mut self, space: &mut [u8]) -> Result<Option<usize>, ReceiveFailure>;

    /// Receives more of a message that has begun; `wanted` octets of it are missing, as far as is
    /// known.
    ///
    /// # Errors
    /// Why none will come.
    fn rest(&mut self, space: &mut [u8], wanted: usize) -> Result<Option<usize>, ReceiveFailure>;

    /// Whether a receive of so many octets into so much room has left nothing behind.
    fn has_drained(&self, octets: usize, room: usize) -> bool;
}

/// Receives until `reader.current()` is a whole message, or none is here.
///
/// # Errors
/// [`ReceiveFailure`].
#[inline]
pub fn receive(
    reader: &mut MessageReader,
    from: &mut impl Arrivals,
) -> Result<Received, ReceiveFailure> {
    if reader.is_mid_message() {
        // Messages that came together with the last one are here already.
        return match reader.next()? {
            Some(_) => Ok(Received::Message { is_drained: false }),
            None => receive_rest(reader, from),
        };
    }
    let space = reader.space();
    let room = space.len();
    let Some(octets) = from.first(space)? else { return Ok(Received::Nothing) };
    accept(reader, octets)?;
    let is_drained = from.has_drained(octets, room);
    match reader.next()? {
        Some(_) => Ok(Received::Message { is_drained }),
        None if is_drained => Ok(Received::Nothing),
        None => receive_rest(reader, from),
    }
}

/// The message has begun and is not complete: takes the rest in as few system calls as it can.
#[cold]
fn receive_rest(
    reader: &mut MessageReader,
    from: &mut impl Arrivals,
) -> Result<Received, ReceiveFailure> {
    loop {
        let wanted = reader.wanted();
        let space = reader.space();
        let room = space.len();
        let Some(octets) = from.rest(space, wanted)? else { return Ok(Received::Nothing) };
        accept(reader, octets)?;
        let is_drained = from.has_drained(octets, room);
        match reader.next()? {
            Some(_) => return Ok(Received::Message { is_drained }),
            None if is_drained => return Ok(Received::Nothing),
            None => {}
        }
    }
}

#[inline]
fn accept(reader: &mut MessageReader, octets: usize) -> Result<(), ReceiveFailure> {
    if octets == 0 {
        reader.check_end_of_stream()?;
        return Err(ReceiveFailure::Closed);
    }
    reader.received(octets);
    Ok(())
}

/// Takes what is here, without waiting.
#[derive(Debug)]
pub struct WhatIsHere<'l, L> {
    link: &'l L,
    is_last: bool,
}

impl<'l, L: Octets> WhatIsHere<'l, L> {
    /// `is_last`: no event will tell of more, as the peer has closed: all is taken, and then the
    /// end. Otherwise a receive that leaves room is the last until the next event.
    pub fn of(link: &'l L, is_last: bool) -> Self {
        WhatIsHere { link, is_last }
    }
}

impl<L: Octets> Arrivals for WhatIsHere<'_, L> {
    #[inline]
    fn first(&mut self, space: &mut [u8]) -> Result<Option<usize>, ReceiveFailure> {
        self.link.try_receive(space).map_err(ReceiveFailure::Io)
    }

    #[inline]
    fn rest(&mut self, space: &mut [u8], _: usize) -> Result<Option<usize>, ReceiveFailure> {
        self.first(space)
    }

    #[inline]
    fn has_drained(&self, octets: usize, room: usize) -> bool {
        octets < room && !self.is_last
    }
}

/// Waits for what comes, each time as long as the link's receive time-out says.
#[derive(Debug)]
pub struct WhatComes<'l, B> {
    link: &'l Link,
    waiter: &'l mut Waiter,
    begun: Option<B>,
    deadline: Option<Instant>,
}

impl<'l, B: FnOnce() -> io::Result<Option<Instant>>> WhatComes<'l, B> {
    /// When the first octets are not the whole message, `begun` says until when all of it has to
    /// be here; that is kept to one receive time-out.
    #[inline]
    pub fn over(link: &'l Link, waiter: &'l mut Waiter, begun: B) -> Self {
        WhatComes { link, waiter, begun: Some(begun), deadline: None }
    }
}

impl<B: FnOnce() -> io::Result<Option<Instant>>> Arrivals for WhatComes<'_, B> {
    #[inline]
    fn first(&mut self, space: &mut [u8]) -> Result<Option<usize>, ReceiveFailure> {
        assert_none_held("a wait for a message");
        self.waiter.receive(self.link, space).map(Some).map_err(first_octets_failed)
    }

    fn rest(&mut self, space: &mut [u8], wanted: usize) -> Result<Option<usize>, ReceiveFailure> {
        if let Some(begun) = self.begun.take() {
            self.deadline = begun().map_err(ReceiveFailure::Io)?;
        } else if self.deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            // A peer that sends one octet a second never runs into the time-out of one receive.
            return Err(ReceiveFailure::TooSlow);
        }
        let end = wanted.min(space.len());
        // Of a header, or between fragments, it is not known yet how much there is to wait for.
        let received = match wanted {
            0..=MessageHeader::OCTETS => self.link.receive(space),
            _ => self.link.receive_all(&mut space[..end]),
        };
        received.map(Some).map_err(|error| match error.kind() {
            io::ErrorKind::TimedOut => ReceiveFailure::TooSlow,
            _ => ReceiveFailure::Io(error),
        })
    }

    #[inline]
    fn has_drained(&self, _: usize, _: usize) -> bool {
        false
    }
}

#[cold]
fn first_octets_failed(error: io::Error) -> ReceiveFailure {
    match error.kind() {
        io::ErrorKind::TimedOut => ReceiveFailure::NothingCame,
        _ => ReceiveFailure::Io(error),
    }
}
