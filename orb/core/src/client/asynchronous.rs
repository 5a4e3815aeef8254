//! Calls whose caller does not wait: the request goes out over the connection that all threads
//! share, the reply goes to a sink. A thread that makes such a call, or sends it again, never
//! waits: without a connection the call stands in the line of the pool; without room it is refused.
//!
//! Called by generated code through `Object::invoke_async` and `Object::invoke_deferred`; replies
//! come back through `client/delivery`, which starts a call again here when it was forwarded or
//! surely not served. Paper AMI §3; CORBA Messaging §22.

use crate::client::attempts::after_fault;
use crate::client::reply_sink::ReplySink;
use crate::client::write::{self, Arguments, Request, copy_from, request_id_place};
use crate::client::{CallFault, PendingReply, Target, Waiting, rebind};
use crate::clock::Clock;
use crate::connection::muxed::{self, Dispatch};
use crate::connection::{ConnectionPool, MuxedConnection, NotInLine};
use crate::policy::{CallPolicies, Effective, has_thread_overrides};
use crate::{Object, Operation};
use corbie_cdr::{ByteOrder, CodeSets, Encoder};
use corbie_connection::When;
use corbie_giop::ResponseFlags;
use corbie_giop::{Attempts, FORWARDS_MAX};
use corbie_types::{CompletionStatus, Ior, SystemException, SystemExceptionKind, minor};
use std::cell::Cell;
use std::sync::Arc;
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
    /// Whether the thread that sends may wait: for a connection, for room, for the server to take
    /// something. Only that of a synchronous call may.
    pub(crate) may_wait: bool,
    /// What the call goes by, where its thread had policies of its own.
    pub(crate) policies: Option<Box<CallPolicies>>,
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
pub(crate) struct AwaitedCall {
    pub(crate) call: Call,
    pub(crate) body: Body,
    /// When it is over.
    pub(crate) deadline: Option<Instant>,
    /// How many requests without an end of their own were sent before it on its connection.
    pub(crate) oneways_before: u64,
}

/// The arguments as they were written, in order to send them again, or later.
#[derive(Debug)]
pub(crate) struct Body {
    /// Where they began within the message: decides their alignment.
    position: usize,
    /// Whether the message told the server the code sets, which moves the arguments.
    announces: bool,
    /// `None`: they were too many octets.
    pub(crate) octets: Option<Vec<u8>>,
}

impl Body {
    /// Octets that are kept.
    pub(crate) fn len(&self) -> usize {
        self.octets.as_ref().map_or(0, Vec::len)
    }
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
    let mut call = begin(object, operation, &policies, sink, how)?;
    call.may_wait = false;
    start(call, Content::new(arguments, &policies), None).map_err(|(_call, exception)| exception)
}

/// Sends the request of a synchronous call, whose reply goes to `sink`, by `policies`. `how`: over
/// which connection, and which answer the server is to give.
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
    start(call, Content::new(arguments, policies), None).map_err(|(_call, exception)| exception)
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
    let policies = has_thread_overrides().then(|| Box::new(policies.clone()));
    Ok(Call { object, operation, sink, clock, attempts, route, may_wait: true, policies, response })
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
    /// Whether it tells the server the code sets in any case.
    announces: bool,
}

impl<'r, 'a> Content<'r, 'a> {
    fn new(arguments: Arguments<'r, 'a>, policies: &'r CallPolicies) -> Self {
        Content { arguments, policies, announces: false }
    }
}

/// The connection that a call which stood in a line was waiting for, and the pool that has it.
pub(crate) type Opened<'o> = Option<(&'o ConnectionPool, &'o Arc<MuxedConnection>)>;

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

