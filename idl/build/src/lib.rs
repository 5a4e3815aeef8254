//! Corbie: idl/build (being laid).
