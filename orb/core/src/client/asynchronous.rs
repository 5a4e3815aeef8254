//! Calls whose caller does not wait: the request goes out over the connection that all threads
//! share, the reply goes to a sink.
//!
//! Called by generated code through `Object::invoke_async` and `Object::invoke_deferred`; replies
//! come back through `client/delivery`, which starts a call again here when it was forwarded or
//! surely not served. Paper AMI §3; CORBA Messaging §22.

use crate::client::attempts::{Attempts, FORWARDS_MAX, after_fault};
use crate::client::reply_sink::ReplySink;
use crate::client::write::{self, Arguments, Request, request_id_place};
use crate::client::{CallFault, PendingReply, Target, Waiting, rebind};
use crate::clock::Clock;
use crate::connection::MuxedConnection;
use crate::connection::muxed::{self, Dispatch};
use crate::policy::CallPolicies;
use crate::{Object, Operation};
use corbie_cdr::{ByteOrder, Encoder};
use corbie_connection::When;
use corbie_giop::ResponseFlags;
use corbie_types::{CompletionStatus, Ior, SystemException, SystemExceptionKind, minor};
use std::cell::Cell;
use std::sync::atomic::Ordering;
use std::time::Instant;

/// Arguments larger than this are not kept: such a call is not sent a second time.
const KEPT_BODY_OCTETS: usize = 64 << 10;

/// An asynchronous call on its way.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) object: Object,
    pub(crate) operation: Operation,
    pub(crate) sink: ReplySink,
    pub(crate) clock: Clock,
    pub(crate) attempts: Attempts,
    pub(crate) route: Route,
    /// Whether the thread that sends may wait for the server to take something.
    pub(crate) may_wait: bool,
    /// When the server is to answer.
    pub(crate) response: ResponseFlags,
}

/// Over which connection a request goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Route {
    /// The one that all share.
    Shared,
    /// One that no other request uses meanwhile, but that the event loop can read.
    Own,
}

/// A call whose reply is to come.
#[derive(Debug)]
pub(crate) struct PendingRequest {
    pub(crate) call: Call,
    pub(crate) body: Body,
    /// When it is over.
    pub(crate) deadline: Option<Instant>,
    /// How many requests without an end of their own were sent before it on its connection.
    pub(crate) oneways_before: u64,
}

/// The arguments as they were sent, in order to send them again.
#[derive(Debug)]
pub(crate) struct Body {
    /// Where they began within the message: decides their alignment.
    position: usize,
    /// `None`: they were too many octets.
    pub(crate) octets: Option<Vec<u8>>,
}

/// Sends a request whose reply goes to `sink`.
///
/// # Errors
/// See [`Object::invoke_async`].
pub(crate) fn invoke_async<'a>(
    object: &Object,
    operation: &Operation,
    arguments: Arguments<'_, 'a>,
    sink: ReplySink,
) -> Result<(), SystemException> {
    invoke_on(Route::Shared, object, operation, arguments, sink)
}

/// As [`invoke_async`], and never waits for the server to take what is sent.
///
/// # Errors
/// See [`Object::invoke_async_if_room`].
pub(crate) fn invoke_if_room<'a>(
    object: &Object,
    operation: &Operation,
    arguments: Arguments<'_, 'a>,
    sink: ReplySink,
) -> Result<(), SystemException> {
    let policies = CallPolicies::effective(object)?;
    let how = (Route::Shared, ResponseFlags::WithTarget);
    let mut call = begin(object, operation, &policies, sink, how)?;
    call.may_wait = false;
    let content = Content { arguments, policies: &policies };
    start(call, content).map_err(|(_call, exception)| exception)
}

/// As [`invoke_async`], by `route`.
///
/// # Errors
/// See [`Object::invoke_async`].
pub(crate) fn invoke_on<'a>(
    route: Route,
    object: &Object,
    operation: &Operation,
    arguments: Arguments<'_, 'a>,
    sink: ReplySink,
) -> Result<(), SystemException> {
    let policies = CallPolicies::effective(object)?;
    let how = (route, ResponseFlags::WithTarget);
    send_for(object, operation, arguments, &policies, sink, how)
}

