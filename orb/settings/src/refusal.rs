//! Why a set of settings is refused: one sentence, and the exception that it becomes.
//!
//! Made by every file of this crate, turned into a [`SystemException`] at one place, here.

use std::fmt;

use corbie_types::{CompletionStatus, SystemException, minor};

/// A setting, a file or a combination that cannot be used, as a sentence for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refusal {
    at_fault: Fault,
    sentence: String,
}

/// What has to be changed, which decides the exception.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    /// What the caller of `ORB_init` passed, or what stands in the environment or the file.
    Parameter,
    /// The surroundings: a file that cannot be read.
    Surroundings,
}

impl Refusal {
    /// A value, name or combination that is wrong.
    pub(crate) fn parameter(sentence: impl Into<String>) -> Self {
        Self { at_fault: Fault::Parameter, sentence: sentence.into() }
    }

    /// Something outside of the settings that failed.
    pub(crate) fn surroundings(sentence: impl Into<String>) -> Self {
        Self { at_fault: Fault::Surroundings, sentence: sentence.into() }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.sentence)
    }
}

// CORBA 3.3 P1 §8.5.1: an -ORB argument that is not recognised, or is malformed, raises
// BAD_PARAM from ORB_init. A file that cannot be read is not a parameter: INITIALIZE.
impl From<Refusal> for SystemException {
    fn from(refusal: Refusal) -> Self {
        let no = CompletionStatus::No;
        let exception = match refusal.at_fault {
            Fault::Parameter => SystemException::bad_param(minor::BAD_PARAM_ARGUMENT, no),
            Fault::Surroundings => SystemException::initialize(minor::INITIALIZE_CONFIGURATION, no),
        };
        exception.with_detail(refusal.sentence)
    }
}
