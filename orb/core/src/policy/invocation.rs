//! The policies of a request as its server sees them (CORBA Messaging §22.3.3).
//!
//! `server/dispatch` reads them when a request carries the INVOCATION_POLICIES context; servants
//! and interceptors may look at them.

use crate::policy::{Policy, PolicySet, PolicyType, UtcT, wire};
use corbie_types::{CompletionStatus, SystemException, minor};

/// The end time of a reply is the client's own business: the server only spares work that no client
/// waits for, and not because two clocks differ by less than this (units of 100 ns).
const CLOCK_TOLERANCE: u64 = 10_000_000;

/// The policies that a client sent with a request.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct InvocationPolicies(PolicySet);

impl InvocationPolicies {
    /// Reads the data of a service context.
    ///
    /// # Errors
    /// `MARSHAL` (`COMPLETED_NO`) when it cannot be read.
    pub fn read(data: &[u8]) -> Result<Self, SystemException> {
        match wire::read_context(data) {
            Ok(set) => Ok(InvocationPolicies(set)),
            Err(error) => Err(SystemException::from(error).completed(CompletionStatus::No)),
        }
    }

    /// The policy of this kind, if it was sent.
    #[must_use]
    pub fn get(&self, policy_type: PolicyType) -> Option<Policy> {
        self.0.get(policy_type)
    }

    /// After when the request may not be served any more.
    #[must_use]
    pub fn request_end(&self) -> Option<UtcT> {
        match self.get(PolicyType::REQUEST_END_TIME) {
            Some(Policy::RequestEndTime(end)) => Some(end),
            _ => None,
        }
    }

    /// After when the client does not wait for the reply any more.
    #[must_use]
    pub fn reply_end(&self) -> Option<UtcT> {
        match self.get(PolicyType::REPLY_END_TIME) {
            Some(Policy::ReplyEndTime(end)) => Some(end),
            _ => None,
        }
    }

    /// The highest priority that the request may have; higher is more urgent.
    #[must_use]
    pub fn priority(&self) -> Option<i16> {
        match self.get(PolicyType::REQUEST_PRIORITY) {
            Some(Policy::RequestPriority(range)) => Some(range.max),
            _ => None,
        }
    }

    /// Whether the request may still be served.
    ///
    /// # Errors
    /// `TIMEOUT` (`COMPLETED_NO`) when the end time of the request or of its reply has passed.
    pub(crate) fn check_in_time(
        &self,
        operation: &str,
        has_reply: bool,
    ) -> Result<(), SystemException> {
        let tolerated = |end: UtcT| UtcT { time: end.time.saturating_add(CLOCK_TOLERANCE), ..end };
        let reply_end = self.reply_end().filter(|_| has_reply);
        let (minor, end, what) = match (self.request_end(), reply_end) {
            (Some(end), _) if end.has_passed() => (minor::TIMEOUT_REQUEST_END, end, "request"),
            (_, Some(end)) if tolerated(end).has_passed() => {
                (minor::TIMEOUT_REPLY_END, end, "reply")
            }
            _ => return Ok(()),
        };
        let late = UtcT::now().time.saturating_sub(end.time) / 10_000;
        let exception = SystemException::timeout(minor, CompletionStatus::No);
        Err(exception.with_detail(format!(
            "{operation} was not begun: by the clock of the server the end time of its {what} \
             passed {late} ms ago; allow more time, or compare the clocks of both machines"
        )))
    }
}
