//! The state of a value: set once it was read or made, replaced as a whole, taken out to break a
//! cycle. Readers keep what they got, so no lock is held while the state is looked at.

use std::fmt;
use std::ops::Deref;
use std::sync::{Arc, PoisonError, RwLock};

use super::dropping::drop_in_turn;

/// The place of a value's state.
pub struct State<S: 'static>(RwLock<Option<Arc<S>>>);

impl<S: 'static> State<S> {
    /// With this state.
    pub fn new(state: S) -> Self {
        Self(RwLock::new(Some(Arc::new(state))))
    }

    /// Without state: to be set before anything else is done with the value.
    #[must_use]
    pub const fn empty() -> Self {
        Self(RwLock::new(None))
    }

    /// The state as it is now; `None` before it was set, or after it was taken.
    pub fn get(&self) -> Option<Arc<S>> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Sets or replaces the state.
    pub fn set(&self, state: S) {
        let before = self.replace(Some(Arc::new(state)));
        drop(before);
    }

    /// Takes the state out: so are cycles broken.
    pub fn take(&self) -> Option<Arc<S>> {
        self.replace(None)
    }

    fn replace(&self, state: Option<Arc<S>>) -> Option<Arc<S>> {
        // What the old state holds is dropped by the caller, without the lock.
        std::mem::replace(&mut *self.0.write().unwrap_or_else(PoisonError::into_inner), state)
    }

    /// Changes the state; readers that have the old one keep it.
    pub fn update(&self, change: impl FnOnce(&mut S))
    where
        S: Clone,
    {
        let Some(before) = self.get() else { return };
        let mut state = (*before).clone();
        change(&mut state);
        drop(self.replace(Some(Arc::new(state))));
    }
}

impl<S> Drop for State<S> {
    /// However many values hang on this one, one on the other.
    fn drop(&mut self) {
        if let Some(state) = self.0.get_mut().unwrap_or_else(PoisonError::into_inner).take() {
            drop_in_turn(state);
        }
    }
}

impl<S> fmt::Debug for State<S> {
    /// Not what is in it: values may lead back to themselves.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.get().is_some() { "State(..)" } else { "State(none)" })
    }
}

/// The state of a value as it was at one time, seen as that of the valuetype or of a base.
pub struct StateRef<S: 'static>(Arc<dyn AsRef<S> + Send + Sync>);

impl<S> StateRef<S> {
    /// The state, or the part of it that a base declares.
    ///
    /// # Panics
    /// When the value has no state: it was taken, or not yet set.
    #[must_use]
    #[track_caller]
    pub fn of<D: AsRef<S> + Send + Sync + 'static>(state: &State<D>) -> Self {
        match state.get() {
            Some(state) => Self(state),
            None => panic!("the value has no state: it was taken, or not set yet"),
        }
    }
}

impl<S> Deref for StateRef<S> {
    type Target = S;

    fn deref(&self) -> &S {
        (*self.0).as_ref()
    }
}

impl<S: fmt::Debug> fmt::Debug for StateRef<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
