//! The suites of calls once more, over GIOPlite in shared memory: see `gioplite.rs`.
#![allow(clippy::duplicate_mod, reason = "each suite has its own copy of what they share")]

#[path = "asynchronous.rs"]
mod asynchronous;
#[path = "calls.rs"]
mod calls;
#[path = "cancellation.rs"]
mod cancellation;
#[path = "order.rs"]
mod order;
