//! How a request gets to a component: by static, dynamic or asynchronous invocation (paper MSHN
//! §3.3), or as events (§3.2). Each is a [`Mechanism`], which makes a [`Link`] of a reference.
//!
//! Chosen once, at start; components know [`crate::Peers`] only, which uses one of these.

mod asynchronous;
mod dynamic;
mod events;
mod statically;

pub use asynchronous::Asynchronous;
pub use dynamic::Dynamic;
pub use events::{CHANNEL_SERVERS, EventCounts, EventOptions, Events};
pub use statically::Static;

use crate::address::Address;
use crate::messages::{Coming, Component, Done, Reply, Request, activate_in};
use corbie::{Object, Orb, SystemException};
use corbie_naming::Naming;
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

    /// A way to make requests of what announced `target`.
    fn link(&self, target: &Object) -> Arc<dyn Link>;

    /// Begins to serve `component` in `orb`: the reference that others make links of.
    ///
    /// # Errors
    /// What the object adapter, or an event server, says.
    fn serve(
        &self,
        orb: &Orb,
        me: &Address,
        component: &Arc<dyn Component>,
    ) -> Result<Object, SystemException> {
        activate_in(orb, me.role, Arc::clone(component))
    }
}

/// Makes requests of one component.
pub trait Link: Send + Sync {
    /// Makes a request and waits for the answer.
    ///
    /// # Errors
    /// What came instead of an answer.
    fn call(&self, request: &Request) -> Result<Reply, SystemException>;

    /// Makes a request; the answer goes to `done`, on any thread, perhaps before this returns.
    fn start(&self, request: &Request, done: Done);
}

/// The mechanisms by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum MechanismName {
    /// Generated stubs, one thread a call (SII).
    Static,
    /// Requests made at run time; deferred where no caller waits (DII).
    Dynamic,
    /// Generated stubs whose answers are futures (AMI).
    Asynchronous,
    /// Untyped events through channels.
    Untyped,
    /// Typed events through channels.
    Typed,
}

impl MechanismName {
    /// All of them.
    pub const ALL: &'static [MechanismName] = &[
        MechanismName::Static,
        MechanismName::Dynamic,
        MechanismName::Asynchronous,
        MechanismName::Untyped,
        MechanismName::Typed,
    ];

    /// The name on command lines.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            MechanismName::Static => "sii",
            MechanismName::Dynamic => "dii",
            MechanismName::Asynchronous => "ami",
            MechanismName::Untyped => "untyped",
            MechanismName::Typed => "typed",
        }
    }

    /// Whether requests go through event channels, which someone has to serve.
    #[must_use]
    pub fn needs_channels(self) -> bool {
        matches!(self, MechanismName::Untyped | MechanismName::Typed)
    }

    /// The mechanism, for a process with this ORB. Answers that are events come to its root POA.
    #[must_use]
    pub fn mechanism(
        self,
        orb: &Orb,
        naming: &Naming,
        options: EventOptions,
    ) -> Arc<dyn Mechanism> {
        match self {
            MechanismName::Static => Arc::new(Static::new()),
            MechanismName::Dynamic => Arc::new(Dynamic),
            MechanismName::Asynchronous => Arc::new(Asynchronous),
            MechanismName::Untyped => Arc::new(Events::untyped(orb, naming, options)),
            MechanismName::Typed => Arc::new(Events::typed(orb, naming, options)),
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
#[error("there is no mechanism `{0}`; there are sii, dii, ami, untyped, typed")]
pub struct UnknownMechanism(String);

impl FromStr for MechanismName {
    type Err = UnknownMechanism;

    fn from_str(text: &str) -> Result<Self, UnknownMechanism> {
        let same = |name: &&MechanismName| name.as_str().eq_ignore_ascii_case(text);
        let found = MechanismName::ALL.iter().find(same);
        found.copied().ok_or_else(|| UnknownMechanism(text.chars().take(40).collect()))
    }
}

/// A future that is polled by what wakes it: the thread that reads the reply. So no executor is
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
