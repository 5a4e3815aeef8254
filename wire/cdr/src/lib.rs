//! Corbie: wire/cdr (being laid).
