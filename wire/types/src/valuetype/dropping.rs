//! Drops values that hang on one another without going as deep as they hang: a message of flat
//! values, each pointing at the one before, would otherwise use up the stack of the thread that
//! drops the last one.

use std::any::Any;
use std::cell::{Cell, RefCell};

/// So deep values are dropped where they hang; what is below waits.
const DEEPEST: u32 = 32;

thread_local! {
    static DEPTH: Cell<u32> = const { Cell::new(0) };
    static WAITING: RefCell<Vec<Box<dyn Any>>> = const { RefCell::new(Vec::new()) };
}

/// One level more, for as long as it lives.
struct Deeper(u32);

impl Deeper {
    fn from(depth: u32) -> Self {
        let _ = DEPTH.try_with(|place| place.set(depth + 1));
        Self(depth)
    }
}

impl Drop for Deeper {
    fn drop(&mut self) {
        let _ = DEPTH.try_with(|place| place.set(self.0));
    }
}

/// Drops it, now or when what it hangs on is dropped.
pub(crate) fn drop_in_turn<T: 'static>(dropped: T) {
    // A thread that ends drops as deep as it has to.
    let Ok(depth) = DEPTH.try_with(Cell::get) else { return };
    if depth >= DEEPEST {
        let mut dropped = Some(dropped);
        let _ = WAITING.try_with(|all| {
            if let Some(dropped) = dropped.take() {
                all.borrow_mut().push(Box::new(dropped));
            }
        });
        return;
    }
    let here = Deeper::from(depth);
    drop(dropped);
    if depth == 0 {
        while let Some(next) = WAITING.try_with(|all| all.borrow_mut().pop()).ok().flatten() {
            drop(next);
        }
    }
    drop(here);
}
