//! One message of a client: a request goes to its servant, and its reply back.
//!
//! Called by the concurrency strategies with a whole message; asks the [`Adapter`] for the servant.
//! The thread that calls this sends the reply (invariant 3 of `ARCHITECTURE.md`).
//!
//! [`Adapter`]: crate::server::Adapter

use crate::profile;
use crate::server::held::{self, HeldCall, HeldRequest};
use crate::server::request::is_permitted_over;
use crate::server::{
    Location, Server, ServerConnection, ServerRequest, Wanted, access, admission, bidirectional,
    panic, peers,
};
use crate::{Object, Orb};
use corbie_cdr::{Decoder, Encoder, Marshal as _, Version, payload};
use corbie_connection::ConnectionFault;
use corbie_giop::{
    GiopError, Incoming, LocateReplyHeader, LocateStatus, Message, OwnedMessage, RequestHeader,
    ResponseFlags, ServiceContexts, Target, finish_message, write_locate_reply,
};
use corbie_settings::TlsProtection;
use corbie_threads::thread::serve_for_a_while;
use corbie_types::{Ior, SystemException, SystemExceptionKind, minor};
use std::borrow::Cow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Handles `message`. `begins` is called before the upcall, when
/// all that concerns the connection itself was taken from the message: it is told whether the next
/// message may be served before this one is done. (Oneways are served in the order in which they
/// came.)
#[inline]
pub(crate) fn message(
    orb: &Orb,
    connection: &Arc<ServerConnection>,
    message: &OwnedMessage,
    incoming: Incoming,
    begins: impl FnOnce(bool),
) {
    peers::note_request(connection);
    let memory = message.memory();
    let message = message.as_message();
    let handled = match incoming {
        Incoming::Request if memory.is_some() => {
            // Servants may keep what they get where it is.
            payload::reading(memory, || request(orb, connection, &message, begins))
        }
        Incoming::Request => request(orb, connection, &message, begins),
        incoming => {
            begins(true);
            other(orb, connection, &message, incoming)
        }
    };
    if let Err(error) = handled {
        connection.refuse(&error);
    }
}

#[inline]
fn request(
    orb: &Orb,
    connection: &Arc<ServerConnection>,
    message: &Message<'_>,
    begins: impl FnOnce(bool),
) -> Result<(), GiopError> {
    // Lives as long as the arguments.
    let from_peer;
    // Decoded where it stays: nothing is copied.
    let mut arguments = message.decoder();
    let header = RequestHeader::decode(&mut arguments)?;
    let has_contexts = !header.service_contexts.is_empty();
    if has_contexts && let Some(code_sets) = header.service_contexts.code_sets()? {
        bidirectional::note_code_sets(connection, code_sets);
    }
    let to_admit = has_contexts
        | (header.response == ResponseFlags::WithServer)
        | connection.is_bidirectional();
    arguments.set_code_sets(connection.state().code_sets.get());
    arguments.set_limits(orb.limits());
    arguments.set_context(Some(orb));
    let server = orb.server();
    let looking = server.attention.now();
    if looking.has(Wanted::Givers) {
        from_peer = access::from_peer(orb, connection);
        arguments.set_context(Some(&from_peer));
    }
    // Closing: the client sends it again elsewhere, as CloseConnection tells it to.
    let Some(_in_service) = connection.begin_request() else { return Ok(()) };
    let object_key = object_key(orb, &header.target);
    begins(may_be_overtaken(server, header.response, &object_key));
    let came_in = Some(message);
    let mut request =
        ServerRequest::new(orb, Some(connection), &header, &object_key, &arguments, came_in);
    let outcome = match to_admit | looking.is_any() {
        false => serve(server, &mut request),
        true => admission::serve(orb, connection, &mut request),
    };
    request.conclude(outcome);
    Ok(())
}

/// Whether what the client sends next may be served before a request has been. Not where the client
/// does not wait for it, nor where its object keeps the order.
#[inline]
fn may_be_overtaken(server: &Server, response: ResponseFlags, object_key: &[u8]) -> bool {
    let keeps_order = server.has_order.load(Ordering::Relaxed) && keeps_order(server, object_key);
    response == ResponseFlags::WithTarget && !keeps_order
}

#[cold]
fn keeps_order(server: &Server, object_key: &[u8]) -> bool {
    server.adapter.get().is_some_and(|adapter| adapter.keeps_order(object_key))
}

impl Orb {
    /// From now on the adapter is asked which objects keep the order of requests
    /// ([`Adapter::keeps_order`](crate::server::Adapter::keeps_order)). Called by the adapter
    /// before it serves one.
    pub fn expect_order(&self) {
        self.server().has_order.store(true, Ordering::Relaxed);
    }
}

