//! From jobs, machines and requirements to placements: a matrix of expected times, the machines'
//! ready times, a heuristic, and the format that meets the deadline (paper MSHN §2).

use crate::idl::{Job, MachineStatus, Placement, Usage};
use crate::schedule::{EtcMatrix, Heuristic, Problem, Quiet};
use crate::status_server::rate;
use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

/// What an application is taken to need that never ran, in seconds.
const UNKNOWN_S: f64 = 1.0;

/// Nothing is taken to need longer, whatever was recorded: sums stay finite.
const LONGEST_S: f64 = 1e9;

/// The time that a job is taken to need of which this is said.
pub(super) fn limited_s(said_s: f64) -> f64 {
    if said_s.is_nan() { UNKNOWN_S } else { said_s.clamp(0.0, LONGEST_S) }
}

/// What is known when jobs are placed.
pub(super) struct Knowledge {
    /// Those that are not silent.
    pub(super) machines: Vec<MachineStatus>,
    /// Means of every application in question.
    pub(super) means: Vec<Usage>,
    /// Applications of which no database could say what they need, and why.
    pub(super) unknown: BTreeMap<String, String>,
    /// Seconds of work that machines have been given already.
    pub(super) given: HashMap<String, f64>,
}

impl Knowledge {
    /// How long `format` of the job would take on `machine`, alone on a processor, and as it is.
    fn expected(&self, job: &Job, format: usize, machine: &MachineStatus) -> (f64, f64) {
        let name = job.formats.get(format).map_or("", |format| format.name.as_str());
        let of_format = |mean: &&Usage| mean.application == job.application && mean.format == name;
        let here = self.means.iter().filter(of_format).find(|m| m.machine == machine.machine);
        let alone = here.map_or_else(|| self.anywhere(&of_format), |mean| mean.wall_s);
        let alone = limited_s(alone);
        (alone, alone / rate(machine))
    }

    /// The mean over all machines.
    fn anywhere(&self, of_format: &dyn Fn(&&Usage) -> bool) -> f64 {
        let (mut sum, mut samples) = (0.0, 0.0);
        for mean in self.means.iter().filter(of_format) {
            sum += mean.wall_s * f64::from(mean.samples);
            samples += f64::from(mean.samples);
        }
        if samples > 0.0 { sum / samples } else { UNKNOWN_S }
    }

    /// When the machine has a processor free.
    fn ready(&self, machine: &MachineStatus) -> f64 {
        let given = self.given.get(&machine.machine).copied().unwrap_or(0.0);
        given / f64::from(machine.processors.max(1)) / rate(machine)
    }

    /// A placement for each job, all of them together, in this order.
    pub(super) fn place(&self, jobs: &[Job], heuristic: &dyn Heuristic) -> Vec<Placement> {
        let known: Vec<&Job> = jobs.iter().filter(|job| self.why_not(job).is_none()).collect();
        let mut mapped = self.map(&known, heuristic).into_iter();
        let placement = |job| match self.why_not(job) {
            Some(why) => nowhere(job, why),
            None => mapped.next().unwrap_or_else(|| nowhere(job, "it was not mapped")),
        };
        jobs.iter().map(placement).collect()
    }

    /// Why a job cannot be placed, whatever machines there are; those beside it can be.
    fn why_not(&self, job: &Job) -> Option<&str> {
        if job.formats.is_empty() {
            return Some("the job has no format");
        }
        self.unknown.get(&job.application).map(String::as_str)
    }

    fn map(&self, jobs: &[&Job], heuristic: &dyn Heuristic) -> Vec<Placement> {
        if jobs.is_empty() {
            return Vec::new();
        }
        match self.problem(jobs) {
            Ok(problem) => {
                let mapping = heuristic.map(&problem, &mut Quiet);
                let mut ready = problem.ready().to_vec();
                let settle = |(job, machine): (&&Job, &u32)| {
                    let (machine, placement) = self.settle(job, *machine as usize, &ready);
                    ready[machine] = placement.completes_in_s;
                    placement
                };
                jobs.iter().zip(mapping.machines()).map(settle).collect()
            }
            Err(why) => jobs.iter().map(|job| nowhere(job, &why)).collect(),
        }
    }

