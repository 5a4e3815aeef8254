//! A connection that this process opened: it sends requests and reads replies.
//!
//! One call at a time uses it (the exclusive transport strategy, paper AMI §3.1): the calling
//! thread owns it from sending to the last octet of the reply, so nothing here is shared or locked.

use crate::{ConnectionFault, ReceiveFailure, Received, WhatComes, WhatIsHere, receive, writing};
use corbie_cdr::payload::PayloadMemory;
use corbie_cdr::{CodeSets, Encoder};
use corbie_giop::{Incoming, Message, MessageKind, MessageReader};
use corbie_transport::{Link, WaitStrategy, Waiter};
use std::io;
use std::sync::Arc;
use std::time::Instant;

/// See the module.
pub struct ExclusiveConnection {
    link: Link,
    reader: MessageReader,
    waiter: Waiter,
    next_request_id: u32,
    code_sets: CodeSets,
    /// Whether the server has been told the code sets on this connection.
    pub has_announced: bool,
    /// The number of the security context that the server keeps of this connection; 0: none.
    pub established: u64,
    /// Replies that are still to come to requests whose callers gave up.
    owed: u32,
    /// The server answered what was never asked.
    is_confused: bool,
    /// When the last call began: tells whether the connection may have gone stale.
    pub(crate) last_used: Instant,
}

impl ExclusiveConnection {
    pub(crate) fn new(
        link: Link,
        code_sets: CodeSets,
        reader: MessageReader,
        wait: WaitStrategy,
    ) -> Self {
        ExclusiveConnection {
            link,
            reader,
            waiter: Waiter::new(wait),
            next_request_id: 0,
            code_sets,
            has_announced: false,
            established: 0,
            owed: 0,
            is_confused: false,
            last_used: Instant::now(),
        }
    }

    /// The link.
    #[inline]
    pub fn link(&self) -> &Link {
        &self.link
    }

    /// What text is encoded in.
    #[inline]
    pub fn code_sets(&self) -> CodeSets {
        self.code_sets
    }

    /// The id of the next request.
    #[inline]
    pub fn next_request_id(&mut self) -> u32 {
        let id = self.next_request_id;
        self.next_request_id = id.wrapping_add(1);
        id
    }

    /// Between calls: what was received is of no use any more, and an idle connection holds no
    /// buffers.
    #[inline]
    pub(crate) fn rest(&mut self) {
        self.reader.release();
    }

    /// Sends the finished message in `encoder`, in fragments if it has more than `fragment_octets`.
    ///
    /// # Errors
    /// Why the link did not take it; `NotUnderstood` when the server said so.
    #[inline]
    pub fn send(
        &mut self,
        encoder: &Encoder<'_>,
        fragment_octets: Option<usize>,
    ) -> Result<(), ConnectionFault> {
        let sent = writing::send_message(&self.link, encoder, fragment_octets);
        sent.map_err(|error| self.not_sent(error, encoder.len()))
    }

    /// Why a message of so many octets was not sent: a server that refuses it says so before it
    /// closes, and would refuse it again.
    #[cold]
    fn not_sent(&mut self, error: io::Error, octets: usize) -> ConnectionFault {
        let all_there_is = &mut WhatIsHere::of(&self.link, true);
        while let Ok(Received::Message { .. }) = receive(&mut self.reader, all_there_is) {
            if self
                .message()
                .is_some_and(|message| message.header.kind == MessageKind::MessageError)
            {
                return ConnectionFault::NotUnderstood(octets);
            }
        }
        ConnectionFault::sending(error)
    }

    /// Receives the next message; [`ExclusiveConnection::message`] is it then. The link's receive
    /// time-out bounds the wait for its beginning, `deadline` that for the rest.
    ///
    /// # Errors
    /// [`ReceiveFailure`].
    #[inline]
    pub fn receive(&mut self, deadline: Option<Instant>) -> Result<(), ReceiveFailure> {
        let mut from = WhatComes::over(&self.link, &mut self.waiter, || Ok(deadline));
        receive(&mut self.reader, &mut from).map(drop)
    }

    /// The message received last.
    #[inline]
    pub fn message(&self) -> Option<Message<'_>> {
        self.reader.current()
    }

    /// The memory that the application's allocator gave for it.
    #[inline]
    pub fn message_memory(&self) -> Option<&Arc<dyn PayloadMemory>> {
        self.reader.current_memory()
    }

    /// A request was given up: its reply may come later.
    #[cold]
    pub fn owe_reply(&mut self) {
        self.owed = self.owed.saturating_add(1);
    }

    /// A reply came for a call that was given up.
    #[cold]
    pub fn note_late_reply(&mut self) {
        self.is_confused |= self.owed == 0;
        self.owed = self.owed.saturating_sub(1);
    }

    /// Whether the server answered what was never asked.
    pub fn is_confused(&self) -> bool {
        self.is_confused
    }

    /// Whether replies are still to come for calls that were given up: the server may be busy with
    /// their requests, and would begin the next one later.
    #[inline]
    pub fn owes_replies(&self) -> bool {
        self.owed > 0
    }

    /// Takes late replies that are here, without waiting; whether all of them have come.
    ///
    /// # Errors
    /// Why the connection is of no use any more.
    #[cold]
    pub(crate) fn settle(&mut self) -> Result<bool, ReceiveFailure> {
        while self.owes_replies() {
            let all_there_is = &mut WhatIsHere::of(&self.link, true);
            if receive(&mut self.reader, all_there_is)? == Received::Nothing {
                return Ok(false);
            }
            let Some(message) = self.message() else { return Err(ReceiveFailure::Closed) };
            match self.reader.roles().incoming(&message)? {
                Incoming::Reply | Incoming::LocateReply => self.note_late_reply(),
                _ => return Err(ReceiveFailure::Closed),
            }
        }
        Ok(true)
    }
}
