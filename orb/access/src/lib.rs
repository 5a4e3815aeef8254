//! Which peers may call what, as which users, and where references that they hand over may lead:
//! rules, the file that they stand in, and the one evaluator of each.
//!
//! Pure: text or calls of a builder go in, yes or no comes out. `orb/core/src/server/access.rs`
//! asks for every request when an ORB has rules, and knows the connection and the object;
//! [`AccessRules::for_peer`] is asked once a connection, [`PeerRules::permit`] once a call, which
//! allocates nothing. The book (`docs/src/access.md`) describes the file.
#![forbid(unsafe_code)]

// layers: pattern < peers < assertions egress rules users < file
mod assertions;
mod egress;
#[cfg(feature = "file")]
mod file;
mod pattern;
mod peers;
mod rules;
mod users;

pub use assertions::AssertionRules;
pub use egress::{EgressRule, EgressRules, Otherwise, Reach};
#[cfg(feature = "file")]
pub use file::AccessFile;
pub use pattern::Pattern;
pub use peers::{AddressRange, Peers};
pub use rules::{AccessRules, CalledObject, PeerRules, Rule};
pub use users::CheckPassword;
#[cfg(feature = "file")]
pub use users::{HashError, Users, hash_password};
