//! Corbie: orb/corbie (being laid).
