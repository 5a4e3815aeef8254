//! What is settled between receiving a request and its upcall, where the request asks for it: is
//! there still time, and is it to be acknowledged first (CORBA Messaging §22.2.2, §22.2.4). Before
//! that, for which user the call is made, and whether it may be made at all; and interceptors see
//! it.
//!
//! Called by `dispatch` only for requests that carry service contexts or ask for an answer from
//! the server instead of the target, and where `attention` is wanted: for interceptors, access
//! rules, a `Current`, spans.

use crate::Orb;
use crate::server::csi::{self, Settled};
use crate::server::interceptor::Intercepted;
use crate::server::{
    Location, ServerConnection, ServerRequest, Wanted, access, bidirectional, current, dispatch,
};
use corbie_giop::ResponseFlags;
use corbie_types::SystemException;
use std::sync::Arc;

/// Settles it, and has the servant answer.
///
/// # Errors
/// As [`admit`]; what the servant raised.
#[cold]
pub(crate) fn serve(
    orb: &Orb,
    connection: &Arc<ServerConnection>,
    request: &mut ServerRequest<'_>,
) -> Result<(), SystemException> {
    as_span(orb, request, |request| {
        if connection.is_bidirectional() {
            bidirectional::admit(orb, connection, request)?;
        }
        // Where its user is not known yet, it waits, and is served again from here.
        if orb.server().attention.has(Wanted::Users)
            && csi::settle(orb, connection, request)? == Settled::Later
        {
            return Ok(());
        }
        admit(orb, connection, request)?;
        // An interceptor may have sent the client to another object.
        if request.is_answered() { Ok(()) } else { shown(orb, request) }
    })
}

/// As [`serve`], for a request that waited since: settles only whether there is still time, unless
/// it waited for its user to be known.
///
/// # Errors
/// As [`serve`].
pub(crate) fn serve_again(
    orb: &Orb,
    request: &mut ServerRequest<'_>,
) -> Result<(), SystemException> {
    if let Some(connection) = request.take_to_admit() {
        return serve(orb, connection, request);
    }
    as_span(orb, request, |request| {
        if let Some(policies) = request.invocation_policies()? {
            policies.check_in_time(request.operation(), request.response_expected())?;
        }
        shown(orb, request)
    })
}

/// As [`serve`], for a request that needs no admission, as those of this process.
///
/// # Errors
/// What the servant raised.
#[cold]
pub(crate) fn serve_admitted(
    orb: &Orb,
    request: &mut ServerRequest<'_>,
) -> Result<(), SystemException> {
    as_span(orb, request, |request| shown(orb, request))
}

/// Has the servant answer; the request is shown to it where the application has a `Current`.
fn shown(orb: &Orb, request: &mut ServerRequest<'_>) -> Result<(), SystemException> {
    let server = orb.server();
    let is_wanted = server.attention.has(Wanted::Current);
    let _showing = is_wanted.then(|| current::show(request.context()));
    dispatch::serve(server, request)
}

/// Runs `serve`, within a span where the setting `request_spans` says so.
fn as_span<'r, R>(
    orb: &Orb,
    request: &mut ServerRequest<'r>,
    serve: impl FnOnce(&mut ServerRequest<'r>) -> R,
) -> R {
    if !orb.server().attention.has(Wanted::Spans) {
        return serve(request);
    }
    let (peer, operation, request_id) = (request.peer(), request.operation(), request.request_id());
    let span =
        tracing::info_span!(target: "corbie::request", "request", %peer, operation, request_id);
    span.in_scope(|| serve(request))
}

/// Settles it; the upcall may begin then.
///
/// # Errors
/// `TIMEOUT` (`COMPLETED_NO`) when the end time of the request or its reply has passed, `MARSHAL`
/// (`COMPLETED_NO`) when its policies cannot be read, `NO_PERMISSION` (`COMPLETED_NO`) when access
/// rules refuse it; what an interceptor raised.
fn admit(
    orb: &Orb,
    connection: &Arc<ServerConnection>,
    request: &mut ServerRequest<'_>,
) -> Result<(), SystemException> {
    access::check(orb, connection, request)?;
    if connection.is_bidirectional() {
        bidirectional::take_offer(orb, connection, request)?;
    }
    let looking = orb.server().attention.now();
    if looking.has(Wanted::Hooks) || looking.has(Wanted::Interceptors) {
        Intercepted::receive(request)?;
        if request.is_answered() {
            return Ok(());
        }
    }
    if let Some(policies) = request.invocation_policies()? {
        policies.check_in_time(request.operation(), request.response_expected())?;
    }
    // Where the object is not here, the ordinary way raises OBJECT_NOT_EXIST or forwards.
    if request.response() == ResponseFlags::WithServer && is_here(orb, request.object_key()) {
        request.acknowledge()?;
    }
    Ok(())
}

fn is_here(orb: &Orb, object_key: &[u8]) -> bool {
    let adapter = orb.server().adapter.get();
    adapter.is_some_and(|adapter| adapter.locate(object_key) == Location::Here)
}
