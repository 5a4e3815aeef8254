//! Corbie: tests/testkit (being laid).
