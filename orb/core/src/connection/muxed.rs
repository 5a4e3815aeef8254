//! A connection that many calls share: requests of all threads go out, replies come back in any
//! order and are found by request id (paper AMI §3.1: muxed multiplexing, reply dispatcher).
//!
//! Requests go through the outbox; whoever holds the read lock reads and delivers. What becomes of
//! a reply is decided in `client/delivery`.

use crate::Orb;
use crate::client::PendingRequest;
use crate::client::delivery::{self, OwnedReply};
use crate::connection::driver::{self, ReceiveFailure};
use crate::connection::outbox::Outbox;
use crate::connection::reply_table::ReplyTable;
use corbie_cdr::{ByteOrder, CodeSets, Version};
use corbie_giop::{GiopError, MessageKind, MessageReader, OwnedMessage, Role, cancel_request};
use corbie_transport::{Endpoint, Link, Waiter};
use corbie_types::{CompletionStatus, SystemException, minor};
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

pub(crate) struct MuxedConnection {
    pub(crate) endpoint: Endpoint,
    pub(crate) code_sets: CodeSets,
    link: Link,
    pub(crate) outbox: Outbox,
    /// Lock "reading": held while a thread waits for and takes one message.
    reading: Mutex<Reading>,
    /// Lock "pending": held for a look-up.
    pending: Mutex<ReplyTable<PendingRequest>>,
    /// Whether the server has been told the code sets.
    pub(crate) code_sets_announced: AtomicBool,
    /// The minor GIOP version of the last request, for `CancelRequest`.
    giop_minor: AtomicU8,
    is_closed: AtomicBool,
}

struct Reading {
    reader: MessageReader,
    waiter: Waiter,
}

impl MuxedConnection {
    pub(crate) fn new(orb: &Orb, endpoint: Endpoint, code_sets: CodeSets, link: Link) -> Self {
        let reader = MessageReader::new(orb.reader_limits(), Role::Client);
        MuxedConnection {
            endpoint,
            code_sets,
            link,
            outbox: Outbox::default(),
            reading: Mutex::new(Reading { reader, waiter: Waiter::new(orb.client_wait()) }),
            pending: Mutex::default(),
            code_sets_announced: AtomicBool::new(false),
            giop_minor: AtomicU8::new(Version::V1_2.minor),
            is_closed: AtomicBool::new(false),
        }
    }

    /// Whether requests can be sent.
    pub(crate) fn is_open(&self) -> bool {
        !self.is_closed.load(Ordering::Acquire)
    }

    pub(crate) fn link(&self) -> &Link {
        &self.link
    }

    /// A request is about to be sent: what waits for its reply; its id.
    ///
    /// # Errors
    /// What waits comes back when too many do.
    pub(crate) fn begin(&self, waiting: PendingRequest) -> Result<u32, PendingRequest> {
        self.giop_minor.store(waiting.body.version.minor, Ordering::Relaxed);
        self.lock_pending().insert(waiting)
    }

    /// The request could not be sent: what waited for its reply, unless it was told so already.
    pub(crate) fn withdraw(&self, id: u32) -> Option<PendingRequest> {
        self.lock_pending().take(id)
    }

    /// Nobody waits for `id` any more: forgets it, and tells the server.
    pub(crate) fn cancel(&self, id: u32) {
        if self.lock_pending().abandon(id).is_some() {
            let version =
                Version { minor: self.giop_minor.load(Ordering::Relaxed), ..Version::V1_2 };
            self.link.send_now(&cancel_request(version, ByteOrder::NATIVE, id));
        }
    }

    /// Ends the calls whose time is over.
    pub(crate) fn expire(&self, now: Instant) {
        let expired: Vec<u32> = {
            let pending = self.lock_pending();
            let is_over =
                |waiting: &PendingRequest| waiting.call.clock.deadline().is_some_and(|d| d <= now);
            pending.iter().filter(|(_, waiting)| is_over(waiting)).map(|(id, _)| id).collect()
        };
        for id in expired {
            let Some(waiting) = self.lock_pending().abandon(id) else { continue };
            let version = waiting.body.version;
            self.link.send_now(&cancel_request(version, ByteOrder::NATIVE, id));
            let exception = SystemException::timeout(minor::TIMEOUT_CALL, CompletionStatus::Maybe)
                .with_detail(format!(
                    "{} gave no reply to {} in time; raise request_timeout if it may take \
                         longer",
                    self.endpoint,
                    waiting.call.operation.name()
                ));
            delivery::fail(waiting, exception);
        }
    }

