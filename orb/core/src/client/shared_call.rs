//! Synchronous calls over a connection that calls share, and the ways to wait for their replies.
//!
//! Taken by `call` where `transport_multiplexing` or `reply_wait` says so, and where requests of
//! asynchronous calls or oneways are on their way to the same place: a synchronous call must not
//! overtake them. Paper AMI §3.1: wait-on-read, wait-on-reactor, wait-on-leader/followers.

use crate::client::asynchronous::{Route, invoke_again, send_for};
use crate::client::write::Arguments;
use crate::client::{Reply, ReplySink, Waiting};
use crate::policy::CallPolicies;
use crate::server::stand_in;
use crate::{Object, Operation, Orb};
use corbie_giop::ResponseFlags;
use corbie_settings::{ReplyWait, TransportMultiplexing};
use corbie_threads::thread::{Loop, loop_to_run, runs_loop};
use corbie_types::SystemException;
use std::cell::RefCell;
use std::sync::Arc;

thread_local! {
    /// What this thread waited with last, to be used again.
    static WAITING: RefCell<Option<Arc<Waiting>>> = const { RefCell::new(None) };
}

/// Over what a synchronous call of `object` goes; `None`: over a connection that it has for itself
/// and reads itself, which is the usual way.
#[inline]
pub(crate) fn route(object: &Object) -> Option<Route> {
    let settings = object.orb().settings();
    let usual = settings.transport_multiplexing == TransportMultiplexing::Exclusive
        && settings.reply_wait == ReplyWait::Read;
    if usual && !runs_loop() && !object.follows_shared_requests() {
        return None;
    }
    unusual_route(object)
}

#[cold]
fn unusual_route(object: &Object) -> Option<Route> {
    let settings = object.orb().settings();
    if object.follows_shared_requests() {
        return Some(Route::Shared);
    }
    let is_exclusive = settings.transport_multiplexing == TransportMultiplexing::Exclusive;
    let reads = settings.reply_wait == ReplyWait::Read && loop_to_run().is_none();
    match (is_exclusive, reads) {
        (true, true) => None,
        (true, false) => Some(Route::Own),
        (false, _) => Some(Route::Shared),
    }
}

/// Calls an operation and returns its reply.
///
/// # Errors
/// See [`Object::invoke`].
pub(crate) fn invoke(
    object: &Object,
    operation: &Operation,
    arguments: Arguments<'_, '_>,
    policies: &CallPolicies,
    how: (Route, ResponseFlags),
) -> Result<Reply, SystemException> {
    let orb = object.orb();
    invoke_again(|| {
        let waiting = WAITING.with(RefCell::take).unwrap_or_default();
        let sink = ReplySink::waiting(&waiting);
        let outcome = send_for(object, operation, arguments, policies, sink, how).and_then(|()| {
            let _stand_in = stand_in::before_waiting();
            wait(orb, &waiting, how.0);
            waiting.take()
        });
        if let Some(waiting) = Waiting::reset(waiting) {
            WAITING.with(|slot| *slot.borrow_mut() = Some(waiting));
        }
        outcome
    })
}

/// Waits as the setting `reply_wait` says; but inside an upcall of an event loop that no other
/// thread runs, in that loop.
fn wait(orb: &Orb, waiting: &Arc<Waiting>, route: Route) {
    let of_orb = || {
        orb.reactor().is_ok_and(|of_orb| {
            let reactor: Arc<dyn Loop> = Arc::clone(of_orb) as _;
            waiting.wait_in_event_loop(orb, &reactor)
        })
    };
    let is_ready = match (loop_to_run(), orb.settings().reply_wait) {
        (Some(reactor), _) => waiting.wait_in_event_loop(orb, &reactor),
        (None, ReplyWait::Read) => false,
        (None, ReplyWait::Reactor) => waiting.wait_in_own_loop(orb, route),
        (None, ReplyWait::LeaderFollowers) => of_orb(),
    };
    if !is_ready {
        // Ends with the call's own time at the latest.
        waiting.wait(orb, None);
    }
}
