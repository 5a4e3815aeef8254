//! Corbie: examples (being laid).
