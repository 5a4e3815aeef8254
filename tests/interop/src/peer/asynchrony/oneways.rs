//! Features of oneways, from the client's side: their order, and what each synchronisation scope
//! waits for.

use super::client::{Call, Failure, Named, Outcome, calls, wait_until};
use super::raised_system;
use crate::idl::asynchrony::Calls;
use crate::values::{Different, check_equal, expect};
use corbie::policy::{Policy, SetOverrideType, SyncScope};
use std::time::{Duration, Instant};

pub(super) const FEATURES: &[Named] = &[
    ("oneway_order", order),
    ("sync_none", |call| sync_early(call, SyncScope::None)),
    ("sync_with_transport", |call| sync_early(call, SyncScope::WithTransport)),
    ("sync_with_server", |call| sync_early(call, SyncScope::WithServer)),
    ("sync_with_target", sync_with_target),
];

fn order(call: &Call) -> Outcome {
    let it = calls(call)?;
    it.forget()?;
    for n in 100..400 {
        it.tell(n, 0)?;
    }
    wait_until("not all were told", || Ok(it.told()?.0 == 300))?;
    Ok(expect(it.told()?.1, "not in order")?)
}

fn scoped(it: &Calls, scope: SyncScope) -> Result<Calls, Failure> {
    let scope = [Policy::SyncScope(scope)];
    let object = it.as_object().set_policy_overrides(&scope, SetOverrideType::Add);
    Ok(Calls::unchecked_narrow(object.map_err(|error| Different(error.to_string()))?))
}

/// Comes back before the servant is done, and hears nothing of its exceptions.
fn sync_early(call: &Call, scope: SyncScope) -> Outcome {
    let it = calls(call)?;
    it.forget()?;
    let scoped = scoped(&it, scope)?;
    let begin = Instant::now();
    scoped.tell(1, 600)?;
    let time = begin.elapsed();
    expect(time < Duration::from_millis(500), &format!("came back after {time:?}"))?;
    wait_until("it was never told", || Ok(it.told()?.0 == 1))?;
    Ok(scoped.tell(13, 0)?)
}

/// Comes back when the servant is done, with its exceptions.
fn sync_with_target(call: &Call) -> Outcome {
    let it = calls(call)?;
    it.forget()?;
    let scoped = scoped(&it, SyncScope::WithTarget)?;
    for n in 1..=3 {
        let begin = Instant::now();
        scoped.tell(n, 50)?;
        let time = begin.elapsed();
        expect(time >= Duration::from_millis(50), &format!("came back after {time:?}"))?;
        check_equal("told", &it.told()?.0, &n)?;
    }
    let refused = scoped.tell(13, 0).map_err(|e| raised_system(&e));
    let wanted = Err("NO_PERMISSION 0000000d COMPLETED_NO".to_owned());
    Ok(check_equal("raised", &refused, &wanted)?)
}
