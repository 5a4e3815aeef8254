//! Requests and answers as events (paper MSHN §3.2): each component has a channel for its requests,
//! each caller one for its answers, and the correlation in the header brings them together.
//!
//! What is lost is asked again: callers notice that a way is silent or gone, or that who should
//! answer knows nothing of a request, and fail what is concerned, which [`crate::Peers`] then makes
//! anew. See decisions 29 and 32.

mod attending;
mod calls;
mod consumer;
mod letter;
mod line;
mod link;
mod outlet;
mod serving;
#[cfg(test)]
mod tests;

pub use calls::EventCounts;
pub use line::CHANNEL_SERVERS;

use super::{Link, Mechanism};
use crate::address::Address;
use crate::idl::events as idl;
use crate::messages::{Component, Reply, poa_of};
use crate::unique::unique;
use attending::Attention;
use calls::PendingCalls;
use consumer::Reader;
use corbie::{CompletionStatus, Object, Orb, ResponseHandler, SystemException, minor};
use corbie_event::cos_event_comm::PushConsumer;
use corbie_naming::Naming;
use letter::{Body, Letter};
use line::Line;
use link::EventLink;
use outlet::Outlet;
use serving::EventServing;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::time::Duration;

/// How requests travel through channels.
#[derive(Clone, Debug)]
pub struct EventOptions {
    /// Event servers that our channels are to be made at, the most preferred first; none: all
    /// that there are, in turns.
    pub servers: Vec<String>,
    /// Pushes into one channel, and from it to us, that may be on their way at once.
    pub window: u32,
    /// Events that may wait in a channel before it keeps its suppliers waiting.
    pub queue_events: u32,
    /// Requests that a component takes before it keeps the channel waiting.
    pub in_progress_max: usize,
    /// How long a request may take, if who serves it gives signs of life.
    pub time_limit: Duration,
    /// How long a component that is waited for may be silent before it is asked whether it lives,
    /// and a request may wait before it is asked whether it knows of it.
    pub probe_after: Duration,
    /// How long it may be silent before its requests are given up, and made again elsewhere.
    pub silence: Duration,
}

impl Default for EventOptions {
    fn default() -> Self {
        Self {
            servers: Vec::new(),
            window: 256,
            queue_events: 10_000,
            in_progress_max: 10_000,
            time_limit: Duration::from_secs(600),
            probe_after: Duration::from_millis(500),
            silence: Duration::from_secs(5),
        }
    }
}

/// What an event is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// A `push` with an any.
    Untyped,
    /// An operation of an interface for events.
    Typed,
}

/// Requests and answers as events; see the module.
pub struct Events {
    hub: Arc<Hub>,
}

/// What the links, lines and threads of one process's events share.
struct Hub {
    orb: Orb,
    naming: Naming,
    form: Form,
    options: EventOptions,
    calls: PendingCalls,
    /// What our answers are pushed to; made with the first request.
    ear: OnceLock<PushConsumer>,
    /// Lock "inbox": not held in calls.
    inbox: Mutex<Option<Arc<Inbox>>>,
    /// Where answers of ours go, by the stringified reference. Lock "outlets": not held in calls.
    outlets: Mutex<HashMap<String, Arc<Outlet>>>,
    /// Lock "links".
    links: Mutex<Vec<Weak<EventLink>>>,
    /// Lock "servings".
    servings: Mutex<Vec<Weak<EventServing>>>,
    attention: Arc<Attention>,
}

/// The channel of our answers.
struct Inbox {
    line: Line,
    /// The stringified reference of its entrance.
    reply_to: String,
}

/// The interface of answers as typed events, and its base.
const ANSWERS: &[&str] = &[idl::Answers::REPOSITORY_ID, idl::Probed::REPOSITORY_ID];

/// Callers whose channels are kept known; more than that, and they are all looked up again.
const OUTLETS_MAX: usize = 4096;

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether no component will ever answer at that reference.
fn is_gone(exception: &SystemException) -> bool {
    use corbie::SystemExceptionKind as Kind;
    matches!(
        exception.kind,
        Kind::ObjectNotExist | Kind::CommFailure | Kind::Transient | Kind::InvObjref
    )
}

fn comm_failure(text: impl Into<String>) -> SystemException {
    SystemException::comm_failure(minor::COMM_FAILURE_CHANNEL, CompletionStatus::Maybe)
        .with_detail(text)
}

impl Events {
    /// Untyped events. Answers come to the root POA of `orb`.
    #[must_use]
    pub fn untyped(orb: &Orb, naming: &Naming, options: EventOptions) -> Self {
        Self::new(orb, naming, Form::Untyped, options)
    }

    /// Typed events.
    #[must_use]
    pub fn typed(orb: &Orb, naming: &Naming, options: EventOptions) -> Self {
        Self::new(orb, naming, Form::Typed, options)
    }

    fn new(orb: &Orb, naming: &Naming, form: Form, options: EventOptions) -> Self {
        let calls = PendingCalls::new(options.time_limit);
        let hub = Arc::new(Hub {
            orb: orb.clone(),
            naming: naming.clone(),
            form,
            options,
            calls,
            ear: OnceLock::new(),
            inbox: Mutex::default(),
            outlets: Mutex::default(),
            links: Mutex::default(),
            servings: Mutex::default(),
            attention: Arc::default(),
        });
        attending::begin(&hub);
        Self { hub }
    }

    /// What became of requests and answers so far.
    #[must_use]
    pub fn counts(&self) -> EventCounts {
        self.hub.calls.counts()
    }
}

