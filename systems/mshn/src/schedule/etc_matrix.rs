//! How long each task would take on each machine: "expected time to compute" (ETC).
//!
//! The text form is that of the benchmark instances of Braun et al.: a line `tasks machines 0`,
//! then one value a line, task by task. It comes from outside, so everything about it is checked.

use std::fmt::Write as _;

/// The largest matrix that [`EtcMatrix::parse`] takes: 4,096 tasks on 256 machines and more fit in.
const MAX_VALUES: usize = 1 << 24;

/// Times in the unit of the matrix (usually seconds): finite and not negative.
#[derive(Clone, Debug, PartialEq)]
pub struct EtcMatrix {
    tasks: usize,
    machines: usize,
    /// Task by task: the value of task `t` on machine `m` is at `t * machines + m`.
    values: Vec<f64>,
}

/// Why a matrix could not be had.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum EtcError {
    /// The first line does not say how large the matrix is.
    #[error("line 1 is `{0}`: it has to be `tasks machines 0`, for example `512 16 0`")]
    Heading(String),
    /// No tasks, no machines, or more values than are taken.
    #[error(
        "{tasks} tasks on {machines} machines: there has to be one of each, and at most \
         {MAX_VALUES} values in all"
    )]
    Size {
        /// Tasks asked for.
        tasks: usize,
        /// Machines asked for.
        machines: usize,
    },
    /// A line is no time.
    #[error("line {line} is `{text}`: a time has to be a number that is finite and not negative")]
    Value {
        /// Counted from 1.
        line: usize,
        /// What stands there.
        text: String,
    },
    /// There are more or fewer values than the first line says.
    #[error(
        "{tasks} tasks on {machines} machines need {} values, but there are {found}",
        tasks * machines
    )]
    Count {
        /// Tasks that the first line says.
        tasks: usize,
        /// Machines that the first line says.
        machines: usize,
        /// Values found.
        found: usize,
    },
}

impl EtcMatrix {
    /// A matrix of `values`, task by task.
    ///
    /// ```
    /// use corbie_mshn::schedule::EtcMatrix;
    /// let etc = EtcMatrix::new(2, 3, vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0])?;
    /// assert_eq!(etc.of_task(1), [4.0, 5.0, 6.0]);
    /// # Ok::<(), corbie_mshn::schedule::EtcError>(())
    /// ```
    ///
    /// # Errors
    /// [`EtcError::Size`], [`EtcError::Count`]; [`EtcError::Value`] for what is no time.
    pub fn new(tasks: usize, machines: usize, values: Vec<f64>) -> Result<Self, EtcError> {
        check_size(tasks, machines)?;
        if values.len() != tasks * machines {
            return Err(EtcError::Count { tasks, machines, found: values.len() });
        }
        if let Some(wrong) = values.iter().position(|value| !is_time(*value)) {
            return Err(EtcError::Value { line: wrong + 2, text: values[wrong].to_string() });
        }
        Ok(EtcMatrix { tasks, machines, values })
    }

    /// Reads the text form.
    ///
    /// # Errors
    /// [`EtcError`], with the line.
    pub fn parse(text: &str) -> Result<Self, EtcError> {
        let mut lines = text.lines().enumerate();
        let heading = lines.next().map_or("", |(_, line)| line.trim());
        let (tasks, machines) =
            size(heading).ok_or_else(|| EtcError::Heading(shortened(heading)))?;
        check_size(tasks, machines)?;
        let expected = tasks * machines;
        // The text is there already; a heading that promises more than it has reserves nothing.
        let mut values = Vec::with_capacity(expected.min(text.len()));
        for (number, line) in lines {
            for word in line.split_whitespace() {
                let value = word.parse().ok().filter(|value| is_time(*value));
                let wrong = || EtcError::Value { line: number + 1, text: shortened(word) };
                values.push(value.ok_or_else(wrong)?);
            }
        }
        if values.len() != expected {
            return Err(EtcError::Count { tasks, machines, found: values.len() });
        }
        Ok(EtcMatrix { tasks, machines, values })
    }