/// Calls `operation` of an object that this ORB serves ([`Object::is_local`]), without a
/// connection: `arguments` stands at the first argument, in whatever message it lies. Results are
/// dropped; the operation may defer. Returns when the upcall has.
///
/// # Errors
/// What the servant raised; `OBJECT_NOT_EXIST` (`COMPLETED_NO`) when there is no such object.
pub fn serve_local(
    object: &Object,
    operation: &str,
    arguments: Decoder<'_>,
) -> Result<(), SystemException> {
    let (orb, object_key) = (object.orb(), object.local_key().unwrap_or_default());
    let header = local_header(object_key, operation);
    let mut request = ServerRequest::new(orb, None, &header, object_key, &arguments, None);
    let _serving = serve_for_a_while();
    let server = orb.server();
    match server.attention.now().is_any() {
        false => serve(server, &mut request),
        true => admission::serve_admitted(orb, &mut request),
    }
}

fn local_header<'a>(object_key: &'a [u8], operation: &'a str) -> RequestHeader<'a> {
    RequestHeader {
        request_id: 0,
        response: ResponseFlags::None,
        target: Target::Key(object_key),
        operation,
        service_contexts: ServiceContexts::EMPTY,
    }
}

/// Serves a request that was held. `begins` as in [`message`].
pub(crate) fn held_request(orb: &Orb, mut held: HeldRequest, begins: impl FnOnce(bool)) {
    if held.is_orphan() {
        return; // The client is gone.
    }
    held.begin_service();
    with_held(&mut held, |request| {
        begins(may_be_overtaken(orb.server(), request.response(), request.object_key()));
        admission::serve_again(orb, request)
    });
}

/// Answers a request that was held with `exception`.
pub(crate) fn refuse_held(held: &mut HeldRequest, exception: SystemException) {
    with_held(held, |_| Err(exception));
}

/// Makes a request of what was held, and answers it with what `body` says.
fn with_held(
    held: &mut HeldRequest,
    body: impl FnOnce(&mut ServerRequest<'_>) -> Result<(), SystemException>,
) {
    let orb = held.orb.clone();
    let (queue, carried) = (held.queue(), held.take_carried());
    match held.take_call() {
        None => {}
        Some(HeldCall::Message { connection, message, response }) => {
            let from_peer;
            let message = message.as_message();
            // It was decoded before it was held.
            let Ok((mut header, mut arguments)) = message.request() else { return };
            header.response = response;
            arguments.set_code_sets(connection.state().code_sets.get());
            arguments.set_limits(orb.limits());
            arguments.set_context(Some(&orb));
            if orb.server().attention.has(Wanted::Givers) {
                from_peer = access::from_peer(&orb, &connection);
                arguments.set_context(Some(&from_peer));
            }
            let key = object_key(&orb, &header.target);
            let came_in = Some(&message);
            let mut request =
                ServerRequest::new(&orb, Some(&connection), &header, &key, &arguments, came_in);
            request.was_held(queue, carried);
            let outcome = body(&mut request);
            request.conclude(outcome);
        }
        Some(HeldCall::Local { object_key, operation, arguments }) => {
            let arguments = arguments.decoder(&orb);
            let header = local_header(&object_key, &operation);
            let mut request =
                ServerRequest::new(&orb, None, &header, &object_key, &arguments, None);
            request.was_held(queue, carried);
            if let Err(exception) = body(&mut request) {
                tracing::warn!(operation, %exception, "a call of this process that waited failed");
            }
        }
    }
}

/// The key of the target, also when the client sent a profile or a whole reference.
#[inline]
fn object_key<'m>(orb: &Orb, target: &corbie_giop::Target<'m>) -> Cow<'m, [u8]> {
    match target.object_key() {
        Some(key) => Cow::Borrowed(key),
        None => Cow::Owned(key_in_profile(orb, target)),
    }
}

#[cold]
fn key_in_profile(orb: &Orb, target: &corbie_giop::Target<'_>) -> Vec<u8> {
    let key = target.profile().and_then(|p| profile::object_key(orb.known(), p.tag, p.data));
    // A profile that is not ours or cannot be read leads to no object: OBJECT_NOT_EXIST.
    key.unwrap_or_default()
}

/// Has the adapter's servant answer. A servant that panics fails its one request, not the server.
#[inline]
pub(super) fn serve(
    server: &Server,
    request: &mut ServerRequest<'_>,
) -> Result<(), SystemException> {
    let served = catch_unwind(AssertUnwindSafe(|| match server.adapter.get() {
        Some(adapter) => adapter.dispatch(request),
        None => Err(minor::OBJECT_NOT_EXIST_NO_ADAPTER.no("this ORB has no object adapter")),
    }));
    match served {
        Ok(Err(exception)) if exception.kind == SystemExceptionKind::ObjectNotExist => {
            by_plain_key(server, request, exception)
        }
        Ok(outcome) => outcome,
        Err(payload) => Err(panic::panicked(request.operation(), Some(request.peer()), &*payload)),
    }
}

