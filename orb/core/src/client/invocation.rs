//! A call as its caller makes it, and the way of synchronous calls: write the request, send it,
//! read the reply.
//!
//! The calling thread does all of it (invariant 3 of `ARCHITECTURE.md`), over a connection that the
//! call has for itself; `attempts` says from the outcome whether there is another attempt. A locate
//! goes the same way. Calls that go over other connections, and those whose caller does not wait,
//! become an [`AwaitedCall`](super::AwaitedCall).

use crate::client::attempts::watched::Watched;
use crate::client::attempts::{self, Answer, redirected_to};
use crate::client::fault::CallFault;
use crate::client::policies::join_now;
use crate::client::write::{self, Arguments, News, addressed, tagged_profiles};
use crate::client::{BindingRef, PendingReply, Reply, ReplySink, ReplySlot, Target, bind};
use crate::connection::PooledConnection;
use crate::policy::{CachedPolicies, CallPolicies, Effective, SyncScope, has_thread_overrides};
use crate::portable_interceptor::{Kind, Watch};
use crate::server::turn;
use crate::{Object, Operation, Orb};
use corbie_cdr::{ByteOrder, CodeSets, Decoder, Encoder};
use corbie_connection::{Clock, ConnectionFault, ExclusiveConnection, Lease, ReceiveFailure};
use corbie_giop::{
    Attempts, GiopError, LocateRequestHeader, LocateStatus, Message, MessageKind, ReplyHeader,
    ResponseFlags, cancel_request, finish_message, write_locate_request,
};
use corbie_settings::{ReplyWait, TransportMultiplexing};
use corbie_threads::thread::{Wish, loop_to_run, runs_loop};
use corbie_types::{Ior, SystemException, minor};
use std::sync::Arc;
use std::time::Duration;

mod of_user;

/// Sending more than this may take so long that the clock is looked at afterwards.
const LARGE_OCTETS: usize = 64 << 10;

static LOCATE: Operation = Operation::twoway("LocateRequest");

/// What a call is made of. It borrows; an [`AwaitedCall`](super::AwaitedCall) owns.
#[derive(Clone, Copy)]
pub(crate) struct Invocation<'c, 'a> {
    pub(crate) object: &'c Object,
    pub(crate) operation: &'c Operation,
    pub(crate) arguments: Arguments<'c, 'a>,
    pub(crate) policies: &'c CallPolicies,
    /// When the server is to answer.
    pub(crate) response: ResponseFlags,
    /// The attempt as interceptors see it; `None` where there are none.
    pub(crate) watch: Option<&'c Arc<Watch>>,
}

impl Object {
    /// Calls `operation`: `arguments` writes the in and inout arguments, the reply holds the
    /// results. Generated stubs are made of this; `arguments` runs again when the request has to
    /// be sent to another place.
    ///
    /// # Errors
    /// The system exception that the server raised or that happened on the way there:
    /// `TRANSIENT` (`COMPLETED_NO`) when nothing could be reached, `COMM_FAILURE` when the
    /// connection broke, `TIMEOUT` when no reply came in time, `MARSHAL` (`COMPLETED_NO`) when an
    /// argument cannot be sent, `INV_OBJREF` when the reference has no usable profile.
    pub fn invoke<'a>(
        &self,
        operation: &Operation,
        arguments: &dyn Fn(&mut Encoder<'a>) -> Result<(), corbie_cdr::Error>,
    ) -> Result<Reply, SystemException> {
        let policies = self.call_policies()?;
        Invocation::new(self, operation, arguments, &policies).call()
    }

