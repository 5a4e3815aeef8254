//! Synchronous calls over connections of their own: write the request, send it, read the reply.
//!
//! The calling thread does all of it (invariant 3 of `ARCHITECTURE.md`); `attempts` says from the
//! outcome whether there is another attempt. Questions of `locate` go the same way.

use crate::client::BindingRef;
use crate::client::attempts::{self, Answer};
use crate::client::fault::CallFault;
use crate::client::write::{Arguments, Request, write};
use crate::client::{Reply, Target, rebind, shared_call};
use crate::clock::Clock;
use crate::connection::{ClientConnection, ConnectionFault, PooledConnection};
use crate::policy::CallPolicies;
use crate::server::stand_in;
use crate::{Object, Operation, Orb};
use corbie_cdr::{ByteOrder, CodeSets, Decoder, Encoder};
use corbie_connection::ReceiveFailure;
use corbie_giop::Attempts;
use corbie_giop::{GiopError, Message, MessageKind, ReplyHeader, ResponseFlags, cancel_request};
use corbie_types::{Ior, SystemException};
use std::time::Duration;

/// Sending more than this may take so long that the clock is looked at afterwards.
const LARGE_OCTETS: usize = 64 << 10;

/// Calls an operation and returns its reply, which is a result or a user exception.
///
/// # Errors
/// See [`Object::invoke`].
pub(crate) fn invoke<'a>(
    object: &Object,
    operation: &Operation,
    arguments: Arguments<'_, 'a>,
) -> Result<Reply, SystemException> {
    let policies = CallPolicies::effective(object)?;
    let reply = match shared_call::route(object) {
        None => alone(object, operation, arguments, &policies)?,
        Some(route) => {
            let how = (route, ResponseFlags::WithTarget);
            shared_call::invoke(object, operation, arguments, &policies, how)?
        }
    };
    policies.hold_reply();
    Ok(reply)
}

/// Calls an operation over a connection that the call has for itself.
#[inline]
fn alone<'a>(
    object: &Object,
    operation: &Operation,
    arguments: Arguments<'_, 'a>,
    policies: &CallPolicies,
) -> Result<Reply, SystemException> {
    over_exclusive(object, operation, policies, |mut exchange, ior| {
        let request = Request { operation, arguments, ior, policies };
        let code_sets = exchange.unannounced()?;
        let id = exchange.send(|encoder, id, target| {
            write(encoder, id, target, &request, ResponseFlags::WithTarget, code_sets)
        })?;
        if code_sets.is_some() {
            exchange.connection.get()?.code_sets_announced = true;
        }
        let (status, body) = exchange.answer(id, |message| {
            let read = |(header, decoder): (ReplyHeader<'_>, Decoder<'_>)| {
                (header.request_id, (header.status, decoder.position()))
            };
            (message.header.kind == MessageKind::Reply).then(|| message.reply().map(read))
        })?;
        let orb = exchange.orb;
        Ok(Reply::new(orb, exchange.connection, status, body).into_answer(operation))
    })
}

