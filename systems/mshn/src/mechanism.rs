//! How a request gets to a component: by static, dynamic or asynchronous invocation (paper MSHN
//! §3.3), or by whatever else implements [`Mechanism`], as event channels may.
//!
//! Chosen once, at start; components know [`crate::Peers`] only, which uses one of these.

mod asynchronous;
mod dynamic;
mod statically;

pub use asynchronous::Asynchronous;
pub use dynamic::Dynamic;
pub use statically::Static;

use crate::messages::{Coming, Done, Reply, Request};
use corbie::{Object, SystemException};
use std::fmt;
use std::str::FromStr;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

/// A way to make requests.
pub trait Mechanism: Send + Sync {
    /// The context in the naming service below which the targets of this mechanism are.
    fn context(&self) -> &'static str {
        "mshn"
    }

    /// Makes a request and waits for the answer.
    ///
    /// # Errors
    /// What came instead of an answer.
    fn call(&self, target: &Object, request: &Request) -> Result<Reply, SystemException>;

    /// Makes a request; the answer goes to `done`, on any thread, perhaps before this returns.
    fn start(&self, target: &Object, request: &Request, done: Done);
}

/// The mechanisms by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum MechanismName {
    /// Generated stubs, one thread a call (SII).
    Static,
    /// Requests made at run time; deferred where nobody waits (DII).
    Dynamic,
    /// Generated stubs whose answers are futures (AMI).
    Asynchronous,
}

impl MechanismName {
    /// All of them.
    pub const ALL: &'static [MechanismName] =
        &[MechanismName::Static, MechanismName::Dynamic, MechanismName::Asynchronous];

    /// The name on command lines.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            MechanismName::Static => "sii",
            MechanismName::Dynamic => "dii",
            MechanismName::Asynchronous => "ami",
        }
    }

    /// The mechanism.
    #[must_use]
    pub fn mechanism(self) -> Arc<dyn Mechanism> {
        match self {
            MechanismName::Static => Arc::new(Static::new()),
            MechanismName::Dynamic => Arc::new(Dynamic),
            MechanismName::Asynchronous => Arc::new(Asynchronous),
        }
    }
}

impl fmt::Display for MechanismName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// There is no mechanism of this name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no mechanism `{0}`; there are sii, dii, ami")]
pub struct UnknownMechanism(String);

impl FromStr for MechanismName {
    type Err = UnknownMechanism;

    fn from_str(text: &str) -> Result<Self, UnknownMechanism> {
        let same = |name: &&MechanismName| name.as_str().eq_ignore_ascii_case(text);
        let found = MechanismName::ALL.iter().find(same);
        found.copied().ok_or_else(|| UnknownMechanism(text.chars().take(40).collect()))
    }
}

/// A future that is polled by whoever wakes it: the thread that reads the reply. So no executor is
/// needed, and nothing waits.
struct Driven(Mutex<Option<(Coming, Done)>>);

/// Has `done` called with what `coming` gives.
fn drive(coming: Coming, done: Done) {
    Arc::new(Driven(Mutex::new(Some((coming, done))))).wake();
}

impl Wake for Driven {
    fn wake(self: Arc<Self>) {
        let lock = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut state = lock();
        let Some((coming, _)) = state.as_mut() else { return };
        let waker = Waker::from(Arc::clone(&self));
        let polled = coming.as_mut().poll(&mut Context::from_waker(&waker));
        let Poll::Ready(outcome) = polled else { return };
        let taken = state.take();
        drop(state);
        if let Some((_, done)) = taken {
            done(outcome);
        }
    }
}