/// No servant has this key: perhaps it is a plain name that was bound to an object, or will be when
/// the server is ready.
#[cold]
fn by_plain_key(
    server: &Server,
    request: &mut ServerRequest<'_>,
    otherwise: SystemException,
) -> Result<(), SystemException> {
    if let Some(object) = server.object_keys.get(request.object_key()) {
        return request.forward(&object);
    }
    // The adapter may have gone between the begin of the request and its upcall.
    if server.closing.load(Ordering::Acquire) {
        return Err(held::given_up());
    }
    if let Some(adapter) = server.adapter.get()
        && adapter.wait_for_object(request)?
    {
        return Ok(());
    }
    // The server may have become ready meanwhile.
    match server.object_keys.get(request.object_key()) {
        Some(object) => request.forward(&object),
        None => Err(otherwise),
    }
}

/// Everything but a Request.
#[cold]
fn other(
    orb: &Orb,
    connection: &Arc<ServerConnection>,
    message: &Message<'_>,
    incoming: Incoming,
) -> Result<(), GiopError> {
    match incoming {
        Incoming::LocateRequest => {
            // Closing: the client asks again elsewhere.
            let Some(_in_service) = connection.begin_request() else { return Ok(()) };
            return locate(orb, connection, message);
        }
        Incoming::CancelRequest => {
            // CORBA 3.3 P2 §9.4.4: advice only; the reply is sent all the same.
            let id = message.cancel_request()?.request_id;
            tracing::debug!(peer = %connection.peer(), id, "the client cancelled a request");
        }
        _ => {} // The connection itself handles it.
    }
    Ok(())
}

fn location(orb: &Orb, key: &[u8]) -> Location {
    let adapter = orb.server().adapter.get();
    let here = adapter.map_or(Location::Unknown, |adapter| adapter.locate(key));
    match (here, orb.server().object_keys.get(key)) {
        (Location::Unknown, Some(object)) => Location::Forward(object.ior().clone()),
        // A request waits for it.
        (Location::Unknown, None) if adapter.is_some_and(|a| a.may_come(key)) => Location::Here,
        (location, _) => location,
    }
}

/// A question is answered where a request would be served.
fn check_protection(
    orb: &Orb,
    connection: &ServerConnection,
    key: &[u8],
) -> Result<(), SystemException> {
    let adapter = orb.server().adapter.get();
    let protection = adapter.map_or(TlsProtection::Preferred, |a| a.tls_protection(key));
    if is_permitted_over(connection, protection) {
        return Ok(());
    }
    Err(minor::NO_PERMISSION_TLS_NEEDED.no(format!(
        "the object was not looked for: TLS is {} for the objects of its POA, and the question \
         came another way; use a reference that this POA made",
        protection.name()
    )))
}

fn locate(
    orb: &Orb,
    connection: &Arc<ServerConnection>,
    message: &Message<'_>,
) -> Result<(), GiopError> {
    let header = message.locate_request()?;
    let key = object_key(orb, &header.target);
    let found = bidirectional::check_target(orb, connection, &key)
        .and_then(|()| access::check_question(orb, connection, &key))
        .and_then(|()| check_protection(orb, connection, &key))
        .map(|()| location(orb, &key));
    let status = match found {
        Ok(Location::Here) => LocateStatus::ObjectHere,
        Ok(Location::Unknown) => LocateStatus::UnknownObject,
        Ok(Location::Forward(_)) => LocateStatus::ObjectForward,
        Err(_) if message.header.version >= Version::V1_2 => LocateStatus::SystemException,
        Err(_) => LocateStatus::UnknownObject, // No older version has another word for it.
    };
    let mut encoder = Encoder::pooled(message.header.order);
    encoder.set_version(message.header.version);
    let reply = LocateReplyHeader { request_id: header.request_id, status };
    let written = write_locate_reply(&mut encoder, &reply).and_then(|start| {
        match &found {
            Ok(Location::Forward(ior)) => Ior::encode(ior, &mut encoder)?,
            Err(exception) if status == LocateStatus::SystemException => {
                exception.encode_reply(&mut encoder)?;
            }
            _ => {}
        }
        finish_message(&mut encoder, start)
    });
    if let Err(error) = written {
        tracing::debug!(peer = %connection.peer(), %error, "a LocateReply could not be written");
        connection.close(&ConnectionFault::gone);
    } else if let Err(fault) = connection.send_reply(orb, &mut encoder, None, connection.patience())
    {
        tracing::debug!(peer = %connection.peer(), ?fault, "a LocateReply could not be sent");
        connection.close(&ConnectionFault::gone);
    }
    Ok(())
}