/// Sends a request whose reply goes to `sink`, by `policies`. `how`: over which connection, and
/// which answer the server is to give.
///
/// # Errors
/// See [`Object::invoke_async`].
pub(crate) fn send_for(
    object: &Object,
    operation: &Operation,
    arguments: Arguments<'_, '_>,
    policies: &CallPolicies,
    sink: ReplySink,
    how: (Route, ResponseFlags),
) -> Result<(), SystemException> {
    let call = begin(object, operation, policies, sink, how)?;
    start(call, Content { arguments, policies }).map_err(|(_call, exception)| exception)
}

fn begin(
    object: &Object,
    operation: &Operation,
    policies: &CallPolicies,
    sink: ReplySink,
    (route, response): (Route, ResponseFlags),
) -> Result<Call, SystemException> {
    let clock = policies.begin()?;
    let attempts = Attempts::default();
    let (object, operation) = (object.clone(), operation.clone());
    Ok(Call { object, operation, sink, clock, attempts, route, may_wait: true, response })
}

/// Sends a request whose reply is asked for later.
///
/// # Errors
/// See [`Object::invoke_deferred`].
pub(crate) fn invoke_deferred<'a>(
    object: &Object,
    operation: &Operation,
    arguments: Arguments<'_, 'a>,
) -> Result<PendingReply, SystemException> {
    let waiting = Waiting::new();
    invoke_async(object, operation, arguments, ReplySink::waiting(&waiting))?;
    Ok(PendingReply::new(object.orb(), waiting))
}

/// What a request says.
#[derive(Clone, Copy)]
struct Content<'r, 'a> {
    arguments: Arguments<'r, 'a>,
    policies: &'r CallPolicies,
}

/// Makes a synchronous call again when it has to go to another place and its arguments have to be
/// encoded anew for that.
///
/// # Errors
/// Those of the last `call`.
pub(crate) fn invoke_again<T>(
    call: impl Fn() -> Result<T, SystemException>,
) -> Result<T, SystemException> {
    for _ in 0..FORWARDS_MAX {
        match call() {
            Err(exception)
                if exception.minor == minor::TRANSIENT_SENT_ON
                    && exception.kind == SystemExceptionKind::Transient
                    && exception.completed == CompletionStatus::No => {}
            outcome => return outcome,
        }
    }
    call()
}

/// Sends the request to each place of the object in turn until one takes it.
///
/// # Errors
/// The call comes back with what went wrong at the last place.
#[expect(clippy::result_large_err, reason = "the call goes back to where it came from")]
fn start(mut call: Call, content: Content<'_, '_>) -> Result<(), (Call, SystemException)> {
    loop {
        let object = call.object.clone();
        let binding = match object.binding() {
            Ok(binding) => binding,
            Err(exception) => return Err((call, exception)),
        };
        let ior = binding.ior().unwrap_or(object.ior());
        let target = binding.target(call.attempts.address());
        let Err((returned, fault)) = send(call, target, ior, content) else { return Ok(()) };
        call = returned;
        call.clock.sending_again();
        let Call { operation, attempts, .. } = &mut call;
        if let Err(exception) = after_fault(&object, operation, &binding, attempts, fault) {
            return Err((call, exception));
        }
    }
}

/// Sends a call again with the arguments it was sent with.
///
/// # Errors
/// As [`start`]; `TRANSIENT` (`COMPLETED_NO`) when they cannot be sent again as they are.
#[expect(clippy::result_large_err, reason = "the call goes back to where it came from")]
pub(crate) fn start_again(pending: PendingRequest) -> Result<(), (Call, SystemException)> {
    let PendingRequest { call, body, .. } = pending;
    let Some(octets) = body.octets else {
        let exception = not_kept(&call.operation);
        return Err((call, exception));
    };
    let object = call.object.clone();
    let policies = match CallPolicies::effective(&object) {
        Ok(policies) => policies,
        Err(exception) => return Err((call, exception)),
    };
    let fits = Cell::new(true);
    let arguments: Arguments<'_, '_> = &|e| {
        // An empty list of arguments fits everywhere.
        fits.set(octets.is_empty() || e.position() % 8 == body.position % 8);
        if fits.get() {
            e.write_octets(&octets);
            return Ok(());
        }
        let found = format!("position {}", e.position());
        Err(e.error(corbie_cdr::ErrorKind::BadParameter, "arguments", found, "their alignment"))
    };
    start(call, Content { arguments, policies: &policies }).map_err(|(call, exception)| {
        let exception = if fits.get() { exception } else { not_kept(&call.operation) };
        (call, exception)
    })
}

