//! The jobs that an advisor knows, and how many of them have not ended, with their octets: so a new
//! one is refused without looking at all others.

use crate::bounds::octets_of_accepted;
use crate::idl::{Accepted, Phase};
use std::collections::BTreeMap;
use std::ops::Deref;

/// See the module.
#[derive(Default)]
pub(super) struct KnownJobs {
    all: BTreeMap<String, Accepted>,
    /// Those that wait or run.
    open: usize,
    open_octets: usize,
}

/// Whether a job has ended.
pub(super) fn has_ended(job: &Accepted) -> bool {
    matches!(job.state.state, Phase::Done | Phase::Failed)
}

impl KnownJobs {
    /// A job is known, or something became of it.
    pub(super) fn insert(&mut self, job: Accepted) {
        self.count(&job, true);
        if let Some(before) = self.all.insert(job.what.id.clone(), job) {
            self.count(&before, false);
        }
    }

    /// A job is forgotten.
    pub(super) fn remove(&mut self, id: &str) {
        if let Some(job) = self.all.remove(id) {
            self.count(&job, false);
        }
    }

    fn count(&mut self, job: &Accepted, is_more: bool) {
        if has_ended(job) {
            return;
        }
        let octets = octets_of_accepted(job);
        if is_more {
            (self.open, self.open_octets) = (self.open + 1, self.open_octets + octets);
        } else {
            self.open = self.open.saturating_sub(1);
            self.open_octets = self.open_octets.saturating_sub(octets);
        }
    }

    /// How many have not ended, and their octets.
    pub(super) fn open(&self) -> (usize, usize) {
        (self.open, self.open_octets)
    }
}

impl FromIterator<Accepted> for KnownJobs {
    fn from_iter<I: IntoIterator<Item = Accepted>>(jobs: I) -> Self {
        let mut known = KnownJobs::default();
        jobs.into_iter().for_each(|job| known.insert(job));
        known
    }
}

impl Deref for KnownJobs {
    type Target = BTreeMap<String, Accepted>;

    fn deref(&self) -> &Self::Target {
        &self.all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::idl::{Job, Outcome};

    #[test]
    fn what_has_not_ended_is_counted_whatever_becomes_of_it() {
        let job = |id: &str, state, why: &str| Accepted {
            what: Job { id: id.to_owned(), ..Job::default() },
            state: Outcome { state, why: why.to_owned(), ..Outcome::default() },
            ..Accepted::default()
        };
        let mut known: KnownJobs =
            ["a", "b", "c"].map(|id| job(id, Phase::Waiting, "")).into_iter().collect();
        let each = known.open().1 / 3;
        assert_eq!(known.open(), (3, 3 * each));
        known.insert(job("a", Phase::Running, "seven c"));
        assert_eq!(known.open(), (3, 3 * each + 7));
        known.insert(job("a", Phase::Done, "much more to say"));
        known.remove("b");
        known.remove("no such");
        assert_eq!((known.open(), known.len()), ((1, each), 2));
        known.remove("a");
        assert_eq!(known.open(), (1, each));
    }
}
