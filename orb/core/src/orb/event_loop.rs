//! Running the ORB: the methods by which an application lends it threads, and the thread that the
//! ORB starts where it lends none (CORBA 3.3 P1 §8.2.3).
//!
//! One [`Reactor`] an ORB serves its clients' replies and, with `server_concurrency = reactive`,
//! its servers' requests. It is made at the first need.

use crate::Orb;
use crate::handles::Part;
use crate::reactor::{self, Pollers, Reactor};
use corbie_settings::EventLoop;
use corbie_threads::lock::{Ranked, rank};
use corbie_threads::thread;
use corbie_types::{SystemException, minor};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

/// The reactor of one ORB, and its thread.
#[derive(Default)]
pub(crate) struct MainLoop {
    reactor: OnceLock<Arc<Reactor>>,
    /// Lock "making the reactor".
    making: Ranked<rank::EventLoop, ()>,
    has_thread: AtomicBool,
}

impl Drop for MainLoop {
    fn drop(&mut self) {
        if let Some(reactor) = self.reactor.get() {
            reactor.close();
        }
    }
}

impl MainLoop {
    /// The reactor, if there is one yet.
    pub(super) fn made(&self) -> Option<&Arc<Reactor>> {
        self.reactor.get()
    }
}

impl Part for MainLoop {}

impl Orb {
    pub(super) fn main_loop(&self) -> &MainLoop {
        self.extensions().main_loop.get()
    }

    /// Serves until [`Orb::shutdown`] is called. With `event_loop = application` this thread does
    /// the work, together with others that are in here; else the ORB's own threads do, and this one
    /// only waits. The first thread that calls this (or [`Orb::perform_work`]) is the main thread:
    /// it makes the upcalls of POAs with `MAIN_THREAD_MODEL`.
    pub fn run(&self) {
        self.become_main_thread();
        while !self.is_shut_down() {
            while self.serve_as_main_thread() {}
            if self.is_driven_by_application()
                && let Ok(reactor) = self.reactor()
                && !reactor.is_closed()
            {
                let done = || self.is_shut_down() || self.has_main_thread_work();
                reactor.run_until(self, &done, None);
            } else {
                self.wait_for_end();
            }
        }
    }

    /// Whether [`Orb::perform_work`] would find something to do. While the ORB's own thread does
    /// the work (`event_loop = background`), that is only what waits for the main thread.
    #[must_use]
    pub fn work_pending(&self) -> bool {
        if self.has_main_thread_work() {
            return true;
        }
        self.is_driven_by_application()
            && self.main_loop().reactor.get().is_some_and(|reactor| reactor.has_work())
    }

    /// Does one unit of work, such as to serve one request or to deliver one reply, if there is
    /// one; never waits for one. Whether there was one. The first thread that calls this (or
    /// [`Orb::run`]) is the main thread.
    pub fn perform_work(&self) -> bool {
        self.become_main_thread();
        if self.serve_as_main_thread() {
            return true;
        }
        self.is_driven_by_application()
            && self.reactor().is_ok_and(|reactor| reactor.run_once(self, Some(Duration::ZERO)))
    }

    /// Works, waiting for work, until `done` holds or `timeout` has passed (`None`: for ever);
    /// whether `done` holds. For a program of one thread that sends asynchronous requests and has
    /// to wait for their replies. `done` is looked at after each unit of work of this thread, and
    /// every millisecond while another thread (with `event_loop = background`, the ORB's) works.
    pub fn work_until(&self, done: &dyn Fn() -> bool, timeout: Option<Duration>) -> bool {
        // The thread that makes `done` true does not know this one, which does not sleep long.
        const LOOK: Duration = Duration::from_millis(1);
        let begin = Instant::now();
        let deadline = timeout.and_then(|timeout| begin.checked_add(timeout));
        let Ok(reactor) = self.reactor() else { return done() };
        let mut now = begin;
        while !done() {
            if self.serve_as_main_thread() {
                continue;
            }
            if deadline.is_some_and(|deadline| now >= deadline) || reactor.is_closed() {
                return done();
            }
            let look = now + LOOK;
            let until = deadline.map_or(look, |deadline| deadline.min(look));
            // With one connection to wait at, one system call is enough, as in a synchronous call.
            if !(self.is_driven_by_application() && reactor.wait_at_only_source(self, LOOK, until))
            {
                reactor.run_until(self, done, Some(until));
            }
            if done() {
                break; // Without another look at the clock.
            }
            now = Instant::now();
        }
        true
    }

    /// Whether only threads in [`Orb::run`], [`Orb::perform_work`] and calls that wait with the
    /// event loop do the work. Reactive servers have no other threads.
    pub(crate) fn is_driven_by_application(&self) -> bool {
        self.settings().event_loop == EventLoop::Application
    }

    /// The event loop of this ORB.
    ///
    /// # Errors
    /// `NO_RESOURCES` (`COMPLETED_NO`) when the system has no descriptors left.
    pub(crate) fn reactor(&self) -> Result<&Arc<Reactor>, SystemException> {
        let main = self.main_loop();
        if let Some(reactor) = main.reactor.get() {
            return Ok(reactor);
        }
        let _making = main.making.lock();
        if main.reactor.get().is_none() {
            let reactor =
                reactor::new(self, Pollers::OneAtATime).map_err(|error| no_loop(&error))?;
            if self.is_shut_down() {
                reactor.close();
            }
            let _ = main.reactor.set(reactor);
        }
        main.reactor.get().ok_or_else(|| no_loop(&std::io::Error::other("it is gone")))
    }

    /// Sees to it that a thread runs the event loop: with `event_loop = background` one of the ORB,
    /// which is started once and ends with the ORB. `even_so` starts it in any case.
    pub(crate) fn ensure_event_loop(&self, even_so: bool) -> Result<(), SystemException> {
        if self.is_driven_by_application() && !even_so {
            return Ok(());
        }
        let main = self.main_loop();
        let reactor = Arc::clone(self.reactor()?);
        if main.has_thread.swap(true, Ordering::AcqRel) {
            return Ok(());
        }
        let builder = std::thread::Builder::new().name("corbie-reactor".to_owned());
        let started = builder.spawn(move || {
            thread::begin_serving();
            reactor.run_while_needed();
        });
        started.map(|_| ()).map_err(|error| {
            main.has_thread.store(false, Ordering::Release);
            no_thread(&error)
        })
    }

    /// Closes the event loop: threads inside leave it.
    pub(super) fn close_event_loop(&self) {
        if let Some(reactor) = self.main_loop().reactor.get() {
            reactor.close();
        }
    }
}

#[cold]
fn no_loop(error: &std::io::Error) -> SystemException {
    minor::NO_RESOURCES_EVENT_LOOP
        .no(format!("no event loop: {error}; raise the limit of open descriptors (ulimit -n)"))
}

#[cold]
fn no_thread(error: &std::io::Error) -> SystemException {
    minor::NO_RESOURCES_THREAD.no(format!("no thread for the event loop: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_or_a_loop_that_cannot_be_made_is_told_with_what_to_try() {
        let refused = no_thread(&std::io::ErrorKind::WouldBlock.into());
        assert_eq!(refused.minor, minor::NO_RESOURCES_THREAD);
        let remedy = refused.minor_code().and_then(|code| code.remedy);
        assert!(remedy.is_some_and(|remedy| remedy.contains("ulimit -u")), "{remedy:?}");
        let refused = no_loop(&std::io::ErrorKind::OutOfMemory.into());
        assert_eq!(refused.minor, minor::NO_RESOURCES_EVENT_LOOP);
    }
}
