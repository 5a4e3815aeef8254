//! Corbie: tests/interop (being laid).
