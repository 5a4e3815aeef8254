//! What `RebindPolicy` allows: opening connections and following forwards without being told to
//! (CORBA Messaging §22.2.1).
//!
//! Asked by every attempt; costs transparent references one comparison.

use crate::Object;
use crate::client::Target;
use crate::client::policies::reconciled_for;
use crate::connection::Opening;
use crate::policy::{CallPolicies, RebindMode, exposed_by};
use corbie_types::{CompletionStatus, Ior, SystemException, minor};

/// Whether a call of `object` may open a connection to `target`.
#[inline]
pub(crate) fn opening(object: &Object, policies: &CallPolicies, target: &Target) -> Opening {
    if policies.rebind != RebindMode::NoReconnect {
        return Opening::Free;
    }
    opening_once(object, target)
}

#[cold]
fn opening_once(object: &Object, target: &Target) -> Opening {
    match target.losses_when_bound() {
        _ if !object.is_bound() => Opening::Free,
        Some(losses) => Opening::WithoutLoss(losses),
        // Bound before the policy was set, if the pool is connected; else it is another place.
        None if target.pool.is_connected() => Opening::WithoutLoss(target.pool.losses()),
        None => Opening::Forbidden,
    }
}

/// A call was answered by `target`: what `NO_RECONNECT` compares with later.
#[inline]
pub(crate) fn note_bound(object: &Object, policies: &CallPolicies, target: &Target) {
    object.note_bound();
    if policies.rebind == RebindMode::NoReconnect {
        target.note_bound();
    }
}

/// Whether a call of `object` may go on to `ior`, where a server sent it.
///
/// # Errors
/// `REBIND` (`COMPLETED_NO`) when the policy of the reference forbids it, `INV_POLICY`
/// (`COMPLETED_NO`) when what is set here is excluded there.
#[cold]
pub(crate) fn check_forward(
    object: &Object,
    policies: &CallPolicies,
    ior: &Ior,
) -> Result<(), SystemException> {
    let there = reconciled_for(
        object,
        &exposed_by(object.orb().settings(), object.orb().transports(), ior)?,
    );
    if policies.rebind == RebindMode::Transparent || !object.is_bound() {
        return there.map(|_| ());
    }
    if policies.rebind == RebindMode::NoReconnect {
        return Err(may_not_follow("NO_RECONNECT", "which needs a connection of its own"));
    }
    if there.ok() != Some(reconciled_for(object, object.exposed_policies()?)?) {
        return Err(may_not_follow("NO_REBIND", "where other policies hold"));
    }
    Ok(())
}

#[cold]
fn may_not_follow(policy: &str, where_to: &str) -> SystemException {
    SystemException::rebind(minor::REBIND_FORWARD, CompletionStatus::No).with_detail(format!(
        "the server forwards to another reference, {where_to}, and the policy {policy} forbids to \
         follow; call validate_connection to bind it again"
    ))
}
