//! What is to be sent over one connection: sent at once, or kept for a moment so that several small
//! messages go in one system call.
//!
//! Order is kept: nothing overtakes what waits here. Used by `connection/muxed` for requests and by
//! servers for replies.

use crate::connection::driver;
use corbie_cdr::Encoder;
use corbie_transport::Link;
use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The messages that wait to be sent.
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    /// Lock "outbox": held while something is sent.
    queue: Mutex<Queue>,
}

#[derive(Debug, Default)]
struct Queue {
    octets: Vec<u8>,
    is_closed: bool,
}

impl Outbox {
    /// Sends what waits, then the finished message in `encoder`, in fragments when it has more than
    /// `fragment_octets`.
    ///
    /// # Errors
    /// `NotConnected` after [`Outbox::close`], else what the system says.
    pub(crate) fn send_now(
        &self,
        link: &Link,
        encoder: &Encoder<'_>,
        fragment_octets: Option<usize>,
    ) -> io::Result<()> {
        let mut queue = self.lock();
        if queue.is_closed {
            return Err(closed());
        }
        if !queue.octets.is_empty() {
            let sent = link.send_one(&queue.octets);
            queue.octets.clear();
            sent?;
        }
        driver::send_message(link, encoder, fragment_octets)
    }

    /// Sends what waits.
    ///
    /// # Errors
    /// As [`Outbox::send_now`].
    pub(crate) fn flush(&self, link: &Link) -> io::Result<()> {
        let mut queue = self.lock();
        if queue.is_closed || queue.octets.is_empty() {
            return Ok(());
        }
        let sent = link.send_one(&queue.octets);
        queue.octets.clear();
        sent
    }

    /// Nothing is sent any more. What waits is dropped.
    pub(crate) fn close(&self) {
        let mut queue = self.lock();
        queue.is_closed = true;
        queue.octets = Vec::new();
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cold]
fn closed() -> io::Error {
    io::Error::new(io::ErrorKind::NotConnected, "the connection was closed")
}
