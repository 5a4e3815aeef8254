//! How a heuristic that takes long tells how far it is, and is told to stop.
//!
//! The command line draws a bar of it; the Scheduling Advisor lets heuristics run to their end.

/// A caller that wants to know how far a heuristic is.
pub trait Progress {
    /// About `done` of the work is done (0 to 1, never falling), and the best mapping so far has
    /// this makespan. The answer says whether to go on.
    fn report(&mut self, done: f64, makespan: f64) -> Control;
}

/// Whether a heuristic is to go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Control {
    /// Go on.
    Continue,
    /// Give back the best mapping that there is by now.
    Stop,
}

/// For callers that do not want to know.
#[derive(Clone, Copy, Debug, Default)]
pub struct Quiet;

impl Progress for Quiet {
    fn report(&mut self, _done: f64, _makespan: f64) -> Control {
        Control::Continue
    }
}

/// What a search has told so far: how far it is never falls, the makespan never rises, and who was
/// told to stop has stopped.
pub(super) struct ToldProgress<'p> {
    progress: &'p mut dyn Progress,
    done: f64,
    makespan: f64,
    control: Control,
}

impl<'p> ToldProgress<'p> {
    pub(super) fn new(progress: &'p mut dyn Progress) -> Self {
        ToldProgress { progress, done: 0.0, makespan: f64::INFINITY, control: Control::Continue }
    }

    pub(super) fn report(&mut self, done: f64, makespan: f64) -> Control {
        self.done = self.done.max(done.min(1.0));
        self.makespan = self.makespan.min(makespan);
        if self.control == Control::Continue {
            self.control = self.progress.report(self.done, self.makespan);
        }
        self.control
    }
}
