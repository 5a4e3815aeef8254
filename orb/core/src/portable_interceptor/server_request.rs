//! `ServerRequestInterceptor` and `ServerRequestInfo` (CORBA 3.3 P1 §16.4), and a request on its
//! way past the interceptors of its server, from its receipt to its answer, on whichever threads.

use super::Interceptor;
use super::flow::{EndingPoint, FlowEnd, FlowStack, Interruption, ReplyStatus, guarded};
use super::raised::Stage;
use super::service_contexts::{self, ServiceContext};
use super::slots::{InvalidSlot, SlotId, SlotScope, Slots};
use crate::policy::SyncScope;
use crate::{Object, Orb};
use corbie_giop::ResponseFlags;
use corbie_threads::lock::{Ranked, rank};
use corbie_types::{Any, SystemException};
use std::fmt;

/// Sees every request that its ORB serves. The point that raises something ends the request, or
/// changes its end for those that are called after it.
pub trait ServerRequestInterceptor: Interceptor {
    /// A request is here; its servant was not looked for yet. To read service contexts and to put
    /// something into slots for the upcall. Not always on the thread of the upcall.
    ///
    /// # Errors
    /// The client gets the exception, or is sent to another object.
    fn receive_request_service_contexts(
        &self,
        info: &ServerRequestInfo<'_>,
    ) -> Result<(), Interruption> {
        let _ = info;
        Ok(())
    }

    /// The servant is about to be called, by this thread.
    ///
    /// # Errors
    /// As [`ServerRequestInterceptor::receive_request_service_contexts`].
    fn receive_request(&self, info: &ServerRequestInfo<'_>) -> Result<(), Interruption> {
        let _ = info;
        Ok(())
    }

    /// Results are about to be sent.
    ///
    /// # Errors
    /// The client gets the exception instead.
    fn send_reply(&self, info: &ServerRequestInfo<'_>) -> Result<(), SystemException> {
        let _ = info;
        Ok(())
    }

    /// An exception is about to be sent.
    ///
    /// # Errors
    /// The client gets this one instead, or is sent to another object.
    fn send_exception(&self, info: &ServerRequestInfo<'_>) -> Result<(), Interruption> {
        let _ = info;
        Ok(())
    }

    /// The client is about to be sent to another object, or gets no reply.
    ///
    /// # Errors
    /// As [`ServerRequestInterceptor::send_exception`].
    fn send_other(&self, info: &ServerRequestInfo<'_>) -> Result<(), Interruption> {
        let _ = info;
        Ok(())
    }
}

/// A request that came in.
pub(crate) struct Received<'r> {
    pub(crate) orb: &'r Orb,
    pub(crate) operation: &'r str,
    pub(crate) response: ResponseFlags,
    /// `None` where they are more than is kept.
    pub(crate) contexts: Option<Vec<ServiceContext>>,
    /// The names of the POAs on the way to the object, each with a NUL behind it.
    pub(crate) path: Vec<u8>,
    pub(crate) object_id: Vec<u8>,
}

/// What the servant of a request says of its interface.
pub(crate) trait TargetInterface {
    fn most_derived(&self) -> String;
    fn is_a(&self, repository_id: &str) -> bool;
}

/// One request on its way past the interceptors of its ORB.
pub(crate) struct ServerWatch {
    orb: Orb,
    operation: String,
    response: ResponseFlags,
    request_id: u32,
    received: Option<Vec<ServiceContext>>,
    path: Vec<u8>,
    object_id: Vec<u8>,
    state: Ranked<rank::Leaf, ServerState>,
}

#[derive(Default)]
struct ServerState {
    stack: FlowStack,
    reply: Vec<ServiceContext>,
    slots: Slots,
    /// What interceptors made of the end.
    changed: Option<FlowEnd>,
}

impl ServerWatch {
    pub(crate) fn new(received: Received<'_>) -> Self {
        let Received { orb, operation, response, contexts, path, object_id } = received;
        ServerWatch {
            orb: orb.clone(),
            operation: operation.to_owned(),
            response,
            request_id: orb.interceptors().next_request_id(),
            received: contexts,
            path,
            object_id,
            state: Ranked::default(),
        }
    }

