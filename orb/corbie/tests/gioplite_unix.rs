//! The suites of calls once more, over GIOPlite on unix-domain sockets alone: see `gioplite.rs`.
#![allow(clippy::duplicate_mod, reason = "each suite has its own copy of what they share")]

#[path = "asynchronous.rs"]
mod asynchronous;
#[path = "buffering.rs"]
mod buffering;
#[path = "calls.rs"]
mod calls;
#[path = "cancellation.rs"]
mod cancellation;
#[path = "order.rs"]
mod order;
#[path = "strategies.rs"]
mod strategies;
