//! A connection that this process opened: it sends requests and reads replies.
//!
//! One call at a time uses it (the exclusive transport strategy, paper AMI §3.1): the calling
//! thread owns it from sending to the last octet of the reply, so nothing here is shared or locked.

use crate::connection::driver;
use corbie_cdr::{ByteOrder, CodeSets, Encoder};
use corbie_giop::{Message, MessageReader, ReaderLimits, Role};
use corbie_transport::{Link, WaitStrategy, Waiter};
use std::io;
use std::time::Instant;

/// A buffer that grew beyond this for one large request is given back.
const KEPT_OCTETS: usize = 64 << 10;

pub(crate) struct ClientConnection {
    pub(crate) link: Link,
    reader: MessageReader,
    waiter: Waiter,
    /// The buffer of the next request, between calls.
    buffer: Vec<u8>,
    next_request_id: u32,
    pub(crate) code_sets: CodeSets,
    /// Whether the server has been told the code sets on this connection.
    pub(crate) code_sets_announced: bool,
    /// When the last call began: tells whether the connection may have gone stale.
    pub(crate) last_used: Instant,
}

impl ClientConnection {
    pub(crate) fn new(
        link: Link,
        code_sets: CodeSets,
        limits: ReaderLimits,
        wait: WaitStrategy,
    ) -> Self {
        ClientConnection {
            link,
            reader: MessageReader::new(limits, Role::Client),
            waiter: Waiter::new(wait),
            buffer: Vec::new(),
            next_request_id: 0,
            code_sets,
            code_sets_announced: false,
            last_used: Instant::now(),
        }
    }

    #[inline]
    pub(crate) fn next_request_id(&mut self) -> u32 {
        let id = self.next_request_id;
        self.next_request_id = id.wrapping_add(1);
        id
    }

    /// An encoder on this connection's buffer; [`ClientConnection::keep_buffer`] gives it back.
    #[inline]
    pub(crate) fn encoder<'a>(&mut self) -> Encoder<'a> {
        Encoder::new(std::mem::take(&mut self.buffer), ByteOrder::NATIVE)
    }

    #[inline]
    pub(crate) fn keep_buffer(&mut self, buffer: Vec<u8>) {
        self.buffer = buffer;
        if self.buffer.capacity() > KEPT_OCTETS {
            self.buffer.truncate(0);
            self.buffer.shrink_to(KEPT_OCTETS);
        }
    }

    #[inline]
    pub(crate) fn send(
        &mut self,
        encoder: &Encoder<'_>,
        fragment_octets: Option<usize>,
    ) -> io::Result<()> {
        driver::send_message(&self.link, encoder, fragment_octets)
    }

    /// Receives the next message; [`ClientConnection::message`] is it then. The link's receive
    /// time-out bounds the wait for its beginning, `deadline` that for the rest.
    ///
    /// # Errors
    /// [`driver::ReceiveFailure`].
    #[inline]
    pub(crate) fn receive(
        &mut self,
        deadline: Option<Instant>,
    ) -> Result<(), driver::ReceiveFailure> {
        driver::receive_message(&mut self.reader, &self.link, &mut self.waiter, || Ok(deadline))
    }

    /// The message received last.
    #[inline]
    pub(crate) fn message(&self) -> Option<Message<'_>> {
        self.reader.current()
    }
}
