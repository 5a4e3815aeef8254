//! What a heuristic is asked: which machine is to run which task, if the machines become free
//! thus.

use super::{EtcError, EtcMatrix};

/// Tasks to be mapped, and the machines as they are now.
#[derive(Clone, Debug, PartialEq)]
pub struct Problem {
    etc: EtcMatrix,
    ready: Vec<f64>,
}

impl Problem {
    /// All machines are free at time 0: the static problem of Braun et al.
    #[must_use]
    pub fn new(etc: EtcMatrix) -> Self {
        let ready = vec![0.0; etc.machines()];
        Problem { etc, ready }
    }

    /// Machine `m` becomes free at `ready[m]`, as it has work already.
    ///
    /// # Errors
    /// [`EtcError::Count`] unless there is one time a machine, [`EtcError::Value`] for one that is
    /// no time.
    pub fn with_ready(etc: EtcMatrix, ready: Vec<f64>) -> Result<Self, EtcError> {
        // One task that takes as long on each machine as that is busy: the checks are the same.
        let checked = EtcMatrix::new(1, etc.machines(), ready)?;
        Ok(Problem { ready: checked.of_task(0).to_vec(), etc })
    }

    /// How long each task would take on each machine.
    #[must_use]
    pub fn etc(&self) -> &EtcMatrix {
        &self.etc
    }

    /// When each machine becomes free.
    #[must_use]
    pub fn ready(&self) -> &[f64] {
        &self.ready
    }

    /// How many tasks.
    #[must_use]
    pub fn tasks(&self) -> usize {
        self.etc.tasks()
    }

    /// How many machines.
    #[must_use]
    pub fn machines(&self) -> usize {
        self.etc.machines()
    }
}