    /// Sends `operation` without waiting for a reply: returns when the request was handed to the
    /// transport (`SYNC_WITH_TRANSPORT`), or when the policy `SyncScope` says.
    ///
    /// # Errors
    /// As [`Object::invoke`], as far as it shows before and while sending.
    pub fn invoke_oneway<'a>(
        &self,
        operation: &Operation,
        arguments: &dyn Fn(&mut Encoder<'a>) -> Result<(), corbie_cdr::Error>,
    ) -> Result<(), SystemException> {
        let policies = self.call_policies()?;
        let invocation = Invocation::new(self, operation, arguments, &policies);
        match policies.sync_scope {
            SyncScope::None | SyncScope::WithTransport => invocation.send_oneway()?,
            // Over the shared connection, since its upcall may begin after the answer and nothing
            // is to overtake it.
            SyncScope::WithServer => {
                let response = ResponseFlags::WithServer;
                Invocation { response, ..invocation }.call_over(Lease::Shared).map(drop)?;
            }
            SyncScope::WithTarget => invocation.call().map(drop)?,
        }
        self.note_shared_request();
        Ok(())
    }

    /// Calls `operation` without waiting, neither for a connection nor for room nor for the server:
    /// `sink` gets the outcome, exactly once, and never before this returns an error. As
    /// [`Object::invoke`] otherwise. Requests of one thread to one object arrive in the order of
    /// the calls. While a connection is opened, and while the server takes nothing, the call is
    /// queued: up to four times `pending_requests_max` calls and four times `queued_octets_max`
    /// octets of a connection, or one call. It ends with its time at the latest.
    ///
    /// # Errors
    /// The call was not accepted, and `sink` is dropped without an outcome: `MARSHAL`
    /// (`COMPLETED_NO`) when an argument cannot be sent, `TRANSIENT` (`COMPLETED_NO`) with
    /// [`minor::TRANSIENT_OVERLOAD`] when too much is queued already (call again when there may be
    /// room), `INV_OBJREF`, and `BAD_INV_ORDER` after shutdown. That the server cannot be reached,
    /// `sink` is told.
    ///
    /// [`minor::TRANSIENT_OVERLOAD`]: corbie_types::minor::TRANSIENT_OVERLOAD
    pub fn invoke_async<'a>(
        &self,
        operation: &Operation,
        arguments: &dyn Fn(&mut Encoder<'a>) -> Result<(), corbie_cdr::Error>,
        sink: ReplySink,
    ) -> Result<(), SystemException> {
        let policies = self.call_policies()?;
        let invocation = Invocation::new(self, operation, arguments, &policies);
        invocation.send(sink, Lease::Shared, Wish::NotWait)?;
        self.note_shared_request();
        Ok(())
    }

    /// As [`Object::invoke_async`], over a connection that no other request uses until the reply is
    /// there: for calls that the server may answer late, so that a server which serves a
    /// connection's requests one after the other keeps no other request waiting behind it. Its
    /// order among other requests is not kept.
    ///
    /// # Errors
    /// As [`Object::invoke_async`].
    pub fn invoke_async_apart<'a>(
        &self,
        operation: &Operation,
        arguments: &dyn Fn(&mut Encoder<'a>) -> Result<(), corbie_cdr::Error>,
        sink: ReplySink,
    ) -> Result<(), SystemException> {
        let policies = self.call_policies()?;
        let invocation = Invocation::new(self, operation, arguments, &policies);
        invocation.send(sink, Lease::Reserved, Wish::NotWait)
    }

    /// Calls `operation` and returns when the request was sent; the reply is asked for later.
    ///
    /// # Errors
    /// As [`Object::invoke_async`].
    pub fn invoke_deferred<'a>(
        &self,
        operation: &Operation,
        arguments: &dyn Fn(&mut Encoder<'a>) -> Result<(), corbie_cdr::Error>,
    ) -> Result<PendingReply, SystemException> {
        let slot = ReplySlot::deferred();
        self.invoke_async(operation, arguments, ReplySink::slot(&slot))?;
        Ok(PendingReply::new(self.orb(), slot))
    }

    /// Asks the server with a `LocateRequest` where the object is, following forwards
    /// (CORBA 3.3 P2 §9.4.5), which are remembered for later calls.
    ///
    /// # Errors
    /// As [`Object::invoke`]; `OBJECT_NOT_EXIST` when the server does not know the object.
    pub fn locate(&self) -> Result<(), SystemException> {
        self.locate_by(&*self.call_policies()?)
    }

