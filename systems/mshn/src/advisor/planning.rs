//! From jobs, machines and requirements to placements: a matrix of expected times, the machines'
//! ready times, a heuristic, and the format that meets the deadline (paper MSHN §2).

use crate::idl::{Job, MachineStatus, Placement, Usage};
use crate::schedule::{EtcMatrix, Heuristic, Problem, Quiet};
use crate::status_server::rate;
use std::collections::HashMap;

/// What an application is taken to need that never ran, in seconds.
const UNKNOWN_S: f64 = 1.0;

/// What is known when jobs are placed.
pub(super) struct Knowledge {
    /// Those that are not silent.
    pub(super) machines: Vec<MachineStatus>,
    /// Means of every application in question.
    pub(super) means: Vec<Usage>,
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

    /// A placement for each job, all of them together.
    pub(super) fn place(&self, jobs: &[Job], heuristic: &dyn Heuristic) -> Vec<Placement> {
        match self.problem(jobs) {
            Ok(problem) => {
                let mapping = heuristic.map(&problem, &mut Quiet);
                let mut done = problem.ready().to_vec();
                let place = |(job, machine): (&Job, &u32)| {
                    let machine = *machine as usize;
                    let before = done[machine];
                    let placement = self.choose_format(job, machine, before);
                    done[machine] = placement.completes_in_s;
                    placement
                };
                jobs.iter().zip(mapping.machines()).map(place).collect()
            }
            Err(why) => jobs.iter().map(|job| nowhere(job, &why)).collect(),
        }
    }

    fn problem(&self, jobs: &[Job]) -> Result<Problem, String> {
        if self.machines.is_empty() {
            return Err("no machine has reported".to_owned());
        }
        let row = |job| self.machines.iter().map(move |machine| self.expected(job, 0, machine).1);
        let times = jobs.iter().flat_map(row).collect();
        let etc = EtcMatrix::new(jobs.len(), self.machines.len(), times);
        let ready = self.machines.iter().map(|machine| self.ready(machine)).collect();
        etc.and_then(|etc| Problem::with_ready(etc, ready)).map_err(|error| error.to_string())
    }

    /// The most preferred format that is done in time on that machine; else the quickest one.
    fn choose_format(&self, job: &Job, machine: usize, ready: f64) -> Placement {
        let machine = &self.machines[machine];
        let mut best: Option<Placement> = None;
        for format in 0..job.formats.len() {
            let (expected_s, takes_s) = self.expected(job, format, machine);
            let completes_in_s = ready + takes_s;
            if best.as_ref().is_none_or(|best| completes_in_s < best.completes_in_s) {
                best = Some(Placement {
                    job: job.id.clone(),
                    machine: machine.machine.clone(),
                    format: u32::try_from(format).unwrap_or(u32::MAX),
                    expected_s,
                    completes_in_s,
                    why: String::new(),
                });
            }
            if job.deadline_s <= 0.0 || completes_in_s <= job.deadline_s {
                break;
            }
        }
        best.unwrap_or_else(|| nowhere(job, "the job has no format"))
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
        for format in format as usize..job.formats.len() {
            let on = |(index, machine): (usize, &MachineStatus)| {
                let (expected_s, takes_s) = self.expected(job, format, machine);
                (index, expected_s, self.ready(machine) + takes_s)
            };
            let others = |(_, m): &(usize, &MachineStatus)| avoid != Some(m.machine.as_str());
            let all = self.machines.iter().enumerate().filter(others).map(on);
            let first = all.min_by(|a, b| a.2.total_cmp(&b.2));
            let (index, expected_s, completes_in_s) = first?;
            if left_s.is_none_or(|left_s| completes_in_s <= left_s) {
                return Some(Placement {
                    job: job.id.clone(),
                    machine: self.machines[index].machine.clone(),
                    format: u32::try_from(format).unwrap_or(u32::MAX),
                    expected_s,
                    completes_in_s,
                    why: String::new(),
                });
            }
        }
        None
    }
}

pub(super) fn nowhere(job: &Job, why: &str) -> Placement {
    Placement { job: job.id.clone(), why: why.to_owned(), ..Placement::default() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::idl::Format;
    use crate::schedule::MinMin;

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
        let nothing = Knowledge { machines: vec![], means: vec![], given: HashMap::new() };
        let placed = nothing.place(&[job(0.0)], &MinMin);
        assert!(placed[0].machine.is_empty() && placed[0].why.contains("no machine"));
    }
}
