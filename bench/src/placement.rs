//! On which core a process runs: the `pin` of a row.
//!
//! Affinity is set on the thread that starts a process, which the process inherits: the same call
//! pins our own binary, omniORB's and the JVM, and none of them has to know (`process.rs`).

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use std::io;

/// Where client and server run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pin {
    /// Both on the first core: no core is woken, so that what remains is the work itself.
    SameCore,
    /// The server on the first core, the client on the second.
    TwoCores,
    /// Wherever the kernel puts them.
    None,
}

impl Pin {
    /// The value of `x.pin`.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Pin::SameCore => "same-core",
            Pin::TwoCores => "two-cores",
            Pin::None => "none",
        }
    }

    /// Index among the allowed cores on which the server runs.
    pub(crate) fn server(self) -> Option<usize> {
        match self {
            Pin::SameCore | Pin::TwoCores => Some(0),
            Pin::None => None,
        }
    }

    /// Index among the allowed cores on which the client runs.
    pub(crate) fn client(self) -> Option<usize> {
        match self {
            Pin::SameCore => Some(0),
            Pin::TwoCores => Some(1),
            Pin::None => None,
        }
    }
}

/// The cores that this process may use, in order.
///
/// # Errors
/// What `sched_getaffinity` says.
pub(crate) fn allowed_cores() -> io::Result<Vec<usize>> {
    let set = sched_getaffinity(None)?;
    Ok((0..CpuSet::MAX_CPU).filter(|&core| set.is_set(core)).collect())
}

/// Runs `start` with the calling thread on the `index`th allowed core, and puts the thread back
/// afterwards.
///
/// # Errors
/// When there is no such core, the kernel refuses, or `start` fails.
pub(crate) fn on_core<T>(
    index: Option<usize>,
    start: impl FnOnce() -> io::Result<T>,
) -> io::Result<T> {
    let Some(index) = index else { return start() };
    let before = sched_getaffinity(None)?;
    let cores = allowed_cores()?;
    let core = *cores.get(index).ok_or_else(|| {
        io::Error::other(format!(
            "pinning needs {} cores, this process may use {}",
            index + 1,
            cores.len()
        ))
    })?;
    let mut one = CpuSet::new();
    one.set(core);
    sched_setaffinity(None, &one)?;
    let started = start();
    sched_setaffinity(None, &before)?;
    started
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_thread_is_pinned_inside_and_free_afterwards() {
        let before = allowed_cores().unwrap();
        let inside = on_core(Some(0), allowed_cores).unwrap();
        assert_eq!(inside, before[..1]);
        assert_eq!(allowed_cores().unwrap(), before);
    }

    #[test]
    fn a_core_that_is_not_there_is_an_error() {
        assert!(on_core(Some(CpuSet::MAX_CPU), || Ok(())).is_err());
    }
}
