//! `ClientRequestInterceptor` and `ClientRequestInfo` (CORBA 3.3 P1 §16.4), and a request on its
//! way past the interceptors of its client.
//!
//! A request that is sent again, to the same place or another, passes them anew. An asynchronous
//! one passes them twice: `send_request` and `receive_other` when it is sent, `send_poll` and the
//! point of its outcome when that is here.

use super::Interceptor;
use super::flow::{EndingPoint, FlowEnd, FlowStack, Interruption, ReplyStatus};
use super::raised::Stage;
use super::service_contexts::{self, ServiceContext};
use super::slots::{self, InvalidSlot, SlotId, SlotScope, Slots};
use crate::policy::{Policy, PolicyType, SyncScope};
use crate::profile::Profile;
use crate::{Object, OperationName};
use corbie_giop::{ResponseFlags, ServiceContexts};
use corbie_threads::lock::{Ranked, rank};
use corbie_types::{Any, Ior, SystemException, TaggedComponent, TaggedProfile, minor};
use std::fmt;

/// Sees every request that its ORB sends. The point that raises something ends the request, or
/// changes its end for those that are called after it.
///
/// A synchronous call has all points on its own thread, unless it goes over a connection that calls
/// share; then the thread that reads its reply makes the ending one. That of an asynchronous call
/// is made by the thread that delivers its outcome.
pub trait ClientRequestInterceptor: Interceptor {
    /// The request is about to be written: service contexts may be added.
    ///
    /// # Errors
    /// The request is not sent: its caller gets the exception, or it goes to another object.
    fn send_request(&self, info: &ClientRequestInfo<'_>) -> Result<(), Interruption> {
        let _ = info;
        Ok(())
    }

    /// The outcome of an asynchronous request is here, and about to be delivered.
    ///
    /// # Errors
    /// The caller gets the exception instead.
    fn send_poll(&self, info: &ClientRequestInfo<'_>) -> Result<(), SystemException> {
        let _ = info;
        Ok(())
    }

    /// The request was answered with results.
    ///
    /// # Errors
    /// The caller gets the exception instead.
    fn receive_reply(&self, info: &ClientRequestInfo<'_>) -> Result<(), SystemException> {
        let _ = info;
        Ok(())
    }

    /// The request ended with an exception.
    ///
    /// # Errors
    /// The caller gets this one instead, or the request goes to another object.
    fn receive_exception(&self, info: &ClientRequestInfo<'_>) -> Result<(), Interruption> {
        let _ = info;
        Ok(())
    }

    /// The request ended otherwise: it is sent again, or has no reply (yet). What is raised where
    /// an asynchronous request was sent is logged: it cannot be taken back.
    ///
    /// # Errors
    /// The caller gets the exception, or the request goes to another object.
    fn receive_other(&self, info: &ClientRequestInfo<'_>) -> Result<(), Interruption> {
        let _ = info;
        Ok(())
    }
}

/// What becomes of the caller of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// It waits.
    Synchronous,
    /// Its outcome is delivered.
    Asynchronous,
    /// There is no outcome.
    Oneway,
}

/// One attempt to carry out a request.
pub(crate) struct Outgoing<'o> {
    pub(crate) object: &'o Object,
    pub(crate) operation: &'o OperationName,
    pub(crate) kind: Kind,
    pub(crate) response: ResponseFlags,
    pub(crate) sync_scope: SyncScope,
    /// The reference that a server sent us on to.
    pub(crate) forwarded: Option<&'o Ior>,
    /// Index of the profile within that reference, or within the object's.
    pub(crate) profile: u32,
}

/// One request on its way past the interceptors of its ORB.
pub(crate) struct Watch {
    target: Object,
    operation: OperationName,
    kind: Kind,
    response: ResponseFlags,
    sync_scope: SyncScope,
    forwarded: Option<Ior>,
    profile: u32,
    request_id: u32,
    slots: Slots,
    state: Ranked<rank::Leaf, State>,
}

