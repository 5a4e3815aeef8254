//! Features of AMI with call-backs (`sendc_…`) and futures (`…_async`), from the client's side.
//! Collected by `client`; the same calls are in `async_client.cc` and `AsyncClient.java`.

use super::client::{
    Call, Named, Outcome, RAISED, calls, check_delivered, check_work, guest, host, some, wait_until,
};
use super::handler::Recorded;
use super::{base, item, raised};
use crate::idl::asynchrony::{AmiBaseHandler, Calls, Item};
use crate::values::{Different, check_equal, expect};
use corbie::Any;
use corbie::policy::{Policy, SetOverrideType};
use std::collections::BTreeSet;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

pub(super) const FEATURES: &[Named] = &[
    ("ami_results", results),
    ("ami_attributes", attributes),
    ("ami_exceptions", exceptions),
    ("ami_anys", anys),
    ("ami_nil_handler", nil_handler),
    ("ami_pipelined", pipelined),
    ("ami_held", held),
    ("ami_nested", nested),
    ("ami_entertain", entertain),
    ("ami_timeout", timeout),
    ("ami_gone", gone),
    ("future_results", future_results),
    ("future_exceptions", future_exceptions),
];

fn recorded(call: &Call) -> Result<Recorded, Different> {
    Recorded::new(&call.side)
}

fn base_handler(to: &Recorded) -> AmiBaseHandler {
    to.handler.clone().into()
}

fn results(call: &Call) -> Outcome {
    let (it, to) = (calls(call)?, recorded(call)?);
    for n in 0..12 {
        it.sendc_work(&to.handler, n, &some())?;
        check_delivered(to.next("work")?, n)?;
    }
    it.sendc_from_base(&base_handler(&to), 5)?;
    check_equal("text", &to.next("from_base")?.text, &base(5))?;
    it.sendc_pause(&to.handler)?;
    to.next("pause")?;
    it.sendc_delayed(&to.handler, 31, 5)?;
    Ok(check_equal("delayed", &to.next("delayed")?.result.number, &31)?)
}

fn attributes(call: &Call) -> Outcome {
    let (it, to) = (calls(call)?, recorded(call)?);
    it.sendc_set_level(&base_handler(&to), 7)?;
    check_equal("raised", &to.next("set_level")?.raised, "")?;
    it.sendc_get_level(&base_handler(&to))?;
    check_equal("level", &to.next("get_level")?.result.number, &7)?;
    it.sendc_get_title(&base_handler(&to))?;
    check_equal("title", &to.next("get_title")?.text, "asynchrony")?;
    it.sendc_set_level(&base_handler(&to), 13)?;
    let raised = to.next("set_level")?.raised;
    Ok(check_equal("raised", &raised, "NO_PERMISSION 0000000d COMPLETED_NO")?)
}

fn exceptions(call: &Call) -> Outcome {
    let (it, to) = (calls(call)?, recorded(call)?);
    for n in 1..=3 {
        it.sendc_work(&to.handler, -n, &some())?;
        check_equal("raised", &to.next("work")?.raised, RAISED[n as usize])?;
    }
    Ok(())
}

fn anys(call: &Call) -> Outcome {
    let (it, to) = (calls(call)?, recorded(call)?);
    it.sendc_echo(&to.handler, &Any::from_value::<Item>(&item(9))?)?;
    Ok(check_equal("echo", &to.next("echo")?.result, &item(9))?)
}

fn nil_handler(call: &Call) -> Outcome {
    let it = calls(call)?;
    it.set_level(1)?;
    it.sendc_set_level(None, 21)?;
    wait_until("the level never came to 21", || Ok(it.level()? == 21))
}

/// Hundreds outstanding on one connection; each comes once.
fn pipelined(call: &Call) -> Outcome {
    let (it, to) = (calls(call)?, recorded(call)?);
    let count = 500;
    for n in 0..count {
        it.sendc_work(&to.handler, n, &some())?;
    }
    let mut seen = BTreeSet::new();
    for _ in 0..count {
        let delivery = to.next("work")?;
        let n = delivery.result.number;
        check_delivered(delivery, n)?;
        expect(seen.insert(n), "a reply came twice")?;
    }
    Ok(expect(to.next_in(Duration::from_millis(20)).is_none(), "a reply too many")?)
}

/// Later requests overtake those that the server holds.
fn held(call: &Call) -> Outcome {
    let (it, to) = (calls(call)?, recorded(call)?);
    let count = it.held_at_most()?;
    expect(count > 0, "this servant cannot hold requests")?;
    for n in 0..count {
        it.sendc_hold(&to.handler, n as i32)?;
    }
    it.sendc_work(&to.handler, 3, &some())?;
    check_delivered(to.next("work")?, 3)?;
    wait_until("they are never all held", || Ok(it.held()? == count))?;
    it.release()?;
    let mut seen = BTreeSet::new();
    for _ in 0..count {
        expect(seen.insert(to.next("hold")?.result.number), "a reply came twice")?;
    }
    Ok(check_equal("seen", &seen, &(0..count as i32).collect())?)
}

