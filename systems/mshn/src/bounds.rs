//! Bounds of what components keep of requests: a peer that may make them makes as many as it likes,
//! and of any size. What is beyond is refused with a sentence that names the bound.

use crate::idl::{Accepted, Job};

/// Octets of a name: of a job, a machine, an application, a format, or a component.
pub(crate) const NAME_OCTETS_MAX: usize = 256;
/// Octets of a job with all its formats.
pub(crate) const JOB_OCTETS_MAX: usize = 64 << 10;
/// Machines of which a status server keeps a report.
pub(crate) const MACHINES_MAX: usize = 10_000;
/// Jobs that a status server watches.
pub(crate) const WATCHES_MAX: usize = 100_000;
/// Formats of applications on machines of which a requirement database keeps what they need.
pub(crate) const RECORDS_MAX: u64 = 50_000;

/// What each thing takes besides its text.
const EACH: usize = 64;

/// Why one of the names may not be kept, if one may not.
pub(crate) fn too_long<'a>(names: impl IntoIterator<Item = &'a String>) -> Option<String> {
    let long = names.into_iter().find(|name| name.len() > NAME_OCTETS_MAX)?;
    let begin: String = long.chars().take(32).collect();
    let octets = long.len();
    Some(format!("the name {begin:?}... has {octets} octets, of {NAME_OCTETS_MAX} at most"))
}

/// What a job takes in memory.
pub(crate) fn octets_of(job: &Job) -> usize {
    let text = |text: &String| EACH + text.len();
    let format = |format: &crate::idl::Format| {
        text(&format.name) + format.command.iter().map(text).sum::<usize>()
    };
    4 * EACH + job.id.len() + job.application.len() + job.formats.iter().map(format).sum::<usize>()
}

/// What is kept of a job that was accepted, in memory.
pub(crate) fn octets_of_accepted(job: &Accepted) -> usize {
    4 * EACH + octets_of(&job.what) + job.state.why.len() + job.state.format.len()
}

/// Why a job may not be kept, if it may not.
pub(crate) fn refusal_of(job: &Job) -> Option<String> {
    let names = [&job.id, &job.application];
    let formats = job.formats.iter().map(|format| &format.name);
    let octets = octets_of(job);
    too_long(names.into_iter().chain(formats)).or_else(|| {
        (octets > JOB_OCTETS_MAX)
            .then(|| format!("the job has {octets} octets, of {JOB_OCTETS_MAX} at most"))
    })
}
