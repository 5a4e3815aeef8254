//! That steady calls allocate nothing, over GIOPlite: see `gioplite.rs`.
#![allow(clippy::duplicate_mod, reason = "each suite has its own copy of what they share")]

#[path = "allocations.rs"]
mod allocations;
