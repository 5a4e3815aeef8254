//! What the client's features of the asynchronous part have in common, and the synchronous ones
//! that the others are compared with. The features themselves are in `ami`, `pollers`, `remote`,
//! `dii` and `quality`; the peers have the same names.

use super::plain::Guest;
use super::{item, numbers, raised, raised_system};
use crate::idl::asynchrony::{Calls, Delivery, Host, Item, Recorder, Visitor, VisitorSkeleton};
use crate::peer::client::Feature;
pub(super) use crate::peer::client::{Call, Failure};
use crate::values::{Different, check_equal, expect};
use corbie::Any;
use std::sync::Arc;
use std::time::{Duration, Instant};

pub(super) type Outcome = Result<(), Failure>;
pub(super) type Named = (&'static str, fn(&Call) -> Outcome);

/// What works 1, 2 and 3 with their number negated raise.
pub(crate) const RAISED: [&str; 4] =
    ["", "Refused refused 77 item 3", "Nothing", "BAD_PARAM 4f4d0007 COMPLETED_YES"];

/// All of them, in order.
pub(in crate::peer) fn features() -> Vec<Feature> {
    let own: [Named; 2] = [("static_results", static_results), ("entertain", entertain)];
    let groups: [&[Named]; 7] = [
        &own,
        super::ami::FEATURES,
        super::pollers::FEATURES,
        super::remote::FEATURES,
        super::dii::FEATURES,
        super::oneways::FEATURES,
        super::quality::FEATURES,
    ];
    let boxed = |&(name, feature): &Named| -> Feature { (name, Box::new(feature)) };
    groups.into_iter().flatten().map(boxed).collect()
}

pub(super) fn host(call: &Call) -> Result<Host, Failure> {
    let object = call.root.get_asynchrony()?.ok_or("the server has no Host")?;
    Ok(Host::narrow(&object)?.ok_or("that is no Host")?)
}

pub(super) fn calls(call: &Call) -> Result<Calls, Failure> {
    Ok(host(call)?.get_calls()?.ok_or("the server has no Calls")?)
}

pub(super) fn recorder(call: &Call) -> Result<Recorder, Failure> {
    Ok(host(call)?.get_recorder()?.ok_or("the server has no Recorder")?)
}

/// What `work` gets.
pub(super) fn some() -> Vec<i32> {
    numbers(1, 3)
}

pub(super) fn check_work(got: &(Item, Vec<i32>, String), n: i32) -> Result<(), Different> {
    check_equal("result", &got.0, &item(n))?;
    check_equal("some", &got.1, &numbers(1 + n, 3))?;
    check_equal("text", &got.2, &format!("work {n}"))
}

pub(super) fn check_delivered(got: Delivery, n: i32) -> Result<(), Different> {
    check_equal("operation", &got.operation, "work")?;
    check_equal("raised", &got.raised, "")?;
    check_work(&(got.result, got.some, got.text), n)
}

/// Asks again until it holds, 20 s at most.
pub(super) fn wait_until(
    what: &str,
    mut holds: impl FnMut() -> Result<bool, Failure>,
) -> Result<(), Failure> {
    let end = Instant::now() + Duration::from_secs(20);
    while !holds()? {
        expect(Instant::now() < end, what)?;
        std::thread::yield_now();
    }
    Ok(())
}

fn static_results(call: &Call) -> Outcome {
    let it = calls(call)?;
    for n in 0..6 {
        let got = it.work(n, &some()).map_err(|e| Different(e.to_string()))?;
        check_work(&got, n)?;
    }
    for n in 1..=3 {
        check_equal("raised", &raised(&it.work(-n, &some())), RAISED[n as usize])?;
    }
    check_equal("title", &it.title()?, "asynchrony")?;
    let refused = it.set_level(13).map_err(|e| raised_system(&e));
    check_equal("raised", &refused, &Err("NO_PERMISSION 0000000d COMPLETED_NO".to_owned()))?;
    let back = it.echo(&Any::from_value::<Item>(&item(9))?)?;
    Ok(check_equal("echo", &back.extract::<Item>()?, &item(9))?)
}

/// Activates a visitor.
pub(super) fn guest(call: &Call) -> Result<Visitor, Failure> {
    let servant = Arc::new(Guest::default());
    let skeleton = VisitorSkeleton::new(servant.clone());
    let guest = call.side.poa.activate(skeleton).map_err(|e| Different(e.to_string()))?;
    servant.this.get_or_init(|| guest.clone());
    Ok(guest)
}

fn entertain(call: &Call) -> Outcome {
    Ok(check_equal("depth", &calls(call)?.entertain(Some(&guest(call)?), 6)?, &6)?)
}
