//! The client's features of `adapters.idl`: objects of every kind of POA, their ends, and POA
//! managers that hold and discard. Called by `client_features`; the peers have the same names.

use super::client::{Call, Failure, Feature};
use super::client_features::{Outcome, raised, there, wait_until};
use crate::idl::adapters::{Ending, Item, Kind, Yard};
use crate::values::{Different, check_equal, expect};
use corbie::{CompletionStatus, SystemExceptionKind};

type AdapterCase = (&'static str, fn(&Call) -> Outcome);

const NO: Option<CompletionStatus> = Some(CompletionStatus::No);

/// All of them, in order.
pub(super) fn features() -> Vec<Feature> {
    let all: [AdapterCase; 10] = [
        ("poa_kept", kept),
        ("poa_stable", stable),
        ("poa_default_servant", default_servant),
        ("poa_locator", locator),
        ("poa_activator", activator),
        ("poa_ended", ended),
        ("poa_holding", holding),
        ("poa_discarding", discarding),
        ("corbaloc_keys", corbaloc_keys),
        ("corbaloc_names", corbaloc_names),
    ];
    all.into_iter().map(|(name, feature)| (name, Box::new(feature) as _)).collect()
}

pub(super) fn get_yard(call: &Call) -> Result<Yard, Failure> {
    let object = call.root.get_yard()?.ok_or("the server has no Yard")?;
    there(Yard::narrow(&object)?)
}

pub(super) fn get_item(call: &Call, which: Kind, id: &str) -> Result<Item, Failure> {
    there(get_yard(call)?.get_item(which, id)?)
}

fn is_gone(it: &Item) -> Outcome {
    raised(&it.calls(), SystemExceptionKind::ObjectNotExist, NO)?;
    Ok(expect(it.as_object().non_existent()?, "_non_existent says that it is there")?)
}

fn has_history(yard: &Yard, id: &str, wanted: &str) -> Outcome {
    // Servant managers may be told of an end after the client has its reply.
    wait_until(500, || Ok(yard.history(id)?.len() >= wanted.len()))?;
    Ok(check_equal("history", &yard.history(id)?, wanted)?)
}

fn kept(call: &Call) -> Outcome {
    let it = get_item(call, Kind::Kept, "alpha")?;
    check_equal("who", &it.who()?, "kept/alpha")?;
    check_equal("first", &it.calls()?, &1)?;
    check_equal("second", &it.calls()?, &2)?;
    get_yard(call)?.deactivate(Kind::Kept, "alpha")?;
    is_gone(&it)
}

/// The same object has another servant after its end; its references stay good.
fn stable(call: &Call) -> Outcome {
    let it = get_item(call, Kind::Stable, "beta")?;
    check_equal("who", &it.who()?, "stable/beta")?;
    check_equal("first", &it.calls()?, &1)?;
    get_yard(call)?.deactivate(Kind::Stable, "beta")?;
    is_gone(&it)?;
    check_equal("of the next servant", &get_item(call, Kind::Stable, "beta")?.calls()?, &1)?;
    Ok(check_equal("by the first reference", &it.calls()?, &2)?)
}

fn default_servant(call: &Call) -> Outcome {
    let one = get_item(call, Kind::Shared, "gamma")?;
    let two = get_item(call, Kind::Shared, "delta")?;
    check_equal("who", &one.who()?, "shared/gamma")?;
    check_equal("who", &two.who()?, "shared/delta")?;
    check_equal("first", &one.calls()?, &1)?;
    check_equal("second", &two.calls()?, &2)?;
    Ok(check_equal("third", &one.calls()?, &3)?)
}

fn locator(call: &Call) -> Outcome {
    let it = get_item(call, Kind::Located, "eta")?;
    let yard = get_yard(call)?;
    check_equal("who", &it.who()?, "located/eta")?;
    has_history(&yard, "eta", "preinvoke who; postinvoke who")?;
    check_equal("of one servant", &it.calls()?, &1)?;
    let two = "preinvoke who; postinvoke who; preinvoke calls; postinvoke calls";
    has_history(&yard, "eta", two)?;
    Ok(check_equal("of the next servant", &it.calls()?, &1)?)
}

fn activator(call: &Call) -> Outcome {
    let it = get_item(call, Kind::OnDemand, "theta")?;
    let yard = get_yard(call)?;
    check_equal("before", &yard.history("theta")?, "")?;
    check_equal("who", &it.who()?, "archive/boxes/theta")?;
    check_equal("first", &it.calls()?, &1)?;
    check_equal("second", &it.calls()?, &2)?;
    has_history(&yard, "theta", "incarnate")?;
    yard.deactivate(Kind::OnDemand, "theta")?;
    has_history(&yard, "theta", "incarnate; etherealize false false")?;
    check_equal("of the next servant", &it.calls()?, &1)?;
    has_history(&yard, "theta", "incarnate; etherealize false false; incarnate")
}

fn ended(call: &Call) -> Outcome {
    let yard = get_yard(call)?;
    is_gone(&there(yard.get_ended(Ending::Deactivated)?)?)?;
    is_gone(&there(yard.get_ended(Ending::Destroyed)?)?)?;
    let inactive = there(yard.get_ended(Ending::Inactive)?)?;
    raised(&inactive.calls(), SystemExceptionKind::ObjAdapter, NO)
}

fn holding(call: &Call) -> Outcome {
    let yard = get_yard(call)?;
    let it = there(yard.get_gated()?)?;
    let before = it.calls()?;
    yard.hold()?;
    let caller = it.clone();
    let held = std::thread::spawn(move || caller.calls());
    let came = wait_until(500, || Ok(yard.held()? == 1));
    let was_served = held.is_finished();
    yard.activate()?;
    let got = held.join().map_err(|_| Different("the calling thread panicked".to_owned()))?;
    came?;
    expect(!was_served, "the request was not held")?;
    check_equal("held, then served", &got?, &(before + 1))?;
    check_equal("held", &yard.held()?, &0)?;
    Ok(check_equal("who", &it.who()?, "gated/item")?)
}

fn discarding(call: &Call) -> Outcome {
    let yard = get_yard(call)?;
    let it = there(yard.get_gated()?)?;
    let before = it.calls()?;
    yard.discard()?;
    let got = it.calls();
    yard.activate()?;
    raised(&got, SystemExceptionKind::Transient, NO)?;
    let minor = got.err().map(|exception| exception.minor.code());
    check_equal("minor code", &minor, &Some(0x4f4d_0001))?;
    Ok(check_equal("afterwards", &it.calls()?, &(before + 1))?)
}

/// A persistent key, of the octets that the server likes, in a URL.
fn corbaloc_keys(call: &Call) -> Outcome {
    let id = "cheese & ham %41/1";
    let url = get_yard(call)?.get_url(Kind::Stable, id)?;
    expect(url.contains("%25"), "the per cent sign of the id is not escaped")?;
    let it = there(Item::narrow(&call.side.orb.string_to_object(&url)?)?)?;
    check_equal("who", &it.who()?, &format!("stable/{id}"))?;
    check_equal("first", &it.calls()?, &1)?;
    Ok(check_equal("second", &get_item(call, Kind::Stable, id)?.calls()?, &2)?)
}

/// A plain name with octets that are escaped.
fn corbaloc_names(call: &Call) -> Outcome {
    let url = get_yard(call)?.get_name_url()?;
    let it = there(Item::narrow(&call.side.orb.string_to_object(&url)?)?)?;
    Ok(check_equal("who", &it.who()?, "stable/by name")?)
}
