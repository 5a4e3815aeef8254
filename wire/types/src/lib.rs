//! Corbie: wire/types (being laid).