    /// As [`Object::locate`], by `policies`.
    pub(crate) fn locate_by(&self, policies: &CallPolicies) -> Result<(), SystemException> {
        let nothing: Arguments<'_, '_> = &|_| Ok(());
        let binding = self.binding()?;
        if binding.target(0).pool.is_bidirectional() {
            return self.locate_over_shared(nothing, policies);
        }
        let invocation = Invocation::new(self, &LOCATE, nothing, policies);
        invocation.over_exclusive(binding, |exchange, ior| exchange.locate(ior))
    }

    /// The same where there may be no connection but one that is shared: asks the object itself,
    /// which its server forwards alike.
    fn locate_over_shared(
        &self,
        nothing: Arguments<'_, '_>,
        policies: &CallPolicies,
    ) -> Result<(), SystemException> {
        static NON_EXISTENT: Operation = Operation::twoway("_non_existent");
        let asked = Invocation::new(self, &NON_EXISTENT, nothing, policies);
        let mut reply = asked.call_over(Lease::Shared)?;
        match reply.results_only(|d| d.read_boolean())? {
            false => Ok(()),
            true => Err(minor::OBJECT_NOT_EXIST_UNKNOWN.no("the object says that it is gone")),
        }
    }
}

impl Object {
    /// What a call of this thread goes by now.
    ///
    /// # Errors
    /// `INV_POLICY` (`COMPLETED_NO`) when the reference excludes what was set here.
    #[inline]
    pub(crate) fn call_policies(&self) -> Result<Effective<'_>, SystemException> {
        let generation = self.orb().policies().generation();
        match self.cached_policies().now(generation) {
            Some(policies) if !has_thread_overrides() => Ok(Effective::Cached(policies)),
            _ => join_now(self),
        }
    }

    /// What calls go by, as far as the thread says nothing.
    #[inline]
    pub(super) fn cached_policies(&self) -> &CachedPolicies {
        self.policy_cache().get_or_init(|| self.policies_to_cache())
    }
}

impl<'c, 'a> Invocation<'c, 'a> {
    pub(crate) fn new(
        object: &'c Object,
        operation: &'c Operation,
        arguments: Arguments<'c, 'a>,
        policies: &'c CallPolicies,
    ) -> Self {
        let response = ResponseFlags::WithTarget;
        Invocation { object, operation, arguments, policies, response, watch: None }
    }

    /// Calls the operation and waits for its reply, which is a result or a user exception.
    ///
    /// # Errors
    /// See [`Object::invoke`].
    #[inline]
    pub(crate) fn call(&self) -> Result<Reply, SystemException> {
        let binding = self.object.binding()?;
        if self.policies.is_watched {
            return self.call_watched(binding);
        }
        // Made where the caller wants it: nothing is copied.
        let reply = match self.lease(&binding) {
            Lease::Exclusive => {
                self.over_exclusive(binding, |exchange, ior| exchange.request(self, ior))
            }
            lease => self.call_over(lease),
        };
        if reply.is_ok() {
            self.policies.hold_reply();
        }
        reply
    }

