//! Corbie: orb/poa (being laid).
