//! The policies that a POA is created with, each a plain enum (CORBA 3.3 P1 §15.3.8; locks: paper
//! POA §2.4; demultiplexing strategies: paper POA §2.2).
//!
//! Applications pass a list of [`PoaPolicy`] to [`crate::Poa::create_poa`]; [`resolved`] makes
//! [`PoaPolicies`] of it or says which one is wrong.

mod resolved;

pub use resolved::PoaPolicies;

use corbie_settings::{CollocationStrategy, PoaLock};

/// Which threads may be inside servants of one POA at the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum ThreadModel {
    /// `ORB_CTRL_MODEL`: as the ORB's server concurrency has it.
    #[default]
    OrbControl,
    /// `SINGLE_THREAD_MODEL`: one upcall at a time; an upcall may cause another on its own thread.
    SingleThread,
    /// `MAIN_THREAD_MODEL`: all upcalls of all such POAs on the main thread, that which runs the
    /// ORB.
    MainThread,
}

/// How long references of a POA stay good.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Lifespan {
    /// `TRANSIENT`: until the POA is destroyed or its process ends.
    #[default]
    Transient,
    /// `PERSISTENT`: also after a restart of the server on the same endpoint, as long as it creates
    /// a POA of the same path and an object with the same id.
    Persistent,
}

/// Whether one servant may serve several objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum IdUniqueness {
    /// `UNIQUE_ID`: one servant, one object.
    #[default]
    UniqueId,
    /// `MULTIPLE_ID`: one servant may serve many.
    MultipleId,
}

/// Where object ids come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum IdAssignment {
    /// `SYSTEM_ID`: the POA.
    #[default]
    SystemId,
    /// `USER_ID`: the application.
    UserId,
}

/// Whether asking for the reference of a servant activates it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum ImplicitActivation {
    /// `NO_IMPLICIT_ACTIVATION`.
    #[default]
    No,
    /// `IMPLICIT_ACTIVATION`: `servant_to_id`, `servant_to_reference` and `_this` activate; what
    /// the root POA has.
    Implicit,
}

/// Whether a POA remembers which servant stands for which object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum ServantRetention {
    /// `RETAIN`: in its active object map.
    #[default]
    Retain,
    /// `NON_RETAIN`: each request asks the servant locator or goes to the default servant.
    NonRetain,
}

/// What becomes of a request whose object is not in the active object map.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum RequestProcessing {
    /// `USE_ACTIVE_OBJECT_MAP_ONLY`: `OBJECT_NOT_EXIST`.
    #[default]
    ActiveObjectMapOnly,
    /// `USE_DEFAULT_SERVANT`: one servant serves it.
    DefaultServant,
    /// `USE_SERVANT_MANAGER`: the servant manager is asked for a servant.
    ServantManager,
}

/// What guards the active object map of a POA (paper POA §2.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Synchronization {
    /// `DEFAULT_LOCK`: what the setting `poa_lock` of the ORB says.
    #[default]
    DefaultLock,
    /// `THREAD_LOCK`: a lock, so that any thread may use the POA.
    ThreadLock,
    /// `NULL_LOCK`: nothing, since one thread only uses the POA: the first that does. Others get
    /// `OBJ_ADAPTER`. For an ORB core and POA per thread.
    NullLock,
}

impl From<PoaLock> for Synchronization {
    fn from(lock: PoaLock) -> Self {
        match lock {
            PoaLock::Thread => Synchronization::ThreadLock,
            PoaLock::Null => Synchronization::NullLock,
        }
    }
}

/// How a POA finds the servant of an object id (paper POA §2.2.2, Figure 5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum ServantDemux {
    /// Active demultiplexing: the object key says where in the map the object stands, so finding it
    /// takes the same few steps however many there are.
    #[default]
    Active,
    /// Dynamic hashing of the object id.
    DynamicHash,
    /// One id after the other. Kept to be measured against.
    Linear,
}

/// How calls from within the process reach the objects of a POA (paper POA §3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Collocation {
    /// As the setting `collocation_strategy` of the ORB says.
    #[default]
    OrbDefault,
    /// Over a connection, as from any other process.
    None,
    /// By the POA's lookup, for each call.
    ThroughPoa,
    /// Straight to the servant where nothing is in the way.
    Direct,
}

impl From<CollocationStrategy> for Collocation {
    fn from(strategy: CollocationStrategy) -> Self {
        match strategy {
            CollocationStrategy::Direct => Collocation::Direct,
            CollocationStrategy::ThroughPoa => Collocation::ThroughPoa,
        }
    }
}

/// One policy for [`crate::Poa::create_poa`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PoaPolicy {
    /// `ThreadPolicy`.
    Thread(ThreadModel),
    /// `LifespanPolicy`.
    Lifespan(Lifespan),
    /// `IdUniquenessPolicy`.
    IdUniqueness(IdUniqueness),
    /// `IdAssignmentPolicy`.
    IdAssignment(IdAssignment),
    /// `ImplicitActivationPolicy`.
    ImplicitActivation(ImplicitActivation),
    /// `ServantRetentionPolicy`.
    ServantRetention(ServantRetention),
    /// `RequestProcessingPolicy`.
    RequestProcessing(RequestProcessing),
    /// What guards the active object map.
    Synchronization(Synchronization),
    /// How servants are found.
    ServantDemux(ServantDemux),
    /// How the process itself calls.
    Collocation(Collocation),
}

impl PoaPolicy {
    /// Persistent references with ids chosen by the application: what a service wants whose
    /// references outlive it.
    pub const PERSISTENT_USER_ID: [PoaPolicy; 2] =
        [PoaPolicy::Lifespan(Lifespan::Persistent), PoaPolicy::IdAssignment(IdAssignment::UserId)];
}

macro_rules! policy_from_value {
    ($($value:ident => $variant:ident),* $(,)?) => {$(
        impl From<$value> for PoaPolicy {
            fn from(value: $value) -> Self {
                PoaPolicy::$variant(value)
            }
        }
    )*};
}

policy_from_value! {
    ThreadModel => Thread,
    Lifespan => Lifespan,
    IdUniqueness => IdUniqueness,
    IdAssignment => IdAssignment,
    ImplicitActivation => ImplicitActivation,
    ServantRetention => ServantRetention,
    RequestProcessing => RequestProcessing,
    Synchronization => Synchronization,
    ServantDemux => ServantDemux,
    Collocation => Collocation,
}
