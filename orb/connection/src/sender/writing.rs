//! Sends one finished message from where it lies in its encoder: whole or in fragments, gathered
//! in as few calls of the link as it can be.

use crate::Octets;
use corbie_cdr::Encoder;
use corbie_giop::Fragments;
use std::io::{self, IoSlice};

/// Segments that one call of the link takes at most: the encoder's own octets and those that it
/// borrows alternate.
const MAX_SEGMENTS: usize = 40;

/// Sends the finished message in `encoder`: whole, or in fragments when it has more than
/// `fragment_octets`.
///
/// # Errors
/// What the system says; `TimedOut` when the peer does not take it within the send time-out.
#[inline]
pub fn send_message(
    link: &impl Octets,
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
pub(super) fn try_send_message(link: &impl Octets, encoder: &Encoder<'_>) -> io::Result<usize> {
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
pub(super) fn for_each_segment(
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

fn send_gathered<'s>(
    link: &impl Octets,
    segments: impl Iterator<Item = &'s [u8]>,
) -> io::Result<()> {
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
fn send_fragments(link: &impl Octets, encoder: &Encoder<'_>, octets: usize) -> io::Result<()> {
    let Some(fragments) = Fragments::of(encoder, octets) else {
        return send_gathered(link, encoder.segments());
    };
    for fragment in fragments {
        let head = std::iter::once(fragment.head());
        send_gathered(link, head.chain(fragment.pieces(encoder.segments())))?;
    }
    Ok(())
}
