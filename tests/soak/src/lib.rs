//! Soaks event channels: `corbie events` as processes of their own, a server of channels and
//! suppliers and consumers of all four kinds, some of which are killed (SIGKILL) and replaced all
//! the time. At the end every event is accounted for, and the server has to be as small as before.
//!
//! `cargo xtask soak` runs it for minutes, `tools/corbie/tests/soak.rs` for a few kills. The
//! servers are the command's, as they are shipped. `--hostile` attacks them instead.

// layers: account options vitals < hostile participant report < server < system
mod account;
mod hostile;
mod options;
mod participant;
mod report;
mod server;
mod system;
mod vitals;

pub use hostile::{HostileOptions, HostileReport, run as run_hostile};
pub use options::{Length, Options};
pub use report::Report;

/// Does it; `say` hears now and then how far it is.
///
/// # Errors
/// A sentence when it could not be carried out. What it found is in the report.
pub fn run(options: &Options, say: &mut dyn FnMut(&str)) -> Result<Report, String> {
    system::run(options, say)
}
