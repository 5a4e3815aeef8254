//! The servant of asynchronous method handling (AMH): takes its response, and some thread answers
//! it later. Activated by `host`.

use super::{State, base, lock, work};
use crate::idl::asynchrony::amh_base as base_responses;
use crate::idl::asynchrony::amh_calls as responses;
use crate::idl::asynchrony::{AmhBaseServant, AmhCallsServant, Visitor};
use corbie::{Any, SystemException, TypedResponse};
use std::sync::{Arc, Mutex};

/// A `Calls` that answers when it likes.
#[derive(Default)]
pub(super) struct Responding {
    pub(super) state: Arc<State>,
    held: Mutex<Vec<(responses::HoldResponse, i32)>>,
}

/// Answers; a client that is gone misses it.
fn answer<R: TypedResponse>(response: R, outcome: R::Outcome) {
    drop(response.finish(outcome));
}

/// Answers on a thread of its own, after the upcall.
fn answer_later<R: TypedResponse>(response: R, act: impl FnOnce() -> R::Outcome + Send + 'static) {
    std::thread::spawn(move || answer(response, act()));
}

impl AmhBaseServant for Responding {
    fn level(&self, response: base_responses::LevelResponse) {
        answer(response, Ok(self.state.level()));
    }
    fn set_level(&self, response: base_responses::SetLevelResponse, value: i32) {
        answer(response, self.state.set_level(value));
    }
    fn title(&self, response: base_responses::TitleResponse) {
        answer_later(response, || Ok("asynchrony".to_owned()));
    }
    fn from_base(&self, response: base_responses::FromBaseResponse, number: i32) {
        answer(response, Ok(base(number)));
    }
}

impl AmhCallsServant for Responding {
    fn work(&self, response: responses::WorkResponse, number: i32, some: &[i32]) {
        // Both ways to answer: with the parts, and with an outcome.
        let _ = match work(number, some) {
            Ok((item, some, text)) => response.work(&item, &some, &text),
            Err(exception) => response.work_excep(exception),
        };
    }
    fn pause(&self, response: responses::PauseResponse) {
        answer_later(response, || Ok(()));
    }
    fn delayed(&self, response: responses::DelayedResponse, number: i32, milliseconds: u32) {
        answer_later(response, move || {
            super::pass(milliseconds);
            Ok(number)
        });
    }
    fn echo(&self, response: responses::EchoResponse, value: &Any) {
        answer(response, Ok(value.clone()));
    }
    fn tell(&self, number: i32, milliseconds: u32) -> Result<(), SystemException> {
        self.state.tell(number, milliseconds)
    }
    fn told(&self, response: responses::ToldResponse) {
        answer(response, Ok(self.state.told()));
    }
    fn forget(&self, response: responses::ForgetResponse) {
        self.state.forget();
        answer(response, Ok(()));
    }
    fn hold(&self, response: responses::HoldResponse, number: i32) {
        lock(&self.held).push((response, number));
    }
    fn held_at_most(&self, response: responses::HeldAtMostResponse) {
        answer(response, Ok(400));
    }
    fn held(&self, response: responses::HeldResponse) {
        answer(response, Ok(lock(&self.held).len() as u32));
    }
    /// The last that came is answered first.
    fn release(&self, response: responses::ReleaseResponse) {
        let mut held = std::mem::take(&mut *lock(&self.held));
        answer(response, Ok(()));
        while let Some((response, number)) = held.pop() {
            answer(response, Ok(number));
        }
    }
    fn entertain(&self, response: responses::EntertainResponse, guest: Option<&Visitor>, d: i32) {
        let (state, guest) = (self.state.clone(), guest.cloned());
        answer_later(response, move || state.entertain(guest.as_ref(), d));
    }
}