#[derive(Default)]
struct State {
    stack: FlowStack,
    /// Those that interceptors have added to the request.
    added: Vec<ServiceContext>,
    /// Those of the reply.
    received: Vec<ServiceContext>,
    /// Whether the ending points of what was sent have begun: what comes later is the outcome of an
    /// asynchronous request.
    has_ended: bool,
    /// Whether the attempt is over.
    is_over: bool,
}

impl State {
    /// The interceptors that are to see the end of what was sent. One thread gets them, whether
    /// that is the one that has sent it or the one that delivers its outcome.
    fn take_sent(&mut self) -> Option<FlowStack> {
        let has_ended = std::mem::replace(&mut self.has_ended, true);
        (!has_ended).then(|| std::mem::take(&mut self.stack))
    }
}

impl Watch {
    /// An attempt that no interceptor has seen. `before`: the one before it, whose slots it has.
    pub(crate) fn new(outgoing: &Outgoing<'_>, before: Option<&Watch>) -> Self {
        let interceptors = outgoing.object.orb().interceptors();
        let slots = match before {
            Some(before) => before.slots.clone(),
            None => slots::of_this_thread(interceptors.number()),
        };
        Watch {
            target: outgoing.object.clone(),
            operation: outgoing.operation.clone(),
            kind: outgoing.kind,
            response: outgoing.response,
            sync_scope: outgoing.sync_scope,
            forwarded: outgoing.forwarded.cloned(),
            profile: outgoing.profile,
            request_id: interceptors.next_request_id(),
            slots,
            state: Ranked::default(),
        }
    }

    pub(crate) fn kind(&self) -> Kind {
        self.kind
    }

    /// Whether the attempt is over, and another one begins anew.
    pub(crate) fn is_over(&self) -> bool {
        self.state.lock().is_over
    }

    /// Those that interceptors have added to the request.
    pub(crate) fn added(&self) -> Vec<ServiceContext> {
        self.state.lock().added.clone()
    }

    /// The reply came with these.
    pub(crate) fn note_reply(&self, contexts: &ServiceContexts<'_>) {
        self.state.lock().received = service_contexts::copied(contexts);
    }

    /// The call was no message: these came back.
    pub(crate) fn note_contexts(&self, contexts: Vec<ServiceContext>) {
        self.state.lock().received = contexts;
    }

    /// Shows the request to the interceptors.
    ///
    /// # Errors
    /// What one of them raised. The others have to be told ([`Watch::end`]).
    pub(crate) fn send_request(&self) -> Result<(), Interruption> {
        let (started, stack) =
            self.start(Point::SendRequest, |interceptor, info| interceptor.send_request(info));
        self.state.lock().stack = stack;
        started
    }

    /// The attempt has ended; whether interceptors changed how. Where it has ended already, as that
    /// of an asynchronous request when it was sent, this is the end of the request as a whole.
    pub(crate) fn end(&self, ending: &mut FlowEnd) -> bool {
        let sent = {
            let mut state = self.state.lock();
            state.is_over = true;
            state.take_sent()
        };
        if let Some(stack) = sent {
            return self.unwind(stack, ending);
        }
        if self.kind != Kind::Asynchronous {
            return false;
        }
        let (polled, stack) = self.start(Point::SendPoll, |interceptor, info| {
            interceptor.send_poll(info).map_err(Interruption::from)
        });
        let is_changed = polled.is_err();
        if let Err(interruption) = polled {
            *ending = interruption.into();
        }
        self.unwind(stack, ending) | is_changed
    }

    /// As [`Watch::end`], where the outcome of a call is delivered: perhaps before the thread that
    /// has sent it could say so ([`Watch::sent`]).
    pub(crate) fn outcome(&self, ending: &mut FlowEnd) -> bool {
        if self.kind == Kind::Asynchronous {
            self.sent();
        }
        self.end(ending)
    }

