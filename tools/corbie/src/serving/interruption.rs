//! The peaceful end of commands that are no servers and run until they are interrupted: a thread
//! waits for SIGTERM or SIGINT, has done what is to be done before, and shuts the ORB down.
//!
//! Calls that wait fail then, so the command goes on to its end, and its exit status is 0. A second
//! signal ends the process at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::Builder;

use super::{Log, Serving, until_signal};
use crate::failure::Failure;
use crate::session::Session;

/// See the module.
pub(crate) struct Interruption {
    came: Arc<AtomicBool>,
}

impl Interruption {
    /// Catches signals from now on; `before_end` is called at the first one.
    pub(crate) fn watch(
        session: &Session,
        log: Log,
        before_end: impl FnOnce() + Send + 'static,
    ) -> Result<Self, Failure> {
        let came: Arc<AtomicBool> = Arc::default();
        let tell = Arc::clone(&came);
        let serving = until_signal(session, log, None)?.before_end(move |_| {
            tell.store(true, Ordering::Release);
            before_end();
        });
        Self::wait(serving, |_| {})?;
        Ok(Self { came })
    }

    /// Waits for the end of `serving` in a thread, and tells it.
    pub(crate) fn wait(
        serving: Serving,
        ended: impl FnOnce(Result<(), Failure>) + Send + 'static,
    ) -> Result<(), Failure> {
        let thread = Builder::new().name("corbie-interruption".to_owned());
        let wait = move || ended(super::run(serving));
        let started = thread.spawn(wait).map(drop);
        started.map_err(|error| Failure::new(format!("cannot wait for signals: {error}")))
    }

    /// Whether a signal came.
    pub(crate) fn has_come(&self) -> bool {
        self.came.load(Ordering::Acquire)
    }

    /// What became of the command: well, if it ended since a signal came.
    pub(crate) fn or(&self, outcome: Result<(), Failure>) -> Result<(), Failure> {
        if self.has_come() { Ok(()) } else { outcome }
    }
}
