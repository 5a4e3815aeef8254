//! Many dynamic requests at once, whose answers are taken as they come (CORBA 3.3 P1 §11.3:
//! `send_multiple_requests`, `get_next_response`), and the lists that requests are made of.
//!
//! The ORB keeps the deferred ones; the thread that delivers a reply notes here whose it is.

use super::{Flags, NvList, Request};
use crate::pollable::{Membership, Pollable, Polled};
use crate::pollable_set::PollableSet;
use corbie_core::{Orb, Part};
use corbie_threads::lock::{Ranked, Signal, rank};
use corbie_types::{Any, SystemException, TypeCode, Typed, minor};
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

/// The deferred requests of an ORB.
#[derive(Default)]
struct DeferredRequests(Arc<Shared>);

#[derive(Default)]
struct Shared {
    outstanding: Ranked<rank::DeferredRequests, Outstanding>,
    changed: Signal,
}

#[derive(Default)]
struct Outstanding {
    requests: HashMap<u64, Request>,
    /// Those that were answered, in the order of the answers.
    answered: VecDeque<u64>,
    next: u64,
    /// Wake the tasks that look for the next answer.
    wakers: Vec<Waker>,
}

/// Wakes the threads that wait for the next answer: that to this request is there.
struct Answered {
    shared: Arc<Shared>,
    request: u64,
}

impl Wake for Answered {
    fn wake(self: Arc<Self>) {
        let mut outstanding = self.shared.outstanding.lock();
        outstanding.answered.push_back(self.request);
        let wakers = std::mem::take(&mut outstanding.wakers);
        drop(outstanding);
        self.shared.changed.wake_all();
        wakers.into_iter().for_each(Waker::wake);
    }
}

impl DeferredRequests {
    fn add(&self, mut request: Request) {
        let mut outstanding = self.0.outstanding.lock();
        let id = outstanding.next;
        outstanding.next += 1;
        if request.arrive(&mut Context::from_waker(&self.waker(id))) {
            outstanding.answered.push_back(id);
        }
        outstanding.requests.insert(id, request);
        let is_answered = !outstanding.answered.is_empty();
        let wakers = if is_answered { std::mem::take(&mut outstanding.wakers) } else { vec![] };
        drop(outstanding);
        self.0.changed.wake_all();
        wakers.into_iter().for_each(Waker::wake);
    }

    /// Whether one was answered; else `context` is woken when one is.
    fn poll_answered(&self, context: &mut Context<'_>) -> Poll<()> {
        let mut outstanding = self.0.outstanding.lock();
        if !outstanding.answered.is_empty() {
            return Poll::Ready(());
        }
        outstanding.wakers.push(context.waker().clone());
        Poll::Pending
    }

    fn waker(&self, request: u64) -> Waker {
        Waker::from(Arc::new(Answered { shared: Arc::clone(&self.0), request }))
    }

    /// Whether one was answered; `None`: there are none.
    fn poll(&self) -> Option<bool> {
        let outstanding = self.0.outstanding.lock();
        (!outstanding.requests.is_empty()).then(|| !outstanding.answered.is_empty())
    }

    /// Waits for the next answer; `None`: there are no requests.
    fn next(&self) -> Option<Request> {
        let mut outstanding = self.0.outstanding.lock();
        loop {
            if let Some(request) = self.take_answered(&mut outstanding) {
                return Some(request);
            }
            if outstanding.requests.is_empty() {
                return None;
            }
            outstanding = self.0.changed.wait(outstanding);
        }
    }

    fn take_answered(&self, outstanding: &mut Outstanding) -> Option<Request> {
        while let Some(id) = outstanding.answered.pop_front() {
            let waker = self.waker(id);
            let Some(request) = outstanding.requests.get_mut(&id) else { continue };
            if request.arrive(&mut Context::from_waker(&waker)) {
                let request = outstanding.requests.remove(&id);
                self.0.changed.wake_all();
                return request;
            }
        }
        None
    }
}

impl Part for DeferredRequests {
    /// Forgets all of them.
    fn shut_down(&self) {
        let mut forgotten = std::mem::take(&mut *self.0.outstanding.lock());
        self.0.changed.wake_all();
        forgotten.wakers.drain(..).for_each(Waker::wake);
    }
}

fn deferred_requests(orb: &Orb) -> &DeferredRequests {
    orb.part()
}

