//! Locks with a rank, condition variables for them, and tokens.
//!
//! A *lock* ([`Ranked`], [`RankedRw`]) may be waited for and is never held across a blocking system
//! call or an upcall. A thread that holds a lock takes only locks of a higher rank, so no two
//! threads wait for each other. Debug builds check both and panic; release builds check nothing
//! and cost what the lock of the standard library costs. A *token* ([`Token`]) is never waited
//! for, so a thread may keep it across a blocking system call.
//!
//! A panic of a thread that holds a lock does not poison it: what a lock guards is left whole
//! between two statements.

mod held;
pub mod rank;
mod signal;
mod token;

pub use held::assert_none_held;
pub use rank::Rank;
pub use signal::Signal;
pub use token::{PlainToken, Taken, Token};

use held::Held;
use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::sync::{RwLock, RwLockReadGuard, RwLockWriteGuard};

/// A mutex with the rank `R`.
pub struct Ranked<R, T: ?Sized> {
    rank: PhantomData<fn() -> R>,
    inner: Mutex<T>,
}

/// The lock is held until this is dropped.
pub struct Guard<'l, R: Rank, T: ?Sized> {
    // In this order: the lock is given back before it is forgotten.
    inner: MutexGuard<'l, T>,
    held: Held<R>,
}

impl<R: Rank, T> Ranked<R, T> {
    /// A lock around `value`.
    pub const fn new(value: T) -> Self {
        Ranked { rank: PhantomData, inner: Mutex::new(value) }
    }

    /// What was locked.
    pub fn into_inner(self) -> T {
        self.inner.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<R: Rank, T: ?Sized> Ranked<R, T> {
    /// Waits for the lock and takes it.
    ///
    /// # Panics
    /// In debug builds, when this thread holds a lock whose rank is not lower.
    #[inline]
    #[cfg_attr(debug_assertions, track_caller)]
    pub fn lock(&self) -> Guard<'_, R, T> {
        let held = Held::new();
        Guard { inner: self.inner.lock().unwrap_or_else(PoisonError::into_inner), held }
    }

    /// What is locked, for its only owner.
    pub fn get_mut(&mut self) -> &mut T {
        self.inner.get_mut().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<R: Rank, T: Default> Default for Ranked<R, T> {
    fn default() -> Self {
        Ranked::new(T::default())
    }
}

impl<R, T: ?Sized + fmt::Debug> fmt::Debug for Ranked<R, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}

impl<R: Rank, T: ?Sized> Deref for Guard<'_, R, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        &self.inner
    }
}

impl<R: Rank, T: ?Sized> DerefMut for Guard<'_, R, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        &mut self.inner
    }
}

/// A lock with the rank `R` that many threads may hold for reading.
pub struct RankedRw<R, T: ?Sized> {
    rank: PhantomData<fn() -> R>,
    inner: RwLock<T>,
}

/// The lock is held for reading until this is dropped.
pub struct ReadGuard<'l, R: Rank, T: ?Sized> {
    inner: RwLockReadGuard<'l, T>,
    _held: Held<R>,
}

/// The lock is held for writing until this is dropped.
pub struct WriteGuard<'l, R: Rank, T: ?Sized> {
    inner: RwLockWriteGuard<'l, T>,
    _held: Held<R>,
}

impl<R: Rank, T> RankedRw<R, T> {
    /// A lock around `value`.
    pub const fn new(value: T) -> Self {
        RankedRw { rank: PhantomData, inner: RwLock::new(value) }
    }
}

impl<R: Rank, T: ?Sized> RankedRw<R, T> {
    /// Waits for the lock and takes it for reading.
    ///
    /// # Panics
    /// In debug builds, when this thread holds a lock whose rank is not lower.
    #[inline]
    #[cfg_attr(debug_assertions, track_caller)]
    pub fn read(&self) -> ReadGuard<'_, R, T> {
        let held = Held::new();
        ReadGuard { inner: self.inner.read().unwrap_or_else(PoisonError::into_inner), _held: held }
    }

    /// Waits for the lock and takes it for writing.
    ///
    /// # Panics
    /// In debug builds, when this thread holds a lock whose rank is not lower.
    #[inline]
    #[cfg_attr(debug_assertions, track_caller)]
    pub fn write(&self) -> WriteGuard<'_, R, T> {
        let held = Held::new();
        let inner = self.inner.write().unwrap_or_else(PoisonError::into_inner);
        WriteGuard { inner, _held: held }
    }
}

impl<R: Rank, T: Default> Default for RankedRw<R, T> {
    fn default() -> Self {
        RankedRw::new(T::default())
    }
}

impl<R, T: ?Sized + fmt::Debug> fmt::Debug for RankedRw<R, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}

impl<R: Rank, T: ?Sized> Deref for ReadGuard<'_, R, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        &self.inner
    }
}

impl<R: Rank, T: ?Sized> Deref for WriteGuard<'_, R, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        &self.inner
    }
}

impl<R: Rank, T: ?Sized> DerefMut for WriteGuard<'_, R, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        &mut self.inner
    }
}

#[cfg(test)]
mod tests;
