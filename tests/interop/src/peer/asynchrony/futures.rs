//! The servant whose operations are `async fn`, so that none keeps a thread while it waits.
//! Activated by `host`, run by `executor`.

use super::executor::{Giver, elsewhere, given};
use super::{State, base, lock, work};
use crate::idl::asynchrony::calls::WorkError;
use crate::idl::asynchrony::{AsyncBaseServant, AsyncCallsServant, Item, Numbers, Visitor};
use corbie::{Any, SystemException};
use std::sync::{Arc, Mutex};

/// A `Calls` whose operations wait without a thread.
#[derive(Default)]
pub(super) struct Waiting {
    pub(super) state: Arc<State>,
    held: Mutex<Vec<Giver<()>>>,
}

impl AsyncBaseServant for Waiting {
    async fn level(&self) -> Result<i32, SystemException> {
        Ok(self.state.level())
    }
    async fn set_level(&self, value: i32) -> Result<(), SystemException> {
        self.state.set_level(value)
    }
    async fn title(&self) -> Result<String, SystemException> {
        Ok(elsewhere(|| "asynchrony".to_owned()).await)
    }
    async fn from_base(&self, number: i32) -> Result<String, SystemException> {
        Ok(base(number))
    }
}

impl AsyncCallsServant for Waiting {
    async fn work(&self, number: i32, some: &[i32]) -> Result<(Item, Numbers, String), WorkError> {
        work(number, some)
    }
    async fn pause(&self) -> Result<(), SystemException> {
        elsewhere(|| ()).await;
        Ok(())
    }
    async fn delayed(&self, number: i32, milliseconds: u32) -> Result<i32, SystemException> {
        elsewhere(move || super::pass(milliseconds)).await;
        Ok(number)
    }
    async fn echo(&self, value: &Any) -> Result<Any, SystemException> {
        Ok(value.clone())
    }
    async fn tell(&self, number: i32, milliseconds: u32) -> Result<(), SystemException> {
        let state = self.state.clone();
        match milliseconds {
            0 => state.tell(number, 0),
            _ => elsewhere(move || state.tell(number, milliseconds)).await,
        }
    }
    async fn told(&self) -> Result<(i32, bool), SystemException> {
        Ok(self.state.told())
    }
    async fn forget(&self) -> Result<(), SystemException> {
        self.state.forget();
        Ok(())
    }
    async fn hold(&self, number: i32) -> Result<i32, SystemException> {
        let (giver, released) = given();
        lock(&self.held).push(giver);
        released.await;
        Ok(number)
    }
    async fn held_at_most(&self) -> Result<u32, SystemException> {
        Ok(400)
    }
    async fn held(&self) -> Result<u32, SystemException> {
        Ok(lock(&self.held).len() as u32)
    }
    async fn release(&self) -> Result<(), SystemException> {
        let held = std::mem::take(&mut *lock(&self.held));
        held.into_iter().for_each(|giver| giver.give(()));
        Ok(())
    }
    async fn entertain(&self, guest: Option<&Visitor>, depth: i32) -> Result<i32, SystemException> {
        let (state, guest) = (self.state.clone(), guest.cloned());
        elsewhere(move || state.entertain(guest.as_ref(), depth)).await
    }
}
