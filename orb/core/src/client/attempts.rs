//! Carries out what [`Attempts`] says: the one loop of calls that wait, and the steps that
//! asynchronous calls take one at a time.
//!
//! The usual call passes `run` once, from top to bottom; everything else is in cold functions.

use crate::client::bind::{self, Binding, BindingRef};
use crate::client::fault::{CallContext, CallFault};
use crate::policy::CallPolicies;
use crate::{Object, Operation};
use corbie_cdr::{Decoder, Marshal as _};
use corbie_connection::ConnectionFault;
use corbie_giop::AddressingDisposition;
use corbie_giop::{Attempts, FORWARDS_MAX, Place, Step};
use corbie_types::{CompletionStatus, Ior, SystemException, SystemExceptionKind, minor};
use std::sync::Arc;

pub(crate) mod watched;

/// What a server answered.
pub(crate) enum Answer<T> {
    /// What the caller wants.
    Done(T),
    /// A system exception.
    Raised(SystemException),
    /// The request is to be sent again.
    Redirected(Redirect),
}

/// Where a server wants a request.
pub(crate) enum Redirect {
    /// `LOCATION_FORWARD` and `LOCATION_FORWARD_PERM`.
    Reference(Ior),
    /// `NEEDS_ADDRESSING_MODE`: the same place, addressed otherwise.
    Addressing(AddressingDisposition),
    /// The server has forgotten the security context: the same place, with evidence.
    SamePlace,
}

/// The answer of a server that forwards to the reference in `decoder`, or names the addressing that
/// it needs.
///
/// # Errors
/// `MARSHAL` or what else the octets make.
#[cold]
pub(crate) fn redirected_to<T>(
    decoder: &mut Decoder<'_>,
    needs_addressing: bool,
) -> Result<Answer<T>, SystemException> {
    let redirect = if needs_addressing {
        let disposition = AddressingDisposition::decode(decoder);
        Redirect::Addressing(disposition.map_err(|e| e.to_system_exception(CompletionStatus::No))?)
    } else {
        Redirect::Reference(Ior::decode(decoder)?)
    };
    Ok(Answer::Redirected(redirect))
}

impl<T> Answer<T> {
    /// The server has forgotten the security context that the request named.
    pub(crate) fn same_place() -> Self {
        Answer::Redirected(Redirect::SamePlace)
    }

    /// The object is to be called by this reference.
    pub(crate) fn forward(ior: Ior) -> Self {
        Answer::Redirected(Redirect::Reference(ior))
    }
}

/// Makes attempts until one is answered or none is left, from `binding` on. `attempt` makes the one
/// at [`Attempts::address`], and says there when the request is sent.
///
/// # Errors
/// What the last attempt ended with.
#[inline]
pub(crate) fn run<'o, T>(
    object: &'o Object,
    operation: &Operation,
    policies: &CallPolicies,
    mut binding: BindingRef<'o>,
    mut attempt: impl FnMut(&BindingRef<'_>, &mut Attempts) -> Result<Answer<T>, CallFault>,
) -> Result<T, SystemException> {
    let mut attempts = Attempts::default();
    loop {
        let answer = attempt(&binding, &mut attempts);
        if answer.is_ok() {
            binding.prefer(attempts.address());
        }
        match answer {
            Ok(Answer::Done(done)) => return Ok(done),
            other => {
                after(object, operation, policies, &binding, &mut attempts, other)?;
            }
        }
        binding = object.binding()?;
    }
}

/// An attempt gave no outcome for the caller: prepares the next one.
///
/// # Errors
/// What the call ends with.
#[cold]
fn after<T>(
    object: &Object,
    operation: &Operation,
    policies: &CallPolicies,
    binding: &BindingRef<'_>,
    attempts: &mut Attempts,
    answer: Result<Answer<T>, CallFault>,
) -> Result<Option<T>, SystemException> {
    match answer {
        Ok(Answer::Done(done)) => return Ok(Some(done)),
        Ok(Answer::Raised(exception)) => after_exception(object, binding, attempts, exception)?,
        Ok(Answer::Redirected(to)) => {
            after_redirect(object, operation, binding, policies, attempts, to)?;
        }
        Err(fault) => after_fault(object, operation, binding, attempts, fault)?,
    }
    Ok(None)
}

