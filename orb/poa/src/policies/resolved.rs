//! All policies of one POA, resolved once, and the rules for what goes together
//! (CORBA 3.3 P1 §15.3.8, §15.3.9.2).

use super::{
    Collocation, IdAssignment, IdUniqueness, ImplicitActivation, Lifespan, PoaPolicy,
    RequestProcessing, ServantDemux, ServantRetention, Synchronization, ThreadModel,
};
use crate::error::PoaError;
use std::mem::{Discriminant, discriminant};

/// The policies of one POA. The default is that of the specification for a POA created without
/// any.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct PoaPolicies {
    /// Which threads may be inside servants at the same time.
    pub thread: ThreadModel,
    /// How long references stay good.
    pub lifespan: Lifespan,
    /// Whether one servant may serve several objects.
    pub id_uniqueness: IdUniqueness,
    /// Where object ids come from.
    pub id_assignment: IdAssignment,
    /// Whether asking for the reference of a servant activates it.
    pub implicit_activation: ImplicitActivation,
    /// Whether the POA remembers its servants.
    pub servant_retention: ServantRetention,
    /// What becomes of a request for an object that is not active.
    pub request_processing: RequestProcessing,
    /// What guards the active object map; never `DefaultLock` in what
    /// [`crate::Poa::policies`] gives.
    pub synchronization: Synchronization,
    /// How servants are found.
    pub servant_demux: ServantDemux,
    /// How the process itself calls; never `OrbDefault` in what [`crate::Poa::policies`] gives.
    pub collocation: Collocation,
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
        match policies.conflict() {
            Some(conflict) => Err(conflict.in_list(list)),
            None => Ok(policies),
        }
    }

    fn set(&mut self, policy: PoaPolicy) {
        match policy {
            PoaPolicy::Thread(value) => self.thread = value,
            PoaPolicy::Lifespan(value) => self.lifespan = value,
            PoaPolicy::IdUniqueness(value) => self.id_uniqueness = value,
            PoaPolicy::IdAssignment(value) => self.id_assignment = value,
            PoaPolicy::ImplicitActivation(value) => self.implicit_activation = value,
            PoaPolicy::ServantRetention(value) => self.servant_retention = value,
            PoaPolicy::RequestProcessing(value) => self.request_processing = value,
            PoaPolicy::Synchronization(value) => self.synchronization = value,
            PoaPolicy::ServantDemux(value) => self.servant_demux = value,
            PoaPolicy::Collocation(value) => self.collocation = value,
        }
    }

    /// The first rule that is broken.
    fn conflict(&self) -> Option<Conflict> {
        let retains = self.servant_retention == ServantRetention::Retain;
        let only_map = self.request_processing == RequestProcessing::ActiveObjectMapOnly;
        let implicit = self.implicit_activation == ImplicitActivation::Implicit;
        let default_servant = self.request_processing == RequestProcessing::DefaultServant;
        // CORBA 3.3 P1 §15.3.8.6: NON_RETAIN needs a servant manager or a default servant, so
        // USE_ACTIVE_OBJECT_MAP_ONLY needs RETAIN.
        if !retains && only_map {
            return Some(Conflict {
                why: "NON_RETAIN needs USE_DEFAULT_SERVANT or USE_SERVANT_MANAGER",
                between: [self.servant_retention.into(), self.request_processing.into()],
            });
        }
        // CORBA 3.3 P1 §15.3.8.6: USE_DEFAULT_SERVANT needs MULTIPLE_ID.
        if default_servant && self.id_uniqueness == IdUniqueness::UniqueId {
            return Some(Conflict {
                why: "USE_DEFAULT_SERVANT needs MULTIPLE_ID",
                between: [self.request_processing.into(), self.id_uniqueness.into()],
            });
        }
        // CORBA 3.3 P1 §15.3.8.7: IMPLICIT_ACTIVATION needs SYSTEM_ID and RETAIN.
        if implicit && self.id_assignment == IdAssignment::UserId {
            return Some(Conflict {
                why: "IMPLICIT_ACTIVATION needs SYSTEM_ID",
                between: [self.implicit_activation.into(), self.id_assignment.into()],
            });
        }
        if implicit && !retains {
            return Some(Conflict {
                why: "IMPLICIT_ACTIVATION needs RETAIN",
                between: [self.implicit_activation.into(), self.servant_retention.into()],
            });
        }
        None
    }
}

/// Two values that do not go together.
struct Conflict {
    why: &'static str,
    between: [PoaPolicy; 2],
}

impl Conflict {
    /// The error names the earlier of the two that was given; the other may be a default.
    fn in_list(&self, list: &[PoaPolicy]) -> PoaError {
        let kinds: [Discriminant<PoaPolicy>; 2] = self.between.map(|policy| discriminant(&policy));
        let index = list.iter().position(|policy| kinds.contains(&discriminant(policy)));
        // The defaults go together, so one of the two was given.
        PoaError::InvalidPolicy { index: index.unwrap_or(0), why: self.why }
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