impl Mechanism for Events {
    fn context(&self) -> &'static str {
        self.hub.context()
    }

    fn link(&self, target: &Object) -> Arc<dyn Link> {
        EventLink::new(&self.hub, target)
    }

    fn serve(
        &self,
        _orb: &Orb,
        me: &Address,
        component: &Arc<dyn Component>,
    ) -> Result<Object, SystemException> {
        EventServing::begin(&self.hub, me, component)
    }
}

impl Hub {
    fn context(&self) -> &'static str {
        match self.form {
            Form::Untyped => "mshn-untyped",
            Form::Typed => "mshn-typed",
        }
    }

    /// The channel of our answers; made when there is none.
    fn inbox(self: &Arc<Self>) -> Result<Arc<Inbox>, SystemException> {
        if let Some(inbox) = &*lock(&self.inbox) {
            return Ok(Arc::clone(inbox));
        }
        let consumer = match self.ear.get() {
            Some(consumer) => consumer.clone(),
            None => {
                let ear = Arc::new(Ear(Arc::downgrade(self)));
                let made = consumer::activate(&self.orb, &ear, self.form, ANSWERS)?;
                self.ear.get_or_init(|| made).clone()
            }
        };
        let name = format!("answers/{:016x}", unique());
        let line = self.open(&name, ANSWERS, &consumer)?;
        let made = Arc::new(Inbox { reply_to: line.entrance.to_string(), line });
        let mut inbox = lock(&self.inbox);
        if let Some(first) = &*inbox {
            let first = Arc::clone(first);
            drop(inbox);
            made.line.close();
            return Ok(first);
        }
        *inbox = Some(Arc::clone(&made));
        Ok(made)
    }

    /// Whether our answers come there.
    fn is_inbox(&self, reply_to: &str) -> bool {
        lock(&self.inbox).as_ref().is_some_and(|inbox| inbox.reply_to == reply_to)
    }

    /// A channel for events of `interfaces`, when they are typed, which `consumer` gets.
    fn open(
        &self,
        name: &str,
        interfaces: &'static [&'static str],
        consumer: &PushConsumer,
    ) -> Result<Line, SystemException> {
        Line::open(&self.naming, &self.options, self.form, (name, interfaces), consumer)
    }

    /// Where answers for `reply_to` go.
    fn outlet(self: &Arc<Self>, reply_to: &str) -> Result<Arc<Outlet>, SystemException> {
        if let Some(outlet) = lock(&self.outlets).get(reply_to) {
            return Ok(Arc::clone(outlet));
        }
        // Not a file, nor a name: a reference, which is not called yet.
        if !reply_to.starts_with("IOR:") {
            return Err(SystemException::bad_param(
                minor::BAD_PARAM_ARGUMENT,
                CompletionStatus::No,
            )
            .with_detail("an answer was asked for at something that is no reference"));
        }
        let object = self.orb.string_to_object(reply_to)?;
        let (hub, key) = (Arc::downgrade(self), reply_to.to_owned());
        let pushed = move |_, outcome: Result<(), SystemException>| {
            let (Some(hub), Err(exception)) = (hub.upgrade(), outcome) else { return };
            tracing::debug!(%exception, "an answer could not be pushed");
            hub.calls.count(|counts| counts.unanswered += 1);
            if is_gone(&exception) {
                lock(&hub.outlets).remove(&key);
            }
        };
        let window = self.options.window as usize;
        let outlet = Outlet::new(object, self.form, window, Box::new(pushed));
        let mut outlets = lock(&self.outlets);
        if outlets.len() >= OUTLETS_MAX {
            outlets.clear();
        }
        Ok(Arc::clone(outlets.entry(reply_to.to_owned()).or_insert(outlet)))
    }

    /// Sends an answer to who asked.
    fn answer(self: &Arc<Self>, reply_to: &str, letter: Letter) {
        match self.outlet(reply_to) {
            Ok(outlet) => outlet.send(letter),
            Err(exception) => {
                tracing::debug!(%exception, "an answer cannot be sent");
                self.calls.count(|counts| counts.unanswered += 1);
            }
        }
    }
}

impl Drop for Hub {
    fn drop(&mut self) {
        self.attention.end();
        let gone = comm_failure("the caller has ended");
        self.calls.broken(None, &gone);
        if let Some(inbox) = lock(&self.inbox).take() {
            inbox.line.close();
        }
        let Some(ear) = self.ear.get() else { return };
        if let (Ok(poa), Some(object)) = (poa_of(&self.orb), Some(ear.as_object()))
            && let Ok(id) = poa.reference_to_id(object)
        {
            // An error means that the ORB was shut down, and the object with it.
            let _ = poa.deactivate_object(&id);
        }
    }
}

/// Gets our answers.
struct Ear(Weak<Hub>);

impl Reader for Ear {
    fn read(&self, letter: Letter) -> bool {
        let Some(hub) = self.0.upgrade() else { return false };
        let correlation = letter.head.correlation;
        match letter.body {
            Body::Answers(reply) => hub.calls.answered(correlation, Ok::<Reply, _>(reply)),
            Body::Refuses(exception) => hub.calls.answered(correlation, Err(exception)),
            Body::IsAlive(unknown) => link::lives(&hub, correlation, &unknown),
            // The server of channels looks whether we are there.
            Body::Probes(_) | Body::Asks(_) => {}
        }
        false
    }

    fn keep(&self, push: ResponseHandler) {
        // Answers are never kept back.
        drop(push);
    }

    fn ended(&self) {
        if let Some(hub) = self.0.upgrade() {
            hub.attention.hurry();
        }
    }
}
