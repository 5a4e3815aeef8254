//! Ordinary servants of the asynchronous part of the catalogue. Activated by `host`; the client
//! uses the visitor.

use super::{State, base, lock, pass, work};
use crate::idl::asynchrony::calls::WorkError;
use crate::idl::asynchrony::{
    BaseServant, Calls, CallsServant, Item, Numbers, Visitor, VisitorServant,
};
use corbie::{Any, SystemException};
use std::sync::{Arc, Condvar, Mutex, OnceLock, PoisonError};

#[derive(Default)]
struct Held {
    count: u32,
    turn: u32,
}

/// A `Calls` that answers when its upcall returns.
#[derive(Default)]
pub(super) struct Plain {
    pub(super) state: Arc<State>,
    /// 0 where a held request keeps its connection's thread.
    held_at_most: u32,
    held: Mutex<Held>,
    released: Condvar,
}

impl Plain {
    pub(super) fn new(held_at_most: u32) -> Plain {
        Plain { held_at_most, ..Plain::default() }
    }
}

impl BaseServant for Plain {
    fn level(&self) -> Result<i32, SystemException> {
        Ok(self.state.level())
    }
    fn set_level(&self, value: i32) -> Result<(), SystemException> {
        self.state.set_level(value)
    }
    fn title(&self) -> Result<String, SystemException> {
        Ok("asynchrony".to_owned())
    }
    fn from_base(&self, number: i32) -> Result<String, SystemException> {
        Ok(base(number))
    }
}

impl CallsServant for Plain {
    fn work(&self, number: i32, some: &[i32]) -> Result<(Item, Numbers, String), WorkError> {
        work(number, some)
    }
    fn pause(&self) -> Result<(), SystemException> {
        Ok(())
    }
    fn delayed(&self, number: i32, milliseconds: u32) -> Result<i32, SystemException> {
        pass(milliseconds);
        Ok(number)
    }
    fn echo(&self, value: &Any) -> Result<Any, SystemException> {
        Ok(value.clone())
    }
    fn tell(&self, number: i32, milliseconds: u32) -> Result<(), SystemException> {
        self.state.tell(number, milliseconds)
    }
    fn told(&self) -> Result<(i32, bool), SystemException> {
        Ok(self.state.told())
    }
    fn forget(&self) -> Result<(), SystemException> {
        self.state.forget();
        Ok(())
    }
    fn hold(&self, number: i32) -> Result<i32, SystemException> {
        let mut held = lock(&self.held);
        held.count += 1;
        let turn = held.turn;
        while held.turn == turn {
            held = self.released.wait(held).unwrap_or_else(PoisonError::into_inner);
        }
        held.count -= 1;
        Ok(number)
    }
    fn held_at_most(&self) -> Result<u32, SystemException> {
        Ok(self.held_at_most)
    }
    fn held(&self) -> Result<u32, SystemException> {
        Ok(lock(&self.held).count)
    }
    fn release(&self) -> Result<(), SystemException> {
        lock(&self.held).turn += 1;
        self.released.notify_all();
        Ok(())
    }
    fn entertain(&self, guest: Option<&Visitor>, depth: i32) -> Result<i32, SystemException> {
        self.state.entertain(guest, depth)
    }
}

/// Calls its host back.
#[derive(Default)]
pub(super) struct Guest {
    pub(super) this: OnceLock<Visitor>,
}

impl VisitorServant for Guest {
    fn visit(&self, host: Option<&Calls>, depth: i32) -> Result<i32, SystemException> {
        let host = host.ok_or_else(super::nil)?;
        match depth {
            0 => Ok(0),
            _ => Ok(host.entertain(self.this.get(), depth - 1)? + 1),
        }
    }
}
