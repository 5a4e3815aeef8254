//! What the CORBA Messaging specification defines beside the calls themselves: exception holders,
//! pollers, pollable sets and the base of all reply handlers.
//!
//! Generated code builds on it (`sendc_…`, `sendp_…`, `…_async`); the calls go through
//! `client/asynchronous`. CORBA 3.3 P2 §10 (CORBA Messaging); paper AMI §1, §2.

mod exception_holder;
mod value_header;

pub use exception_holder::{ExceptionHolder, Raised};
