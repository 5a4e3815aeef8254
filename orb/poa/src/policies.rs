//! The policies that a POA is created with, each a plain enum (CORBA 3.3 P1 §15.3.8; locks: paper
//! POA §2.4; demultiplexing strategies: paper POA §2.2).
//!
//! Applications pass a list of [`PoaPolicy`] to [`crate::Poa::create_poa`];
//! [`PoaPolicies`] are made of it, and the rules say what goes together (§15.3.9.2).

use crate::error::PoaError;
use corbie_settings::{Bidirectional, CollocationStrategy, PoaLock, TlsProtection};
use std::mem::discriminant;

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

/// In which order requests of one client are served that it sends without waiting for each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum RequestOrder {
    /// As the ORB's server concurrency has it: two-way requests may overtake each other where
    /// several threads serve a connection.
    #[default]
    OrbControl,
    /// As they came over the connection, one after the other, in every concurrency: nothing of the
    /// same connection is read until the upcall has ended, or waits for a call of its own.
    AsSent,
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

/// What ids the POA gives under `SYSTEM_ID`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum SystemIds {
    /// Numbers, one after the other: a peer that knows one object knows the ids of its neighbours.
    #[default]
    Counted,
    /// Numbers with 128 bits of a keyed hash, whose key is random and known to the POA alone: an
    /// object can be called only with a reference that its server or one that had it handed over.
    Secret,
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

