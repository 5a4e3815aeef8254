//! What one call goes by: the policies of all levels and of the reference, joined.
//!
//! The levels are those of CORBA 3.3 P1 §8.9: reference over thread over ORB over settings; then
//! what the reference says of its server narrows them (CORBA Messaging §22.3.2). Done once per
//! reference; again for each call only where the thread has policies of its own or the ORB's
//! changed since.

use crate::policy::{
    BufferingConstraint, Policy, PolicySet, PolicyType, PriorityRange, QueueOrder, RebindMode,
    SyncScope, UtcT,
};
use corbie_connection::Clock;
use corbie_settings::Settings;
use corbie_types::{Minor, SystemException, minor};
use std::ops::Deref;
use std::time::{Duration, Instant};

/// The policies of one call.
#[derive(Clone, Debug)]
pub(crate) struct CallPolicies {
    /// How long the whole call may take: by policy, else by the setting `request_timeout`, unless
    /// `reply_timeout` says how long to wait.
    pub(crate) roundtrip_timeout: Option<Duration>,
    /// How long sending may take: the setting `request_timeout`, where it bounds no more than that.
    sending_timeout: Option<Duration>,
    /// The same where a policy says it: that travels, a setting does not.
    pub(crate) roundtrip_policy: Option<Duration>,
    pub(crate) request_timeout: Option<Duration>,
    pub(crate) reply_timeout: Option<Duration>,
    pub(crate) request_start: Option<UtcT>,
    pub(crate) request_end: Option<UtcT>,
    pub(crate) reply_start: Option<UtcT>,
    pub(crate) reply_end: Option<UtcT>,
    pub(crate) request_priority: Option<PriorityRange>,
    pub(crate) reply_priority: Option<PriorityRange>,
    pub(crate) queue_order: Option<QueueOrder>,
    pub(crate) sync_scope: SyncScope,
    pub(crate) rebind: RebindMode,
    pub(crate) buffering: Option<BufferingConstraint>,
    /// Whether anything but `roundtrip_timeout` says when the call ends.
    has_times: bool,
    /// Whether requests carry an INVOCATION_POLICIES context.
    pub(crate) travel: bool,
    /// Whether calls pass interceptors.
    pub(crate) is_watched: bool,
    /// Whether requests may carry any context of their own: one look where they are written.
    pub(crate) adds_contexts: bool,
}

/// The policies of a call: the reference's own in the usual case, so that nothing is copied.
#[expect(clippy::large_enum_variant, reason = "lives on the stack; a box would cost each call")]
pub(crate) enum Effective<'o> {
    Cached(&'o CallPolicies),
    Joined(CallPolicies),
}

impl Deref for Effective<'_> {
    type Target = CallPolicies;

    #[inline]
    fn deref(&self) -> &CallPolicies {
        match self {
            Effective::Cached(policies) => policies,
            Effective::Joined(policies) => policies,
        }
    }
}

/// What a reference keeps of its policies, and the ORB's generation that it was made of.
pub(crate) struct CachedPolicies(Box<(u32, Result<CallPolicies, SystemException>)>);

impl CachedPolicies {
    /// `joined` when the policies of the ORB were in the state `generation`.
    pub(crate) fn new(generation: u32, joined: Result<CallPolicies, SystemException>) -> Self {
        CachedPolicies(Box::new((generation, joined)))
    }

    /// Those policies, unless the ORB's have changed since.
    #[inline]
    pub(crate) fn now(&self, generation: u32) -> Option<&CallPolicies> {
        let (made_of, joined) = &*self.0;
        joined.as_ref().ok().filter(|_| *made_of == generation)
    }
}

impl CallPolicies {
    /// Those of `set`, and what `settings` say where it says nothing.
    pub(crate) fn new(set: &PolicySet, settings: &Settings) -> CallPolicies {
        macro_rules! value {
            ($kind:ident, $variant:ident) => {
                match set.get(PolicyType::$kind) {
                    Some(Policy::$variant(value)) => Some(value),
                    _ => None,
                }
            };
        }
        let roundtrip_policy = value!(RELATIVE_ROUNDTRIP_TIMEOUT, RelativeRoundtripTimeout);
        let reply_timeout = value!(RELATIVE_REPLY_TIMEOUT, RelativeReplyTimeout);
        // A setting is for calls of which no policy says more; a reply that may take longer than it
        // is waited for.
        let (setting, sending) = match reply_timeout {
            Some(_) => (None, settings.request_timeout),
            None => (settings.request_timeout, None),
        };
        let mut policies = CallPolicies {
            roundtrip_timeout: roundtrip_policy.or(setting),
            sending_timeout: sending,
            roundtrip_policy,
            request_timeout: value!(RELATIVE_REQUEST_TIMEOUT, RelativeRequestTimeout),
            reply_timeout,
            request_start: value!(REQUEST_START_TIME, RequestStartTime),
            request_end: value!(REQUEST_END_TIME, RequestEndTime),
            reply_start: value!(REPLY_START_TIME, ReplyStartTime),
            reply_end: value!(REPLY_END_TIME, ReplyEndTime),
            request_priority: value!(REQUEST_PRIORITY, RequestPriority),
            reply_priority: value!(REPLY_PRIORITY, ReplyPriority),
            queue_order: value!(QUEUE_ORDER, QueueOrder),
            sync_scope: value!(SYNC_SCOPE, SyncScope).unwrap_or(settings.sync_scope),
            rebind: value!(REBIND, Rebind).unwrap_or_default(),
            buffering: value!(BUFFERING_CONSTRAINT, BufferingConstraint),
            has_times: false,
            travel: false,
            is_watched: false,
            adds_contexts: false,
        };
        let of_request = policies.request_start.or(policies.request_end);
        let has_point = of_request.or(policies.reply_start).or(policies.reply_end).is_some();
        let is_relative = policies.request_timeout.or(policies.reply_timeout).is_some();
        let has_priority = policies.request_priority.or(policies.reply_priority).is_some();
        policies.has_times = has_point || is_relative;
        policies.travel = has_point
            || policies.roundtrip_policy.or(policies.request_timeout).is_some()
            || has_priority
            || policies.queue_order.is_some();
        policies.adds_contexts = policies.travel;
        policies
    }

