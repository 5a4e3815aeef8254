//! Corbie: transport (being laid).
