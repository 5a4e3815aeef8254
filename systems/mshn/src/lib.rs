//! MSHN, the Management System for Heterogeneous Networks: a resource management system whose
//! components talk over CORBA (paper MSHN).
//!
//! [`schedule`] is what its Scheduling Advisor decides with: which machine runs which task. It
//! knows nothing of CORBA and can be used alone, as `corbie mshn schedule` does.
#![forbid(unsafe_code)]

// layers: bounds error host messages schedule unique < socket address < mechanism < peers system <
//    client_library channel_server requirements status_server < advisor daemon < node
mod address;
mod advisor;
mod bounds;
pub mod channel_server;
pub mod client_library;
mod daemon;
mod error;
mod host;
pub mod mechanism;
pub mod messages;
pub mod node;
mod peers;
mod requirements;
pub mod schedule;
pub mod socket;
mod status_server;
pub mod system;
mod unique;

#[allow(
    missing_docs,
    clippy::missing_errors_doc,
    reason = "generated from mshn.idl, whose comments explain it"
)]
mod generated {
    corbie::include_idl!("mshn");
}

pub use address::Address;
pub use advisor::{Advisor, AdvisorOptions};
pub use client_library::ClientLibrary;
pub use daemon::{Daemon, DaemonComponent, DaemonOptions};
pub use generated::mshn as idl;
pub use host::Host;
pub use mechanism::{EventCounts, EventOptions, Events, Link, Mechanism, MechanismName};
pub use peers::Peers;
pub use requirements::{RequirementDatabase, RequirementProxy};
pub use status_server::{StatusOptions, StatusProxy, StatusServer};