    /// The request of an asynchronous call was sent, or waits for a connection: that is the end of
    /// what its caller waits for.
    pub(crate) fn sent(&self) {
        let sent = self.state.lock().take_sent();
        let Some(stack) = sent else { return };
        let mut ending = FlowEnd::WithoutReply;
        if self.unwind(stack, &mut ending) {
            let operation: &str = &self.operation;
            tracing::warn!(operation, ?ending, "an interceptor changed what was sent already");
        }
    }

    fn start(
        &self,
        point: Point,
        mut call: impl FnMut(
            &dyn ClientRequestInterceptor,
            &ClientRequestInfo<'_>,
        ) -> Result<(), Interruption>,
    ) -> (Result<(), Interruption>, FlowStack) {
        let interceptors = self.target.orb().interceptors();
        let _slots = self.slots_of_points();
        let info = ClientRequestInfo { watch: self, point, ending: None };
        let all = interceptors.client();
        let mut stack = FlowStack::default();
        (stack.wind(all.len(), |index| call(&*all[index], &info)), stack)
    }

    fn unwind(&self, mut stack: FlowStack, ending: &mut FlowEnd) -> bool {
        if stack.is_empty() {
            return false;
        }
        let _slots = self.slots_of_points();
        let all = self.target.orb().interceptors().client();
        stack.unwind(ending, |index, ending| {
            let Some(interceptor) = all.get(index) else { return Ok(()) };
            let info = |point| ClientRequestInfo { watch: self, point, ending: Some(ending) };
            match ending.point() {
                EndingPoint::Reply => Ok(interceptor.receive_reply(&info(Point::ReceiveReply))?),
                EndingPoint::Exception => {
                    interceptor.receive_exception(&info(Point::ReceiveException))
                }
                EndingPoint::Other => interceptor.receive_other(&info(Point::ReceiveOther)),
            }
        })
    }

    /// What interceptors put into slots of their thread is for their own calls.
    fn slots_of_points(&self) -> SlotScope {
        SlotScope::enter(self.target.orb().interceptors().number(), self.slots.clone())
    }

    fn effective_ior(&self) -> &Ior {
        self.forwarded.as_ref().unwrap_or_else(|| self.target.ior())
    }
}

impl fmt::Debug for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watch")
            .field("operation", &&*self.operation)
            .field("request_id", &self.request_id)
            .finish_non_exhaustive()
    }
}

/// Where a request is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Point {
    SendRequest,
    SendPoll,
    ReceiveReply,
    ReceiveException,
    ReceiveOther,
}

impl Point {
    fn name(self) -> &'static str {
        match self {
            Point::SendRequest => "send_request",
            Point::SendPoll => "send_poll",
            Point::ReceiveReply => "receive_reply",
            Point::ReceiveException => "receive_exception",
            Point::ReceiveOther => "receive_other",
        }
    }

    fn is_ending(self) -> bool {
        matches!(self, Point::ReceiveReply | Point::ReceiveException | Point::ReceiveOther)
    }
}

/// What a [`ClientRequestInterceptor`] is told of a request. What is not known at a point raises
/// `BAD_INV_ORDER` with the OMG's minor code 14 there (CORBA 3.3 P1 Table 16.1). Arguments and
/// results are typed in stubs and not kept: `NO_RESOURCES` with the OMG's minor code 1.
#[derive(Clone, Copy)]
pub struct ClientRequestInfo<'w> {
    watch: &'w Watch,
    point: Point,
    ending: Option<&'w FlowEnd>,
}

impl<'w> ClientRequestInfo<'w> {
    /// A number that no other request has which is under way; the same at all points of a request.
    /// It is not that of the message.
    #[must_use]
    pub fn request_id(&self) -> u32 {
        self.watch.request_id
    }

    /// The name of the operation on the wire.
    #[must_use]
    pub fn operation(&self) -> &str {
        &self.watch.operation
    }