    /// The same for calls that pass interceptors, if `is_watched`.
    pub(crate) fn watched(self, is_watched: bool) -> CallPolicies {
        let adds_contexts = self.travel || is_watched;
        CallPolicies { is_watched, adds_contexts, ..self }
    }

    /// Whether a call that is no message meets them: a servant of the same process cannot be
    /// stopped when the time is over, and there is no connection that could break.
    #[inline]
    pub(crate) fn are_met_without_message(&self) -> bool {
        !self.has_times && !self.travel && self.rebind != RebindMode::NoReconnect
    }

    /// A call begins: its clock.
    ///
    /// Waits until the request's start time, if it has one.
    ///
    /// # Errors
    /// `TIMEOUT` (`COMPLETED_NO`) when the time of the call ended before it began.
    #[inline]
    pub(crate) fn begin(&self) -> Result<Clock, SystemException> {
        let clock = self.begin_at_once()?;
        if self.has_times {
            self.wait_for_start();
        }
        Ok(clock)
    }

    /// As [`CallPolicies::begin`], for a thread that waits for nothing: the request may leave when
    /// [`CallPolicies::starts_later`] says.
    ///
    /// # Errors
    /// As [`CallPolicies::begin`].
    #[inline]
    pub(crate) fn begin_at_once(&self) -> Result<Clock, SystemException> {
        if self.has_times {
            self.begin_with_times()
        } else {
            Ok(Clock::start(self.roundtrip_timeout))
        }
    }

    /// When the request may leave, if not yet.
    #[inline]
    pub(crate) fn starts_later(&self) -> Option<Instant> {
        let left = self.request_start.map(|start| start.left())?;
        Instant::now().checked_add(left).filter(|_| !left.is_zero())
    }

    #[cold]
    fn wait_for_start(&self) {
        if let Some(start) = self.request_start {
            std::thread::sleep(start.left());
        }
    }

    #[cold]
    fn begin_with_times(&self) -> Result<Clock, SystemException> {
        let left = |end: Option<UtcT>| end.map(|end| end.left());
        let whole = self.roundtrip_timeout.into_iter().chain(left(self.reply_end)).min();
        let sending = self.request_timeout.into_iter().chain(left(self.request_end)).min();
        let start = self.request_start.map_or(Duration::ZERO, |start| start.left());
        let never =
            |minor: Minor, what: &str| Err(minor.no(format!("the request was not sent: {what}")));
        let first = sending.into_iter().chain(self.sending_timeout).min();
        if first.is_some_and(|sending| sending <= start) {
            return never(minor::TIMEOUT_REQUEST_END, "its end time came before it could be");
        }
        if whole.is_some_and(|whole| whole <= start) {
            return never(minor::TIMEOUT_REPLY_END, "the end time of its reply came before");
        }
        Ok(Clock::in_phases(sending, self.sending_timeout, whole, self.reply_timeout))
    }

    /// The reply is here: waits until it may be delivered.
    #[inline]
    pub(crate) fn hold_reply(&self) {
        if let Some(start) = self.reply_start {
            std::thread::sleep(start.left());
        }
    }
}

/// What is left of `set` where the server of a reference has `exposed`.
///
/// # Errors
/// `INV_POLICY` (`COMPLETED_NO`) when nothing is.
pub(crate) fn reconciled(
    set: &PolicySet,
    exposed: &PolicySet,
) -> Result<PolicySet, SystemException> {
    let mut narrowed = *set;
    for policy in exposed.iter() {
        let here = set.get(policy.policy_type());
        let both = match (here, policy) {
            (None, policy) => Some(policy),
            (Some(Policy::RequestPriority(here)), Policy::RequestPriority(there)) => {
                here.intersection(there).map(Policy::RequestPriority)
            }
            (Some(Policy::ReplyPriority(here)), Policy::ReplyPriority(there)) => {
                here.intersection(there).map(Policy::ReplyPriority)
            }
            (Some(Policy::QueueOrder(here)), Policy::QueueOrder(there)) => {
                let both = QueueOrder(here.0 & there.0);
                (both.0 != 0).then_some(Policy::QueueOrder(both))
            }
            (here, _) => here,
        };
        narrowed.insert(both.ok_or_else(|| irreconcilable(here, policy))?);
    }
    Ok(narrowed)
}

#[cold]
fn irreconcilable(here: Option<Policy>, there: Policy) -> SystemException {
    minor::INV_POLICY_IRRECONCILABLE.no(format!(
        "{} cannot be met: set here is {here:?}, but the reference says {there:?}",
        there.policy_type()
    ))
}
