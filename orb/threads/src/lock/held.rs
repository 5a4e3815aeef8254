//! Which ranks this thread holds, in debug builds: a bit for each. Each lock and each
//! wait of `lock` asks here; release builds keep nothing.

use super::Rank;
use std::marker::PhantomData;

#[cfg(debug_assertions)]
thread_local! {
    /// Bit n: a lock of rank n is held.
    static HELD: std::cell::Cell<u128> = const { std::cell::Cell::new(0) };
}

/// A lock of rank `R` is held, or about to be, until this is dropped.
pub(super) struct Held<R: Rank>(PhantomData<*const R>);

impl<R: Rank> Held<R> {
    #[cfg(debug_assertions)]
    const BIT: u128 = 1 << R::RANK;

    /// This thread is about to wait for the lock.
    #[inline]
    #[cfg_attr(debug_assertions, track_caller)]
    pub(super) fn new() -> Self {
        #[cfg(debug_assertions)]
        {
            let held = HELD.get();
            assert!(
                held < Self::BIT,
                "a lock of rank {} ({}) is taken by a thread that holds locks of the ranks {}",
                R::RANK,
                R::NAME,
                list(held)
            );
            HELD.set(held | Self::BIT);
        }
        Held(PhantomData)
    }

    /// This thread gives the lock back, sleeps, and takes the lock again.
    #[inline]
    #[cfg_attr(debug_assertions, track_caller)]
    pub(super) fn assert_alone(&self) {
        #[cfg(debug_assertions)]
        {
            let others = HELD.get() & !Self::BIT;
            assert!(others == 0, "a thread sleeps and holds locks of the ranks {}", list(others));
        }
    }
}

impl<R: Rank> Drop for Held<R> {
    #[inline]
    fn drop(&mut self) {
        #[cfg(debug_assertions)]
        HELD.set(HELD.get() & !Self::BIT);
    }
}

/// This thread is about to do `what`, which may take long: a blocking system call or an upcall.
///
/// # Panics
/// In debug builds, when the thread holds a lock.
#[inline]
#[cfg_attr(debug_assertions, track_caller)]
pub fn assert_none_held(what: &str) {
    #[cfg(debug_assertions)]
    {
        let held = HELD.get();
        assert!(held == 0, "{what} by a thread that holds locks of the ranks {}", list(held));
    }
    #[cfg(not(debug_assertions))]
    let _ = what;
}

#[cfg(debug_assertions)]
fn list(held: u128) -> String {
    let ranks = (0..u128::BITS).filter(|bit| held >> bit & 1 == 1).map(|bit| bit.to_string());
    ranks.collect::<Vec<_>>().join(", ")
}
