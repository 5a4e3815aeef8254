//! Moves whole GIOP messages over a link: the loop that joins `giop` (which does no I/O) to
//! `transport` (which knows no GIOP). Used by `connection/client` and `server/connection`.
//!
//! In steady state a message costs one receive and one send system call and no allocation: what is
//! received lies in the reader's buffer, what is sent is gathered from where it lies.

use corbie_cdr::Encoder;
use corbie_giop::{Fragments, GiopError, MessageHeader, MessageReader};
use corbie_transport::{Link, Waiter};
use std::io::{self, IoSlice};
use std::time::Instant;

/// Segments that one gathered write takes at most: the encoder's own octets and its borrowed chunks
/// alternate.
const MAX_SEGMENTS: usize = 40;

/// Why no message came.
#[derive(Debug)]
pub(crate) enum ReceiveFailure {
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

/// Receives until `reader.current()` is a whole message.
///
/// The link's receive time-out bounds each wait. When the first octets are not the whole message,
/// `begun` says until when all of it has to be here; that is kept to one receive time-out.
///
/// # Errors
/// [`ReceiveFailure`].
#[inline]
pub(crate) fn receive_message(
    reader: &mut MessageReader,
    link: &Link,
    waiter: &mut Waiter,
    begun: impl FnOnce() -> io::Result<Option<Instant>>,
) -> Result<(), ReceiveFailure> {
    // Messages that came together with the last one are there already.
    if reader.is_mid_message() && reader.next().map_err(ReceiveFailure::Giop)?.is_some() {
        return Ok(());
    }
    if !reader.is_mid_message() {
        let octets = waiter.receive(link, reader.space()).map_err(first_octets_failed)?;
        accept(reader, octets)?;
        if reader.next().map_err(ReceiveFailure::Giop)?.is_some() {
            return Ok(());
        }
    }
    let deadline = begun().map_err(ReceiveFailure::Io)?;
    receive_rest(reader, link, deadline)
}

/// The message has begun and is not complete: takes the rest in as few system calls as it can.
#[cold]
fn receive_rest(
    reader: &mut MessageReader,
    link: &Link,
    deadline: Option<Instant>,
) -> Result<(), ReceiveFailure> {
    loop {
        let wanted = reader.wanted();
        let space = reader.space();
        let end = wanted.min(space.len());
        // Of a header or between fragments nobody knows yet how much there is to wait for.
        let received = match wanted {
            0..=MessageHeader::OCTETS => link.receive(space),
            _ => link.receive_all(&mut space[..end]),
        };
        let octets = received.map_err(|error| match error.kind() {
            io::ErrorKind::TimedOut => ReceiveFailure::TooSlow,
            _ => ReceiveFailure::Io(error),
        })?;
        accept(reader, octets)?;
        if reader.next().map_err(ReceiveFailure::Giop)?.is_some() {
            return Ok(());
        }
        // A peer that sends one octet a second never runs into the time-out of one receive.
        if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            return Err(ReceiveFailure::TooSlow);
        }
    }
}

#[inline]
fn accept(reader: &mut MessageReader, octets: usize) -> Result<(), ReceiveFailure> {
    if octets == 0 {
        reader.check_end_of_stream().map_err(ReceiveFailure::Giop)?;
        return Err(ReceiveFailure::Closed);
    }
    reader.received(octets);
    Ok(())
}

#[cold]
fn first_octets_failed(error: io::Error) -> ReceiveFailure {
    match error.kind() {
        io::ErrorKind::TimedOut => ReceiveFailure::NothingCame,
        _ => ReceiveFailure::Io(error),
    }
}

/// Sends the finished message in `encoder`: whole, or in fragments when it has more than
/// `fragment_octets`.
///
/// # Errors
/// What the system says; `TimedOut` when the peer does not take it within the send time-out.
#[inline]
pub(crate) fn send_message(
    link: &Link,
    encoder: &Encoder<'_>,
    fragment_octets: Option<usize>,
) -> io::Result<()> {
    match fragment_octets {
        Some(octets) if encoder.len() > octets => send_fragments(link, encoder, octets),
        _ if encoder.is_contiguous() => link.send_one(encoder.own_octets()),
        _ => send_gathered(link, encoder.segments()),
    }
}

/// Sends what of the finished message in `encoder` can be sent without waiting, whole; how many
/// octets that were.
///
/// # Errors
/// What the system says.
pub(crate) fn try_send_message(link: &Link, encoder: &Encoder<'_>) -> io::Result<usize> {
    if encoder.is_contiguous() {
        return link.try_send(encoder.own_octets());
    }
    let mut segments = encoder.segments();
    let mut total = 0;
    loop {
        let mut slices = [IoSlice::new(&[]); MAX_SEGMENTS];
        let count = slices.iter_mut().zip(&mut segments).map(|(s, o)| *s = IoSlice::new(o)).count();
        let offered: usize = slices.iter().map(|slice| slice.len()).sum();
        let sent = link.try_send_gathered(&slices[..count])?;
        total += sent;
        if sent < offered || count < MAX_SEGMENTS {
            return Ok(total);
        }
    }
}

/// Gives the octets of the finished message in `encoder`, cut as [`send_message`] would, to `each`.
pub(crate) fn for_each_segment(
    encoder: &Encoder<'_>,
    fragment_octets: Option<usize>,
    mut each: impl FnMut(&[u8]),
) {
    let fragments = fragment_octets.filter(|octets| encoder.len() > *octets);
    match fragments.and_then(|octets| Fragments::of(encoder, octets)) {
        None => encoder.segments().for_each(each),
        Some(fragments) => {
            for fragment in fragments {
                each(fragment.head());
                fragment.pieces(encoder.segments()).for_each(&mut each);
            }
        }
    }
}

fn send_gathered<'s>(link: &Link, segments: impl Iterator<Item = &'s [u8]>) -> io::Result<()> {
    let mut slices = [IoSlice::new(&[]); MAX_SEGMENTS];
    let mut count = 0;
    for segment in segments {
        if count == MAX_SEGMENTS {
            link.send(&mut slices)?;
            count = 0;
        }
        slices[count] = IoSlice::new(segment);
        count += 1;
    }
    link.send(&mut slices[..count])
}

#[cold]
fn send_fragments(link: &Link, encoder: &Encoder<'_>, octets: usize) -> io::Result<()> {
    let Some(fragments) = Fragments::of(encoder, octets) else {
        return send_gathered(link, encoder.segments());
    };
    for fragment in fragments {
        let head = std::iter::once(fragment.head());
        send_gathered(link, head.chain(fragment.pieces(encoder.segments())))?;
    }
    Ok(())
}
