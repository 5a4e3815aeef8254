//! Quality of service: the policies of CORBA Messaging (CORBA Messaging §22.2).
//!
//! Set on the ORB (`levels`), the thread (`current`) and the reference; `call` joins them, and what
//! the reference itself says, into the `CallPolicies` that a call goes by: once per
//! reference, not per call. `kinds` has the policies, `set` a level's worth of them, `time` the
//! clock of the OMG, `wire` their form in messages and references.

mod call;
pub(crate) mod current;
mod invocation;
mod kinds;
mod levels;
mod set;
mod time;
mod wire;

pub use current::{PolicyCurrent, PolicyScope};
pub use invocation::InvocationPolicies;
pub use kinds::{
    BufferingConstraint, Policy, PolicyType, PriorityRange, QueueOrder, RebindMode, SyncScope,
};
pub use levels::PolicyManager;
pub use set::{PolicyError, SetOverrideType};
pub use time::UtcT;

pub(crate) use call::{CachedPolicies, CallPolicies, Effective, reconciled};
pub(crate) use current::has_overrides as has_thread_overrides;
pub(crate) use levels::{HasPolicies, OrbPolicies};
pub(crate) use set::PolicySet;
pub(crate) use wire::{InvocationContext, exposed_by};
