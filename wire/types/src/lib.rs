//! CORBA's run-time types on top of CDR: system exceptions, object references, TypeCode, Any.
//!
//! **Architecture invariant.** No I/O, no clock, no threads, no `unsafe`. Nothing here resolves
//! a host, opens a file or knows the ORB.

#![forbid(unsafe_code)]

pub mod exception;

pub use exception::{CompletionStatus, SystemException, SystemExceptionKind, minor};