/// Each upcall makes a synchronous call and sends the next request.
fn nested(call: &Call) -> Outcome {
    let it = calls(call)?;
    let slot: Arc<std::sync::OnceLock<crate::idl::asynchrony::AmiCallsHandler>> = Arc::default();
    let (server, own) = (it.clone(), slot.clone());
    let meanwhile = Box::new(move |delivery: &crate::idl::asynchrony::Delivery| {
        let n = delivery.result.number;
        let is_right = n < 19 && server.from_base(n).is_ok_and(|text| text == base(n));
        if let (true, Some(handler)) = (is_right, own.get()) {
            // Whether it is sent shows in the replies.
            let _ = server.sendc_work(handler, n + 1, &some());
        }
    });
    let to = Recorded::with(&call.side, meanwhile)?;
    slot.get_or_init(|| to.handler.clone());
    it.sendc_work(&to.handler, 0, &some())?;
    for n in 0..20 {
        check_delivered(to.next("work")?, n)?;
    }
    Ok(())
}

fn entertain(call: &Call) -> Outcome {
    let (it, to) = (calls(call)?, recorded(call)?);
    it.sendc_entertain(&to.handler, Some(&guest(call)?), 6)?;
    Ok(check_equal("depth", &to.next("entertain")?.result.number, &6)?)
}

/// A reference whose calls may take so long.
pub(super) fn hasty(call: &Call, milliseconds: u64) -> Result<Calls, super::client::Failure> {
    let it = host(call)?.get_calls()?.ok_or("the server has no Calls")?;
    let in_time = Policy::RelativeRoundtripTimeout(Duration::from_millis(milliseconds));
    let object = it.as_object().set_policy_overrides(&[in_time], SetOverrideType::Add);
    Ok(Calls::unchecked_narrow(object.map_err(|error| Different(error.to_string()))?))
}

/// Those that take too long among many that do not, all on one connection.
fn timeout(call: &Call) -> Outcome {
    let (it, to) = (calls(call)?, recorded(call)?);
    let (hasty, late) = (hasty(call, 60)?, recorded(call)?);
    for round in 0..3 {
        hasty.sendc_delayed(&late.handler, 1, 300)?;
        for n in 0..20 {
            it.sendc_work(&to.handler, n, &some())?;
        }
        let raised = late.next("delayed")?.raised;
        let is_timeout = raised.starts_with("TIMEOUT ") && raised.ends_with(" COMPLETED_MAYBE");
        expect(is_timeout, &format!("round {round}: raised {raised}"))?;
        let mut left: BTreeSet<i32> = (0..20).collect();
        while !left.is_empty() {
            let delivery = to.next("work")?;
            let n = delivery.result.number;
            check_delivered(delivery, n)?;
            expect(left.remove(&n), "a reply came twice")?;
        }
    }
    Ok(expect(late.next_in(Duration::from_millis(400)).is_none(), "a late reply was delivered")?)
}

fn gone(call: &Call) -> Outcome {
    let gone = call.root.get_references()?.ok_or("no References")?.gone()?.ok_or("nil")?;
    let (it, to) = (Calls::unchecked_narrow(gone.into_object()), recorded(call)?);
    it.sendc_pause(&to.handler)?;
    let raised = to.next("pause")?.raised;
    let is_right = raised.starts_with("OBJECT_NOT_EXIST ") && raised.ends_with(" COMPLETED_NO");
    Ok(expect(is_right, &format!("raised {raised}"))?)
}

// ------------------------------------------------------------------ futures

struct Flag(AtomicBool, std::thread::Thread);

impl Wake for Flag {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::SeqCst);
        self.1.unpark();
    }
}

/// Waits for a future with nothing but the standard library.
pub(super) fn block_on<F: Future>(future: F) -> F::Output {
    let flag = Arc::new(Flag(AtomicBool::new(true), std::thread::current()));
    let waker = Waker::from(flag.clone());
    let mut future = pin!(future);
    loop {
        if !flag.0.swap(false, Ordering::SeqCst) {
            std::thread::park();
            continue;
        }
        if let Poll::Ready(value) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return value;
        }
    }
}

fn future_results(call: &Call) -> Outcome {
    let it = calls(call)?;
    let futures: Vec<_> = (0..200).map(|n| it.work_async(n, &some())).collect();
    for (n, future) in (0..).zip(futures) {
        let got = block_on(future).map_err(|e| Different(e.to_string()))?;
        check_work(&got, n)?;
    }
    it.set_level(4)?;
    Ok(check_equal("level", &block_on(it.level_async())?, &4)?)
}

fn future_exceptions(call: &Call) -> Outcome {
    let it = calls(call)?;
    for n in 1..=3 {
        let outcome = block_on(it.work_async(-n, &some()));
        check_equal("raised", &raised(&outcome), RAISED[n as usize])?;
    }
    Ok(())
}