    /// As [`Invocation::call`], past interceptors.
    #[cold]
    fn call_watched(&self, binding: BindingRef<'_>) -> Result<Reply, SystemException> {
        let reply = match self.lease(&binding) {
            Lease::Exclusive => {
                let mut clock = self.policies.begin()?;
                let attempt = |binding: &BindingRef<'_>, attempts: &mut _, watch: &_| {
                    let watched = Invocation { watch: Some(watch), ..*self };
                    let answer = self.attempt(binding, attempts, &mut clock, &|exchange, ior| {
                        exchange.request_watched(&watched, ior, watch)
                    });
                    self.note_outcome(&answer, binding, attempts, &mut clock);
                    answer
                };
                let call = Watched::new(self, Kind::Synchronous);
                call.run(binding, attempt, Reply::ending)?
            }
            lease => self.call_over(lease)?,
        };
        self.policies.hold_reply();
        Ok(reply)
    }

    /// How a synchronous call has its connection: for itself, and read by its own thread, in the
    /// usual case; behind requests that it must not overtake, or as `transport_multiplexing` and
    /// `reply_wait` say, otherwise.
    #[inline]
    fn lease(&self, binding: &BindingRef<'_>) -> Lease {
        let settings = self.object.orb().settings();
        let is_exclusive =
            matches!(settings.transport_multiplexing, TransportMultiplexing::Exclusive);
        let follows = binding.target(0).pool.has_to_share();
        if is_exclusive
            && matches!(settings.reply_wait, ReplyWait::Read)
            && !runs_loop()
            && !follows
        {
            return Lease::Exclusive;
        }
        unusual_lease(is_exclusive && !follows, settings.reply_wait)
    }

    /// Runs `exchange` over an exclusive connection to each place of the object in turn, `first`
    /// that of `binding`, until there is an answer.
    ///
    /// # Errors
    /// See [`Object::invoke`].
    #[inline]
    fn over_exclusive<T>(
        &self,
        binding: BindingRef<'_>,
        exchange: impl Fn(Exchange<'_>, &Ior) -> Result<Answer<T>, CallFault>,
    ) -> Result<T, SystemException> {
        let Invocation { object, operation, policies, .. } = *self;
        let mut clock = policies.begin()?;
        attempts::run(object, operation, policies, binding, |binding, attempts| {
            let answer = self.attempt(binding, attempts, &mut clock, &exchange);
            self.note_outcome(&answer, binding, attempts, &mut clock);
            answer
        })
    }

    /// An attempt has ended so.
    #[inline]
    fn note_outcome<T>(
        &self,
        answer: &Result<Answer<T>, CallFault>,
        binding: &BindingRef<'_>,
        attempts: &mut Attempts,
        clock: &mut Clock,
    ) {
        match answer {
            Ok(Answer::Done(_)) => {
                attempts.answered();
                let target = binding.target(attempts.address());
                bind::note_bound(self.object, self.policies, target);
            }
            _ => clock.sending_again(),
        }
    }

    #[inline]
    fn attempt<T>(
        &self,
        binding: &BindingRef<'_>,
        attempts: &mut Attempts,
        clock: &mut Clock,
        exchange: &impl Fn(Exchange<'_>, &Ior) -> Result<Answer<T>, CallFault>,
    ) -> Result<Answer<T>, CallFault> {
        let (object, target) = (self.object, binding.target(attempts.address()));
        let opening = bind::opening(object, self.policies, target);
        let connection = target.pool.take(object.orb(), clock, opening)?;
        let ior = binding.ior().unwrap_or(object.ior());
        exchange(Exchange { object, connection, target, attempts, clock }, ior)
    }
}

#[cold]
fn unusual_lease(is_exclusive: bool, reply_wait: ReplyWait) -> Lease {
    let reads = reply_wait == ReplyWait::Read && loop_to_run().is_none();
    match (is_exclusive, reads) {
        (true, true) => Lease::Exclusive,
        (true, false) => Lease::Reserved,
        (false, _) => Lease::Shared,
    }
}

/// One request and its answer, over one connection.
struct Exchange<'e> {
    object: &'e Object,
    connection: PooledConnection,
    target: &'e Target,
    attempts: &'e mut Attempts,
    clock: &'e mut Clock,
}