/// `CORBA::DIIPollable`: ready when [`DynamicOrb::get_next_response`] does not wait. Made by
/// [`PollableSet::create_dii_pollable`].
#[derive(Debug)]
struct DiiPollable(Orb, Membership);

impl Polled for DiiPollable {
    fn is_ready(&self) -> bool {
        deferred_requests(&self.0).poll() == Some(true)
    }

    fn has_reply(&self) -> bool {
        self.is_ready()
    }

    fn poll_ready(&self, context: &mut Context<'_>) -> Poll<()> {
        deferred_requests(&self.0).poll_answered(context)
    }

    fn membership(&self) -> &Membership {
        &self.1
    }

    fn orb(&self) -> &Orb {
        &self.0
    }
}

impl PollableSet {
    /// A pollable that is ready when [`DynamicOrb::get_next_response`] has a request to hand out.
    #[must_use]
    pub fn create_dii_pollable(&self) -> Pollable {
        Pollable::new(DiiPollable(self.orb().clone(), Membership::default()))
    }
}

/// What an ORB does for dynamic requests.
pub trait DynamicOrb {
    /// The value of `any` as a type known at build time. As [`Any::extract`], and references, also
    /// inside structs and sequences, belong to this ORB.
    ///
    /// # Errors
    /// As [`Any::extract`].
    fn extract<M: Typed>(&self, any: &Any) -> Result<M::Value, SystemException>;

    /// An empty argument list with room for `count` arguments.
    #[must_use]
    fn create_list(&self, count: usize) -> NvList {
        NvList::with_capacity(count)
    }

    /// The argument list of an operation with these parameters, none of which has a value yet.
    /// (CORBA's `create_operation_list` asks an Interface Repository for them.)
    #[must_use]
    fn create_operation_list(&self, parameters: &[(&str, TypeCode, Flags)]) -> NvList {
        let mut list = NvList::with_capacity(parameters.len());
        for (name, type_code, flags) in parameters {
            list.add_item((*name).to_owned(), type_code.clone(), *flags);
        }
        list
    }

    /// Sends all of them, as [`Request::send_oneway`] does each.
    ///
    /// # Errors
    /// That of the first that could not be sent; the others are sent all the same.
    fn send_multiple_requests_oneway(
        &self,
        requests: impl IntoIterator<Item = Request>,
    ) -> Result<(), SystemException> {
        let mut first = Ok(());
        for mut request in requests {
            first = first.and(request.send_oneway());
        }
        first
    }

    /// Sends all of them, as [`Request::send_deferred`] does each, and keeps them until
    /// [`DynamicOrb::get_next_response`] hands them out. One that cannot be sent is answered with
    /// the exception that says why.
    fn send_multiple_requests_deferred(&self, requests: impl IntoIterator<Item = Request>);

    /// Whether [`DynamicOrb::get_next_response`] would not wait.
    ///
    /// # Errors
    /// `BAD_INV_ORDER` (`COMPLETED_NO`), minor 11, when no request is outstanding.
    fn poll_next_response(&self) -> Result<bool, SystemException>;

    /// Waits until any of the requests sent by [`DynamicOrb::send_multiple_requests_deferred`] is
    /// answered, and hands it out; its [`Request::get_response`] does not wait. They come in the
    /// order of their answers.
    ///
    /// # Errors
    /// `BAD_INV_ORDER` (`COMPLETED_NO`), minor 11, when no request is outstanding, or none is left
    /// as other threads took them or the ORB was shut down.
    fn get_next_response(&self) -> Result<Request, SystemException>;
}

impl DynamicOrb for Orb {
    fn extract<M: Typed>(&self, any: &Any) -> Result<M::Value, SystemException> {
        any.extract_in::<M>(Some(self))
    }

    fn send_multiple_requests_deferred(&self, requests: impl IntoIterator<Item = Request>) {
        for mut request in requests {
            if let Err(exception) = request.send_deferred() {
                request.refused(exception);
            }
            deferred_requests(self).add(request);
        }
    }

    fn poll_next_response(&self) -> Result<bool, SystemException> {
        deferred_requests(self).poll().ok_or_else(none_outstanding)
    }

    fn get_next_response(&self) -> Result<Request, SystemException> {
        deferred_requests(self).next().ok_or_else(none_outstanding)
    }
}

#[cold]
fn none_outstanding() -> SystemException {
    minor::BAD_INV_ORDER_REQUEST_NOT_SENT
        .no("no request sent by send_multiple_requests_deferred waits for its answer")
}
