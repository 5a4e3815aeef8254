//! What becomes of answers that wait for the peer to take them, for those who want to know
//! (`ResponseHandler::reply_if_room`): each learns once whether its answer was handed to the
//! transport. Used by `sending`; calls nobody with a lock held.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Takes whether an answer was handed to the transport.
pub(crate) type Then = Box<dyn FnOnce(bool) + Send>;

/// The answers of one connection whose fate is to be told.
#[derive(Default)]
pub(super) struct Fates {
    /// Where each ends among the octets that wait, and who is told. Lock "fates": for a look.
    waiting: Mutex<Vec<(u64, Then)>>,
    /// Whether there are any: for a look without the lock.
    are_there: AtomicBool,
    /// The link is shut down: what was not sent never is.
    is_over: AtomicBool,
}

impl Fates {
    /// `then` is to be told when all octets before `end` were sent.
    pub(super) fn add(&self, end: u64, then: Then) {
        self.lock().push((end, then));
        self.are_there.store(true, Ordering::SeqCst);
    }

    /// Nothing is sent any more.
    pub(super) fn end(&self) {
        self.is_over.store(true, Ordering::SeqCst);
    }

    pub(super) fn are_there(&self) -> bool {
        self.are_there.load(Ordering::SeqCst)
    }

    /// Tells those whose answer is out, and all when the link is shut down; `sent` asks how many
    /// octets were sent so far. What is lost is told from the last to the first, so that who puts
    /// it back in front of a queue restores its order.
    pub(super) fn tell(&self, sent: impl FnOnce() -> u64) {
        // In this order: what was sent before the end counts.
        let is_over = self.is_over.load(Ordering::SeqCst);
        let sent = sent();
        let mut out = Vec::new();
        let mut lost = Vec::new();
        let mut waiting = self.lock();
        for (end, then) in std::mem::take(&mut *waiting) {
            if end <= sent {
                out.push((end, then));
            } else if is_over {
                lost.push((end, then));
            } else {
                waiting.push((end, then));
            }
        }
        self.are_there.store(!waiting.is_empty(), Ordering::SeqCst);
        drop(waiting);
        out.sort_by_key(|(end, _)| *end);
        lost.sort_by_key(|(end, _)| std::cmp::Reverse(*end));
        out.into_iter().for_each(|(_, then)| then(true));
        lost.into_iter().for_each(|(_, then)| then(false));
    }

    fn lock(&self) -> MutexGuard<'_, Vec<(u64, Then)>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Fates {
    fn drop(&mut self) {
        self.end();
        self.tell(|| 0);
    }
}

impl fmt::Debug for Fates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fates").field("are_there", &self.are_there()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn each_learns_its_fate_once_and_what_is_lost_from_the_last_to_the_first() {
        let (fates, told) = (Fates::default(), Arc::new(Mutex::new(Vec::new())));
        for end in [30, 10, 20, 40] {
            let told = Arc::clone(&told);
            let then = move |sent| told.lock().expect("not poisoned").push((end, sent));
            fates.add(end, Box::new(then));
        }
        fates.tell(|| 20);
        assert_eq!(*told.lock().expect("not poisoned"), [(10, true), (20, true)]);
        assert!(fates.are_there());
        fates.end();
        fates.tell(|| 29);
        assert_eq!(told.lock().expect("not poisoned")[2..], [(40, false), (30, false)]);
        assert!(!fates.are_there());
    }
}