impl Exchange<'_> {
    /// Sends the request of `invocation`, and waits for its reply.
    #[inline]
    fn request(
        self,
        invocation: &Invocation<'_, '_>,
        ior: &Ior,
    ) -> Result<Answer<Reply>, CallFault> {
        if self.target.users.is_some() {
            return self.request_of_user(invocation, ior, None);
        }
        Ok(self.reply_to(invocation, ior, None)?.into_answer(invocation.operation))
    }

    /// The same past interceptors, which get to know the service contexts of the reply.
    #[cold]
    fn request_watched(
        self,
        invocation: &Invocation<'_, '_>,
        ior: &Ior,
        watch: &Watch,
    ) -> Result<Answer<Reply>, CallFault> {
        self.request_of_user(invocation, ior, Some(watch))
    }

    /// Sends the request of `invocation`, and takes what comes in reply.
    #[inline]
    fn reply_to(
        mut self,
        invocation: &Invocation<'_, '_>,
        ior: &Ior,
        evidence: Option<&[u8]>,
    ) -> Result<Reply, CallFault> {
        let code_sets = self.unannounced()?;
        let news = News { code_sets, points: None, evidence };
        let id = self
            .send(|encoder, id, target| write::write(encoder, id, target, ior, invocation, news))?;
        if code_sets.is_some() {
            self.connection.get()?.has_announced = true;
        }
        let (status, body) = self.answer(id, |message| {
            (message.header.kind == MessageKind::Reply).then(|| {
                let mut decoder = message.decoder();
                let header = ReplyHeader::decode(&mut decoder)?;
                Ok((header.request_id, (header.status, decoder.position())))
            })
        })?;
        Ok(Reply::new(self.object, self.connection, status, body))
    }

    /// Asks where the object is.
    fn locate(mut self, ior: &Ior) -> Result<Answer<()>, CallFault> {
        let target = self.target;
        let id = self.send(|encoder, request_id, target| {
            let profiles = tagged_profiles(ior);
            let target = addressed(target, ior, &profiles);
            let start = write_locate_request(encoder, &LocateRequestHeader { request_id, target })?;
            finish_message(encoder, start)
        })?;
        let (status, body) = self.answer(id, |message| {
            let is_answer = message.header.kind == MessageKind::LocateReply;
            is_answer.then(|| {
                let (header, decoder) = message.locate_reply()?;
                Ok((header.request_id, (header.status, decoder.position())))
            })
        })?;
        let message = self.connection.peek().and_then(ExclusiveConnection::message);
        let message = message.ok_or_else(ConnectionFault::gone)?;
        let mut decoder = Decoder::with_position(message.octets, body, message.header.order);
        decoder.set_version(message.header.version);
        Ok(located(status, &mut decoder, target)?)
    }

    /// The code sets of which the server has to be told with the first request.
    #[inline]
    fn unannounced(&mut self) -> Result<Option<CodeSets>, ConnectionFault> {
        let (target, connection) = (self.target, self.connection.get()?);
        let announce = target.announces_code_sets && !connection.has_announced;
        Ok(announce.then_some(connection.code_sets()))
    }
    /// Sends what `write` writes: a message with the id that it is given; that id.
    ///
    /// # Errors
    /// What `write` says; the connection's fault.
    #[inline]
    fn send<'a>(
        &mut self,
        write: impl FnOnce(&mut Encoder<'a>, u32, &Target) -> Result<(), corbie_cdr::Error>,
    ) -> Result<u32, CallFault> {
        let (target, connection) = (self.target, self.connection.get()?);
        let id = connection.next_request_id();
        let mut encoder: Encoder<'a> = Encoder::pooled(ByteOrder::NATIVE);
        encoder.set_version(target.version);
        encoder.set_code_sets(connection.code_sets());
        write(&mut encoder, id, target).map_err(SystemException::from)?;
        send_in_time(self.object.orb(), connection, &encoder, target, self.clock)?;
        self.attempts.sent();
        self.clock.sent();
        Ok(id)
    }

    /// Waits for the answer to the request `id`: `read` takes it from a message of its kind.
    ///
    /// # Errors
    /// The connection's fault.
    #[inline]
    fn answer<A>(
        &mut self,
        id: u32,
        read: impl Fn(&Message<'_>) -> Option<Result<(u32, A), GiopError>>,
    ) -> Result<A, ConnectionFault> {
        let _stand_in = turn::before_waiting();
        loop {
            let connection = self.connection.get()?;
            if let Err(failure) = receive(connection, self.clock) {
                return Err(self.give_up(id, failure));
            }
            let message = connection.message().ok_or_else(ConnectionFault::gone)?;
            if let Some(answer) = read(&message) {
                let (found, answer) = answer.map_err(ConnectionFault::Protocol)?;
                if found == id {
                    self.connection.set_reusable();
                    return Ok(answer);
                }
            }
            let kind = message.header.kind;
            self.pass_over(kind)?;
        }
    }

    /// A message came that does not answer the request: a late reply to one that was given up, or
    /// the end of the connection.
    #[cold]
    fn pass_over(&mut self, kind: MessageKind) -> Result<(), ConnectionFault> {
        let connection = self.connection.get()?;
        self.clock.has_waited = true;
        match kind {
            MessageKind::Reply => connection.note_late_reply(),
            MessageKind::LocateReply if connection.owes_replies() => connection.note_late_reply(),
            MessageKind::CloseConnection => return Err(ConnectionFault::ClosedInOrder),
            kind => return Err(ConnectionFault::Unexpected(kind)),
        }
        Ok(())
    }

    /// No answer comes in time, or at all. Where only time ran out, tells the server that this call
    /// waits no longer, and keeps the connection: the late reply is passed over when it comes
    /// (CORBA 3.3 P2 §9.4.4).
    #[cold]
    fn give_up(&mut self, id: u32, failure: ReceiveFailure) -> ConnectionFault {
        let is_late = matches!(failure, ReceiveFailure::NothingCame | ReceiveFailure::TooSlow);
        let time = self.clock.timeout().unwrap_or_default();
        let fault = ConnectionFault::receiving(failure, Some(time));
        let Some(connection) = self.connection.get().ok().filter(|c| is_late && !c.is_confused())
        else {
            return fault;
        };
        let cancel = cancel_request(self.target.version, ByteOrder::NATIVE, id);
        // Half a message would make the connection useless; none at all only means that the server
        // learns nothing.
        let sent = connection.link().try_send(&cancel);
        if matches!(sent, Ok(sent) if sent == 0 || sent == cancel.len()) {
            connection.owe_reply();
            self.connection.set_reusable();
        }
        fault
    }
}

