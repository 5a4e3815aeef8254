//! Tokens: one thread at a time has one, and no thread waits for it. For rights that are kept
//! across a blocking system call, as that to read a connection.

use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};

/// A right that at most one thread has, with what belongs to it. As no thread waits for it, the one
/// that has it may enter a blocking system call.
#[derive(Debug, Default)]
pub struct Token<T> {
    is_taken: AtomicBool,
    /// Of the thread that has the token, so never contended.
    value: Mutex<T>,
}

/// The token is taken until this is dropped.
#[derive(Debug)]
pub struct Taken<'t, T> {
    // In this order: the token is given back last.
    value: MutexGuard<'t, T>,
    _back: GivesBack<'t>,
}

#[derive(Debug)]
struct GivesBack<'t>(&'t AtomicBool);

impl<T> Token<T> {
    /// A token that no thread has.
    pub const fn new(value: T) -> Self {
        Token { is_taken: AtomicBool::new(false), value: Mutex::new(value) }
    }

    /// Takes the token, unless a thread has it.
    #[inline]
    pub fn try_take(&self) -> Option<Taken<'_, T>> {
        let order = Ordering::SeqCst;
        self.is_taken.compare_exchange(false, true, order, order).ok()?;
        let value = self.value.lock().unwrap_or_else(PoisonError::into_inner);
        Some(Taken { value, _back: GivesBack(&self.is_taken) })
    }

    /// Whether a thread has the token, in one order with what threads do before and after (SeqCst):
    /// a thread that leaves word for the one that has the token, and finds it taken afterwards, is
    /// seen by that one if it looks for word after it gave the token back.
    #[inline]
    pub fn is_taken(&self) -> bool {
        self.is_taken.load(Ordering::SeqCst)
    }
}

impl<T> Deref for Taken<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T> DerefMut for Taken<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        &mut self.value
    }
}

impl Drop for GivesBack<'_> {
    #[inline]
    fn drop(&mut self) {
        self.0.store(false, Ordering::SeqCst);
    }
}

/// A token that costs what a lock costs: no thread asks whether it is taken, but by trying.
#[derive(Debug, Default)]
pub struct PlainToken<T>(Mutex<T>);

impl<T> PlainToken<T> {
    /// A token that no thread has.
    pub const fn new(value: T) -> Self {
        PlainToken(Mutex::new(value))
    }

    /// Takes the token, unless a thread has it. It is given back when what is returned is dropped.
    #[inline]
    pub fn try_take(&self) -> Option<MutexGuard<'_, T>> {
        match self.0.try_lock() {
            Ok(taken) => Some(taken),
            Err(TryLockError::Poisoned(taken)) => Some(taken.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }
}