/// Runs `exchange` over an exclusive connection to each place of the object in turn until there is
/// an answer.
///
/// # Errors
/// See [`Object::invoke`].
#[inline]
pub(crate) fn over_exclusive<T>(
    object: &Object,
    operation: &Operation,
    policies: &CallPolicies,
    exchange: impl Fn(Exchange<'_>, &Ior) -> Result<Answer<T>, CallFault>,
) -> Result<T, SystemException> {
    let mut clock = policies.begin()?;
    attempts::run(object, operation, policies, |binding, attempts| {
        let answer = attempt(object, policies, binding, attempts, &mut clock, &exchange);
        match &answer {
            Ok(Answer::Done(_)) => {
                attempts.answered();
                rebind::note_bound(object, policies, binding.target(attempts.address()));
            }
            _ => clock.sending_again(),
        }
        answer
    })
}

#[inline]
fn attempt<T>(
    object: &Object,
    policies: &CallPolicies,
    binding: &BindingRef<'_>,
    attempts: &mut Attempts,
    clock: &mut Clock,
    exchange: &impl Fn(Exchange<'_>, &Ior) -> Result<Answer<T>, CallFault>,
) -> Result<Answer<T>, CallFault> {
    let (orb, target) = (object.orb(), binding.target(attempts.address()));
    let opening = rebind::opening(object, policies, target);
    let connection = target.pool.take(orb, clock, opening)?;
    let ior = binding.ior().unwrap_or(object.ior());
    exchange(Exchange { orb, connection, target, attempts, clock }, ior)
}

/// One request and its answer, over one connection.
pub(crate) struct Exchange<'e> {
    orb: &'e Orb,
    pub(crate) connection: PooledConnection,
    pub(crate) target: &'e Target,
    attempts: &'e mut Attempts,
    clock: &'e mut Clock,
}

impl Exchange<'_> {
    /// The code sets of which the server has to be told with the first request.
    #[inline]
    fn unannounced(&mut self) -> Result<Option<CodeSets>, ConnectionFault> {
        let (target, connection) = (self.target, self.connection.get()?);
        let announce = target.announces_code_sets && !connection.code_sets_announced;
        Ok(announce.then_some(connection.code_sets))
    }

    /// Sends what `write` writes: a message with the id that it is given; that id.
    ///
    /// # Errors
    /// What `write` says; the connection's fault.
    #[inline]
    pub(crate) fn send<'a>(
        &mut self,
        write: impl FnOnce(&mut Encoder<'a>, u32, &Target) -> Result<(), corbie_cdr::Error>,
    ) -> Result<u32, CallFault> {
        let (target, connection) = (self.target, self.connection.get()?);
        let id = connection.next_request_id();
        let mut encoder: Encoder<'a> = Encoder::pooled(ByteOrder::NATIVE);
        encoder.set_version(target.version);
        encoder.set_code_sets(connection.code_sets);
        write(&mut encoder, id, target).map_err(SystemException::from)?;
        send_in_time(self.orb, connection, &encoder, target, self.clock)?;
        self.attempts.sent();
        self.clock.sent();
        Ok(id)
    }

    /// Waits for the answer to the request `id`: `read` takes it from a message of its kind.
    ///
    /// # Errors
    /// The connection's fault.
    #[inline]
    pub(crate) fn answer<A>(
        &mut self,
        id: u32,
        read: impl Fn(&Message<'_>) -> Option<Result<(u32, A), GiopError>>,
    ) -> Result<A, ConnectionFault> {
        let _stand_in = stand_in::before_waiting();
        loop {
            let connection = self.connection.get()?;
            if let Err(failure) = receive(connection, self.clock) {
                return Err(self.give_up(id, failure));
            }
            let message = connection.message().ok_or_else(ConnectionFault::gone)?;
            if let Some(answer) = read(&message) {
                let (found, answer) = answer.map_err(ConnectionFault::Protocol)?;
                if found == id {
                    self.connection.set_reusable();
                    return Ok(answer);
                }
            }
            let kind = message.header.kind;
            self.pass_over(kind)?;
        }
    }

    /// A message came that does not answer the request: a late reply to one that was given up, or
    /// the end of the connection.
    #[cold]
    fn pass_over(&mut self, kind: MessageKind) -> Result<(), ConnectionFault> {
        let connection = self.connection.get()?;
        self.clock.has_waited = true;
        match kind {
            MessageKind::Reply => connection.note_late_reply(),
            MessageKind::LocateReply if connection.owes_replies() => connection.note_late_reply(),
            MessageKind::CloseConnection => return Err(ConnectionFault::ClosedInOrder),
            kind => return Err(ConnectionFault::Unexpected(kind)),
        }
        Ok(())
    }

    /// No answer comes in time, or at all. Where only time ran out, tells the server that this call
    /// waits no longer, and keeps the connection: the late reply is passed over when it comes
    /// (CORBA 3.3 P2 §9.4.4).
    #[cold]
    fn give_up(&mut self, id: u32, failure: ReceiveFailure) -> ConnectionFault {
        let is_late = matches!(failure, ReceiveFailure::NothingCame | ReceiveFailure::TooSlow);
        let time = self.clock.timeout().unwrap_or_default();
        let fault = ConnectionFault::receiving(failure, Some(time));
        let Some(connection) = self.connection.get().ok().filter(|c| is_late && !c.is_confused())
        else {
            return fault;
        };
        let cancel = cancel_request(self.target.version, ByteOrder::NATIVE, id);
        // Half a message would make the connection useless; none at all only means that the server
        // learns nothing.
        let sent = connection.link.try_send(&cancel);
        if matches!(sent, Ok(sent) if sent == 0 || sent == cancel.len()) {
            connection.owe_reply();
            self.connection.set_reusable();
        }
        fault
    }
}

/// Receives the next message, in the time that the call has left.
#[inline]
fn receive(connection: &mut ClientConnection, clock: &Clock) -> Result<(), ReceiveFailure> {
    let timeout = clock.next_wait();
    // Looked at here, too, as a server may send so much else that nothing is ever waited for.
    if timeout == Some(Duration::ZERO) {
        return Err(ReceiveFailure::NothingCame);
    }
    connection.link.set_receive_timeout(timeout).map_err(ReceiveFailure::Io)?;
    connection.receive(clock.deadline())
}

/// Sends the message in `encoder` in the time that the call has left.
#[inline]
fn send_in_time(
    orb: &Orb,
    connection: &mut ClientConnection,
    encoder: &Encoder<'_>,
    target: &Target,
    clock: &mut Clock,
) -> Result<(), ConnectionFault> {
    let timeout = clock.next_wait().or(orb.settings().message_timeout);
    let fragment_octets = orb.fragment_octets(target.version);
    let set = connection.link.set_send_timeout(timeout);
    set.and_then(|()| connection.send(encoder, fragment_octets))
        .map_err(ConnectionFault::sending)?;
    if encoder.len() > LARGE_OCTETS {
        clock.note_long_wait();
    }
    Ok(())
}
