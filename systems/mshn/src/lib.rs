//! MSHN, the Management System for Heterogeneous Networks: a resource management system whose
//! components talk over CORBA (paper MSHN).
//!
//! [`schedule`] is what its Scheduling Advisor decides with: which machine runs which task. It
//! knows nothing of CORBA and can be used alone, as `corbie mshn schedule` does.
#![forbid(unsafe_code)]

// layers: host messages schedule < client_library < daemon < mechanism < system < channel_server
//    < peers < requirements status_server < advisor < node
mod advisor;
pub mod channel_server;
pub mod client_library;
mod daemon;
mod host;
pub mod mechanism;
pub mod messages;
pub mod node;
mod peers;
mod requirements;
pub mod schedule;
mod status_server;
pub mod system;

#[allow(
    missing_docs,
    clippy::missing_errors_doc,
    reason = "generated from mshn.idl, whose comments explain it"
)]
mod generated {
    corbie::include_idl!("mshn");
}

pub use advisor::{Advisor, AdvisorOptions};
pub use client_library::ClientLibrary;
pub use daemon::{Daemon, DaemonComponent, DaemonOptions};
pub use generated::mshn as idl;
pub use host::Host;
pub use mechanism::{EventCounts, EventOptions, Events, Link, Mechanism, MechanismName};
pub use peers::{Address, Peers};
pub use requirements::{RequirementDatabase, RequirementProxy};
pub use status_server::{StatusOptions, StatusProxy, StatusServer};
