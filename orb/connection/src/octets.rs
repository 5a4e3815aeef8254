//! What messages need of a link: the part that never blocks. Implemented by [`Link`], and by the
//! simulated links of the tests.

use corbie_transport::Link;
use std::io;

/// The part of a link that never blocks.
pub trait Octets {
    /// Takes what has arrived already: `Ok(None)` when nothing has, `Ok(Some(0))` when the peer
    /// has closed its side.
    ///
    /// # Errors
    /// What the system says: the link is broken.
    fn try_receive(&self, space: &mut [u8]) -> io::Result<Option<usize>>;
}

impl Octets for Link {
    #[inline]
    fn try_receive(&self, space: &mut [u8]) -> io::Result<Option<usize>> {
        Link::try_receive(self, space)
    }
}