    /// Shows the request to the interceptors.
    ///
    /// # Errors
    /// What one of them raised. The others have to be told ([`ServerWatch::end`]).
    pub(crate) fn begin(&self) -> Result<(), Interruption> {
        let all = self.orb.interceptors().server();
        let _slots = self.slots_of_points();
        let info = self.info(ServerPoint::ReceiveContexts, None, None);
        let mut stack = FlowStack::default();
        let begun =
            stack.wind(all.len(), |index| all[index].receive_request_service_contexts(&info));
        self.state.lock().stack = stack;
        begun
    }

    /// The servant is about to be called.
    ///
    /// # Errors
    /// What an interceptor raised.
    pub(crate) fn receive_request(&self, target: &dyn TargetInterface) -> Result<(), Interruption> {
        let _slots = self.slots_for_upcall();
        let info = self.info(ServerPoint::ReceiveRequest, None, Some(target));
        let all = self.orb.interceptors().server();
        all.iter().try_for_each(|one| guarded(|| one.receive_request(&info)))
    }

    /// The answer is about to be sent, or there is none: what interceptors made of it, if anything.
    /// Asked again, it is the same.
    pub(crate) fn end(&self, mut ending: FlowEnd) -> Option<FlowEnd> {
        let mut stack = std::mem::take(&mut self.state.lock().stack);
        if stack.is_empty() {
            return self.state.lock().changed.clone();
        }
        let all = self.orb.interceptors().server();
        let _slots = self.slots_of_points();
        let is_changed = stack.unwind(&mut ending, |index, ending| {
            let Some(interceptor) = all.get(index) else { return Ok(()) };
            let info = |point| self.info(point, Some(ending), None);
            match ending.point() {
                EndingPoint::Reply => Ok(interceptor.send_reply(&info(ServerPoint::SendReply))?),
                EndingPoint::Exception => {
                    interceptor.send_exception(&info(ServerPoint::SendException))
                }
                EndingPoint::Other => interceptor.send_other(&info(ServerPoint::SendOther)),
            }
        });
        let mut state = self.state.lock();
        state.changed = is_changed.then_some(ending);
        state.changed.clone()
    }

    /// What goes back with the reply.
    pub(crate) fn reply_contexts(&self) -> Vec<ServiceContext> {
        self.state.lock().reply.clone()
    }

    /// The servant has set these.
    pub(crate) fn note_reply_contexts(&self, contexts: Vec<ServiceContext>) {
        let mut state = self.state.lock();
        for context in contexts {
            // With `replace` it is never refused.
            let _ = service_contexts::add(&mut state.reply, context, true);
        }
    }

    /// Gives the calling thread the slots of the request, until the result is dropped.
    pub(crate) fn slots_for_upcall(&self) -> SlotScope {
        let slots = self.state.lock().slots.clone();
        SlotScope::enter(self.orb.interceptors().number(), slots)
    }

    /// What interceptors put into slots of their thread is for their own calls.
    fn slots_of_points(&self) -> SlotScope {
        SlotScope::enter(self.orb.interceptors().number(), Slots::default())
    }

    fn info<'w>(
        &'w self,
        point: ServerPoint,
        ending: Option<&'w FlowEnd>,
        target: Option<&'w dyn TargetInterface>,
    ) -> ServerRequestInfo<'w> {
        ServerRequestInfo { watch: self, point, ending, target }
    }
}

/// Where a request is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ServerPoint {
    ReceiveContexts,
    ReceiveRequest,
    SendReply,
    SendException,
    SendOther,
}

impl ServerPoint {
    fn name(self) -> &'static str {
        match self {
            ServerPoint::ReceiveContexts => "receive_request_service_contexts",
            ServerPoint::ReceiveRequest => "receive_request",
            ServerPoint::SendReply => "send_reply",
            ServerPoint::SendException => "send_exception",
            ServerPoint::SendOther => "send_other",
        }
    }
}

/// What a [`ServerRequestInterceptor`] is told of a request. What is not known at a point raises
/// `BAD_INV_ORDER` with the OMG's minor code 14 there (CORBA 3.3 P1 Table 16.2). Arguments and
/// results are typed in skeletons and not kept: `NO_RESOURCES` with the OMG's minor code 1.
#[derive(Clone, Copy)]
pub struct ServerRequestInfo<'w> {
    watch: &'w ServerWatch,
    point: ServerPoint,
    ending: Option<&'w FlowEnd>,
    target: Option<&'w dyn TargetInterface>,
}

