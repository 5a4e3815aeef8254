//! One request that waits: its message and what was settled before it had to wait.
//!
//! Made by [`crate::server::ServerRequest`] when it is held, served by `dispatch` later. Dropped
//! unserved, it is answered: no client waits in vain.

use super::limits::Charge;
use super::queue::Reason;
use crate::Orb;
use crate::server::request::Carried;
use crate::server::{ServerConnection, dispatch};
use corbie_cdr::{ByteOrder, CodeSets, Decoder, Version};
use corbie_giop::{Message, OwnedMessage, ResponseFlags};
use corbie_types::{SystemException, minor};
use std::sync::Arc;

/// What is called.
pub(crate) enum HeldCall {
    /// A request that came over a connection.
    Message { connection: Arc<ServerConnection>, message: OwnedMessage, response: ResponseFlags },
    /// A call of this process without a connection, which has no caller that waits (see
    /// [`dispatch::local`]).
    Local { object_key: Vec<u8>, operation: String, arguments: HeldArguments },
}

/// No IDL type is aligned to more octets (CORBA 3.3 P2 §9.3.1.1).
const MAX_ALIGNMENT: usize = 8;

/// Arguments taken out of the message they lay in.
pub(crate) struct HeldArguments {
    /// With padding before them, so that they are aligned as they were.
    octets: Vec<u8>,
    padding: usize,
    order: ByteOrder,
    version: Version,
    code_sets: CodeSets,
}

impl HeldArguments {
    pub(crate) fn copy_of(arguments: &Decoder<'_>) -> Self {
        let padding = arguments.position() % MAX_ALIGNMENT;
        let mut octets = vec![0; padding];
        octets.extend_from_slice(arguments.rest());
        HeldArguments {
            octets,
            padding,
            order: arguments.order(),
            version: arguments.version(),
            code_sets: arguments.code_sets(),
        }
    }

    pub(crate) fn decoder<'a>(&'a self, orb: &'a Orb) -> Decoder<'a> {
        let mut decoder = Decoder::with_position(&self.octets, self.padding, self.order);
        decoder.set_version(self.version);
        decoder.set_code_sets(self.code_sets);
        decoder.set_limits(orb.limits());
        decoder.set_context(Some(orb));
        decoder
    }
}

pub(crate) struct HeldRequest {
    pub(crate) orb: Orb,
    /// `None` once it is served or refused.
    call: Option<HeldCall>,
    carried: Carried,
    /// The queue that it was taken from.
    pub(super) queue: u64,
    charge: Charge,
}

impl HeldRequest {
    /// # Errors
    /// `TRANSIENT` (`COMPLETED_NO`) when too much is held already.
    pub(crate) fn of_message(
        orb: &Orb,
        connection: &Arc<ServerConnection>,
        message: &Message<'_>,
        response: ResponseFlags,
        reason: Reason,
    ) -> Result<Self, SystemException> {
        let charge = charge(orb, Some(connection), message.octets.len(), reason)?;
        let connection = Arc::clone(connection);
        let message = OwnedMessage::copy_of(message);
        Ok(Self::new(orb, HeldCall::Message { connection, message, response }, charge))
    }

    /// # Errors
    /// `TRANSIENT` (`COMPLETED_NO`) when too much is held already.
    pub(crate) fn of_local_call(
        orb: &Orb,
        object_key: &[u8],
        operation: &str,
        arguments: &Decoder<'_>,
        reason: Reason,
    ) -> Result<Self, SystemException> {
        let charge = charge(orb, None, arguments.remaining(), reason)?;
        let arguments = HeldArguments::copy_of(arguments);
        let (object_key, operation) = (object_key.to_vec(), operation.to_owned());
        Ok(Self::new(orb, HeldCall::Local { object_key, operation, arguments }, charge))
    }

    fn new(orb: &Orb, call: HeldCall, charge: Charge) -> Self {
        let orb = orb.clone();
        HeldRequest { orb, call: Some(call), carried: Carried::default(), queue: 0, charge }
    }

    /// What travels with it.
    pub(crate) fn set_carried(&mut self, carried: Carried) {
        self.carried = carried;
    }

    pub(crate) fn take_carried(&mut self) -> Carried {
        std::mem::take(&mut self.carried)
    }

    /// The connection that it came over.
    pub(crate) fn connection(&self) -> Option<&Arc<ServerConnection>> {
        match &self.call {
            Some(HeldCall::Message { connection, .. }) => Some(connection),
            _ => None,
        }
    }

    /// The number of the connection; calls of this process have one together.
    pub(super) fn connection_id(&self) -> u64 {
        self.connection().map_or(u64::MAX, |connection| connection.state().accepted.id)
    }

    /// Whether the client takes replies, or has gone.
    pub(super) fn has_room(&self) -> bool {
        self.connection().is_none_or(|c| c.is_ending() || !c.sender().is_over_half())
    }

    /// It is being served: its place in the queue is free. Its connection stays busy.
    pub(crate) fn begin_service(&mut self) {
        self.charge.end_waiting();
    }

    /// Whether no client is left that could be answered.
    pub(crate) fn is_orphan(&self) -> bool {
        self.connection().is_some_and(|connection| connection.is_ending())
    }

    /// See [`super::HeldRequests`].
    pub(crate) fn queue(&self) -> u64 {
        self.queue
    }

    pub(crate) fn take_call(&mut self) -> Option<HeldCall> {
        self.call.take()
    }

    /// Answers it with `exception`.
    pub(crate) fn refuse(mut self, exception: &SystemException) {
        dispatch::refuse_held(&mut self, exception.clone());
    }
}

fn charge(
    orb: &Orb,
    connection: Option<&Arc<ServerConnection>>,
    octets: usize,
    reason: Reason,
) -> Result<Charge, SystemException> {
    match reason {
        Reason::UntilActive => Charge::until_active(orb, connection, octets),
        Reason::ForTurn | Reason::ForMainThread | Reason::ForServant => {
            Ok(Charge::for_turn(orb, connection, octets))
        }
    }
}

impl Drop for HeldRequest {
    fn drop(&mut self) {
        if self.call.is_some() && (self.carried.intercepted.is_some() || !self.is_orphan()) {
            dispatch::refuse_held(self, given_up());
        }
    }
}

#[cold]
pub(crate) fn given_up() -> SystemException {
    minor::TRANSIENT_REQUEST_DISCARDED
        .no("the server shut down, or gave up the POA, before the request was served")
}
