//! What becomes of references when the server is killed and started again on its port: each feature
//! prepares, then the server is restarted once, then each looks. Called by `client`.

use super::adapters::{get_item, get_yard};
use super::client::{Call, Failure, told};
use super::client_features::{Outcome, there};
use crate::idl::adapters::{Item, Kind};
use crate::values::{Different, check_equal, expect};
use corbie::{CompletionStatus, SystemException, SystemExceptionKind};
use std::io::BufRead;

type Afterwards = Box<dyn Fn(&Call) -> Outcome>;
type Prepare = fn(&Call) -> Result<Afterwards, Failure>;

const FEATURES: [(&str, Prepare); 4] = [
    ("restart", persistent),
    ("restart_transient", transient),
    ("restart_on_demand", on_demand),
    ("restart_corbaloc", corbaloc),
];

/// Their names.
#[cfg(test)]
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    FEATURES.into_iter().map(|(name, _)| name)
}

/// Runs them; the result is how many failed.
#[allow(clippy::print_stdout)]
pub(super) fn call(call: &Call, is_wanted: &dyn Fn(&str) -> bool) -> Result<usize, Different> {
    let wanted = FEATURES.into_iter().filter(|(name, _)| is_wanted(name));
    let prepared: Vec<_> = wanted.map(|(name, prepare)| (name, prepare(call))).collect();
    println!("restart now");
    let mut line = String::new();
    let read = std::io::stdin().lock().read_line(&mut line);
    read.map_err(|error| Different(error.to_string()))?;
    let mut failed = 0;
    for (name, afterwards) in prepared {
        let outcome = afterwards.and_then(|afterwards| afterwards(call));
        failed += usize::from(!told(&call.root, name, outcome));
    }
    Ok(failed)
}

/// A call on the connection that died may fail; then a new connection is made.
fn again<T>(call: impl Fn() -> Result<T, SystemException>) -> Result<T, SystemException> {
    use SystemExceptionKind::{CommFailure, Transient};
    let mut last = call();
    for _ in 0..2 {
        match &last {
            Err(exception) if matches!(exception.kind, CommFailure | Transient) => last = call(),
            _ => break,
        }
    }
    last
}

fn persistent(call: &Call) -> Result<Afterwards, Failure> {
    let it = there(call.root.get_counter()?)?;
    check_equal("first", &it.increment()?, &1)?;
    check_equal("second", &it.increment()?, &2)?;
    let before = it.incarnation()?;
    Ok(Box::new(move |_| {
        check_equal("third", &again(|| it.increment())?, &1)?;
        Ok(expect(before != it.incarnation()?, "the same process answers")?)
    }))
}

/// The object ended with its process, and no other process answers for it.
fn transient(call: &Call) -> Result<Afterwards, Failure> {
    let it = there(call.root.get_only_top()?)?;
    check_equal("from_top", &it.from_top(1)?, "only top 1")?;
    Ok(Box::new(move |_| match again(|| it.from_top(2)) {
        Err(got) if got.kind == SystemExceptionKind::ObjectNotExist => {
            check_equal("completion status", &got.completed, &CompletionStatus::No)?;
            Ok(expect(it.as_object().non_existent()?, "_non_existent says that it is there")?)
        }
        Err(other) => Err(other.into()),
        Ok(text) => Err(Different(format!("a server answers: {text}")).into()),
    }))
}

/// In the new process nothing is there until the reference is called: its POAs are made by adapter
/// activators, its servant by a servant activator.
fn on_demand(call: &Call) -> Result<Afterwards, Failure> {
    let it = get_item(call, Kind::OnDemand, "epsilon")?;
    check_equal("first", &it.calls()?, &1)?;
    check_equal("second", &it.calls()?, &2)?;
    let before = it.incarnation()?;
    let yard = get_yard(call)?;
    Ok(Box::new(move |_| {
        check_equal("archive before", &again(|| yard.history("archive"))?, "")?;
        check_equal("third", &it.calls()?, &1)?;
        check_equal("who", &it.who()?, "archive/boxes/epsilon")?;
        check_equal("archive", &yard.history("archive")?, "unknown_adapter")?;
        check_equal("boxes", &yard.history("boxes")?, "unknown_adapter")?;
        check_equal("epsilon", &yard.history("epsilon")?, "incarnate")?;
        Ok(expect(before != it.incarnation()?, "the same process answers")?)
    }))
}

/// The URL of a persistent object is good in the next life, too: kept as text, and as a reference.
fn corbaloc(call: &Call) -> Result<Afterwards, Failure> {
    let url = get_yard(call)?.get_url(Kind::OnDemand, "zeta")?;
    let of_url = move |call: &Call| -> Result<Item, Failure> {
        let object = call.side.orb.string_to_object(&url)?;
        Ok(Item::unchecked_narrow(object))
    };
    let it = of_url(call)?;
    check_equal("first", &it.calls()?, &1)?;
    check_equal("who", &it.who()?, "archive/boxes/zeta")?;
    Ok(Box::new(move |call| {
        check_equal("second", &again(|| it.calls())?, &1)?;
        check_equal("by the URL again", &of_url(call)?.calls()?, &2)?;
        Ok(check_equal("who", &it.who()?, "archive/boxes/zeta")?)
    }))
}