    /// The arguments: not available.
    ///
    /// # Errors
    /// `NO_RESOURCES`; `BAD_INV_ORDER` where no ORB has them.
    pub fn arguments(&self) -> Result<Vec<Any>, SystemException> {
        let is_here = matches!(self.point, Point::SendRequest | Point::ReceiveReply);
        Err(self.stage().unavailable("arguments", is_here))
    }

    /// The TypeCodes of the user exceptions of the operation: not available.
    ///
    /// # Errors
    /// As [`ClientRequestInfo::arguments`].
    pub fn exceptions(&self) -> Result<Vec<Any>, SystemException> {
        Err(self.stage().unavailable("exceptions", self.point != Point::SendPoll))
    }

    /// The names of the operation's `context` clause: not available.
    ///
    /// # Errors
    /// As [`ClientRequestInfo::arguments`].
    pub fn contexts(&self) -> Result<Vec<String>, SystemException> {
        Err(self.stage().unavailable("contexts", self.point != Point::SendPoll))
    }

    /// The context that is sent along: not available.
    ///
    /// # Errors
    /// As [`ClientRequestInfo::arguments`].
    pub fn operation_context(&self) -> Result<Vec<(String, String)>, SystemException> {
        Err(self.stage().unavailable("operation_context", self.point != Point::SendPoll))
    }

    /// The result: not available.
    ///
    /// # Errors
    /// As [`ClientRequestInfo::arguments`].
    pub fn result(&self) -> Result<Any, SystemException> {
        Err(self.stage().unavailable("result", self.point == Point::ReceiveReply))
    }

    /// Whether the caller expects results.
    #[must_use]
    pub fn response_expected(&self) -> bool {
        self.watch.kind != Kind::Oneway && self.watch.response.response_expected()
    }

    /// How far a oneway goes before its caller goes on.
    ///
    /// # Errors
    /// `BAD_INV_ORDER` in `send_poll`.
    pub fn sync_scope(&self) -> Result<SyncScope, SystemException> {
        self.stage().valid("sync_scope", self.point != Point::SendPoll)?;
        Ok(match self.response_expected() {
            true => SyncScope::WithTarget,
            false => self.watch.sync_scope,
        })
    }

    /// How the request ended.
    ///
    /// # Errors
    /// `BAD_INV_ORDER` before it has.
    pub fn reply_status(&self) -> Result<ReplyStatus, SystemException> {
        self.stage().reply_status()
    }

    /// The object that the request goes to now.
    ///
    /// # Errors
    /// `BAD_INV_ORDER` where it is not forwarded.
    pub fn forward_reference(&self) -> Result<Object, SystemException> {
        self.stage().forward_reference()
    }

    /// What the caller's thread had in this slot of PICurrent when the request began.
    ///
    /// # Errors
    /// [`InvalidSlot`].
    pub fn get_slot(&self, id: SlotId) -> Result<Any, InvalidSlot> {
        self.watch.slots.get(id, self.watch.target.orb().interceptors().slot_count())
    }

    /// The service context with this number that goes with the request: of those that interceptors
    /// have added.
    ///
    /// # Errors
    /// `BAD_PARAM` with the OMG's minor code 26 when there is none; `BAD_INV_ORDER` in `send_poll`.
    pub fn get_request_service_context(&self, id: u32) -> Result<ServiceContext, SystemException> {
        self.stage().valid("get_request_service_context", self.point != Point::SendPoll)?;
        service_contexts::find(&self.watch.state.lock().added, id)
    }

    /// The service context with this number that came with the reply.
    ///
    /// # Errors
    /// `BAD_PARAM` with the OMG's minor code 26 when there is none; `BAD_INV_ORDER` before the end.
    pub fn get_reply_service_context(&self, id: u32) -> Result<ServiceContext, SystemException> {
        self.stage().valid("get_reply_service_context", self.point.is_ending())?;
        service_contexts::find(&self.watch.state.lock().received, id)
    }