    /// The text form; [`EtcMatrix::parse`] gives the same matrix again.
    #[must_use]
    pub fn to_text(&self) -> String {
        let mut text = format!("{} {} 0\n", self.tasks, self.machines);
        for value in &self.values {
            // Writing to a string cannot fail. The shortest form that reads back as the same value.
            let _ = writeln!(text, "{value}");
        }
        text
    }

    /// How many tasks.
    #[must_use]
    pub fn tasks(&self) -> usize {
        self.tasks
    }

    /// How many machines.
    #[must_use]
    pub fn machines(&self) -> usize {
        self.machines
    }

    /// The times of one task, machine by machine.
    ///
    /// # Panics
    /// When there is no such task.
    #[must_use]
    pub fn of_task(&self, task: usize) -> &[f64] {
        &self.values[task * self.machines..][..self.machines]
    }

    /// The time of `task` on `machine`.
    ///
    /// # Panics
    /// When there is no such task or machine.
    #[must_use]
    pub fn at(&self, task: usize, machine: usize) -> f64 {
        self.of_task(task)[machine]
    }
}

fn is_time(value: f64) -> bool {
    value.is_finite() && value >= 0.0
}

pub(super) fn check_size(tasks: usize, machines: usize) -> Result<(), EtcError> {
    match tasks.checked_mul(machines) {
        Some(1..=MAX_VALUES) => Ok(()),
        _ => Err(EtcError::Size { tasks, machines }),
    }
}

/// `tasks machines`, and perhaps a third number that says nothing.
fn size(heading: &str) -> Option<(usize, usize)> {
    let numbers: Option<Vec<usize>> =
        heading.split_whitespace().take(4).map(|word| word.parse().ok()).collect();
    match numbers?[..] {
        [tasks, machines] | [tasks, machines, _] => Some((tasks, machines)),
        _ => None,
    }
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(40) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::{EtcError, EtcMatrix};
    use proptest::prelude::*;

    #[test]
    fn the_usual_text_is_read() {
        let etc = EtcMatrix::parse("2 2 0\n1.5\n2\n3e2\n0\n").unwrap();
        assert_eq!((etc.tasks(), etc.machines()), (2, 2));
        assert_eq!(etc.of_task(1), [300.0, 0.0]);
    }

    #[test]
    fn what_is_wrong_is_said_with_its_line() {
        let error = |text: &str| EtcMatrix::parse(text).unwrap_err();
        assert_eq!(error(""), EtcError::Heading(String::new()));
        assert_eq!(error("1 x 0\n1"), EtcError::Heading("1 x 0".to_owned()));
        assert_eq!(error("0 4 0"), EtcError::Size { tasks: 0, machines: 4 });
        let size = EtcError::Size { tasks: usize::MAX, machines: 2 };
        assert_eq!(error(&format!("{} 2 0", usize::MAX)), size);
        for wrong in ["-1", "NaN", "inf", "one"] {
            let value = EtcError::Value { line: 3, text: wrong.to_owned() };
            assert_eq!(error(&format!("1 2 0\n1\n{wrong}\n")), value);
        }
        assert_eq!(error("2 2 0\n1\n"), EtcError::Count { tasks: 2, machines: 2, found: 1 });
        assert!(error("2 2 0\n1\n").to_string().contains("need 4 values"));
    }

    proptest! {
        #[test]
        fn text_is_read_back_as_it_was(tasks in 1usize..20, machines in 1usize..9, seed: u64) {
            let value = |i: usize| (seed.wrapping_mul(i as u64 + 1) >> 12) as f64 / 1024.0;
            let values = (0..tasks * machines).map(value).collect();
            let etc = EtcMatrix::new(tasks, machines, values).unwrap();
            prop_assert_eq!(EtcMatrix::parse(&etc.to_text()), Ok(etc));
        }

        #[test]
        fn any_text_is_understood_or_refused(text in ".{0,200}") {
            let _ = EtcMatrix::parse(&text);
        }
    }
}