/// Receives the next message, in the time that the call has left.
#[inline]
fn receive(connection: &mut ExclusiveConnection, clock: &Clock) -> Result<(), ReceiveFailure> {
    let timeout = clock.next_wait();
    // Looked at here, too, as a server may send so much else that nothing is ever waited for.
    if timeout == Some(Duration::ZERO) {
        return Err(ReceiveFailure::NothingCame);
    }
    connection.link().set_receive_timeout(timeout).map_err(ReceiveFailure::Io)?;
    connection.receive(clock.deadline())
}

/// Sends the message in `encoder` in the time that the call has left.
#[inline]
fn send_in_time(
    orb: &Orb,
    connection: &mut ExclusiveConnection,
    encoder: &Encoder<'_>,
    target: &Target,
    clock: &mut Clock,
) -> Result<(), ConnectionFault> {
    let timeout = clock.next_wait().or(orb.settings().message_timeout);
    let fragment_octets = orb.fragment_octets(target.version);
    connection.link().set_send_timeout(timeout).map_err(ConnectionFault::sending)?;
    connection.send(encoder, fragment_octets)?;
    if encoder.len() > LARGE_OCTETS {
        clock.note_long_wait();
    }
    Ok(())
}

/// What the LocateReply says; `decoder` stands at its body.
fn located(
    status: LocateStatus,
    decoder: &mut Decoder<'_>,
    target: &Target,
) -> Result<Answer<()>, SystemException> {
    Ok(match status {
        LocateStatus::ObjectHere => Answer::Done(()),
        LocateStatus::UnknownObject => Answer::Raised(
            minor::OBJECT_NOT_EXIST_UNKNOWN
                .no(format!("{} does not know the object", target.pool.endpoint())),
        ),
        LocateStatus::SystemException => Answer::Raised(SystemException::decode_reply(decoder)?),
        LocateStatus::ObjectForward | LocateStatus::ObjectForwardPerm => {
            redirected_to(decoder, false)?
        }
        LocateStatus::NeedsAddressingMode => redirected_to(decoder, true)?,
    })
}
