//! The suites of calls and of the object adapter once more, with calls of the same process going
//! through the object adapter: what an application sees is the same (paper POA §3.1). `echo/mod.rs` and
//! `worker/mod.rs` choose the mode by the name of this test crate; elsewhere they mean the wire.
//! `poa_conformance` runs in all modes by itself.
#![allow(clippy::duplicate_mod, reason = "each suite has its own copy of what they share")]

#[path = "calls.rs"]
mod calls;
#[path = "interceptors.rs"]
mod interceptors;
#[path = "order.rs"]
mod order;
#[path = "poa_current.rs"]
mod poa_current;
#[path = "poa_deactivation.rs"]
mod poa_deactivation;
#[path = "poa_hierarchy.rs"]
mod poa_hierarchy;
#[path = "poa_managers.rs"]
mod poa_managers;
#[path = "poa_policies.rs"]
mod poa_policies;
#[path = "poa_servant_managers.rs"]
mod poa_servant_managers;
#[path = "poa_threads.rs"]
mod poa_threads;
#[path = "qos.rs"]
mod qos;
#[path = "references.rs"]
mod references;
