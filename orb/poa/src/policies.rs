//! The policies that a POA is created with (CORBA 3.3 P1 §15.3.9), resolved once into plain enums.
//!
//! The combinations of this version: lifespan × id assignment × id uniqueness, with servants
//! retained in the active object map.

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

/// Who chooses object ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum IdAssignment {
    /// `SYSTEM_ID`: the POA.
    #[default]
    SystemId,
    /// `USER_ID`: the application.
    UserId,
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

/// The policies of one POA. The default is that of the specification for a POA created without
/// any: transient, system ids, unique.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct PoaPolicies {
    /// How long references stay good.
    pub lifespan: Lifespan,
    /// Who chooses object ids.
    pub id_assignment: IdAssignment,
    /// Whether one servant may serve several objects.
    pub id_uniqueness: IdUniqueness,
}

impl PoaPolicies {
    /// Persistent references with ids chosen by the application: what a service wants whose
    /// references outlive it.
    pub const PERSISTENT_USER_ID: PoaPolicies = PoaPolicies {
        lifespan: Lifespan::Persistent,
        id_assignment: IdAssignment::UserId,
        id_uniqueness: IdUniqueness::UniqueId,
    };
}