/// Sends the request to each place of the object in turn until one takes it, over `opened` if that
/// is the place.
///
/// # Errors
/// The call comes back with what went wrong at the last place.
#[expect(clippy::result_large_err, reason = "the call goes back to where it came from")]
fn start(
    mut call: Call,
    content: Content<'_, '_>,
    opened: Opened<'_>,
) -> Result<(), (Call, SystemException)> {
    loop {
        let object = call.object.clone();
        let binding = match object.binding() {
            Ok(binding) => binding,
            Err(exception) => return Err((call, exception)),
        };
        let ior = binding.ior().unwrap_or(object.ior());
        let target = binding.target(call.attempts.address());
        let (returned, fault) = match send(call, target, ior, content, opened) {
            Ok(()) => return Ok(()),
            Err((returned, NotStarted::Opened)) => {
                call = returned;
                continue;
            }
            Err((returned, NotStarted::Fault(fault))) => (returned, fault),
        };
        call = returned;
        call.clock.sending_again();
        let Call { operation, attempts, .. } = &mut call;
        if let Err(exception) = after_fault(&object, operation, &binding, attempts, fault) {
            return Err((call, exception));
        }
    }
}

/// Why a request was not sent.
enum NotStarted {
    /// There is a connection now, which there was not a moment ago.
    Opened,
    Fault(CallFault),
}

impl<F: Into<CallFault>> From<F> for NotStarted {
    fn from(fault: F) -> Self {
        NotStarted::Fault(fault.into())
    }
}

/// Sends a call with the arguments that were kept, over `opened` if that leads to its place. The
/// thread that does it never waits.
///
/// # Errors
/// As [`start`]; `TRANSIENT` (`COMPLETED_NO`) when they cannot be sent as they are.
#[expect(clippy::result_large_err, reason = "the call goes back to where it came from")]
pub(crate) fn start_again(
    pending: AwaitedCall,
    opened: Opened<'_>,
) -> Result<(), (Call, SystemException)> {
    let AwaitedCall { mut call, body, .. } = pending;
    let Some(octets) = body.octets else {
        let exception = not_kept(&call.operation);
        return Err((call, exception));
    };
    call.may_wait = false;
    let object = call.object.clone();
    let policies = match policies_of(&object, call.policies.as_deref()) {
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
    let content = Content { arguments, policies: &policies, announces: body.announces };
    start(call, content, opened).map_err(|(call, exception)| {
        let exception = if fits.get() { exception } else { not_kept(&call.operation) };
        (call, exception)
    })
}

/// What a call goes by that another thread may have made: what was `kept` of its policies, else
/// those of its reference.
///
/// # Errors
/// As [`CallPolicies::effective`].
pub(crate) fn policies_of<'o>(
    object: &'o Object,
    kept: Option<&CallPolicies>,
) -> Result<Effective<'o>, SystemException> {
    match kept {
        Some(policies) => Ok(Effective::Joined(policies.clone())),
        None => CallPolicies::of_any_thread(object),
    }
}

#[cold]
fn not_kept(operation: &Operation) -> SystemException {
    SystemException::transient(minor::TRANSIENT_SENT_ON, CompletionStatus::No).with_detail(format!(
        "{} has to be sent to another place, for which its arguments have to be encoded anew; \
             call it again",
        operation.name()
    ))
}

