//! The thread that looks after channels and requests: lines that are gone are opened again, ways
//! that are silent are probed and given up, requests that take long are asked after, and what takes
//! too long is given up.

use super::{Hub, comm_failure, lock};
use corbie::{CompletionStatus, SystemException, minor};
use std::sync::{Arc, Condvar, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

/// Between two looks.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// Between two looks at whether lines are there.
const LINES_EVERY: Duration = Duration::from_millis(500);

/// Wakes the thread.
#[derive(Default)]
pub(super) struct Attention {
    /// Lock "attention".
    state: Mutex<AttendingState>,
    changed: Condvar,
}

#[derive(Clone, Copy, Default)]
struct AttendingState {
    is_hurried: bool,
    is_ended: bool,
}

impl Attention {
    /// Something has ended: look now.
    pub(super) fn hurry(&self) {
        lock(&self.state).is_hurried = true;
        self.changed.notify_all();
    }

    /// For good.
    pub(super) fn end(&self) {
        lock(&self.state).is_ended = true;
        self.changed.notify_all();
    }

    /// Waits for the next look; whether it is hurried. Nothing: it has ended.
    fn wait(&self) -> Option<bool> {
        let state = lock(&self.state);
        let (mut state, _) = self
            .changed
            .wait_timeout_while(state, LOOK_EVERY, |state| !state.is_hurried && !state.is_ended)
            .unwrap_or_else(PoisonError::into_inner);
        let was = *state;
        state.is_hurried = false;
        (!was.is_ended).then_some(was.is_hurried)
    }
}

/// Starts the thread, which ends with the hub.
pub(super) fn begin(hub: &Arc<Hub>) {
    let (weak, attention) = (Arc::downgrade(hub), Arc::clone(&hub.attention));
    std::thread::spawn(move || attend(&weak, &attention));
}

fn attend(hub: &Weak<Hub>, attention: &Attention) {
    let mut lines_at = Instant::now() + LINES_EVERY;
    while let Some(is_hurried) = attention.wait() {
        let Some(hub) = hub.upgrade() else { return };
        if is_hurried || Instant::now() >= lines_at {
            look_at_lines(&hub);
            lines_at = Instant::now() + LINES_EVERY;
        }
        look_at_ways(&hub);
        hub.calls.give_up(Instant::now());
    }
}

fn look_at_lines(hub: &Arc<Hub>) {
    let inbox = lock(&hub.inbox).clone();
    if let Some(inbox) = inbox
        && !inbox.line.is_there()
    {
        let mut place = lock(&hub.inbox);
        if place.as_ref().is_some_and(|now| Arc::ptr_eq(now, &inbox)) {
            *place = None;
        }
        drop(place);
        tracing::info!("the event channel of our answers is gone; it is made again");
        hub.calls.broken(None, &comm_failure("the event channel of the answers is gone"));
    }
    let servings: Vec<_> = lock(&hub.servings).iter().filter_map(Weak::upgrade).collect();
    for serving in servings {
        serving.attend();
    }
}

fn look_at_ways(hub: &Arc<Hub>) {
    let links: Vec<_> = lock(&hub.links).iter().filter_map(Weak::upgrade).collect();
    for link in links.iter().filter(|link| link.way.is_waiting()) {
        let silence = link.way.silence();
        if silence >= hub.options.silence {
            let text = format!("no sign of life for {silence:?} from who should answer");
            let exception = SystemException::timeout(minor::TIMEOUT_CALL, CompletionStatus::Maybe);
            hub.calls.broken(Some(&link.way), &exception.with_detail(text));
        } else if link.way.was_probed_before(hub.options.probe_after) {
            let awaited = hub.calls.awaited(&link.way, hub.options.probe_after);
            if silence >= hub.options.probe_after || !awaited.is_empty() {
                link.probe(awaited);
            }
        }
    }
}