/// Declares [`PoaPolicy`] and [`PoaPolicies`] from one list of policies.
macro_rules! policies {
    ($($(#[doc = $doc:literal])+ $field:ident: $variant:ident($value:ident) $name:literal,)+) => {
        /// One policy for [`crate::Poa::create_poa`].
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[non_exhaustive]
        pub enum PoaPolicy { $(#[doc = $name] $variant($value),)+ }

        $(impl From<$value> for PoaPolicy {
            fn from(value: $value) -> Self {
                PoaPolicy::$variant(value)
            }
        })+

        /// The policies of one POA. The default is that of the specification for a POA created
        /// without any.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
        pub struct PoaPolicies { $($(#[doc = $doc])+ pub $field: $value,)+ }

        impl PoaPolicies {
            fn set(&mut self, policy: PoaPolicy) {
                match policy { $(PoaPolicy::$variant(value) => self.$field = value,)+ }
            }
        }
    };
}

policies! {
    /// Which threads may be inside servants at the same time.
    thread: Thread(ThreadModel) "`ThreadPolicy`.",
    /// In which order requests of one client are served.
    request_order: RequestOrder(RequestOrder) "In which order requests are served.",
    /// How long references stay good.
    lifespan: Lifespan(Lifespan) "`LifespanPolicy`.",
    /// Whether one servant may serve several objects.
    id_uniqueness: IdUniqueness(IdUniqueness) "`IdUniquenessPolicy`.",
    /// Where object ids come from.
    id_assignment: IdAssignment(IdAssignment) "`IdAssignmentPolicy`.",
    /// What ids the POA gives under `SYSTEM_ID`.
    system_ids: SystemIds(SystemIds) "What ids the POA gives.",
    /// Whether asking for the reference of a servant activates it.
    implicit_activation: ImplicitActivation(ImplicitActivation) "`ImplicitActivationPolicy`.",
    /// Whether the POA remembers its servants.
    servant_retention: ServantRetention(ServantRetention) "`ServantRetentionPolicy`.",
    /// What becomes of a request for an object that is not active.
    request_processing: RequestProcessing(RequestProcessing) "`RequestProcessingPolicy`.",
    /// What guards the active object map; never `DefaultLock` in what [`crate::Poa::policies`]
    /// gives.
    synchronization: Synchronization(Synchronization) "What guards the active object map.",
    /// How servants are found.
    servant_demux: ServantDemux(ServantDemux) "How servants are found.",
    /// How the process itself calls; never `OrbDefault` in what [`crate::Poa::policies`] gives.
    collocation: Collocation(Collocation) "How the process itself calls.",
    /// Whether requests from other machines come over TLS: what references say, and what is
    /// served. `Preferred`: as the ORB's endpoints have it.
    tls_protection: TlsProtection(TlsProtection) "Whether requests come over TLS.",
    /// Whether requests may come over connections that this ORB opened.
    bidirectional: Bidirectional(Bidirectional) "`BidirectionalPolicy`.",
}

impl PoaPolicy {
    /// Persistent references with ids chosen by the application: what a service wants whose
    /// references outlive it.
    pub const PERSISTENT_USER_ID: [PoaPolicy; 2] =
        [PoaPolicy::Lifespan(Lifespan::Persistent), PoaPolicy::IdAssignment(IdAssignment::UserId)];
}

impl PoaPolicies {
    /// What the root POA has: the defaults, and implicit activation (CORBA 3.3 P1 §15.3.8).
    pub(crate) fn root() -> Self {
        PoaPolicies { implicit_activation: ImplicitActivation::Implicit, ..PoaPolicies::default() }
    }

    /// The policies that `list` makes of the defaults.
    ///
    /// # Errors
    /// [`PoaError::InvalidPolicy`] with the place in `list` of the first policy that is given twice
    /// or does not go with the others.
    pub(crate) fn resolve(list: &[PoaPolicy]) -> Result<Self, PoaError> {
        let mut policies = PoaPolicies::default();
        for (index, policy) in list.iter().enumerate() {
            if list[..index].iter().any(|earlier| discriminant(earlier) == discriminant(policy)) {
                let why = "the list holds a policy of this kind already";
                return Err(PoaError::InvalidPolicy { index, why });
            }
            policies.set(*policy);
        }
        let Some((_, why, between)) = policies.rules().into_iter().find(|rule| rule.0) else {
            return Ok(policies);
        };
        // The earlier of the two that was given; the other may be a default. The defaults go
        // together, so one of the two was given.
        let kinds = between.map(|policy| discriminant(&policy));
        let index = list.iter().position(|policy| kinds.contains(&discriminant(policy)));
        Err(PoaError::InvalidPolicy { index: index.unwrap_or(0), why })
    }

    /// What does not go together: whether the rule is broken, what it says, and the two policies
    /// that it is about (CORBA 3.3 P1 §15.3.8.6, §15.3.8.7).
    fn rules(&self) -> [(bool, &'static str, [PoaPolicy; 2]); 6] {
        let retention: PoaPolicy = self.servant_retention.into();
        let processing: PoaPolicy = self.request_processing.into();
        let implicit: PoaPolicy = self.implicit_activation.into();
        let is_retained = self.servant_retention == ServantRetention::Retain;
        let is_implicit = self.implicit_activation == ImplicitActivation::Implicit;
        let is_secret = self.system_ids == SystemIds::Secret;
        let is_unique = self.id_uniqueness == IdUniqueness::UniqueId;
        [
            (
                !is_retained && self.request_processing == RequestProcessing::ActiveObjectMapOnly,
                "NON_RETAIN needs USE_DEFAULT_SERVANT or USE_SERVANT_MANAGER",
                [retention, processing],
            ),
            (
                is_unique && self.request_processing == RequestProcessing::DefaultServant,
                "USE_DEFAULT_SERVANT needs MULTIPLE_ID",
                [processing, self.id_uniqueness.into()],
            ),
            (
                is_implicit && self.id_assignment == IdAssignment::UserId,
                "IMPLICIT_ACTIVATION needs SYSTEM_ID",
                [implicit, self.id_assignment.into()],
            ),
            (
                is_implicit && !is_retained,
                "IMPLICIT_ACTIVATION needs RETAIN",
                [implicit, retention],
            ),
            (
                is_secret && self.id_assignment == IdAssignment::UserId,
                "secret ids need SYSTEM_ID; IdSecret makes some of names that the application has",
                [self.system_ids.into(), self.id_assignment.into()],
            ),
            (
                is_secret && self.lifespan == Lifespan::Persistent,
                "secret ids need TRANSIENT: their key ends with the POA",
                [self.system_ids.into(), self.lifespan.into()],
            ),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn index(list: &[PoaPolicy]) -> Option<usize> {
        match PoaPolicies::resolve(list) {
            Ok(_) => None,
            Err(PoaError::InvalidPolicy { index, why }) => {
                assert!(!why.is_empty());
                Some(index)
            }
            Err(other) => panic!("{other}"),
        }
    }

    #[test]
    fn the_wrong_policy_is_named_by_its_place() {
        let persistent = PoaPolicy::from(Lifespan::Persistent);
        let non_retain = PoaPolicy::from(ServantRetention::NonRetain);
        let default_servant = PoaPolicy::from(RequestProcessing::DefaultServant);
        let implicit = PoaPolicy::from(ImplicitActivation::Implicit);
        let user_id = PoaPolicy::from(IdAssignment::UserId);
        let multiple = PoaPolicy::from(IdUniqueness::MultipleId);
        let locator = PoaPolicy::from(RequestProcessing::ServantManager);
        assert_eq!(index(&[]), None);
        assert_eq!(index(&[persistent, non_retain]), Some(1));
        assert_eq!(index(&[persistent, default_servant]), Some(1));
        assert_eq!(index(&[persistent, multiple, default_servant]), None);
        assert_eq!(index(&[user_id, persistent, implicit]), Some(0));
        assert_eq!(index(&[implicit, persistent, user_id]), Some(0));
        assert_eq!(index(&[locator, non_retain, implicit]), Some(1));
        assert_eq!(index(&[locator, non_retain]), None);
        assert_eq!(index(&[persistent, user_id, persistent]), Some(2));
        assert_eq!(index(&[persistent, user_id, Lifespan::Transient.into()]), Some(2));
        let secret = PoaPolicy::from(SystemIds::Secret);
        assert_eq!(index(&[secret]), None);
        assert_eq!(index(&[multiple, secret, persistent]), Some(1));
        assert_eq!(index(&[user_id, secret]), Some(0));
    }

    /// All 96 combinations, against the rules of the specification said otherwise.
    #[test]
    fn exactly_the_combinations_of_the_specification_are_legal() {
        use {IdAssignment::*, IdUniqueness::*, RequestProcessing::*, ServantRetention::*};
        let mut legal = 0;
        for lifespan in [Lifespan::Transient, Lifespan::Persistent] {
            for uniqueness in [UniqueId, MultipleId] {
                for assignment in [SystemId, UserId] {
                    for implicit in [ImplicitActivation::No, ImplicitActivation::Implicit] {
                        for retention in [Retain, NonRetain] {
                            for processing in [ActiveObjectMapOnly, DefaultServant, ServantManager]
                            {
                                let list = [
                                    lifespan.into(),
                                    uniqueness.into(),
                                    assignment.into(),
                                    implicit.into(),
                                    retention.into(),
                                    processing.into(),
                                ];
                                let may = (retention == Retain
                                    || processing != ActiveObjectMapOnly)
                                    && (processing != DefaultServant || uniqueness == MultipleId)
                                    && (implicit == ImplicitActivation::No
                                        || (assignment == SystemId && retention == Retain));
                                assert_eq!(index(&list).is_none(), may, "{list:?}");
                                legal += usize::from(may);
                            }
                        }
                    }
                }
            }
        }
        assert_eq!(legal, 2 * (3 * 5 + 2 * 3), "of 96");
    }
}
