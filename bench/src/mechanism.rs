//! The ways in which Corbie's client makes one and the same call: synchronous, with a callback, a
//! poller, a future, or the dynamic invocation interface.
//!
//! `corbie_contender.rs` chooses one of them by name; `ami-latency` waits for each reply at once,
//! `ami-throughput` does not.

use crate::driver::Failure;
use crate::echo::bench::{
    AmiEchoerHandler, AmiEchoerHandlerServant, AmiEchoerHandlerSkeleton, Cubit, Echoer, Many,
};
use crate::orders::Answer;
use crate::pipeline::{self, Tally};
use corbie::dynamic::Request;
use corbie::messaging::ExceptionHolder;
use corbie::types::TypeCode;
use corbie::{DynamicObject, Orb, SystemException};
use std::future::Future;
use std::pin::pin;
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::mpsc::sync_channel;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;
use std::time::Duration;

/// How a call is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mechanism {
    /// The generated stub.
    Synchronous,
    /// `sendc_echo` to a handler in this process.
    Callback,
    /// `sendp_echo`, then the poller's `echo`.
    Poller,
    /// `echo_async`.
    Future,
    /// `Request::invoke`.
    Dynamic,
    /// `Request::send_deferred`, then `get_response`.
    DynamicDeferred,
    /// The stub of `cube_struct`: a value to be marshalled both ways.
    Cube,
    /// The stub of `noop`: nothing to be marshalled.
    Noop,
}

impl FromStr for Mechanism {
    type Err = String;

    fn from_str(word: &str) -> Result<Mechanism, String> {
        Ok(match word {
            "synchronous" => Mechanism::Synchronous,
            "callback" => Mechanism::Callback,
            "poller" => Mechanism::Poller,
            "future" => Mechanism::Future,
            "dii" => Mechanism::Dynamic,
            "dii-deferred" => Mechanism::DynamicDeferred,
            "cube" => Mechanism::Cube,
            "noop" => Mechanism::Noop,
            _ => return Err(format!("no call is made by `{word}`")),
        })
    }
}

/// A call of `echo` that returns what the server returned.
pub(crate) type Call<'c> = Box<dyn FnMut(i64) -> Result<i64, Failure> + 'c>;

impl Mechanism {
    /// One call after the other.
    ///
    /// # Errors
    /// When a handler cannot be activated.
    pub(crate) fn call<'c>(self, orb: &'c Orb, echoer: &'c Echoer) -> Result<Call<'c>, Failure> {
        Ok(match self {
            Mechanism::Synchronous => Box::new(|value| Ok(echoer.echo(value)?)),
            Mechanism::Callback => callback(orb, echoer)?,
            Mechanism::Poller => Box::new(|value| Ok(echoer.sendp_echo(value)?.echo(None)?)),
            Mechanism::Future => Box::new(|value| Ok(wait_for(echoer.echo_async(value))?)),
            Mechanism::Dynamic => Box::new(|value| {
                let mut request = request(echoer, value)?;
                request.invoke()?;
                Ok(request.returned::<i64>()?)
            }),
            Mechanism::Cube => cube(Cubit::unchecked_narrow(echoer.as_object().clone())),
            Mechanism::Noop => {
                let cubit = Cubit::unchecked_narrow(echoer.as_object().clone());
                Box::new(move |value| Ok(cubit.noop().map(|()| value)?))
            }
            Mechanism::DynamicDeferred => Box::new(|value| {
                let mut request = request(echoer, value)?;
                request.send_deferred()?;
                request.get_response()?;
                Ok(request.returned::<i64>()?)
            }),
        })
    }

    /// Calls that no thread waits for one by one.
    ///
    /// # Errors
    /// When calls fail, or the mechanism waits for each.
    pub(crate) fn pipelined(self, orb: &Orb, echoer: &Echoer, n: u64) -> Result<Answer, Failure> {
        match self {
            Mechanism::Callback => {
                let (tally, handler) = tallying(orb)?;
                pipeline::calls(n, &tally, |value| {
                    pipeline::leave_room(value as u64, || tally.answered());
                    Ok(echoer.sendc_echo(&handler, value)?)
                })
            }
            Mechanism::DynamicDeferred => dynamic_pipelined(echoer, n),
            other => Err(format!("{other:?} waits for each call").into()),
        }
    }

    /// Calls without end, whatever becomes of the replies.
    ///
    /// # Errors
    /// When calls fail, or the mechanism waits for each.
    pub(crate) fn unbounded(
        self,
        orb: &Orb,
        echoer: &Echoer,
        window: Duration,
        step: Duration,
    ) -> Result<Answer, Failure> {
        if self != Mechanism::Callback {
            return Err(format!("{self:?} waits for each call").into());
        }
        let (tally, handler) = tallying(orb)?;
        let send = |value| {
            pipeline::leave_room(value as u64, || tally.answered());
            Ok(echoer.sendc_echo(&handler, value)?)
        };
        pipeline::unbounded(window, step, &tally, send)
    }
}

fn request(echoer: &Echoer, value: i64) -> Result<Request, SystemException> {
    let mut request = echoer.as_object().request("echo");
    request.add_in::<i64>("v", &value)?.set_return_type(TypeCode::LONGLONG);
    Ok(request)
}