/// An interceptor forwards the request to `forward`: as [`after_redirect`].
///
/// # Errors
/// As there.
#[cold]
pub(crate) fn after_forward(
    object: &Object,
    operation: &Operation,
    binding: &Binding,
    policies: &CallPolicies,
    attempts: &mut Attempts,
    forward: &Object,
) -> Result<(), SystemException> {
    let to = Redirect::Reference(forward.ior().clone());
    let step = attempts.sent_on();
    follow(object, operation, binding, policies, step, to)
}

/// An attempt failed: prepares the next one.
///
/// # Errors
/// There is none: the exception that the call ends with.
#[cold]
pub(crate) fn after_fault(
    object: &Object,
    operation: &Operation,
    binding: &BindingRef<'_>,
    attempts: &mut Attempts,
    fault: CallFault,
) -> Result<(), SystemException> {
    let target = binding.target(attempts.address());
    let fault = match fault {
        // This ORB has closed its connections, so another one would not do.
        CallFault::Connection(ConnectionFault::NotSent(_)) if target.pool.is_closed() => {
            CallFault::Connection(ConnectionFault::ShutDown)
        }
        fault => fault,
    };
    let step = attempts.failed(fault.kind(), place(binding));
    tracing::debug!(?fault, ?step, endpoint = %target.pool.endpoint(), "attempt failed");
    match step {
        Step::Send | Step::Follow => {}
        Step::Return => object.set_forwarded(None),
        Step::End(completed) => {
            let endpoint = target.pool.endpoint();
            return Err(fault.raise(completed, &CallContext { operation, endpoint }));
        }
    }
    Ok(())
}

/// The server raised a system exception: prepares the next attempt where the object is gone from
/// the place that a server had forwarded to.
///
/// # Errors
/// There is none: `exception`.
#[cold]
pub(crate) fn after_exception(
    object: &Object,
    binding: &BindingRef<'_>,
    attempts: &mut Attempts,
    exception: SystemException,
) -> Result<(), SystemException> {
    let is_gone = exception.kind == SystemExceptionKind::ObjectNotExist
        && exception.completed == CompletionStatus::No;
    if is_gone && attempts.gone(place(binding)) == Step::Return {
        tracing::debug!(%exception, "back to the original reference");
        object.set_forwarded(None);
        return Ok(());
    }
    attempts.answered();
    Err(exception)
}

/// The server wants the request elsewhere: remembers that for this and later calls.
///
/// # Errors
/// `TRANSIENT` (`COMPLETED_NO`) when servers forward in a circle; `REBIND` and `INV_POLICY` when
/// policies forbid to follow; what binding the new reference says.
#[cold]
pub(crate) fn after_redirect(
    object: &Object,
    operation: &Operation,
    binding: &Binding,
    policies: &CallPolicies,
    attempts: &mut Attempts,
    redirect: Redirect,
) -> Result<(), SystemException> {
    let step = attempts.redirected();
    follow(object, operation, binding, policies, step, redirect)
}

/// Goes where `redirect` says, if `step` allows it.
fn follow(
    object: &Object,
    operation: &Operation,
    binding: &Binding,
    policies: &CallPolicies,
    step: Step,
    redirect: Redirect,
) -> Result<(), SystemException> {
    if let Step::End(completed) = step {
        return Err(too_many_forwards(operation, completed));
    }
    match redirect {
        Redirect::Reference(ior) => {
            bind::check_forward(object, policies, &ior)?;
            let forwarded = bind::bind(object, &ior)?.forwarded_to(ior);
            object.set_forwarded(Some(Arc::new(forwarded)));
        }
        Redirect::Addressing(disposition) => binding.target(0).set_addressing(disposition),
        Redirect::SamePlace => {}
    }
    Ok(())
}

fn place(binding: &BindingRef<'_>) -> Place {
    Place { addresses: binding.targets(), is_forwarded: binding.is_forwarded() }
}

#[cold]
fn too_many_forwards(operation: &Operation, completed: CompletionStatus) -> SystemException {
    minor::TRANSIENT_TOO_MANY_FORWARDS.raise(
        completed,
        format!(
            "{} was forwarded {FORWARDS_MAX} times: the servers send it in a circle",
            operation.name
        ),
    )
}
