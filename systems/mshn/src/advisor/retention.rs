//! What the advisor forgets: outcomes of jobs that ended long ago, and the oldest of too many.
//! Called by its thread now and then.

use super::known::has_ended;
use super::{AdvisorOptions, AdvisorShared, now_s};
use crate::bounds::octets_of_accepted;
use crate::idl::Accepted;
use std::collections::BTreeMap;

/// The ids of jobs that are to be forgotten at `now`, in seconds since 1970.
fn outdated(jobs: &BTreeMap<String, Accepted>, options: &AdvisorOptions, now: f64) -> Vec<String> {
    let mut ended: Vec<&Accepted> = jobs.values().filter(|job| has_ended(job)).collect();
    ended.sort_by(|a, b| b.ended_at.total_cmp(&a.ended_at));
    let oldest = now - options.keep_ended.as_secs_f64();
    let mut octets = 0;
    let mut is_kept = |place: usize, job: &Accepted| {
        octets += octets_of_accepted(job);
        let is_within = place < options.keep_ended_max && octets <= options.jobs_octets_max;
        is_within && job.ended_at >= oldest
    };
    let gone = ended.iter().enumerate().filter(|(place, job)| !is_kept(*place, job));
    gone.map(|(_, job)| job.what.id.clone()).collect()
}

/// Forgets them.
pub(super) fn forget(shared: &AdvisorShared) {
    let ids = outdated(&shared.lock(), &shared.options, now_s());
    if ids.is_empty() {
        return;
    }
    if let Err(error) = shared.journal.remove(&ids) {
        tracing::error!(%error, "the advisor's journal");
        return;
    }
    let mut jobs = shared.lock();
    for id in &ids {
        jobs.remove(id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::idl::{Job, Outcome, Phase};
    use std::time::Duration;

    fn job(id: &str, state: Phase, ended_at: f64) -> (String, Accepted) {
        let what = Job { id: id.to_owned(), ..Job::default() };
        let state = Outcome { state, ..Outcome::default() };
        (id.to_owned(), Accepted { what, state, ended_at, ..Accepted::default() })
    }

    #[test]
    fn the_old_and_the_oldest_of_too_many_go_and_what_runs_stays() {
        let options = AdvisorOptions {
            keep_ended: Duration::from_secs(100),
            keep_ended_max: 2,
            ..AdvisorOptions::new("a")
        };
        let jobs = BTreeMap::from([
            job("old", Phase::Done, 800.0),
            job("runs", Phase::Running, 0.0),
            job("third", Phase::Failed, 950.0),
            job("second", Phase::Done, 960.0),
            job("first", Phase::Done, 990.0),
        ]);
        let mut gone = outdated(&jobs, &options, 1000.0);
        gone.sort();
        assert_eq!(gone, ["old", "third"]);
    }
}
