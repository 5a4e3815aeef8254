//! How deep upcalls stand within upcalls on a thread: a consumer of the same process that pushes in
//! its upcall is given the next event on the same stack, and that has an end.
//!
//! Asked by `consumer` before it calls a consumer straight.

use std::cell::Cell;

/// Upcalls of consumers within each other, at most.
const MOST: usize = 8;

thread_local! {
    static DEPTH: Cell<usize> = const { Cell::new(0) };
}

/// An upcall of this thread, until it is dropped.
pub(crate) struct Nested(());

impl Nested {
    /// One more; none when there are too many already.
    pub(crate) fn begin() -> Option<Self> {
        let depth = DEPTH.get();
        (depth < MOST).then(|| {
            DEPTH.set(depth + 1);
            Self(())
        })
    }
}

impl Drop for Nested {
    fn drop(&mut self) {
        DEPTH.set(DEPTH.get() - 1);
    }
}
