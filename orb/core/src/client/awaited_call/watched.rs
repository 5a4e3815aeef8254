//! Asynchronous calls and oneways past portable interceptors.
//!
//! What is sent has an end of its own, `receive_other`; the outcome is shown where it is delivered
//! (`client/deliver`).

use super::{AwaitedCall, NotStarted, Opened, start_at};
use crate::client::attempts::watched::Watched;
use crate::client::attempts::{Answer, after_fault, after_forward};
use crate::client::{BindingRef, Invocation};
use crate::policy::SyncScope;
use crate::portable_interceptor::{FlowEnd, Kind, Watch};
use corbie_giop::{Attempts, ResponseFlags};
use corbie_threads::thread::Wish;
use corbie_types::SystemException;
use std::sync::Arc;
use std::time::Instant;

/// As [`Invocation::send_oneway`].
///
/// # Errors
/// As there; what an interceptor raised.
#[cold]
pub(super) fn send_oneway(oneway: &Invocation<'_, '_>) -> Result<(), SystemException> {
    let Invocation { object, policies, .. } = *oneway;
    let mut clock = policies.begin()?;
    let attempt = |binding: &BindingRef<'_>, attempts: &mut Attempts, watch: &Arc<Watch>| {
        let watched = Invocation { watch: Some(watch), ..*oneway };
        let target = binding.target(attempts.address());
        let sent = watched.put(target, binding.ior().unwrap_or(object.ior()), &mut clock);
        if sent.is_err() {
            clock.sending_again();
        }
        sent.map(Answer::Done)
    };
    let ending = |(): &mut ()| match policies.sync_scope {
        SyncScope::None => FlowEnd::Unknown,
        _ => FlowEnd::WithoutReply,
    };
    Watched::new(oneway, Kind::Oneway).run(object.binding()?, attempt, ending)
}

/// As [`start`](super::start).
///
/// # Errors
/// As there; what an interceptor raised.
#[cold]
#[expect(clippy::result_large_err, reason = "the call goes back to where it came from")]
pub(super) fn start(
    mut call: AwaitedCall,
    invocation: &Invocation<'_, '_>,
    opened: Opened<'_>,
) -> Result<(), (AwaitedCall, SystemException)> {
    let Invocation { object, operation, policies, .. } = *invocation;
    let watched = Watched::new(invocation, kind(invocation, &call));
    loop {
        let binding = match object.binding() {
            Ok(binding) => binding,
            Err(exception) => return Err((call, exception)),
        };
        let (watch, fault) = match begun(&mut call, &watched, &binding) {
            Err((watch, ending)) => (watch, Err(ending)),
            Ok(watch) => {
                let invocation = Invocation { watch: Some(&watch), ..*invocation };
                match start_at(call, &invocation, &binding, opened) {
                    Ok(()) => {
                        if watch.kind() == Kind::Asynchronous {
                            watch.sent();
                        }
                        return Ok(());
                    }
                    Err((returned, not_started)) => {
                        call = returned;
                        match not_started {
                            NotStarted::Opened => continue,
                            NotStarted::Fault(fault) => (watch, Ok(fault)),
                        }
                    }
                }
            }
        };
        let (prepared, mut ending) = match fault {
            Err(ending) => (None, ending),
            Ok(fault) => {
                call.clock.sending_again();
                let prepared = after_fault(object, operation, &binding, &mut call.attempts, fault);
                let ending = match &prepared {
                    Ok(()) => FlowEnd::Retry,
                    Err(exception) => FlowEnd::SystemException(exception.clone()),
                };
                (Some(prepared), ending)
            }
        };
        let is_changed = watch.end(&mut ending);
        let prepared = match (prepared.filter(|_| !is_changed), ending) {
            (Some(prepared), _) => prepared,
            (None, FlowEnd::SystemException(exception)) => Err(exception),
            (None, FlowEnd::Forward(to)) => {
                after_forward(object, operation, &binding, policies, &mut call.attempts, &to)
            }
            (None, _) => Ok(()),
        };
        if let Err(exception) = prepared {
            return Err((call, exception));
        }
    }
}

/// As `Invocation::send_later`: interceptors see the request on the thread that makes the call.
///
/// # Errors
/// As there; what an interceptor raised.
#[cold]
pub(super) fn send_later(
    mut call: AwaitedCall,
    invocation: &Invocation<'_, '_>,
    time: Instant,
) -> Result<(), SystemException> {
    let Invocation { object, operation, policies, .. } = *invocation;
    let watched = Watched::new(invocation, kind(invocation, &call));
    loop {
        let binding = object.binding()?;
        let (watch, mut ending) = match begun(&mut call, &watched, &binding) {
            Ok(watch) => {
                let with_contexts = Invocation { watch: Some(&watch), ..*invocation };
                return ended_later(&watch, with_contexts.put_in_line(call, &binding, time));
            }
            Err(interrupted) => interrupted,
        };
        watch.end(&mut ending);
        match ending {
            FlowEnd::SystemException(exception) => return Err(exception),
            FlowEnd::Forward(to) => {
                after_forward(object, operation, &binding, policies, &mut call.attempts, &to)?;
            }
            _ => {}
        }
    }
}

/// The caller of a request that waits for its time goes on, or gets an exception.
fn ended_later(watch: &Watch, put: Result<(), SystemException>) -> Result<(), SystemException> {
    match (put, watch.kind()) {
        (Ok(()), Kind::Oneway) => {
            watch.end(&mut FlowEnd::Unknown);
            Ok(())
        }
        (Ok(()), _) => {
            watch.sent();
            Ok(())
        }
        (Err(exception), _) => {
            let mut ending = FlowEnd::SystemException(exception.clone());
            watch.end(&mut ending);
            Err(match ending {
                FlowEnd::SystemException(changed) => changed,
                _ => exception,
            })
        }
    }
}

/// The attempt that is under way, or a new one, which interceptors have let pass.
///
/// # Errors
/// The new one, and what an interceptor made of it.
fn begun(
    call: &mut AwaitedCall,
    watched: &Watched<'_, '_, '_>,
    binding: &BindingRef<'_>,
) -> Result<Arc<Watch>, (Arc<Watch>, FlowEnd)> {
    // Of a oneway in line, the caller has seen the end.
    let is_begun = |watch: &&Arc<Watch>| !watch.is_over() || watch.kind() == Kind::Oneway;
    if let Some(watch) = call.watch.as_ref().filter(is_begun) {
        return Ok(Arc::clone(watch));
    }
    let watch = watched.watch(binding, &call.attempts, call.watch.as_deref());
    call.watch = Some(Arc::clone(&watch));
    match watch.send_request() {
        Ok(()) => Ok(watch),
        Err(interruption) => Err((watch, interruption.into())),
    }
}

fn kind(invocation: &Invocation<'_, '_>, call: &AwaitedCall) -> Kind {
    match (invocation.response, call.wish, call.watch.as_ref()) {
        // The thread of a synchronous call does not wait where the call is sent again.
        (_, _, Some(before)) => before.kind(),
        (ResponseFlags::None, _, _) => Kind::Oneway,
        (_, Wish::Wait, _) => Kind::Synchronous,
        _ => Kind::Asynchronous,
    }
}