impl<'w> ServerRequestInfo<'w> {
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
        let points = [ServerPoint::ReceiveRequest, ServerPoint::SendReply];
        Err(self.stage().unavailable("arguments", points.contains(&self.point)))
    }

    /// The TypeCodes of the user exceptions of the operation: not available.
    ///
    /// # Errors
    /// As [`ServerRequestInfo::arguments`].
    pub fn exceptions(&self) -> Result<Vec<Any>, SystemException> {
        Err(self.stage().unavailable("exceptions", self.has_target()))
    }

    /// The names of the operation's `context` clause: not available.
    ///
    /// # Errors
    /// As [`ServerRequestInfo::arguments`].
    pub fn contexts(&self) -> Result<Vec<String>, SystemException> {
        Err(self.stage().unavailable("contexts", self.has_target()))
    }

    /// The context that came along: not available.
    ///
    /// # Errors
    /// As [`ServerRequestInfo::arguments`].
    pub fn operation_context(&self) -> Result<Vec<(String, String)>, SystemException> {
        let points = [ServerPoint::ReceiveRequest, ServerPoint::SendReply];
        Err(self.stage().unavailable("operation_context", points.contains(&self.point)))
    }

    /// The result: not available.
    ///
    /// # Errors
    /// As [`ServerRequestInfo::arguments`].
    pub fn result(&self) -> Result<Any, SystemException> {
        Err(self.stage().unavailable("result", self.point == ServerPoint::SendReply))
    }

    /// Whether the client waits for results.
    #[must_use]
    pub fn response_expected(&self) -> bool {
        self.watch.response.response_expected()
    }

    /// How far the request goes before its client goes on; `SyncScope::WithTransport` for any that
    /// has no answer, as messages do not tell more.
    #[must_use]
    pub fn sync_scope(&self) -> SyncScope {
        match self.watch.response {
            ResponseFlags::WithTarget => SyncScope::WithTarget,
            ResponseFlags::WithServer => SyncScope::WithServer,
            ResponseFlags::None => SyncScope::WithTransport,
        }
    }

    /// How the request ended.
    ///
    /// # Errors
    /// `BAD_INV_ORDER` before it has.
    pub fn reply_status(&self) -> Result<ReplyStatus, SystemException> {
        self.stage().reply_status()
    }

    /// The object that the client is sent to.
    ///
    /// # Errors
    /// `BAD_INV_ORDER` where it is sent to none.
    pub fn forward_reference(&self) -> Result<Object, SystemException> {
        self.stage().forward_reference()
    }

    /// What the request has in this slot.
    ///
    /// # Errors
    /// [`InvalidSlot`].
    pub fn get_slot(&self, id: SlotId) -> Result<Any, InvalidSlot> {
        let count = self.watch.orb.interceptors().slot_count();
        self.watch.state.lock().slots.get(id, count)
    }

    /// Puts `data` into a slot of the request: the upcall has it in PICurrent, and later points
    /// here.
    ///
    /// # Errors
    /// [`InvalidSlot`].
    pub fn set_slot(&self, id: SlotId, data: Any) -> Result<(), InvalidSlot> {
        let count = self.watch.orb.interceptors().slot_count();
        self.watch.state.lock().slots.set(id, data, count)
    }

    /// The service context with this number that came with the request.
    ///
    /// # Errors
    /// `BAD_PARAM` with the OMG's minor code 26 when there is none, `IMP_LIMIT` when those of the
    /// request have more than 16 KiB together and so were not kept; both `COMPLETED_NO`.
    pub fn get_request_service_context(&self, id: u32) -> Result<ServiceContext, SystemException> {
        let received = service_contexts::all(self.watch.received.as_deref())?;
        service_contexts::find(received, id)
    }

    /// The service context with this number that goes with the reply.
    ///
    /// # Errors
    /// `BAD_PARAM` with the OMG's minor code 26 when there is none; `BAD_INV_ORDER` before the end.
    pub fn get_reply_service_context(&self, id: u32) -> Result<ServiceContext, SystemException> {
        self.stage().valid("get_reply_service_context", self.ending.is_some())?;
        service_contexts::find(&self.watch.state.lock().reply, id)
    }

    /// Sends `context` along with the reply. One that has its number already is replaced if
    /// `replace` says so.
    ///
    /// # Errors
    /// `BAD_INV_ORDER` with the OMG's minor code 15 when it is there and not to be replaced.
    pub fn add_reply_service_context(
        &self,
        context: ServiceContext,
        replace: bool,
    ) -> Result<(), SystemException> {
        service_contexts::add(&mut self.watch.state.lock().reply, context, replace)
    }

    /// The exception that is about to be sent, as an any. One of a user holds `UNKNOWN` with the
    /// OMG's minor code 1, as its type is known to the skeleton alone.
    ///
    /// # Errors
    /// `BAD_INV_ORDER` where there is none.
    pub fn sending_exception(&self) -> Result<Any, SystemException> {
        self.stage().exception_any("sending_exception")
    }

    /// The system exception that is about to be sent, if it is one.
    #[must_use]
    pub fn sending_system_exception(&self) -> Option<&SystemException> {
        self.stage().system_exception()
    }

    /// The repository id of the exception that is about to be sent.
    ///
    /// # Errors
    /// `BAD_INV_ORDER` where there is none.
    pub fn sending_exception_id(&self) -> Result<&str, SystemException> {
        self.stage().exception_id("sending_exception_id")
    }

    /// The object id of the target; empty for a key that is not of a POA.
    ///
    /// # Errors
    /// `BAD_INV_ORDER` before the target is known.
    pub fn object_id(&self) -> Result<&[u8], SystemException> {
        self.stage().valid("object_id", self.has_target())?;
        Ok(&self.watch.object_id)
    }

    /// Octets that no two POAs of the ORB share.
    ///
    /// # Errors
    /// As [`ServerRequestInfo::object_id`].
    pub fn adapter_id(&self) -> Result<&[u8], SystemException> {
        self.stage().valid("adapter_id", self.has_target())?;
        Ok(&self.watch.path)
    }

    /// The names of the POAs on the way to the object, `RootPOA` first.
    ///
    /// # Errors
    /// As [`ServerRequestInfo::object_id`].
    pub fn adapter_name(&self) -> Result<Vec<String>, SystemException> {
        self.stage().valid("adapter_name", self.has_target())?;
        let names = self.watch.path.split(|octet| *octet == 0).filter(|name| !name.is_empty());
        let names = names.map(|name| String::from_utf8_lossy(name).into_owned());
        Ok(std::iter::once("RootPOA".to_owned()).chain(names).collect())
    }

    /// The setting `server_id`.
    ///
    /// # Errors
    /// As [`ServerRequestInfo::object_id`].
    pub fn server_id(&self) -> Result<&str, SystemException> {
        self.stage().valid("server_id", self.has_target())?;
        Ok(&self.watch.orb.settings().server_id)
    }

    /// The id of the ORB.
    ///
    /// # Errors
    /// As [`ServerRequestInfo::object_id`].
    pub fn orb_id(&self) -> Result<&str, SystemException> {
        self.stage().valid("orb_id", self.has_target())?;
        Ok(&self.watch.orb.settings().orb_id)
    }

    /// The repository id of the servant's most derived interface.
    ///
    /// # Errors
    /// `BAD_INV_ORDER` at other points than `receive_request`.
    pub fn target_most_derived_interface(&self) -> Result<String, SystemException> {
        let target = self.target.map(TargetInterface::most_derived);
        target.ok_or_else(|| self.stage().invalid("target_most_derived_interface"))
    }

    /// Whether the servant has this interface.
    ///
    /// # Errors
    /// As [`ServerRequestInfo::target_most_derived_interface`].
    pub fn target_is_a(&self, repository_id: &str) -> Result<bool, SystemException> {
        let answer = self.target.map(|target| target.is_a(repository_id));
        answer.ok_or_else(|| self.stage().invalid("target_is_a"))
    }

    fn has_target(&self) -> bool {
        self.point != ServerPoint::ReceiveContexts
    }

    fn stage(&self) -> Stage<'w> {
        Stage { point: self.point.name(), ending: self.ending }
    }
}

impl fmt::Debug for ServerRequestInfo<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerRequestInfo")
            .field("point", &self.point)
            .field("operation", &self.watch.operation)
            .field("request_id", &self.watch.request_id)
            .finish_non_exhaustive()
    }
}
