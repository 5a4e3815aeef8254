//! What holds of every run: each call ends once; it is carried out at most once; one that ended as
//! not carried out never was; what was answered was carried out.

use corbie_types::CompletionStatus;

use super::end::{Asked, Call};
use super::plan::Plan;
use super::world::may_have_begun;

/// How a call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Answered,
    /// A oneway that was handed to its connection.
    Put,
    /// Given up by the application.
    Cancelled,
    Failed(CompletionStatus),
}

/// How often what happened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Calls that began.
    pub calls: u64,
    /// Calls that were answered.
    pub answered: u64,
    /// Calls that failed and were surely not carried out.
    pub not_begun: u64,
    /// Calls of which that is not known.
    pub in_doubt: u64,
    /// Calls that were given up.
    pub cancelled: u64,
    /// Connections that were opened.
    pub connections: u64,
    /// Requests that a closing server did not begin.
    pub declined: u64,
    /// Replies to requests that were given up.
    pub late_replies: u64,
    /// Replies to nothing that was asked.
    pub unasked_replies: u64,
    /// Replies that a server sent twice.
    pub replies_sent_twice: u64,
    /// CancelRequest messages that reached a server.
    pub cancels: u64,
    /// Forwards that were met.
    pub forwards: u64,
    /// Faults that occurred, apart from those of the network.
    pub faults: u64,
}

impl Counts {
    /// Adds another run.
    pub fn add(&mut self, other: &Self) {
        let Counts { calls, answered, not_begun, in_doubt, cancelled, connections, .. } = other;
        self.calls += calls;
        self.answered += answered;
        self.not_begun += not_begun;
        self.in_doubt += in_doubt;
        self.cancelled += cancelled;
        self.connections += connections;
        self.declined += other.declined;
        self.late_replies += other.late_replies;
        self.unasked_replies += other.unasked_replies;
        self.replies_sent_twice += other.replies_sent_twice;
        self.cancels += other.cancels;
        self.forwards += other.forwards;
        self.faults += other.faults;
    }
}

#[derive(Clone, Debug, Default)]
struct Seen {
    outcome: Option<Outcome>,
    /// How often a servant was called.
    begun: u32,
}

#[derive(Debug)]
pub(super) struct Checks {
    seen: Vec<Seen>,
    pub(super) counts: Counts,
    /// Requests that were given up: each may get a reply that no request waits for.
    pub(super) given_up: u64,
}

impl Checks {
    pub(super) fn new(calls: usize) -> Self {
        Checks { seen: vec![Seen::default(); calls], counts: Counts::default(), given_up: 0 }
    }

    /// A servant is called.
    pub(super) fn begun(&mut self, call: Call, asked: Asked) -> Result<(), String> {
        let Some(seen) = self.seen.get_mut(call) else {
            return Err(format!("a request of call {call}, which there is not"));
        };
        // To ask where an object is changes nothing.
        if asked != Asked::Locate {
            seen.begun += 1;
        }
        if seen.begun > 1 {
            return Err(format!("call {call} is carried out {} times", seen.begun));
        }
        Ok(())
    }

    pub(super) fn oneway(&mut self, call: Call) {
        self.seen[call].outcome = Some(Outcome::Put);
    }

    pub(super) fn end(&mut self, call: Call, outcome: Outcome) -> Result<(), String> {
        match self.seen[call].outcome.replace(outcome) {
            None => Ok(()),
            Some(before) => Err(format!("call {call} ended as {before:?}, then as {outcome:?}")),
        }
    }

    /// A reply came that no request waits for.
    pub(super) fn unexpected(&mut self, is_late: bool) -> Result<(), String> {
        let counts = &mut self.counts;
        *if is_late { &mut counts.late_replies } else { &mut counts.unasked_replies } += 1;
        let explained = counts.replies_sent_twice + self.given_up;
        if counts.late_replies + counts.unasked_replies > explained {
            return Err("a reply came that no request waits for".to_owned());
        }
        Ok(())
    }

    pub(super) fn finish(mut self, plan: &Plan) -> Result<Counts, String> {
        for (call, seen) in self.seen.iter().enumerate() {
            let Some(outcome) = seen.outcome else {
                return Err(format!("call {call} has no end: {:?}", plan.calls[call]));
            };
            let counts = &mut self.counts;
            counts.calls += 1;
            *match outcome {
                Outcome::Answered | Outcome::Put => &mut counts.answered,
                Outcome::Cancelled => &mut counts.cancelled,
                Outcome::Failed(CompletionStatus::No) => &mut counts.not_begun,
                Outcome::Failed(_) => &mut counts.in_doubt,
            } += 1;
            if seen.begun > 0 && !may_have_begun(outcome) {
                return Err(format!("call {call} was carried out and ended with COMPLETED_NO"));
            }
            let is_twoway = plan.calls[call].asked == Asked::Twoway;
            if outcome == Outcome::Answered && is_twoway && seen.begun != 1 {
                return Err(format!("call {call} was answered and not carried out"));
            }
        }
        Ok(self.counts)
    }
}
