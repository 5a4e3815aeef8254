//! `Messaging::Poller`: a reply that the application asks for when it wants it.
//!
//! Typed pollers of generated code (`AmiQuoterPoller`) are this and a method for each operation.
//! CORBA Messaging §22.9 (what it has, what its exceptions mean), §22.10.

use crate::delivery::ReplyStub;
use crate::pollable::{Membership, Pollable, Polled};
use crate::pollable_set::PollableSet;
use crate::reply_handler::ReplyHandler;
use corbie_core::{Deliver, Interface, Object, Orb, PendingReply, Reply};
use corbie_threads::lock::{Ranked, rank};
use corbie_types::{SystemException, minor};
use std::any::Any;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

/// A reply that is waited for. Clones are the same poller; when the last one goes, the reply is
/// forgotten.
///
/// Time-outs are the longest time to wait: `Some(Duration::ZERO)` only looks, `None` waits as long
/// as the call itself may take.
#[derive(Clone)]
pub struct Poller(Arc<PollerState>);

/// What every clone of a poller shares.
struct PollerState {
    /// The repository id of the typed poller.
    type_id: &'static str,
    target: Object,
    operation: &'static str,
    /// How the reply is given to a handler; `None` without callbacks in the generated code.
    stub: Option<&'static ReplyStub>,
    pending: PendingReply,
    /// Whether the reply was handed out.
    is_delivered: AtomicBool,
    /// Whether the last exception came from the poller rather than from the call.
    is_from_poller: AtomicBool,
    membership: Membership,
    handler: Ranked<rank::Leaf, Option<Object>>,
}

impl Poller {
    /// A poller for `operation` of `target`, which was sent already. Used by generated code:
    /// `type_id` names the typed poller.
    #[must_use]
    pub fn new(
        type_id: &'static str,
        target: &Object,
        operation: &'static str,
        stub: Option<&'static ReplyStub>,
        pending: PendingReply,
    ) -> Self {
        Poller(Arc::new(PollerState {
            type_id,
            target: target.clone(),
            operation,
            stub,
            pending,
            is_delivered: AtomicBool::new(false),
            is_from_poller: AtomicBool::new(false),
            membership: Membership::default(),
            handler: Ranked::default(),
        }))
    }

    /// Whether the reply is here (or was handed out already). Never waits; with [`Poller::wait`]
    /// what the specification calls `is_ready (timeout)`.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.0.pending.is_ready()
    }

    /// Waits for the reply; whether it is here.
    pub fn wait(&self, timeout: Option<Duration>) -> bool {
        match timeout {
            Some(Duration::ZERO) => self.is_ready(),
            timeout => self.0.pending.wait(timeout),
        }
    }

    /// The object that was called.
    #[must_use]
    pub fn operation_target(&self) -> &Object {
        &self.0.target
    }

    /// The name of the operation that was called; with `_get_` or `_set_` for an attribute.
    #[must_use]
    pub fn operation_name(&self) -> &'static str {
        self.0.operation
    }

    /// The repository id of the typed poller that this is.
    #[must_use]
    pub fn type_id(&self) -> &'static str {
        self.0.type_id
    }

    /// Whether the system exception that the poller raised last came from itself (`NO_RESPONSE`,
    /// `TIMEOUT`, …) rather than from the call.
    ///
    /// # Errors
    /// `BAD_INV_ORDER` when the poller has neither handed out a reply nor raised anything.
    pub fn is_from_poller(&self) -> Result<bool, SystemException> {
        let is_from_poller = self.0.is_from_poller.load(Ordering::Relaxed);
        if !is_from_poller && !self.is_delivered() {
            return Err(minor::BAD_INV_ORDER_POLLER_NOT_READY
                .no(format!("the poller of {} has no reply yet", self.0.operation)));
        }
        Ok(is_from_poller)
    }

    /// The reply to `operation`, once. Generated code decodes it.
    ///
    /// # Errors
    /// The system exception of the call. From the poller itself, `COMPLETED_NO`: `NO_RESPONSE`
    /// when the reply is not here and `timeout` is zero, `TIMEOUT` when it did not come in time,
    /// `OBJECT_NOT_EXIST` when it was handed out already, `BAD_OPERATION` when another operation
    /// was called.
    pub fn reply(
        &self,
        operation: &str,
        timeout: Option<Duration>,
    ) -> Result<Reply, SystemException> {
        let outcome = self.check(operation, timeout);
        self.0.is_from_poller.store(outcome.is_err(), Ordering::Relaxed);
        outcome?;
        self.0.pending.take()
    }

    /// Waits, and claims the reply for the caller.
    fn check(&self, operation: &str, timeout: Option<Duration>) -> Result<(), SystemException> {
        let state = &*self.0;
        if operation != state.operation {
            return Err(minor::BAD_OPERATION_UNKNOWN
                .no(format!("this poller is of {}, not {operation}", state.operation)));
        }
        // A wait for what was handed out already would end at once.
        if !self.wait(timeout) {
            if timeout.is_some_and(|timeout| timeout.is_zero()) {
                return Err(minor::NO_RESPONSE_NOT_YET
                    .no(format!("the reply to {operation} is not here yet")));
            }
            return Err(minor::TIMEOUT_POLLER.no(format!(
                "no reply to {operation} came within {:?}; the call goes on: poll again",
                timeout.unwrap_or_default()
            )));
        }
        match state.claim() {
            true => Ok(()),
            false => Err(minor::OBJECT_NOT_EXIST_POLLER_DELIVERED.no(format!(
                "the reply to {operation} was handed out already, which happens once"
            ))),
        }
    }

    /// Whether the reply was handed out: to a caller of the poller or to its handler.
    fn is_delivered(&self) -> bool {
        self.0.is_delivered.load(Ordering::Acquire)
    }

    /// A set that has this poller in it.
    ///
    /// # Errors
    /// `BAD_PARAM` when it is in a set already.
    pub fn create_pollable_set(&self) -> Result<PollableSet, SystemException> {
        Pollable::from(self).create_pollable_set()
    }

    /// The handler that gets the reply instead of a caller of the poller.
    #[must_use]
    pub fn associated_handler(&self) -> Option<ReplyHandler> {
        self.0.handler.lock().clone().map(ReplyHandler::from_object)
    }

    /// Turns the poller into a callback: the reply goes to `handler`, a handler of the operation's
    /// interface, at once or when it comes. `None` turns it back, unless it was delivered.
    ///
    /// # Errors
    /// `NO_IMPLEMENT` when the code was generated without callbacks; `BAD_INV_ORDER` while the
    /// poller is in a pollable set, whose task it is to look for the reply.
    pub fn set_associated_handler(&self, handler: Option<&Object>) -> Result<(), SystemException> {
        let state = &self.0;
        let Some(stub) = state.stub else {
            return Err(minor::NO_IMPLEMENT_FEATURE
                .no("no reply handlers were generated: switch on ami_callback"));
        };
        if state.membership.is_member() {
            return Err(minor::BAD_INV_ORDER_POLLER_IN_SET
                .no("a poller in a pollable set cannot have a handler: remove it first"));
        }
        *state.handler.lock() = handler.cloned();
        if handler.is_some() {
            let delivery = Arc::new(HandlerDelivery { state: Arc::clone(state), stub });
            let waker = Waker::from(Arc::clone(&delivery));
            if state.pending.poll_ready(&mut Context::from_waker(&waker)).is_ready() {
                delivery.deliver();
            }
        }
        Ok(())
    }
}

