//! Corbie: tests/fuzz (being laid).