    /// Sends `context` along. One that has its number already is replaced if `replace` says so.
    ///
    /// # Errors
    /// `BAD_INV_ORDER` with the OMG's minor code 15 when it is there and not to be replaced, with
    /// 14 at other points than `send_request`.
    pub fn add_request_service_context(
        &self,
        context: ServiceContext,
        replace: bool,
    ) -> Result<(), SystemException> {
        self.stage().valid("add_request_service_context", self.point == Point::SendRequest)?;
        service_contexts::add(&mut self.watch.state.lock().added, context, replace)
    }

    /// The object that is called.
    #[must_use]
    pub fn target(&self) -> Object {
        self.watch.target.clone()
    }

    /// The object that the request is sent to: another than the target when a server has forwarded
    /// it.
    #[must_use]
    pub fn effective_target(&self) -> Object {
        match &self.watch.forwarded {
            Some(ior) => self.watch.target.related(ior.clone()),
            None => self.target(),
        }
    }

    /// The profile of the effective target that the request goes by.
    #[must_use]
    pub fn effective_profile(&self) -> TaggedProfile {
        let ior = self.watch.effective_ior();
        let profile = ior.profiles.get(self.watch.profile as usize).or(ior.profiles.first());
        profile.cloned().unwrap_or(TaggedProfile { tag: 0, data: Vec::new() })
    }

    /// The first component with this tag of the effective profile.
    ///
    /// # Errors
    /// `BAD_PARAM` with the OMG's minor code 28 when there is none; `BAD_INV_ORDER` in `send_poll`.
    pub fn get_effective_component(&self, tag: u32) -> Result<TaggedComponent, SystemException> {
        Ok(self.get_effective_components(tag)?.swap_remove(0))
    }

    /// All components with this tag of the effective profile.
    ///
    /// # Errors
    /// As [`ClientRequestInfo::get_effective_component`].
    pub fn get_effective_components(
        &self,
        tag: u32,
    ) -> Result<Vec<TaggedComponent>, SystemException> {
        self.stage().valid("get_effective_components", self.point != Point::SendPoll)?;
        let (known, profile) = (self.watch.target.orb().known(), self.effective_profile());
        let decoded = Profile::decode(known, profile.tag, &profile.data)?;
        let all = decoded.map_or_else(Vec::new, |profile| profile.components);
        let found: Vec<_> = all.into_iter().filter(|component| component.tag == tag).collect();
        match found.is_empty() {
            false => Ok(found),
            true => Err(minor::BAD_PARAM_COMPONENT_ID
                .no(format!("the effective profile has no component with the tag {tag:#x}"))),
        }
    }

    /// The policy that the request goes by.
    ///
    /// # Errors
    /// `INV_POLICY` with the OMG's minor code 2 for a kind that is not known; `BAD_INV_ORDER` in
    /// `send_poll`.
    pub fn get_request_policy(&self, kind: PolicyType) -> Result<Option<Policy>, SystemException> {
        self.stage().valid("get_request_policy", self.point != Point::SendPoll)?;
        self.watch.target.get_policy(kind)
    }

    /// The exception that the request ended with, as an any. One of a user holds `UNKNOWN` with the
    /// OMG's minor code 1, as its type is known to the stub alone.
    ///
    /// # Errors
    /// `BAD_INV_ORDER` where there is none.
    pub fn received_exception(&self) -> Result<Any, SystemException> {
        self.stage().exception_any("received_exception")
    }

    /// The system exception that the request ended with, if it was one.
    #[must_use]
    pub fn received_system_exception(&self) -> Option<&SystemException> {
        self.stage().system_exception()
    }

    /// The repository id of the exception that the request ended with.
    ///
    /// # Errors
    /// `BAD_INV_ORDER` where there is none.
    pub fn received_exception_id(&self) -> Result<&str, SystemException> {
        self.stage().exception_id("received_exception_id")
    }

    fn stage(&self) -> Stage<'w> {
        Stage { point: self.point.name(), ending: self.ending }
    }
}

impl fmt::Debug for ClientRequestInfo<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientRequestInfo")
            .field("point", &self.point)
            .field("request", self.watch)
            .finish_non_exhaustive()
    }
}
