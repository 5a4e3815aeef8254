//! Requests that wait before their upcall: because a POA manager holds them, because the servants
//! of their POA serve one at a time, because only the main thread may make the upcall, or because
//! application code is still making their servant or POA (CORBA 3.3 P1 §15.3.2, §15.3.3, §15.3.6,
//! §15.3.8.1).
//!
//! The object adapter has one [`HeldRequests`] for each of these reasons. A request is put in with
//! its whole message, so no thread waits, and neither does its connection. When it may be served,
//! `runner` brings it to a thread of the ORB's `server_concurrency`. What is here is bounded:
//! `limits`.

mod limits;
mod main_thread;
mod queue;
mod request;
mod runner;

pub use queue::{HeldRequests, Reason, Watcher};

pub(crate) use limits::HeldLimits;
pub(crate) use main_thread::MainThread;
pub(crate) use queue::Flight;
pub(crate) use request::{HeldCall, HeldRequest, given_up};
pub(crate) use runner::{Queues, let_go, resume_if_eased, serve};