    /// Waits for the next message and delivers it; whether the connection goes on.
    pub(crate) fn read_one(self: &Arc<Self>, orb: &Orb) -> bool {
        let taken = {
            let mut reading = self.reading.lock().unwrap_or_else(PoisonError::into_inner);
            let Reading { reader, waiter } = &mut *reading;
            driver::receive_message(reader, &self.link, waiter, || Ok(None))
                .map(|()| reader.take_message(Vec::new()))
        };
        match taken {
            Ok(Some(message)) => self.handle(orb, message),
            Ok(None) => true,
            Err(ReceiveFailure::NothingCame) => true,
            Err(failure) => {
                self.fail(orb, &failure);
                false
            }
        }
    }

    fn handle(self: &Arc<Self>, orb: &Orb, message: OwnedMessage) -> bool {
        match message.header().kind {
            MessageKind::Reply => match self.reply(orb, message) {
                Ok(()) => true,
                Err(error) => {
                    self.fail(orb, &ReceiveFailure::Giop(error));
                    false
                }
            },
            MessageKind::CloseConnection => {
                self.closed_orderly();
                false
            }
            kind => {
                tracing::debug!(?kind, endpoint = %self.endpoint, "a message without a meaning here");
                self.fail(orb, &ReceiveFailure::Closed);
                false
            }
        }
    }

    fn reply(self: &Arc<Self>, orb: &Orb, message: OwnedMessage) -> Result<(), GiopError> {
        let (id, status, body) = {
            let (header, decoder) = message.as_message().reply()?;
            (header.request_id, header.status, decoder.position())
        };
        let Some(waiting) = self.lock_pending().take(id) else {
            tracing::debug!(id, endpoint = %self.endpoint, "reply to an unknown request ignored");
            return Ok(());
        };
        let owned = OwnedReply::new(message, Arc::clone(self));
        delivery::reply(orb, waiting, owned, status, body);
        Ok(())
    }

    /// The server closed in order: nothing that waits was served (CORBA 3.3 P2 §9.4.7).
    fn closed_orderly(&self) {
        for waiting in self.close() {
            delivery::unserved(waiting, &self.endpoint);
        }
    }

    /// The connection broke: nobody knows what became of what waits.
    fn fail(&self, _orb: &Orb, failure: &ReceiveFailure) {
        for waiting in self.close() {
            let exception = delivery::broken(&waiting, &self.endpoint, failure);
            delivery::fail(waiting, exception);
        }
    }

    /// The ORB is shut down: whoever waits is told so.
    pub(crate) fn shut_down(&self) {
        for waiting in self.close() {
            let minor = minor::BAD_INV_ORDER_ORB_SHUTDOWN;
            let exception = SystemException::bad_inv_order(minor, CompletionStatus::Maybe)
                .with_detail(format!(
                    "the ORB was shut down while {} waited for its reply",
                    waiting.call.operation.name()
                ));
            delivery::fail(waiting, exception);
        }
    }

    /// Sends nothing and takes nothing any more; what waited.
    pub(crate) fn close(&self) -> Vec<PendingRequest> {
        self.is_closed.store(true, Ordering::Release);
        self.link.shutdown();
        self.outbox.close();
        self.lock_pending().take_all()
    }

    fn lock_pending(&self) -> MutexGuard<'_, ReplyTable<PendingRequest>> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Starts the thread that reads `connection`.
///
/// # Errors
/// `NO_RESOURCES` (`COMPLETED_NO`) when there is no thread.
pub(crate) fn read_in_background(
    orb: &Orb,
    connection: &Arc<MuxedConnection>,
) -> Result<(), SystemException> {
    let (weak, connection) = (orb.downgrade(), Arc::clone(connection));
    let thread = std::thread::Builder::new().name("corbie-replies".to_owned());
    let run = move || {
        loop {
            let Some(orb) = Orb::upgrade(&weak) else { return };
            if !connection.read_one(&orb) {
                return;
            }
        }
    };
    thread.spawn(run).map(drop).map_err(|error| {
        SystemException::no_resources(minor::NO_RESOURCES_THREAD, CompletionStatus::No)
            .with_detail(format!("no thread to read replies with: {error}"))
    })
}
