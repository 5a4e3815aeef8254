//! Calls of operations without results: what they wait for is what their `SyncScope` says
//! (CORBA Messaging §22.2.2).
//!
//! Those without an answer go over the connection that asynchronous calls share, where nothing
//! overtakes anything and a policy may hold them back to be sent together. The others are calls
//! like any, by `invoke`.

use crate::client::asynchronous::Route;
use crate::client::attempts::{self, Answer};
use crate::client::write::{self, Arguments, Request, request_id_place};
use crate::client::{CallFault, Target, call, rebind, shared_call};
use crate::clock::Clock;
use crate::connection::muxed::{self, Dispatch};
use crate::policy::{CallPolicies, SyncScope};
use crate::{Object, Operation};
use corbie_cdr::{ByteOrder, Encoder};
use corbie_connection::When;
use corbie_giop::ResponseFlags;
use corbie_types::{Ior, SystemException};
use std::sync::atomic::Ordering;

/// Sends an operation that has no results: waits for what its `SyncScope` says.
///
/// # Errors
/// See [`Object::invoke_oneway`].
pub(crate) fn invoke_oneway<'a>(
    object: &Object,
    operation: &Operation,
    arguments: Arguments<'_, 'a>,
) -> Result<(), SystemException> {
    let policies = CallPolicies::effective(object)?;
    match policies.sync_scope {
        SyncScope::None | SyncScope::WithTransport => {
            send(object, &Oneway { operation, arguments, policies: &policies })
        }
        SyncScope::WithServer => {
            // Over the shared connection, since its upcall may begin after the answer and nothing
            // is to overtake it.
            let how = (Route::Shared, ResponseFlags::WithServer);
            shared_call::invoke(object, operation, arguments, &policies, how).map(drop)
        }
        SyncScope::WithTarget => call::invoke(object, operation, arguments).map(drop),
    }
}

/// A request without an answer.
struct Oneway<'r, 'a> {
    operation: &'r Operation,
    arguments: Arguments<'r, 'a>,
    policies: &'r CallPolicies,
}

/// Sends the request to each place of the object in turn until one takes it.
///
/// # Errors
/// What went wrong at the last place.
fn send(object: &Object, oneway: &Oneway<'_, '_>) -> Result<(), SystemException> {
    let mut clock = oneway.policies.begin()?;
    attempts::run(object, oneway.operation, oneway.policies, |binding, attempts| {
        let ior = binding.ior().unwrap_or(object.ior());
        let target = binding.target(attempts.address());
        let sent = send_to(object, target, ior, oneway, &mut clock);
        if sent.is_err() {
            clock.sending_again();
        }
        sent.map(Answer::Done)
    })
}

/// Writes the request and gives it to the connection to `target`.
///
/// # Errors
/// What went wrong, and whether another attempt is safe.
fn send_to<'a>(
    object: &Object,
    target: &Target,
    ior: &Ior,
    oneway: &Oneway<'_, 'a>,
    clock: &mut Clock,
) -> Result<(), CallFault> {
    let orb = object.orb();
    let opening = rebind::opening(object, oneway.policies, target);
    let connection = target.pool.shared(orb, clock, Route::Shared, opening)?;
    // A thread has to notice when the server closes it.
    connection.ensure_read(orb)?;
    let mut encoder: Encoder<'a> = Encoder::pooled(ByteOrder::NATIVE);
    encoder.set_version(target.version);
    encoder.set_code_sets(connection.code_sets);
    let announce =
        target.announces_code_sets && !connection.code_sets_announced.load(Ordering::Relaxed);
    let code_sets = announce.then_some(connection.code_sets);
    let Oneway { operation, arguments, policies } = *oneway;
    let request = Request { operation, arguments, ior, policies };
    let written = write::write(&mut encoder, 0, target, &request, ResponseFlags::None, code_sets);
    let sent = written
        .and_then(|()| request_id_place(&encoder, target.version))
        .map_err(|error| CallFault::from(SystemException::from(error)))
        .and_then(|id_place| {
            let (may_wait, when) = may_wait(policies, clock);
            let dispatch = Dispatch {
                version: target.version,
                fragment_octets: orb.fragment_octets(target.version),
                body_place: None,
                id_place,
                when,
            };
            let sent = connection.send_oneway(orb, &mut encoder, &dispatch, may_wait, clock);
            sent.map_err(CallFault::from)
        });
    if sent.is_ok() {
        target.pool.note_shared_use();
        if announce {
            connection.code_sets_announced.store(true, Ordering::Relaxed);
        }
    }
    sent
}

/// Whether the request may be kept back for a moment, and when it is sent by policy.
fn may_wait(policies: &CallPolicies, clock: &Clock) -> (bool, When) {
    let may_wait = policies.sync_scope == SyncScope::None;
    let held = policies.buffering.filter(|_| may_wait);
    (may_wait, held.map_or(When::Now, |constraint| muxed::held_oneway(constraint, clock.start)))
}
