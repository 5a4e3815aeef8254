//! Whether a lookout is awake: how a thread that makes something to look at and the lookout that
//! falls asleep never miss each other. `loom` tries all interleavings of it in the tests here. In
//! the same way the watch of upcalls looks at one connection, or does not (`connection_threads`).
//!
//! ```text
//! thread:  make something │ read the word: awake → done, else set it and wake the lookout
//! lookout: clear the word │ look at all that there is: some → set the word, else sleep
//! ```
//! Both steps of either side are in one order for all threads (SeqCst): at least one of the two
//! sees what the other did first.

use std::sync::atomic::{AtomicBool, Ordering};

/// An atomic word: of the standard library, or of loom.
pub(crate) trait Word {
    fn load(&self) -> bool;
    fn store(&self, value: bool);
    fn swap(&self, value: bool) -> bool;
}

impl Word for AtomicBool {
    #[inline]
    fn load(&self) -> bool {
        AtomicBool::load(self, Ordering::SeqCst)
    }

    fn store(&self, value: bool) {
        AtomicBool::store(self, value, Ordering::SeqCst);
    }

    fn swap(&self, value: bool) -> bool {
        AtomicBool::swap(self, value, Ordering::SeqCst)
    }
}

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Awake<W>(W);

impl<W: Word> Awake<W> {
    #[inline]
    pub(crate) fn holds(&self) -> bool {
        self.0.load()
    }

    /// The lookout is awake from now on; whether this thread is the one that has to wake it.
    pub(crate) fn begin(&self) -> bool {
        !self.0.swap(true)
    }

    /// The lookout falls asleep, unless `look` finds something; whether it may sleep.
    pub(crate) fn end(&self, look: impl FnOnce() -> bool) -> bool {
        self.0.store(false);
        let finds = look();
        if finds {
            self.0.store(true);
        }
        !finds
    }

    /// The lookout could not be woken, or looks later.
    pub(crate) fn end_at_once(&self) {
        self.0.store(false);
    }
}

#[cfg(test)]
mod tests {
    use super::{Awake, Word};
    use loom::sync::atomic::{AtomicBool, AtomicU32, Ordering, fence};
    use loom::sync::{Arc, Condvar, Mutex};

    // Loom treats SeqCst accesses as weaker than they are, but not fences.
    impl Word for AtomicBool {
        fn load(&self) -> bool {
            fence(Ordering::SeqCst);
            AtomicBool::load(self, Ordering::SeqCst)
        }

        fn store(&self, value: bool) {
            AtomicBool::store(self, value, Ordering::SeqCst);
            fence(Ordering::SeqCst);
        }

        fn swap(&self, value: bool) -> bool {
            fence(Ordering::SeqCst);
            let before = AtomicBool::swap(self, value, Ordering::SeqCst);
            fence(Ordering::SeqCst);
            before
        }
    }

    /// A flusher, and what is kept back: so many messages.
    struct Site {
        awake: Awake<AtomicBool>,
        kept_back: AtomicU32,
        lock: Mutex<()>,
        woken: Condvar,
    }

    impl Site {
        fn keep_back(&self) {
            self.kept_back.fetch_add(1, Ordering::SeqCst);
            if !self.awake.holds() && self.awake.begin() {
                drop(self.lock.lock().unwrap());
                self.woken.notify_all();
            }
        }

        fn flush(&self) -> u32 {
            self.kept_back.swap(0, Ordering::SeqCst)
        }

        /// Flushes and sleeps until `all` messages are flushed.
        fn run(&self, all: u32) {
            let mut flushed = 0;
            while flushed < all {
                flushed += self.flush();
                if flushed == all || !self.awake.end(|| self.kept_back.load(Ordering::SeqCst) > 0) {
                    continue;
                }
                let mut guard = self.lock.lock().unwrap();
                while !self.awake.holds() {
                    guard = self.woken.wait(guard).unwrap();
                }
            }
        }
    }

    /// Loom finds a flusher that sleeps for ever.
    fn check(threads: u32) {
        let mut builder = loom::model::Builder::new();
        builder.preemption_bound = Some(3);
        builder.check(move || {
            let site = Arc::new(Site {
                awake: Awake(AtomicBool::new(true)),
                kept_back: AtomicU32::new(0),
                lock: Mutex::new(()),
                woken: Condvar::new(),
            });
            let keepers: Vec<_> = (0..threads)
                .map(|_| {
                    let site = Arc::clone(&site);
                    loom::thread::spawn(move || site.keep_back())
                })
                .collect();
            site.run(threads);
            for keeper in keepers {
                keeper.join().unwrap();
            }
        });
    }

    #[test]
    fn what_one_thread_keeps_back_is_flushed() {
        check(1);
    }

    #[test]
    fn what_two_threads_keep_back_is_flushed() {
        check(2);
    }
}
