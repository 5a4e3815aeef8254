//! Which thread may read a connection that has threads of its own, and which one does.
//!
//! `per_connection` is what each of these threads does, [`ConnectionThreads`] says which one reads;
//! `watch` sees to it that requests do not wait behind long upcalls, `nested` that they do not wait
//! behind calls that servants make.
//!
//! [`ConnectionThreads`]: corbie_threads::connection_threads::ConnectionThreads

mod nested;
mod per_connection;
mod watch;

pub(crate) use nested::before_waiting;
pub(crate) use per_connection::begin;
