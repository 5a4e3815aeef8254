//! Features of the dynamic invocation interface, from the client's side: all types and exceptions
//! by TypeCode. Collected by `client`.

use super::client::{Call, Named, Outcome, RAISED, calls, check_work, some, wait_until};
use super::{item, raised};
use crate::idl::asynchrony::calls::WorkError;
use crate::idl::asynchrony::{Calls, Item, Nothing, NumbersIdl, Refused};
use crate::values::{Different, check_equal, expect};
use corbie::dynamic::Exception;
use corbie::{Any, DynamicObject, DynamicOrb, Request, SystemException, TypeCode, Typed};
use std::collections::BTreeSet;

pub(super) const FEATURES: &[Named] = &[
    ("dii_results", results),
    ("dii_exceptions", exceptions),
    ("dii_deferred", deferred),
    ("dii_multiple", multiple),
    ("dii_oneway", oneway),
    ("dii_any", any),
];

type Work = (Item, Vec<i32>, String);

fn long(value: i32) -> Result<Any, SystemException> {
    Any::from_value::<i32>(&value)
}

fn request_work(it: &Calls, n: i32) -> Result<Request, SystemException> {
    let mut request = it.as_object().request("work");
    request.add_in_arg("number", long(n)?);
    request.add_inout_arg("some", Any::from_value::<NumbersIdl>(&some())?);
    request.add_out_arg("text", TypeCode::string(0));
    request.set_return_type(Item::type_code());
    request.add_exception(Refused::type_code()).add_exception(Nothing::type_code());
    Ok(request)
}

/// What a request of `work` came to.
fn outcome(request: &Request, answered: Result<(), Exception>) -> Result<Work, WorkError> {
    match answered {
        Ok(()) => Ok((
            request.returned::<Item>()?,
            request.argument::<NumbersIdl>(1)?,
            request.argument::<String>(2)?,
        )),
        Err(Exception::System(e)) => Err(e.into()),
        Err(raised) => match (raised.user::<Refused>()?, raised.user::<Nothing>()?) {
            (Some(refused), _) => Err(refused.into()),
            (_, Some(nothing)) => Err(nothing.into()),
            _ => Err(super::nil().into()),
        },
    }
}

fn check(outcome: Result<Work, WorkError>, n: i32) -> Result<(), Different> {
    check_work(&outcome.map_err(|e| Different(e.to_string()))?, n)
}

fn failed(exception: Exception) -> Different {
    Different(exception.to_string())
}

fn results(call: &Call) -> Outcome {
    let it = calls(call)?;
    for n in 0..6 {
        let mut request = request_work(&it, n)?;
        let answered = request.invoke();
        check(outcome(&request, answered), n)?;
    }
    let mut set = it.as_object().request("_set_level");
    set.add_in_arg("level", long(17)?).invoke().map_err(failed)?;
    let mut get = it.as_object().request("_get_level");
    get.set_return_type(TypeCode::LONG).invoke().map_err(failed)?;
    Ok(check_equal("level", &get.returned::<i32>()?, &17)?)
}

fn exceptions(call: &Call) -> Outcome {
    let it = calls(call)?;
    for n in 1..=3 {
        let mut request = request_work(&it, -n)?;
        let answered = request.invoke();
        let outcome = outcome(&request, answered);
        check_equal("raised", &raised(&outcome), RAISED[n as usize])?;
    }
    Ok(())
}

fn deferred(call: &Call) -> Outcome {
    let it = calls(call)?;
    let mut late = it.as_object().request("delayed");
    late.add_in_arg("number", long(6)?).add_in::<u32>("milliseconds", &200)?;
    late.set_return_type(TypeCode::LONG).send_deferred()?;
    expect(!late.poll_response()?, "answered at once")?;
    let mut request = request_work(&it, 5)?;
    request.send_deferred()?;
    let answered = request.get_response();
    check(outcome(&request, answered), 5)?;
    late.get_response().map_err(failed)?;
    Ok(check_equal("delayed", &late.returned::<i32>()?, &6)?)
}

fn multiple(call: &Call) -> Outcome {
    let it = calls(call)?;
    let requests = (0..30).map(|n| request_work(&it, n)).collect::<Result<Vec<_>, _>>()?;
    call.side.orb.send_multiple_requests_deferred(requests);
    let mut seen = BTreeSet::new();
    for _ in 0..30 {
        let mut request = call.side.orb.get_next_response()?;
        let n = request.argument::<i32>(0)?;
        let answered = request.get_response();
        check(outcome(&request, answered), n)?;
        expect(seen.insert(n), "a response came twice")?;
    }
    Ok(())
}

fn oneway(call: &Call) -> Outcome {
    let it = calls(call)?;
    it.forget()?;
    for n in 0..5 {
        let mut request = it.as_object().request("tell");
        request.add_in_arg("number", long(n)?).add_in::<u32>("milliseconds", &0)?;
        request.send_oneway()?;
    }
    wait_until("not all were told", || Ok(it.told()?.0 == 5))
}

fn any(call: &Call) -> Outcome {
    let it = calls(call)?;
    let mut request = it.as_object().request("echo");
    request.add_in::<Any>("value", &Any::from_value::<Item>(&item(7))?)?;
    request.set_return_type(TypeCode::ANY).invoke().map_err(failed)?;
    let back = request.returned::<Any>()?;
    Ok(check_equal("echo", &back.extract::<Item>()?, &item(7))?)
}
