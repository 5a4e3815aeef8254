//! Requests to one component: pushed into the channel that it listens to, answered through ours
//! (paper MSHN §3.2).

use super::calls::Way;
use super::letter::{Body, Letter};
use super::outlet::Outlet;
use super::{Hub, is_gone, lock};
use crate::idl::events::Header;
use crate::mechanism::Link;
use crate::messages::{Done, Reply, Request};
use crate::unique::unique;
use corbie::{CompletionStatus, Object, SystemException, minor};
use std::sync::mpsc::channel;
use std::sync::{Arc, Weak};

pub(super) struct EventLink {
    hub: Arc<Hub>,
    pub(super) way: Arc<Way>,
    outlet: Arc<Outlet>,
    /// What a probe of this link is known by.
    number: u64,
}

impl EventLink {
    pub(super) fn new(hub: &Arc<Hub>, target: &Object) -> Arc<Self> {
        let weak = Arc::downgrade(hub);
        let pushed = move |correlation, outcome: Result<(), SystemException>| {
            if let Some(hub) = weak.upgrade() {
                hub.pushed(correlation, outcome);
            }
        };
        let window = hub.options.window as usize;
        let outlet = Outlet::new(target.clone(), hub.form, window, Box::new(pushed));
        let (hub, way) = (Arc::clone(hub), Arc::new(Way::new()));
        let link = Arc::new(Self { hub, way, outlet, number: unique() });
        let mut links = lock(&link.hub.links);
        links.retain(|link| link.strong_count() > 0);
        links.push(Arc::downgrade(&link));
        drop(links);
        link
    }

    /// The letter of a request, whose answer goes to `done`.
    pub(super) fn letter(
        &self,
        request: Request,
        done: Done,
    ) -> Result<Letter, (SystemException, Done)> {
        let is_answered = request.is_answered();
        let reply_to = if is_answered {
            match self.hub.inbox() {
                Ok(inbox) => inbox.reply_to.clone(),
                Err(exception) => return Err((exception, done)),
            }
        } else {
            String::new()
        };
        let correlation = self.hub.calls.begin(&self.way, is_answered, done);
        // The channel of the answers may have gone in between, and all who waited there were told.
        if is_answered && !self.hub.is_inbox(&reply_to) {
            let gone = super::comm_failure("the event channel of the answers is gone");
            self.hub.calls.failed(correlation, gone);
        }
        Ok(Letter { head: Header { correlation, reply_to }, body: Body::Asks(request) })
    }

    /// Asks whether the component is there, and whether they know of these requests, which their
    /// channel has taken: so it gives them first. When the channel is gone, so is the component.
    pub(super) fn probe(&self, awaited: Vec<u64>) {
        self.way.is_probed();
        let Ok(inbox) = self.hub.inbox() else { return };
        let head = Header { correlation: self.number, reply_to: inbox.reply_to.clone() };
        let letter = Letter { head, body: Body::Probes(awaited) };
        let (hub, way) = (Arc::downgrade(&self.hub), Arc::clone(&self.way));
        let broken = move |outcome: Result<(), SystemException>| {
            if let (Some(hub), Err(exception)) = (hub.upgrade(), outcome)
                && is_gone(&exception)
            {
                hub.calls.broken(Some(&way), &exception.while_doing("asking for a sign of life"));
            }
        };
        let broken = Arc::new(broken);
        let later = Arc::clone(&broken);
        if let Err(exception) = self.outlet.send_past(&letter, move |outcome| later(outcome)) {
            broken(Err(exception));
        }
    }
}

/// The component behind the link of that number gave a sign of life, and knows nothing of some of
/// the requests that it was asked about.
pub(super) fn lives(hub: &Arc<Hub>, number: u64, unknown: &[u64]) {
    let links: Vec<Arc<EventLink>> = lock(&hub.links).iter().filter_map(Weak::upgrade).collect();
    for link in links.iter().filter(|link| link.number == number) {
        link.way.hears();
        hub.calls.denied(&link.way, unknown, hub.options.probe_after / 2);
    }
}

impl Hub {
    /// The channel has taken a request, or has not.
    fn pushed(&self, correlation: u64, outcome: Result<(), SystemException>) {
        match outcome {
            Ok(()) => self.calls.taken(correlation),
            Err(exception) => self.calls.failed(correlation, exception),
        }
    }
}

impl Link for EventLink {
    fn call(&self, request: &Request) -> Result<Reply, SystemException> {
        let (sender, receiver) = channel();
        let done = move |outcome| {
            // The receiver waits below.
            let _ = sender.send(outcome);
        };
        let letter = self.letter(request.clone(), Box::new(done)).map_err(|(e, _)| e)?;
        let outcome = self.outlet.send_now(&letter);
        self.hub.pushed(letter.head.correlation, outcome);
        receiver.recv().unwrap_or_else(|_| {
            let maybe = CompletionStatus::Maybe;
            Err(SystemException::no_response(minor::NO_RESPONSE_UNANSWERED, maybe)
                .with_detail("the answer was forgotten"))
        })
    }

    fn start(&self, request: &Request, done: Done) {
        match self.letter(request.clone(), done) {
            Ok(letter) => self.outlet.send(letter),
            Err((exception, done)) => done(Err(exception)),
        }
    }
}