    /// Where the heuristic wants it, in the preferred format, if that is in time; else in the most
    /// preferred format that some machine has done in time; else wherever it is done first.
    fn settle(&self, job: &Job, machine: usize, ready: &[f64]) -> (usize, Placement) {
        let wanted = self.on(job, 0, machine, ready);
        if job.deadline_s <= 0.0 || wanted.completes_in_s <= job.deadline_s {
            return (machine, wanted);
        }
        let all = 0..job.formats.len();
        if let Some(found) = self.in_time(job, all.clone(), ready, Some(job.deadline_s), None) {
            return found;
        }
        let each = all.filter_map(|format| self.first(job, format, ready, None));
        let first = each.min_by(|a, b| a.1.completes_in_s.total_cmp(&b.1.completes_in_s));
        first.unwrap_or((machine, wanted))
    }

    /// The job on that machine in that format.
    fn on(&self, job: &Job, format: usize, machine: usize, ready: &[f64]) -> Placement {
        let status = &self.machines[machine];
        let (expected_s, takes_s) = self.expected(job, format, status);
        Placement {
            job: job.id.clone(),
            machine: status.machine.clone(),
            format: u32::try_from(format).unwrap_or(u32::MAX),
            expected_s,
            completes_in_s: ready[machine] + takes_s,
            why: String::new(),
        }
    }

    /// The machine that has the job done first in that format.
    fn first(
        &self,
        job: &Job,
        format: usize,
        ready: &[f64],
        avoid: Option<&str>,
    ) -> Option<(usize, Placement)> {
        let is_allowed = |machine: &usize| avoid != Some(self.machines[*machine].machine.as_str());
        let allowed = (0..self.machines.len()).filter(is_allowed);
        let all = allowed.map(|machine| (machine, self.on(job, format, machine, ready)));
        all.min_by(|a, b| a.1.completes_in_s.total_cmp(&b.1.completes_in_s))
    }

    /// The first of these formats that some machine has done in time.
    fn in_time(
        &self,
        job: &Job,
        mut formats: Range<usize>,
        ready: &[f64],
        left_s: Option<f64>,
        avoid: Option<&str>,
    ) -> Option<(usize, Placement)> {
        formats.find_map(|format| {
            let found = self.first(job, format, ready, avoid)?;
            left_s.is_none_or(|left_s| found.1.completes_in_s <= left_s).then_some(found)
        })
    }

    fn problem(&self, jobs: &[&Job]) -> Result<Problem, String> {
        if self.machines.is_empty() {
            return Err("no machine has reported".to_owned());
        }
        let row = |job| self.machines.iter().map(move |machine| self.expected(job, 0, machine).1);
        let times = jobs.iter().copied().flat_map(row).collect();
        let etc = EtcMatrix::new(jobs.len(), self.machines.len(), times);
        let ready = self.machines.iter().map(|machine| self.ready(machine)).collect();
        etc.and_then(|etc| Problem::with_ready(etc, ready)).map_err(|error| error.to_string())
    }

    /// Where a job is done in time after all, if anywhere: formats in the order of preference, from
    /// `format` on; for each the machine that has it done first. `left_s` is the time there is.
    /// Without a deadline, wherever it is done first but on `avoid`.
    pub(super) fn rescue(
        &self,
        job: &Job,
        format: u32,
        left_s: Option<f64>,
        avoid: Option<&str>,
    ) -> Option<Placement> {
        if self.why_not(job).is_some() {
            return None;
        }
        let ready: Vec<f64> = self.machines.iter().map(|machine| self.ready(machine)).collect();
        let formats = format as usize..job.formats.len();
        self.in_time(job, formats, &ready, left_s, avoid).map(|(_, placement)| placement)
    }
}

