//! The way of every call: choose a target, exchange request and reply, follow forwards, try
//! another address when that is safe.
//!
//! Called by generated stubs through `Object::invoke`. The usual call passes `invoke` once, top to
//! bottom; everything else is in the cold functions below (CORBA 3.3 P2 §9.4.3, §9.6).

use crate::client::exchange::{self, Request};
use crate::client::failure::{CallFailure, Retry};
use crate::client::reply::Outcome;
use crate::client::{Binding, Reply, bind};
use crate::object::BindingRef;
use crate::{Object, Operation};
use corbie_cdr::Encoder;
use corbie_giop::AddressingDisposition;
use corbie_types::{CompletionStatus, Ior, SystemException, minor};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A chain of forwards longer than this is a circle.
const MAX_FORWARDS: u32 = 16;

/// The time that a call has, counted from its beginning.
#[derive(Clone, Copy)]
struct Clock {
    start: Instant,
    timeout: Option<Duration>,
}

impl Clock {
    fn deadline(&self) -> Option<Instant> {
        self.timeout.and_then(|timeout| self.start.checked_add(timeout))
    }
}

/// Calls an operation and returns its reply, which is a result or a user exception.
///
/// # Errors
/// See [`Object::invoke`].
pub(crate) fn invoke<'a>(
    object: &Object,
    operation: &Operation,
    arguments: &dyn Fn(&mut Encoder<'a>) -> Result<(), corbie_cdr::Error>,
) -> Result<Reply, SystemException> {
    let orb = object.orb();
    let clock = Clock { start: Instant::now(), timeout: orb.settings().request_timeout };
    let request = Request { operation, arguments, ior: object.ior() };
    let mut forwards = 0;
    loop {
        let binding = object.binding()?;
        let reply = match attempt(object, &binding, &request, clock) {
            Ok(reply) => reply,
            Err(failure) if binding.is_forwarded() && failure.retry != Retry::Never => {
                // CORBA 3.3 P2 §9.6: the original reference may know a new place.
                object.set_forwarded(None);
                forwards = count_forward(forwards, operation, failure.exception)?;
                continue;
            }
            Err(failure) => return Err(failure.exception),
        };
        let outcome = reply.outcome(operation)?;
        let Outcome::Elsewhere(elsewhere) = outcome else { return Ok(reply) };
        drop(reply);
        forwards = count_forward(forwards, operation, circle(operation))?;
        follow(object, &binding, elsewhere)?;
    }
}

/// Where a server sent a request on to.
pub(crate) enum Elsewhere {
    /// `LOCATION_FORWARD` and `LOCATION_FORWARD_PERM`.
    Reference(Ior),
    /// `NEEDS_ADDRESSING_MODE`: the same place, addressed otherwise.
    Addressing(AddressingDisposition),
}

/// Sends the request and waits for its reply, at each address of the reference in turn as long as
/// nothing was sent.
#[inline]
fn attempt(
    object: &Object,
    binding: &Binding,
    request: &Request<'_, '_>,
    clock: Clock,
) -> Result<Reply, CallFailure> {
    let mut failed = 0;
    let mut retried = false;
    loop {
        let target = binding.target(failed);
        let taken = target.pool.take(object.orb(), clock.start, clock.deadline());
        let outcome = taken.and_then(|connection| {
            let (deadline, timeout) = (clock.deadline(), clock.timeout);
            exchange::call(object.orb(), connection, target, request, deadline, timeout)
        });
        match outcome {
            Ok(reply) => {
                binding.prefer(failed);
                return Ok(reply);
            }
            Err(failure) => next_attempt(binding, failure, &mut failed, &mut retried)?,
        }
    }
}

/// Whether there is another attempt after `failure`.
#[cold]
fn next_attempt(
    binding: &Binding,
    failure: CallFailure,
    failed: &mut usize,
    retried: &mut bool,
) -> Result<(), CallFailure> {
    tracing::debug!(exception = %failure.exception, retry = ?failure.retry, "attempt failed");
    match failure.retry {
        Retry::SameTarget if !*retried => {
            *retried = true;
            Ok(())
        }
        Retry::SameTarget | Retry::NextTarget if *failed + 1 < binding.targets() => {
            *failed += 1;
            *retried = false;
            Ok(())
        }
        _ => Err(failure),
    }
}

/// Sends an operation without waiting for a reply.
///
/// # Errors
/// See [`Object::invoke_oneway`].
pub(crate) fn invoke_oneway<'a>(
    object: &Object,
    operation: &Operation,
    arguments: &dyn Fn(&mut Encoder<'a>) -> Result<(), corbie_cdr::Error>,
) -> Result<(), SystemException> {
    let orb = object.orb();
    let clock = Clock { start: Instant::now(), timeout: orb.settings().request_timeout };
    let request = Request { operation, arguments, ior: object.ior() };
    let binding = object.binding()?;
    let mut failed = 0;
    let mut retried = false;
    loop {
        let target = binding.target(failed);
        let taken = target.pool.take(orb, clock.start, clock.deadline());
        match taken.and_then(|connection| exchange::send_only(orb, connection, target, &request)) {
            Ok(()) => {
                binding.prefer(failed);
                return Ok(());
            }
            Err(failure) => next_attempt(&binding, failure, &mut failed, &mut retried)
                .map_err(|failure| failure.exception)?,
        }
    }
}

/// Remembers where the server sent us.
#[cold]
pub(crate) fn follow(
    object: &Object,
    binding: &BindingRef<'_>,
    elsewhere: Elsewhere,
) -> Result<(), SystemException> {
    match elsewhere {
        Elsewhere::Reference(ior) => {
            let forwarded = bind(object.orb(), &ior)?;
            object.set_forwarded(Some(Arc::new(forwarded)));
        }
        Elsewhere::Addressing(disposition) => binding.target(0).set_addressing(disposition),
    }
    Ok(())
}

#[cold]
pub(crate) fn count_forward(
    forwards: u32,
    _operation: &Operation,
    last: SystemException,
) -> Result<u32, SystemException> {
    if forwards < MAX_FORWARDS { Ok(forwards + 1) } else { Err(last) }
}

#[cold]
pub(crate) fn circle(operation: &Operation) -> SystemException {
    SystemException::transient(minor::TRANSIENT_TOO_MANY_FORWARDS, CompletionStatus::No)
        .with_detail(format!(
            "{} was forwarded {MAX_FORWARDS} times: the servers send it in a circle",
            operation.name
        ))
}
