//! A component that gets its requests as events: its line, the requests in progress, and the
//! answers, each of which goes to the channel that its request names.

use super::consumer::{self, Reader};
use super::letter::{Body, Letter};
use super::line::Line;
use super::{Hub, lock};
use crate::address::{self, Address};
use crate::idl::events::Header;
use crate::messages::{Component, Reply, Request};
use corbie::{CompletionStatus, Object, ResponseHandler, SystemException, minor};
use corbie_event::cos_event_comm::PushConsumer;
use std::collections::{HashSet, VecDeque};
use std::sync::{Arc, Mutex, OnceLock, Weak};

pub(super) struct EventServing {
    hub: Arc<Hub>,
    me: Address,
    component: Arc<dyn Component>,
    this: Weak<EventServing>,
    consumer: OnceLock<PushConsumer>,
    /// Lock "line": not held in calls.
    line: Mutex<Option<Arc<Line>>>,
    /// Lock "progress": not held in calls.
    progress: Mutex<ServingProgress>,
}

#[derive(Default)]
struct ServingProgress {
    /// By caller and correlation.
    requests: HashSet<(u64, u64)>,
    /// Pushes whose answers are kept back.
    kept: VecDeque<ResponseHandler>,
}

impl EventServing {
    /// Begins to serve `component`: where others push its requests.
    ///
    /// # Errors
    /// When there is no channel to be had.
    pub(super) fn begin(
        hub: &Arc<Hub>,
        me: &Address,
        component: &Arc<dyn Component>,
    ) -> Result<Object, SystemException> {
        let serving = Arc::new_cyclic(|this| Self {
            hub: Arc::clone(hub),
            me: me.clone(),
            component: Arc::clone(component),
            this: this.clone(),
            consumer: OnceLock::new(),
            line: Mutex::default(),
            progress: Mutex::default(),
        });
        let consumer =
            consumer::activate(&hub.orb, &serving, hub.form, me.role.event_interfaces())?;
        let consumer = serving.consumer.get_or_init(|| consumer);
        let line = serving.open(consumer)?;
        let entrance = line.entrance.clone();
        *lock(&serving.line) = Some(line);
        lock(&hub.servings).push(Arc::downgrade(&serving));
        Ok(entrance)
    }

    fn open(&self, consumer: &PushConsumer) -> Result<Arc<Line>, SystemException> {
        let name = self.me.label(self.hub.context());
        self.hub.open(&name, self.me.role.event_interfaces(), consumer).map(Arc::new)
    }

    /// Opens another line when ours is gone, and has others find it.
    pub(super) fn attend(&self) {
        let line = lock(&self.line).clone();
        if line.is_some_and(|line| line.is_there()) {
            return;
        }
        let Some(consumer) = self.consumer.get() else { return };
        tracing::info!(component = %self.me.role, "its event channel is gone; it gets another");
        let opened = self.open(consumer).and_then(|line| {
            let entrance = line.entrance.clone();
            *lock(&self.line) = Some(line);
            address::announce(&self.hub.naming, self.hub.context(), &self.me, &entrance)
                .map_err(|error| super::comm_failure(error.to_string()))
        });
        if let Err(exception) = opened {
            // The next look tries again.
            *lock(&self.line) = None;
            tracing::debug!(%exception, "no event channel was to be had");
        }
    }

    fn asked(&self, head: Header, request: Request) -> bool {
        let Some(this) = self.this.upgrade() else { return false };
        if head.reply_to.is_empty() {
            self.component.serve(request, Box::new(|_| ()));
            return false;
        }
        let key = (fingerprint(&head.reply_to), head.correlation);
        let is_full = {
            let mut progress = lock(&self.progress);
            if !progress.requests.insert(key) {
                drop(progress);
                self.hub.calls.count(|counts| counts.duplicates += 1);
                return false;
            }
            progress.requests.len() >= self.hub.options.in_progress_max
        };
        let mut owed = Owed { serving: this, key, head: Some(head) };
        let done = move |outcome| owed.answer(outcome);
        self.component.serve(request, Box::new(done));
        is_full
    }

