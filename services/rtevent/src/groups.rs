//! What the groups of one consumer's subscription keep until they are complete, and the memory that
//! it takes: a group whose last event never comes keeps the others for ever.
//!
//! Asked by `consumer`, where a subscription has groups. The memory is that of the queues of the
//! server; when there is none, the groups begin again.

use crate::event::Parcel;
use crate::filter::{Answer, Filter, Progress, Question};
use corbie_event::engine::{Keeping, Kept};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// An event that a group may keep.
#[derive(Debug)]
struct Candidate {
    parcel: Arc<Parcel>,
    /// Set when it is kept.
    room: OnceLock<Kept>,
}

/// The groups of one consumer.
#[derive(Debug)]
pub(crate) struct KeptGroups {
    /// Lock "progress": held while a filter is asked.
    progress: Mutex<Progress<Arc<Candidate>>>,
}

/// What became of an event.
#[derive(Debug)]
pub(crate) enum Shown {
    /// Nothing is to be given for it.
    Nothing,
    /// There was no room for it: so many were dropped, with those that were kept.
    NoRoom(usize),
    /// The consumer is to be given these.
    Passed(Vec<Arc<Parcel>>),
}

impl KeptGroups {
    /// Those of a subscription.
    pub(crate) fn of(subscription: &Filter) -> Self {
        Self { progress: Mutex::new(Progress::of(subscription)) }
    }

    /// Shows an event to `subscription`; what it keeps of it counts with `keeping`.
    pub(crate) fn show(
        &self,
        subscription: &Filter,
        parcel: &Arc<Parcel>,
        timeout: Option<u32>,
        keeping: &Keeping,
    ) -> Shown {
        let event = Arc::new(Candidate { parcel: Arc::clone(parcel), room: OnceLock::new() });
        let question = Question { header: parcel.header(), event: &event, timeout };
        let mut progress = self.progress.lock().unwrap_or_else(PoisonError::into_inner);
        let passed = match subscription.answer(&question, &mut progress) {
            Answer::Refused | Answer::Kept => {
                let is_kept = Arc::strong_count(&event) > 1;
                if is_kept && !event.has_room(keeping) {
                    let dropped = progress.kept();
                    progress.clear();
                    return Shown::NoRoom(dropped);
                }
                return Shown::Nothing;
            }
            Answer::Passed => vec![Arc::clone(parcel)],
            Answer::PassedWith(events) => {
                events.iter().map(|event| Arc::clone(&event.parcel)).collect()
            }
        };
        progress.clear();
        Shown::Passed(passed)
    }
}

impl Candidate {
    fn has_room(&self, keeping: &Keeping) -> bool {
        let room = keeping.keep(self.parcel.weight());
        room.is_some_and(|room| self.room.set(room).is_ok())
    }
}
