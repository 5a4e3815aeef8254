//! Calls to naming contexts of other servers, on behalf of a client whose name leads there.
//!
//! Each hop takes at least one component off the name, so a cycle of servers ends. What could hang
//! is bounded: the time of a call, and how many are under way, since each holds a thread of ours.
//! A client that gets `CannotProceed` can go on at that context itself.

use super::{Limits, Shared};
use crate::NameComponent;
use crate::cos_naming::NamingContext;
use crate::refusal::Refusal;
use corbie::policy::{Policy, SetOverrideType};
use corbie::{CompletionStatus, Interface, SystemException, minor};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// How many calls are under way.
pub(super) struct Federation {
    under_way: AtomicUsize,
    most: usize,
    timeout: Duration,
}

impl Federation {
    pub(super) fn new(limits: &Limits) -> Self {
        Self {
            under_way: AtomicUsize::new(0),
            most: limits.federated_calls,
            timeout: limits.federated_timeout,
        }
    }

    fn enter(&self) -> Option<UnderWay<'_>> {
        let room = |count: usize| (count < self.most).then_some(count + 1);
        self.under_way.fetch_update(Ordering::AcqRel, Ordering::Acquire, room).ok()?;
        Some(UnderWay(self))
    }
}

struct UnderWay<'f>(&'f Federation);

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        self.0.under_way.fetch_sub(1, Ordering::AcqRel);
    }
}

impl Shared {
    /// Has `context`, of another server, do the rest.
    pub(super) fn elsewhere<T, E: Into<Refusal>>(
        &self,
        context: &NamingContext,
        rest: &[NameComponent],
        call: impl FnOnce(&NamingContext) -> Result<T, E>,
    ) -> Result<T, Refusal> {
        let Some(_under_way) = self.federation.enter() else {
            tracing::warn!("too many calls to other naming servers are under way");
            return Err(Refusal::cannot_proceed(context, rest));
        };
        let timeout = Policy::RelativeRoundtripTimeout(self.federation.timeout);
        let hasty = context
            .set_policy_overrides(&[timeout], SetOverrideType::Add)
            .map_err(|error| Refusal::System(override_failed(&error.to_string())))?;
        match call(&hasty).map_err(Into::into) {
            // It was not done: the client may try there. Else it must know that it may be done.
            Err(Refusal::System(exception)) if exception.completed == CompletionStatus::No => {
                tracing::debug!(%exception, "a naming context elsewhere cannot be called");
                Err(Refusal::cannot_proceed(context, rest))
            }
            other => other,
        }
    }

    /// As [`Shared::elsewhere`] for what changes nothing: it is all the same whether it was done.
    pub(super) fn look_elsewhere<T, E: Into<Refusal>>(
        &self,
        context: &NamingContext,
        rest: &[NameComponent],
        call: impl FnOnce(&NamingContext) -> Result<T, E>,
    ) -> Result<T, Refusal> {
        self.elsewhere(context, rest, call).map_err(|refusal| match refusal {
            Refusal::System(exception) => {
                tracing::debug!(%exception, "a naming context elsewhere did not answer");
                Refusal::cannot_proceed(context, rest)
            }
            other => other,
        })
    }
}

fn override_failed(text: &str) -> SystemException {
    SystemException::internal(minor::INTERNAL_STATE, CompletionStatus::No).with_detail(text)
}
