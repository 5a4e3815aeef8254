//! The way of every call: choose a target, exchange request and reply, follow forwards, try
//! another address when that is safe.
//!
//! Called by generated stubs through `Object::invoke`. The usual call passes `carry_out` once, top
//! to bottom; everything else is in the cold functions below (CORBA 3.3 P2 §9.4.3, §9.6).

use crate::client::exchange::{self, Request};
use crate::client::failure::{CallFailure, Retry};
use crate::client::{Binding, Clock, Reply, Target, bind, rebind, shared_call};
use crate::connection::PooledConnection;
use crate::object::BindingRef;
use crate::policy::CallPolicies;
use crate::{Object, Operation};
use corbie_cdr::Encoder;
use corbie_giop::{AddressingDisposition, ResponseFlags};
use corbie_types::{CompletionStatus, Ior, SystemException, SystemExceptionKind, minor};
use std::sync::Arc;

/// A chain of forwards longer than this is a circle.
pub(crate) const MAX_FORWARDS: u32 = 16;

/// What a server answered.
pub(crate) enum Answer<T> {
    /// What the caller wants.
    Done(T),
    /// A system exception.
    Raised(SystemException),
    /// To be sent again.
    Elsewhere(Elsewhere),
}

/// The outcome of one attempt.
type Answered<T> = Result<Answer<T>, CallFailure>;

/// Where a server sent a request on to.
pub(crate) enum Elsewhere {
    /// `LOCATION_FORWARD` and `LOCATION_FORWARD_PERM`.
    Reference(Ior),
    /// `NEEDS_ADDRESSING_MODE`: the same place, addressed otherwise.
    Addressing(AddressingDisposition),
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
    let policies = CallPolicies::effective(object)?;
    let reply = match shared_call::route(object) {
        None => alone(object, operation, arguments, &policies, ResponseFlags::WithTarget)?,
        Some(route) => {
            let how = (route, ResponseFlags::WithTarget);
            shared_call::invoke(object, operation, arguments, &policies, how)?
        }
    };
    policies.hold_reply();
    Ok(reply)
}

/// Calls an operation over a connection that the call has for itself.
///
/// # Errors
/// See [`Object::invoke`].
#[inline]
pub(crate) fn alone<'a>(
    object: &Object,
    operation: &Operation,
    arguments: &dyn Fn(&mut Encoder<'a>) -> Result<(), corbie_cdr::Error>,
    policies: &CallPolicies,
    response: ResponseFlags,
) -> Result<Reply, SystemException> {
    carry_out(object, operation, policies, |connection, target, ior, clock| {
        let request = Request { operation, arguments, ior, policies };
        let reply = exchange::call(object.orb(), connection, target, &request, response, clock)?;
        Ok(reply.into_answer(operation))
    })
}

/// Runs `exchange` on a connection to each place of the object in turn until there is an answer,
/// as long as what was sent cannot have been served, and follows forwards.
#[inline]
pub(crate) fn carry_out<T>(
    object: &Object,
    operation: &Operation,
    policies: &CallPolicies,
    exchange: impl Fn(PooledConnection, &Target, &Ior, &mut Clock) -> Answered<T>,
) -> Result<T, SystemException> {
    let mut clock = policies.begin()?;
    let mut forwards = 0;
    let mut fell_back = false;
    loop {
        let binding = object.binding()?;
        let ior = binding.ior().unwrap_or(object.ior());
        let answer =
            attempt(object, &binding, policies, &mut clock, |connection, target, clock| {
                exchange(connection, target, ior, clock)
            });
        match answer {
            Ok(Answer::Done(done)) => {
                rebind::note_bound(object, policies, binding.target(0));
                return Ok(done);
            }
            Ok(Answer::Elsewhere(elsewhere)) => {
                forwards = count_forward(forwards, operation)?;
                clock.sending_again();
                follow(object, &binding, policies, elsewhere)?;
            }
            Ok(Answer::Raised(exception)) => {
                let gone = exception.kind == SystemExceptionKind::ObjectNotExist
                    && exception.completed == CompletionStatus::No;
                fall_back(object, &binding, gone, &mut fell_back, exception)?;
            }
            Err(CallFailure { exception, retry }) => {
                let unserved = retry != Retry::Never;
                fall_back(object, &binding, unserved, &mut fell_back, exception)?;
            }
        }
    }
}

/// Runs `exchange` at each address of the reference in turn as long as nothing was served.
#[inline]
fn attempt<T>(
    object: &Object,
    binding: &Binding,
    policies: &CallPolicies,
    clock: &mut Clock,
    exchange: impl Fn(PooledConnection, &Target, &mut Clock) -> Result<T, CallFailure>,
) -> Result<T, CallFailure> {
    let mut failed = 0;
    let mut retried = false;
    loop {
        let target = binding.target(failed);
        let opening = rebind::opening(object, policies, target);
        let taken = target.pool.take(object.orb(), clock, opening);
        match taken.and_then(|connection| exchange(connection, target, clock)) {
            Ok(answer) => {
                binding.prefer(failed);
                return Ok(answer);
            }
            Err(failure) => {
                clock.sending_again();
                next_attempt(binding, failure, &mut failed, &mut retried)?;
            }
        }
    }
}

/// Whether there is another attempt after `failure`.
#[cold]
pub(crate) fn next_attempt(
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

/// Where a server forwarded us is of no use any more: CORBA 3.3 P2 §9.6, the original reference may
/// know a new place. Once a call, as it may send us to the same place again.
#[cold]
pub(crate) fn fall_back(
    object: &Object,
    binding: &BindingRef<'_>,
    is_safe: bool,
    fell_back: &mut bool,
    exception: SystemException,
) -> Result<(), SystemException> {
    if !is_safe || *fell_back || !binding.is_forwarded() {
        return Err(exception);
    }
    tracing::debug!(%exception, "back to the original reference");
    *fell_back = true;
    object.set_forwarded(None);
    Ok(())
}

/// Remembers where the server sent us.
#[cold]
pub(crate) fn follow(
    object: &Object,
    binding: &BindingRef<'_>,
    policies: &CallPolicies,
    elsewhere: Elsewhere,
) -> Result<(), SystemException> {
    match elsewhere {
        Elsewhere::Reference(ior) => {
            rebind::check_forward(object, policies, &ior)?;
            let forwarded = bind(object.orb(), &ior)?.forwarded_to(ior);
            object.set_forwarded(Some(Arc::new(forwarded)));
        }
        Elsewhere::Addressing(disposition) => binding.target(0).set_addressing(disposition),
    }
    Ok(())
}

#[cold]
fn count_forward(forwards: u32, operation: &Operation) -> Result<u32, SystemException> {
    if forwards < MAX_FORWARDS {
        return Ok(forwards + 1);
    }
    Err(too_many_forwards(operation))
}

#[cold]
pub(crate) fn too_many_forwards(operation: &Operation) -> SystemException {
    SystemException::transient(minor::TRANSIENT_TOO_MANY_FORWARDS, CompletionStatus::No)
        .with_detail(format!(
            "{} was forwarded {MAX_FORWARDS} times: the servers send it in a circle",
            operation.name
        ))
}
