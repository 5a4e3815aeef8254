//! Features of reply handlers in another process, from the client's side: `remote_handler`: ours
//! gets no reply, the server does. `remote_reply`: the server sends, the reply comes to us.
//! `deliver` and `delivered`: a handler is called by hand, from here and from there.

use super::client::{
    Call, Failure, Named, Outcome, RAISED, calls, check_delivered, recorder, some,
};
use super::handler::Recorded;
use crate::idl::asynchrony::{AmiCallsHandler, Delivery, Recorder};
use crate::values::check_equal;
use std::time::Duration;

pub(super) const FEATURES: &[Named] = &[
    ("remote_handler", |call| remote_handler(call, WORKS)),
    ("remote_handler_exceptions", |call| remote_handler(call, FAILURES)),
    ("remote_reply", |call| by_server(call, WORKS, true)),
    ("remote_reply_exceptions", |call| by_server(call, FAILURES, true)),
    ("delivered", |call| by_server(call, WORKS, false)),
    ("delivered_exceptions", |call| by_server(call, FAILURES, false)),
    ("deliver", |call| deliver(call, WORKS)),
    ("deliver_exceptions", |call| deliver(call, FAILURES)),
];

const WORKS: &[i32] = &[4, 8];
const FAILURES: &[i32] = &[-1, -2, -3];

fn check(delivery: Delivery, n: i32) -> Outcome {
    match n {
        0.. => check_delivered(delivery, n)?,
        _ => check_equal("raised", &delivery.raised, RAISED[n.unsigned_abs() as usize])?,
    }
    Ok(())
}

fn check_recorded(recorder: &Recorder, n: i32) -> Outcome {
    // A little at a time: the reply may have to come over this very connection.
    for _ in 0..40 {
        if let (true, delivery) = recorder.next(25)? {
            return check(delivery, n);
        }
    }
    Err("the handler was not called".into())
}

fn handler_of(recorder: &Recorder) -> Result<AmiCallsHandler, Failure> {
    let handler = recorder.handler()?.ok_or("the recorder has no handler")?;
    // without asking: JacORB's have other repository ids
    Ok(AmiCallsHandler::unchecked_narrow(handler))
}

fn remote_handler(call: &Call, works: &[i32]) -> Outcome {
    let (it, recorder) = (calls(call)?, recorder(call)?);
    let to = handler_of(&recorder)?;
    for &n in works {
        it.sendc_work(&to, n, &some())?;
        check_recorded(&recorder, n)?;
    }
    Ok(())
}

fn by_server(call: &Call, works: &[i32], through_ami: bool) -> Outcome {
    let (it, recorder) = (calls(call)?, recorder(call)?);
    let to = Recorded::new(&call.side)?;
    for &n in works {
        let handler = Some(to.handler.as_object());
        match through_ami {
            true => recorder.send(Some(&it), handler, n)?,
            false => recorder.deliver(handler, n)?,
        }
        let delivery = to.next_in(Duration::from_secs(1)).ok_or("the handler was not called")?;
        check(delivery, n)?;
    }
    Ok(())
}

fn deliver(call: &Call, works: &[i32]) -> Outcome {
    let recorder = recorder(call)?;
    let to = handler_of(&recorder)?;
    for &n in works {
        super::recorder::deliver(&call.side.orb, Some(to.as_object()), n)?;
        check_recorded(&recorder, n)?;
    }
    Ok(())
}
