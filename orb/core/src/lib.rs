//! Corbie: orb/core (being laid).