pub(super) fn nowhere(job: &Job, why: &str) -> Placement {
    Placement { job: job.id.clone(), why: why.to_owned(), ..Placement::default() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::idl::Format;
    use crate::schedule::{Mapping, MinMin};

    fn machine(name: &str, load: f64) -> MachineStatus {
        let machine = name.to_owned();
        MachineStatus { machine, processors: 1, load, ..Default::default() }
    }

    fn mean(format: &str, machine: &str, wall_s: f64) -> Usage {
        let text = |s: &str| s.to_owned();
        let (application, format, machine) = (text("app"), text(format), text(machine));
        Usage { application, format, machine, wall_s, samples: 1, ..Default::default() }
    }

    fn job(deadline_s: f64) -> Job {
        let format = |name: &str| Format { name: name.to_owned(), command: vec![] };
        let formats = vec![format("fine"), format("coarse")];
        Job { id: "j".to_owned(), application: "app".to_owned(), formats, deadline_s }
    }

    fn knowledge() -> Knowledge {
        Knowledge {
            machines: vec![machine("a", 1.0), machine("b", 4.0)],
            means: vec![mean("fine", "a", 8.0), mean("fine", "b", 4.0), mean("coarse", "a", 1.0)],
            unknown: BTreeMap::new(),
            given: HashMap::new(),
        }
    }

    #[test]
    fn load_and_work_given_already_decide() {
        // b is twice as fast and has four processes: 8 s on a, 16 s on b.
        let placed = knowledge().place(&[job(0.0)], &MinMin);
        assert_eq!((placed[0].machine.as_str(), placed[0].format), ("a", 0));
        assert_eq!((placed[0].expected_s, placed[0].completes_in_s), (8.0, 8.0));
        let given = HashMap::from([("a".to_owned(), 20.0)]);
        let placed = Knowledge { given, ..knowledge() }.place(&[job(0.0)], &MinMin);
        assert_eq!(placed[0].machine, "b");
    }

    #[test]
    fn a_deadline_chooses_the_format() {
        assert_eq!(knowledge().place(&[job(9.0)], &MinMin)[0].format, 0);
        let placed = &knowledge().place(&[job(2.0)], &MinMin)[0];
        assert_eq!((placed.machine.as_str(), placed.format), ("a", 1));
    }

    /// Wants all on the machine called b.
    struct Stubborn;

    impl Heuristic for Stubborn {
        fn map(&self, problem: &Problem, _: &mut dyn crate::schedule::Progress) -> Mapping {
            Mapping::new(vec![1; problem.tasks()])
        }
    }

    #[test]
    fn another_machine_is_tried_before_another_format() {
        // 16 s on b: with 9 s left, fine is in time on a only; with 20 s, where it is wanted.
        let on = |deadline_s| knowledge().place(&[job(deadline_s)], &Stubborn).remove(0);
        assert_eq!((on(9.0).machine.as_str(), on(9.0).format), ("a", 0));
        assert_eq!((on(20.0).machine.as_str(), on(20.0).format), ("b", 0));
        // In no format in time: the quickest there is.
        assert_eq!((on(0.1).machine.as_str(), on(0.1).format), ("a", 1));
    }

    #[test]
    fn what_the_first_takes_is_missing_to_the_second() {
        // Both want a in the fine format, which is free for one of them within 9 s.
        let (first, second) = (job(9.0), job(9.0));
        let placed = knowledge().place(&[first, second], &MinMin);
        assert_eq!((placed[0].machine.as_str(), placed[0].format), ("a", 0));
        assert_eq!((placed[1].machine.as_str(), placed[1].format), ("b", 1));
    }

    #[test]
    fn rescue_is_another_machine_or_another_format() {
        let knowledge = knowledge();
        let rescued = knowledge.rescue(&job(9.0), 0, Some(2.0), None).unwrap();
        assert_eq!((rescued.machine.as_str(), rescued.format), ("a", 1));
        let elsewhere = knowledge.rescue(&job(0.0), 0, None, Some("a")).unwrap();
        assert_eq!(elsewhere.machine, "b");
        assert!(knowledge.rescue(&job(9.0), 0, Some(0.1), None).is_none());
    }

    #[test]
    fn without_machines_it_says_why() {
        let nothing = Knowledge { machines: vec![], means: vec![], ..knowledge() };
        let placed = nothing.place(&[job(0.0)], &MinMin);
        assert!(placed[0].machine.is_empty() && placed[0].why.contains("no machine"));
    }

    #[test]
    fn what_no_run_takes_is_limited() {
        let times = [f64::INFINITY, f64::MAX, f64::NAN, -5.0];
        for wall_s in times {
            let means = vec![mean("fine", "a", wall_s), mean("fine", "b", wall_s)];
            let placed = Knowledge { means, ..knowledge() }.place(&[job(0.0), job(9.0)], &MinMin);
            assert!(placed.iter().all(|placed| !placed.machine.is_empty()), "{placed:?}");
            assert!(placed.iter().all(|placed| (0.0..=1e9).contains(&placed.expected_s)));
        }
    }

    #[test]
    fn a_job_that_cannot_be_placed_leaves_the_others_where_they_are() {
        let unknown = BTreeMap::from([("odd".to_owned(), "no answer".to_owned())]);
        let odd = Job { application: "odd".to_owned(), ..job(0.0) };
        let empty = Job { formats: vec![], ..job(0.0) };
        let jobs = [odd, job(0.0), empty];
        let placed = Knowledge { unknown, ..knowledge() }.place(&jobs, &MinMin);
        let machines: Vec<&str> = placed.iter().map(|placed| placed.machine.as_str()).collect();
        assert_eq!(machines, ["", "a", ""]);
        assert_eq!(placed[0].why, "no answer");
    }
}
