//! Corbie: idl/frontend (being laid).