/// How many deferred requests are kept: those that a client of 1998 would have called many.
const DEFERRED_MAX: usize = 16 * 1024;

/// One thread sends, another takes the responses in the same order.
fn dynamic_pipelined(echoer: &Echoer, calls: u64) -> Result<Answer, Failure> {
    let tally = Tally::default();
    let (sender, sent) = sync_channel::<Request>(DEFERRED_MAX);
    std::thread::scope(|scope| {
        let tally = &tally;
        scope.spawn(move || {
            for mut request in sent {
                match request.get_response().map(|()| request.returned::<i64>()) {
                    Ok(Ok(value)) => tally.reply(value),
                    _ => tally.failure(),
                }
            }
        });
        pipeline::calls(calls, tally, move |value| {
            let mut request = request(echoer, value)?;
            request.send_deferred()?;
            Ok(sender.send(request)?)
        })
    })
}

/// Has a struct cubed, and looks at the result.
fn cube<'c>(cubit: Cubit) -> Call<'c> {
    Box::new(move |value| {
        let sent = Many { o: (value & 3) as u8, l: (value & 1_023) as i32, s: (value & 15) as i16 };
        let back = cubit.cube_struct(&sent)?;
        let expected = Many { o: sent.o.pow(3), l: sent.l.pow(3), s: sent.s.pow(3) };
        if back == expected { Ok(value) } else { Err("the struct came back wrong".into()) }
    })
}

/// Sends, and works as the event loop until the handler was called: one thread does it all.
fn callback<'c>(orb: &'c Orb, echoer: &'c Echoer) -> Result<Call<'c>, Failure> {
    let last = Arc::new(Last::default());
    let handler = activate(orb, Arc::clone(&last))?;
    let mut sent = 0;
    Ok(Box::new(move |value| {
        sent += 1;
        echoer.sendc_echo(&handler, value)?;
        let is_here = || last.replies.load(Ordering::Acquire) == sent;
        match orb.work_until(&is_here, Some(Duration::from_secs(20))) {
            true => Ok(last.value.load(Ordering::Relaxed)),
            false => Err("no reply within 20 s, or an exception".into()),
        }
    }))
}

/// Keeps the reply that came last.
#[derive(Default)]
struct Last {
    value: AtomicI64,
    replies: AtomicU64,
}

/// What a handler does with the replies to `echo`.
trait Replies: Send + Sync + 'static {
    fn reply(&self, value: i64);
    fn failure(&self) {}
}

impl Replies for Last {
    fn reply(&self, value: i64) {
        self.value.store(value, Ordering::Relaxed);
        self.replies.fetch_add(1, Ordering::Release);
    }
}

impl Replies for Tally {
    fn reply(&self, value: i64) {
        Tally::reply(self, value);
    }

    fn failure(&self) {
        Tally::failure(self);
    }
}

/// A reply handler; only replies to `echo` are asked for.
struct Handler<R>(Arc<R>);

impl<R: Replies> AmiEchoerHandlerServant for Handler<R> {
    fn echo(&self, ami_return_val: i64) -> Result<(), SystemException> {
        self.0.reply(ami_return_val);
        Ok(())
    }

    fn received(&self, _: u64) -> Result<(), SystemException> {
        Ok(())
    }

    fn echo_octets(&self, _: &[u8]) -> Result<(), SystemException> {
        Ok(())
    }

    fn echo_excep(&self, _: &ExceptionHolder) -> Result<(), SystemException> {
        self.0.failure();
        Ok(())
    }

    fn received_excep(&self, _: &ExceptionHolder) -> Result<(), SystemException> {
        Ok(())
    }

    fn echo_octets_excep(&self, _: &ExceptionHolder) -> Result<(), SystemException> {
        Ok(())
    }
}

fn activate<R: Replies>(orb: &Orb, replies: Arc<R>) -> Result<AmiEchoerHandler, Failure> {
    let poa = orb.root_poa()?;
    poa.the_poa_manager().activate()?;
    Ok(poa.activate(AmiEchoerHandlerSkeleton::new(Handler(replies)))?)
}

fn tallying(orb: &Orb) -> Result<(Arc<Tally>, AmiEchoerHandler), Failure> {
    let tally = Arc::new(Tally::default());
    let handler = activate(orb, Arc::clone(&tally))?;
    Ok((tally, handler))
}

/// Sleeps until a future is ready: the smallest executor.
pub(crate) fn wait_for<F: Future>(future: F) -> F::Output {
    struct Unpark(Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(output) => return output,
            Poll::Pending => std::thread::park(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_mechanism_has_a_name() {
        for (name, mechanism) in [
            ("synchronous", Mechanism::Synchronous),
            ("callback", Mechanism::Callback),
            ("poller", Mechanism::Poller),
            ("future", Mechanism::Future),
            ("dii", Mechanism::Dynamic),
            ("dii-deferred", Mechanism::DynamicDeferred),
        ] {
            assert_eq!(name.parse(), Ok(mechanism));
        }
        assert!("magic".parse::<Mechanism>().is_err());
    }

    #[test]
    fn a_future_is_waited_for() {
        let mut left = 3;
        let future = std::future::poll_fn(move |context| {
            left -= 1;
            context.waker().wake_by_ref();
            if left == 0 { Poll::Ready(7) } else { Poll::Pending }
        });
        assert_eq!(wait_for(future), 7);
    }
}