    fn answered(&self, key: (u64, u64), head: Header, outcome: Result<Reply, SystemException>) {
        let body = match outcome {
            Ok(reply) => Body::Answers(reply),
            Err(exception) => Body::Refuses(exception),
        };
        let (reply_to, correlation) = (head.reply_to, head.correlation);
        let head = Header { correlation, reply_to: String::new() };
        self.hub.answer(&reply_to, Letter { head, body });
        // Not before: who asks after a request that is neither in work nor before them lost it.
        let next = {
            let mut progress = lock(&self.progress);
            progress.requests.remove(&key);
            self.released(&mut progress)
        };
        answer_pushes(next);
    }

    /// Which of a caller's requests are not in work. Their answers, if there are any, are before
    /// what is sent to it from now on.
    fn unknown(&self, reply_to: &str, mut awaited: Vec<u64>) -> Vec<u64> {
        let caller = fingerprint(reply_to);
        let progress = lock(&self.progress);
        awaited.retain(|correlation| !progress.requests.contains(&(caller, *correlation)));
        awaited
    }

    /// Pushes that need not be kept back any more.
    fn released(&self, progress: &mut ServingProgress) -> Vec<ResponseHandler> {
        let count = releases(
            progress.requests.len(),
            progress.kept.len(),
            self.hub.options.in_progress_max,
        );
        progress.kept.drain(..count).collect()
    }
}

/// An answer that the component owes. Is it forgotten, who asked hears that.
struct Owed {
    serving: Arc<EventServing>,
    key: (u64, u64),
    head: Option<Header>,
}

impl Owed {
    fn answer(&mut self, outcome: Result<Reply, SystemException>) {
        if let Some(head) = self.head.take() {
            self.serving.answered(self.key, head, outcome);
        }
    }
}

impl Drop for Owed {
    fn drop(&mut self) {
        let text = "the component has forgotten the request";
        let maybe = CompletionStatus::Maybe;
        self.answer(Err(
            SystemException::no_response(minor::NO_RESPONSE_UNANSWERED, maybe).with_detail(text)
        ));
    }
}

/// How many of `kept` pushes are answered when so many requests are in progress: one for each
/// place that becomes free, and those for which no answer of ours would come any more.
fn releases(in_progress: usize, kept: usize, most: usize) -> usize {
    let one = usize::from(in_progress < most);
    kept.saturating_sub(in_progress).max(one).min(kept)
}

fn answer_pushes(pushes: Vec<ResponseHandler>) {
    for push in pushes {
        if let Err(exception) = push.reply(&|_| Ok(())) {
            tracing::debug!(%exception, "a channel went while it waited");
        }
    }
}

/// Callers are told apart by their references.
fn fingerprint(text: &str) -> u64 {
    use std::hash::{DefaultHasher, Hash as _, Hasher as _};
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}

impl Reader for EventServing {
    fn read(&self, letter: Letter) -> bool {
        match letter.body {
            Body::Asks(request) => self.asked(letter.head, request),
            Body::Probes(awaited) if !letter.head.reply_to.is_empty() => {
                let Header { correlation, reply_to } = letter.head;
                let head = Header { correlation, reply_to: String::new() };
                let body = Body::IsAlive(self.unknown(&reply_to, awaited));
                self.hub.answer(&reply_to, Letter { head, body });
                false
            }
            _ => false,
        }
    }

    fn keep(&self, push: ResponseHandler) {
        let next = {
            let mut progress = lock(&self.progress);
            progress.kept.push_back(push);
            self.released(&mut progress)
        };
        answer_pushes(next);
    }

    fn ended(&self) {
        self.hub.attention.hurry();
    }
}

#[cfg(test)]
mod tests {
    use super::releases;

    #[test]
    fn no_push_is_kept_back_for_good() {
        // As many at once as the channel pushes, with room for one, for half and for all.
        for (pushed, most) in [(8, 1), (8, 4), (8, 8), (8, 100)] {
            let (mut kept, mut answered) = (0, 0);
            for in_progress in 1..=pushed {
                if in_progress >= most {
                    kept += 1;
                    let now = releases(in_progress, kept, most);
                    (kept, answered) = (kept - now, answered + now);
                }
            }
            assert_eq!(answered, 0, "{most}: answered while it was full");
            for in_progress in (0..pushed).rev() {
                kept -= releases(in_progress, kept, most);
            }
            assert_eq!(kept, 0, "{most}");
        }
    }
}
