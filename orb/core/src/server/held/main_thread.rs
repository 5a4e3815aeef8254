//! The main thread of an ORB: the first that runs it, by `Orb::run` or `Orb::perform_work`. Upcalls
//! of POAs with `MAIN_THREAD_MODEL` are made on it and on no other (CORBA 3.3 P1 §15.3.8.1).
//!
//! Requests for these POAs that another thread has read wait in one queue, which the main thread
//! empties while it runs the ORB.

use super::queue::{HeldRequests, Reason};
use super::runner;
use crate::Orb;
use crate::server::turn::is_too_deep;
use corbie_threads::thread::{Sleeper, enter_upcall, serve_for_a_while};
use std::sync::{Arc, OnceLock};
use std::thread::ThreadId;

/// The main thread, and what waits for it.
#[derive(Default)]
pub(crate) struct MainThread {
    thread: OnceLock<(ThreadId, Arc<Sleeper>)>,
    queue: OnceLock<HeldRequests>,
}

impl MainThread {
    /// Something waits for the main thread, which may be asleep.
    pub(super) fn wake(&self, orb: &Orb) {
        if let Some((_, sleeper)) = self.thread.get() {
            orb.wake_main_thread(sleeper);
        }
    }
}

impl Orb {
    /// Whether the calling thread is the main thread of this ORB: the first that called
    /// [`Orb::run`] or [`Orb::perform_work`].
    #[must_use]
    pub fn is_main_thread(&self) -> bool {
        let main = self.server().main_thread.thread.get();
        main.is_some_and(|(thread, _)| *thread == std::thread::current().id())
    }

    /// The requests that wait for the main thread.
    #[must_use]
    pub fn held_for_main_thread(&self) -> &HeldRequests {
        self.server().main_thread.queue.get_or_init(|| {
            let queue = HeldRequests::new(self, Reason::ForMainThread);
            queue.release();
            queue
        })
    }

    /// The calling thread is the main thread, unless another one is; whether it is.
    pub(crate) fn become_main_thread(&self) -> bool {
        let me = || (std::thread::current().id(), Sleeper::current());
        self.server().main_thread.thread.get_or_init(me);
        self.is_main_thread()
    }

    /// Whether the calling thread is the main thread and has something to serve.
    pub(crate) fn has_main_thread_work(&self) -> bool {
        let queue = self.server().main_thread.queue.get();
        queue.is_some_and(|queue| self.is_main_thread() && queue.0.has_next())
    }

    /// Serves one request that waits for the main thread, if this is that; whether there was one.
    pub(crate) fn serve_as_main_thread(&self) -> bool {
        let Some(queue) = self.server().main_thread.queue.get() else { return false };
        if !self.is_main_thread() || is_too_deep(self) {
            return false;
        }
        // Inside an upcall that asks for more work: what waits may go on.
        runner::let_go();
        let Some((held, flight)) = queue.0.take() else { return false };
        let _serving = serve_for_a_while();
        let _upcall = enter_upcall();
        runner::serve(self, held, flight, |_| {});
        true
    }
}
