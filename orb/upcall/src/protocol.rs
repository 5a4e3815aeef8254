//! The order of reads and writes by which a thread that enters and one that closes never miss each
//! other; `loom` tries all interleavings of it in the tests here.
//!
//! ```text
//! enter:  write the place │ barrier │ read the state: 0 → inside, else leave
//! leave:  clear the place │ barrier │ read the state: 0 → done, else finish
//! close:  write the state: closing │ heavy barrier │ lock, write the state: closed │ finish
//! finish: fence │ lock │ closed, and no place of the object is written? → the last one, once
//! ```
//! The barrier of `enter` and `leave` pairs with the heavy one of `close` (see `barrier`), the
//! fence of one `finish` with that of another. With `membarrier` the barrier of `enter` is none by
//! itself, so a `finish` between the steps of `close` does nothing. Generic over the words, for the
//! tests.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// An atomic word: of the standard library, or of loom.
pub(crate) trait Word<T> {
    fn load(&self, order: Ordering) -> T;
    fn store(&self, value: T, order: Ordering);
}

impl Word<u64> for AtomicU64 {
    #[inline]
    fn load(&self, order: Ordering) -> u64 {
        AtomicU64::load(self, order)
    }

    #[inline]
    fn store(&self, value: u64, order: Ordering) {
        AtomicU64::store(self, value, order);
    }
}

impl Word<u32> for AtomicU32 {
    #[inline]
    fn load(&self, order: Ordering) -> u32 {
        AtomicU32::load(self, order)
    }

    #[inline]
    fn store(&self, value: u32, order: Ordering) {
        AtomicU32::store(self, value, order);
    }
}

/// First step of `enter`.
#[inline]
pub(crate) fn write_place(place: &impl Word<u64>, word: u64) {
    place.store(word, Ordering::Relaxed);
}

/// First step of `leave`. Release: a thread that finds the place free sees all that the servant
/// did.
#[inline]
pub(crate) fn clear_place(place: &impl Word<u64>) {
    place.store(0, Ordering::Release);
}

/// Last step of `enter` and `leave`: 0 while no thread closes.
#[inline]
pub(crate) fn read_state(state: &impl Word<u32>) -> u32 {
    state.load(Ordering::Acquire)
}

/// First step of `close`.
pub(crate) fn write_state(state: &impl Word<u32>, value: u32) {
    state.store(value, Ordering::SeqCst);
}

/// The look of `finish` at one place.
pub(crate) fn read_place(place: &impl Word<u64>) -> u64 {
    place.load(Ordering::Acquire)
}

#[cfg(test)]
mod tests {
    use super::*;
    use loom::cell::UnsafeCell;
    use loom::sync::atomic::fence;
    use loom::sync::{Arc, Mutex};

    impl Word<u64> for loom::sync::atomic::AtomicU64 {
        fn load(&self, order: Ordering) -> u64 {
            loom::sync::atomic::AtomicU64::load(self, order)
        }
        fn store(&self, value: u64, order: Ordering) {
            loom::sync::atomic::AtomicU64::store(self, value, order);
        }
    }

    impl Word<u32> for loom::sync::atomic::AtomicU32 {
        fn load(&self, order: Ordering) -> u32 {
            loom::sync::atomic::AtomicU32::load(self, order)
        }
        fn store(&self, value: u32, order: Ordering) {
            loom::sync::atomic::AtomicU32::store(self, value, order);
        }
    }

    const OBJECT: u64 = 1;
    const CLOSING: u32 = 1;
    const CLOSED: u32 = 2;

    /// One object, the places of two threads, and what happens when the last has left.
    struct Site {
        places: [loom::sync::atomic::AtomicU64; 2],
        state: loom::sync::atomic::AtomicU32,
        /// Read by a thread inside, written by the one that finishes: loom sees both at once.
        servant: UnsafeCell<bool>,
        finished: Mutex<u32>,
    }

    impl Site {
        fn new() -> Arc<Self> {
            Arc::new(Site {
                places: [(); 2].map(|()| loom::sync::atomic::AtomicU64::new(0)),
                state: loom::sync::atomic::AtomicU32::new(0),
                servant: UnsafeCell::new(true),
                finished: Mutex::new(0),
            })
        }

        fn call(&self, thread: usize) {
            let place = &self.places[thread];
            write_place(place, OBJECT);
            fence(Ordering::SeqCst);
            if read_state(&self.state) == 0 {
                self.servant.with(|_alive| {});
            }
            clear_place(place);
            fence(Ordering::SeqCst);
            if read_state(&self.state) != 0 {
                self.finish();
            }
        }

        fn close(&self) {
            write_state(&self.state, CLOSING);
            fence(Ordering::SeqCst);
            {
                let _lock = self.finished.lock().unwrap();
                write_state(&self.state, CLOSED);
            }
            self.finish();
        }

        fn finish(&self) {
            fence(Ordering::SeqCst);
            let mut finished = self.finished.lock().unwrap();
            let is_closed = read_state(&self.state) == CLOSED;
            if is_closed
                && *finished == 0
                && self.places.iter().all(|place| read_place(place) != OBJECT)
            {
                *finished += 1;
                self.servant.with_mut(|_gone| {});
            }
        }
    }

    fn check(callers: usize) {
        let mut builder = loom::model::Builder::new();
        builder.preemption_bound = Some(3);
        builder.check(move || {
            let site = Site::new();
            let threads: Vec<_> = (0..callers)
                .map(|thread| {
                    let site = Arc::clone(&site);
                    loom::thread::spawn(move || site.call(thread))
                })
                .collect();
            site.close();
            for thread in threads {
                thread.join().unwrap();
            }
            assert_eq!(*site.finished.lock().unwrap(), 1, "no thread finished");
        });
    }

    #[test]
    fn a_servant_goes_once_when_its_caller_has_left() {
        check(1);
    }

    #[test]
    fn of_two_callers_the_last_one_finishes() {
        check(2);
    }
}
