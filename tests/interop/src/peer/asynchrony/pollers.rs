//! Features of AMI with pollers (`sendp_…`), from the client's side, one by one and in a set.
//! Collected by `client`.

use super::client::{Call, Named, Outcome, RAISED, calls, check_work, some};
use super::{raised, raised_system};
use crate::idl::asynchrony::AmiCallsPoller;
use crate::values::{Different, check_equal, expect};
use corbie::codegen::TypedPoller;
use std::time::Duration;

pub(super) const FEATURES: &[Named] = &[
    ("poller_results", results),
    ("poller_exceptions", exceptions),
    ("poller_times", times),
    ("poller_set", set),
];

const LONG: Option<Duration> = Some(super::handler::LONG);

fn results(call: &Call) -> Outcome {
    let it = calls(call)?;
    let mut pollers = Vec::new();
    for n in 0..40 {
        pollers.push((n, it.sendp_work(n, &some())?));
    }
    for (n, poller) in pollers.iter().rev() {
        let got = poller.work(LONG).map_err(|e| Different(e.to_string()))?;
        check_work(&got, *n)?;
    }
    it.set_level(5)?;
    Ok(check_equal("level", &it.sendp_get_level()?.get_level(LONG)?, &5)?)
}

fn exceptions(call: &Call) -> Outcome {
    let it = calls(call)?;
    for n in 1..=3 {
        let outcome = it.sendp_work(-n, &some())?.work(LONG);
        check_equal("raised", &raised(&outcome), RAISED[n as usize])?;
    }
    Ok(())
}

fn times(call: &Call) -> Outcome {
    let poller = calls(call)?.sendp_delayed(8, 300)?;
    expect(!poller.is_ready(), "ready at once")?;
    let too_early = |time, kind: &str| match poller.delayed(Some(Duration::from_millis(time))) {
        Err(e) if e.kind.name() == kind => Ok(()),
        other => Err(Different(format!("after {time} ms: {other:?}"))),
    };
    too_early(0, "NO_RESPONSE")?;
    too_early(20, "TIMEOUT")?;
    expect(poller.wait(LONG), "not ready")?;
    check_equal("delayed", &poller.delayed(LONG)?, &8)?;
    let again = poller.delayed(LONG).map_err(|e| raised_system(&e));
    let is_refused = again.as_ref().is_err_and(|e| e.starts_with("OBJECT_NOT_EXIST "));
    Ok(expect(is_refused, &format!("a second time: {again:?}"))?)
}

fn set(call: &Call) -> Outcome {
    let it = calls(call)?;
    let (early, late) = (it.sendp_delayed(2, 20)?, it.sendp_delayed(1, 400)?);
    let set = late.create_pollable_set()?;
    set.add_pollable(early.as_poller())?;
    check_equal("left", &set.number_left(), &2)?;
    for wanted in [2, 1] {
        let ready = set.get_ready_pollable(LONG).map_err(|e| Different(format!("{e:?}")))?;
        let poller = ready.as_poller().ok_or("no poller")?.clone();
        let got = AmiCallsPoller::from_poller(poller).delayed(LONG)?;
        check_equal("delayed", &got, &wanted)?;
    }
    Ok(check_equal("left", &set.number_left(), &0)?)
}
