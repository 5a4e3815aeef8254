//! Corbie: wire/giop (being laid).
