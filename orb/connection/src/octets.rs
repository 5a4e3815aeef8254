//! What the sender and the receiver of messages need of a link: the part that never blocks.
//! Implemented by [`Link`], by the simulated links of the tests, and by links that loom watches.

use corbie_threads::lock::assert_none_held;
use corbie_transport::Link;
use std::io::{self, IoSlice};

/// The part of a link that never blocks, and the one way to wait.
pub trait Octets {
    /// Sends what of `octets` the peer takes now; how many that were, 0 when it takes nothing.
    ///
    /// # Errors
    /// What the system says: the link is broken.
    fn try_send(&self, octets: &[u8]) -> io::Result<usize>;

    /// As [`Octets::try_send`], of all `segments` in order.
    ///
    /// # Errors
    /// As [`Octets::try_send`].
    fn try_send_gathered(&self, segments: &[IoSlice<'_>]) -> io::Result<usize> {
        let mut sent = 0;
        for segment in segments {
            let taken = self.try_send(segment)?;
            sent += taken;
            if taken < segment.len() {
                break;
            }
        }
        Ok(sent)
    }

    /// Sends all `segments` and waits for the peer, where the link can. Called only by threads
    /// that may block (`Patience::Block`).
    ///
    /// # Errors
    /// `TimedOut` when the peer did not take them in time, else what the system says. A link that
    /// cannot wait says `TimedOut` at once.
    fn send(&self, segments: &mut [IoSlice<'_>]) -> io::Result<()> {
        let octets: usize = segments.iter().map(|segment| segment.len()).sum();
        match self.try_send_gathered(segments)? {
            sent if sent == octets => Ok(()),
            _ => Err(io::ErrorKind::TimedOut.into()),
        }
    }

    /// As [`Octets::send`], of one segment.
    ///
    /// # Errors
    /// As [`Octets::send`].
    fn send_one(&self, octets: &[u8]) -> io::Result<()> {
        self.send(&mut [IoSlice::new(octets)])
    }

    /// Takes what has arrived already: `Ok(None)` when nothing has, `Ok(Some(0))` when the peer
    /// has closed its side.
    ///
    /// # Errors
    /// As [`Octets::try_send`].
    fn try_receive(&self, space: &mut [u8]) -> io::Result<Option<usize>>;

    /// Ends both directions.
    fn shutdown(&self);
}

impl Octets for Link {
    #[inline]
    fn try_send(&self, octets: &[u8]) -> io::Result<usize> {
        Link::try_send(self, octets)
    }

    #[inline]
    fn try_send_gathered(&self, segments: &[IoSlice<'_>]) -> io::Result<usize> {
        Link::try_send_gathered(self, segments)
    }

    #[inline]
    fn send(&self, segments: &mut [IoSlice<'_>]) -> io::Result<()> {
        assert_none_held("sending to a peer that may take nothing");
        Link::send(self, segments)
    }

    #[inline]
    fn send_one(&self, octets: &[u8]) -> io::Result<()> {
        assert_none_held("sending to a peer that may take nothing");
        Link::send_one(self, octets)
    }

    #[inline]
    fn try_receive(&self, space: &mut [u8]) -> io::Result<Option<usize>> {
        Link::try_receive(self, space)
    }

    fn shutdown(&self) {
        Link::shutdown(self);
    }
}