/// Sends the request to `target`, or puts it in the line there.
///
/// # Errors
/// The call comes back with what went wrong.
#[expect(clippy::result_large_err, reason = "the call goes back to where it came from")]
fn send<'a>(
    mut call: Call,
    target: &Target,
    ior: &Ior,
    content: Content<'_, 'a>,
    opened: Opened<'_>,
) -> Result<(), (Call, NotStarted)> {
    let (orb, route, response) = (call.object.orb().clone(), call.route, call.response);
    let found = match opened {
        Some((pool, connection)) if is_at(target, pool) && connection.is_open() => {
            Some(Arc::clone(connection))
        }
        _ if call.may_wait => {
            let opening = rebind::opening(&call.object, content.policies, target);
            match target.pool.shared(&orb, &mut call.clock, route, opening) {
                Ok(connection) => Some(connection),
                Err(fault) => return Err((call, fault.into())),
            }
        }
        _ => target.pool.shared_now(route),
    };
    let Some(connection) = found else { return stand_in_line(call, target, ior, content) };
    // Where no thread will wait for the reply, the event loop reads it.
    if call.sink.as_waiting().is_none()
        && let Err(exception) = connection.ensure_read(&orb)
    {
        connection.release();
        return Err((call, exception.into()));
    }
    let mut encoder: Encoder<'a> = Encoder::pooled(ByteOrder::NATIVE);
    let is_announced = || connection.code_sets_announced.load(Ordering::Relaxed);
    let announces = target.announces_code_sets && (content.announces || !is_announced());
    let code_sets = connection.code_sets;
    let written = write_request(&call, code_sets, target, ior, content, &mut encoder, announces);
    let sent = match written {
        Ok(position) => {
            let body = Body { position, announces, octets: None };
            hand_over(call, &connection, target, content, body, &mut encoder)
        }
        // Nothing was sent: the caller's arguments are at fault, not the connection.
        Err(error) => Err((call, SystemException::from(error).into())),
    };
    if sent.is_ok() && announces {
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

fn is_at(target: &Target, pool: &ConnectionPool) -> bool {
    std::ptr::eq(&raw const *target.pool, pool)
}

/// There is no connection yet: keeps the arguments, and has the call wait for one. They are written
/// as for the first request of a connection.
#[cold]
#[expect(clippy::result_large_err, reason = "the call goes back to where it came from")]
fn stand_in_line<'a>(
    call: Call,
    target: &Target,
    ior: &Ior,
    content: Content<'_, 'a>,
) -> Result<(), (Call, NotStarted)> {
    let (orb, pool) = (call.object.orb().clone(), &target.pool);
    let mut encoder: Encoder<'a> = Encoder::pooled(ByteOrder::NATIVE);
    let announces = target.announces_code_sets;
    let code_sets = pool.code_sets();
    let written = write_request(&call, code_sets, target, ior, content, &mut encoder, announces);
    let position = match written {
        Ok(position) => position,
        Err(error) => return Err((call, SystemException::from(error).into())),
    };
    let mut octets = Vec::with_capacity(encoder.len().saturating_sub(position));
    copy_from(&encoder, position, &mut octets);
    drop(encoder);
    let opening = rebind::opening(&call.object, content.policies, target);
    let body = Body { position, announces, octets: Some(octets) };
    let deadline = call.clock.deadline();
    let waits = AwaitedCall { call, body, deadline, oneways_before: 0 };
    let stands = pool.stand_in_line(&orb, waits, opening);
    stands.map_err(|(waits, why)| match why {
        NotInLine::Opened => (waits.call, NotStarted::Opened),
        NotInLine::Fault(fault) => (waits.call, fault.into()),
    })
}

/// Writes the request with an id of 0; where its arguments begin.
fn write_request<'a>(
    call: &Call,
    code_sets: CodeSets,
    target: &Target,
    ior: &Ior,
    content: Content<'_, 'a>,
    encoder: &mut Encoder<'a>,
    announces: bool,
) -> Result<usize, corbie_cdr::Error> {
    encoder.set_version(target.version);
    encoder.set_code_sets(code_sets);
    let code_sets = announces.then_some(code_sets);
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
    body: Body,
    encoder: &mut Encoder<'_>,
) -> Result<(), (Call, NotStarted)> {
    let id_place = match request_id_place(encoder, target.version) {
        Ok(place) => place,
        Err(error) => return Err((call, SystemException::from(error).into())),
    };
    let orb = call.object.orb().clone();
    let (sending, ready) = (call.clock, call.attempts);
    call.clock.sent();
    call.attempts.sent();
    let position = body.position;
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
    let request = AwaitedCall { call, body, deadline, oneways_before: 0 };
    let sent = connection.send(&orb, request, encoder, &dispatch, &sending);
    sent.map_err(|(request, fault)| (Call { attempts: ready, ..request.call }, fault.into()))
}