impl PollerState {
    /// Whether the caller is the first to want the reply that is here.
    fn claim(&self) -> bool {
        !self.is_delivered.swap(true, Ordering::AcqRel)
    }
}

/// Gives the reply of a poller to its handler when it comes.
struct HandlerDelivery {
    state: Arc<PollerState>,
    stub: &'static ReplyStub,
}

impl HandlerDelivery {
    fn deliver(&self) {
        let handler = self.state.handler.lock().clone();
        if let Some(handler) = handler
            && self.state.claim()
        {
            self.stub.deliver(&handler, self.state.pending.take());
        }
    }
}

impl Wake for HandlerDelivery {
    fn wake(self: Arc<Self>) {
        self.deliver();
    }
}

impl Polled for Poller {
    fn is_ready(&self) -> bool {
        Poller::is_ready(self)
    }

    fn has_reply(&self) -> bool {
        !self.is_delivered()
    }

    fn poll_ready(&self, context: &mut Context<'_>) -> Poll<()> {
        self.0.pending.poll_ready(context)
    }

    fn membership(&self) -> &Membership {
        &self.0.membership
    }

    fn orb(&self) -> &Orb {
        self.0.target.orb()
    }
}

impl Pollable {
    /// The poller that this is; `None` for deferred requests of the dynamic invocation interface.
    #[must_use]
    pub fn as_poller(&self) -> Option<&Poller> {
        let polled: &dyn Any = self.polled();
        polled.downcast_ref()
    }
}

impl From<Poller> for Pollable {
    fn from(poller: Poller) -> Self {
        Pollable::new(poller)
    }
}

impl From<&Poller> for Pollable {
    fn from(poller: &Poller) -> Self {
        Pollable::new(poller.clone())
    }
}

impl PartialEq<Poller> for Pollable {
    fn eq(&self, other: &Poller) -> bool {
        self.as_poller() == Some(other)
    }
}

impl PartialEq for Poller {
    /// Whether both are the same poller.
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl fmt::Debug for Poller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Poller")
            .field("operation", &self.0.operation)
            .field("is_ready", &self.is_ready())
            .finish_non_exhaustive()
    }
}

/// A typed poller. Implemented by generated code.
pub trait TypedPoller: Clone + Send + Sync + 'static {
    /// The repository id of the typed poller.
    const TYPE_ID: &'static str;

    /// The typed view of a poller, unchecked.
    fn from_poller(poller: Poller) -> Self;
    /// The poller without its type.
    fn as_poller(&self) -> &Poller;

    /// The typed view of what a pollable set returned, if it is of this type.
    fn downcast(pollable: &Pollable) -> Option<Self> {
        let poller = pollable.as_poller()?;
        (poller.type_id() == Self::TYPE_ID).then(|| Self::from_poller(poller.clone()))
    }
}