#[cold]
fn not_kept(operation: &Operation) -> SystemException {
    SystemException::transient(minor::TRANSIENT_SENT_ON, CompletionStatus::No).with_detail(format!(
        "{} has to be sent to another place, for which its arguments have to be encoded anew; \
             call it again",
        operation.name()
    ))
}

/// Sends the request to `target`.
///
/// # Errors
/// The call comes back with what went wrong.
#[expect(clippy::result_large_err, reason = "the call goes back to where it came from")]
fn send<'a>(
    mut call: Call,
    target: &Target,
    ior: &Ior,
    content: Content<'_, 'a>,
) -> Result<(), (Call, CallFault)> {
    let (orb, route, response) = (call.object.orb().clone(), call.route, call.response);
    let opening = rebind::opening(&call.object, content.policies, target);
    let connection = match target.pool.shared(&orb, &mut call.clock, route, opening) {
        Ok(connection) => connection,
        Err(fault) => return Err((call, fault.into())),
    };
    // Where no thread will wait for the reply, the event loop reads it.
    if call.sink.as_waiting().is_none()
        && let Err(exception) = connection.ensure_read(&orb)
    {
        connection.release();
        return Err((call, exception.into()));
    }
    let mut encoder: Encoder<'a> = Encoder::pooled(ByteOrder::NATIVE);
    let announce =
        target.announces_code_sets && !connection.code_sets_announced.load(Ordering::Relaxed);
    let written = write_request(&call, &connection, target, ior, content, &mut encoder, announce);
    let sent = match written {
        Ok(position) => hand_over(call, &connection, target, content, position, &mut encoder),
        // Nothing was sent: the caller's arguments are at fault, not the connection.
        Err(error) => Err((call, SystemException::from(error).into())),
    };
    if sent.is_ok() && announce {
        connection.code_sets_announced.store(true, Ordering::Relaxed);
    }
    if sent.is_ok() && response == ResponseFlags::WithServer {
        // Its upcall may begin after the answer: nothing is to overtake it.
        connection.note_oneway();
    }
    connection.release();
    if route == Route::Shared {
        target.pool.note_shared_use();
    }
    sent
}

/// Writes the request with an id of 0; where its arguments begin.
fn write_request<'a>(
    call: &Call,
    connection: &MuxedConnection,
    target: &Target,
    ior: &Ior,
    content: Content<'_, 'a>,
    encoder: &mut Encoder<'a>,
    announce: bool,
) -> Result<usize, corbie_cdr::Error> {
    encoder.set_version(target.version);
    encoder.set_code_sets(connection.code_sets);
    let code_sets = announce.then_some(connection.code_sets);
    let begin = Cell::new(0);
    let noted = |e: &mut Encoder<'a>| {
        begin.set(e.len());
        (content.arguments)(e)
    };
    let policies = content.policies;
    let request = Request { operation: &call.operation, arguments: &noted, ior, policies };
    write::write(encoder, 0, target, &request, call.response, code_sets)?;
    Ok(begin.get())
}

/// Gives the written request to the connection.
#[expect(clippy::result_large_err, reason = "the call goes back to where it came from")]
fn hand_over(
    mut call: Call,
    connection: &MuxedConnection,
    target: &Target,
    content: Content<'_, '_>,
    position: usize,
    encoder: &mut Encoder<'_>,
) -> Result<(), (Call, CallFault)> {
    let id_place = match request_id_place(encoder, target.version) {
        Ok(place) => place,
        Err(error) => return Err((call, SystemException::from(error).into())),
    };
    let orb = call.object.orb().clone();
    let (sending, ready) = (call.clock, call.attempts);
    call.clock.sent();
    call.attempts.sent();
    let is_kept = !encoder.has_chunks() && encoder.len() <= position + KEPT_BODY_OCTETS;
    let dispatch = Dispatch {
        version: target.version,
        fragment_octets: orb.fragment_octets(target.version),
        body_place: is_kept.then_some(position),
        id_place,
        when: content
            .policies
            .buffering
            .map_or(When::Now, |held| muxed::held_call(held, sending.start)),
    };
    let deadline = call.clock.deadline();
    let body = Body { position, octets: None };
    let request = PendingRequest { call, body, deadline, oneways_before: 0 };
    let sent = connection.send(&orb, request, encoder, &dispatch, &sending);
    sent.map_err(|(request, fault)| (Call { attempts: ready, ..request.call }, fault.into()))
}
