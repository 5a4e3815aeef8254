//! Corbie: idl/codegen (being laid).
