//! Where a call is between its first attempt and its end: which address comes next, whether another
//! attempt is safe, and whether the server may have begun.
//!
//! Pure and `Copy`: it knows no reference, no connection and no clock, and reads faults as an enum.
//! The client of `orb/core` drives it for all kinds of calls, and so does the simulated network
//! (CORBA 3.3 P2 §9.4.3, §9.4.7, §9.6).

#[cfg(test)]
mod tests;

use corbie_types::CompletionStatus;

/// A chain of forwards longer than this is a circle.
pub const FORWARDS_MAX: u8 = 16;

/// The attempts of one call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Attempts {
    state: State,
    /// Which address of the binding is tried: 0 is the preferred one.
    address: usize,
    /// Whether the request was sent to this address again.
    was_repeated: bool,
    /// Whether the call went back to the original reference, which it does once.
    was_returned: bool,
    /// How many forwards were followed.
    forwards: u8,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    /// The request is not handed to a connection.
    #[default]
    Ready,
    /// It is, and the server may have begun.
    Sent,
    /// The answer is here.
    Done,
    /// There is no further attempt.
    Failed(CompletionStatus),
}

/// Why an attempt ended without an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The server has not got the whole request; a new connection to the same address may do.
    NotSent,
    /// The server closed in order and served nothing of what was pending.
    ClosedInOrder,
    /// No connection to the address can be opened; another address may do.
    Unreachable,
    /// What became of the request is not known.
    Lost,
    /// The time of the call, or the ORB itself, has ended.
    Stopped,
    /// Nothing was sent, and no other attempt would help.
    Refused,
}

/// What the references and addresses of a call allow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// How many addresses the binding has.
    pub addresses: usize,
    /// Whether a server forwarded the reference to it.
    pub is_forwarded: bool,
}

/// What is to be done next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Send the request to [`Attempts::address`].
    Send,
    /// Bind where the server pointed to, if `RebindPolicy` allows, then send.
    Follow,
    /// Forget where the server pointed to, then send to the original reference.
    Return,
    /// Nothing more; whether the server carried the call out.
    End(CompletionStatus),
}

impl Attempts {
    /// Which address of the binding is to be tried.
    #[inline]
    #[must_use]
    pub fn address(&self) -> usize {
        self.address
    }

    /// The request was handed to a connection.
    #[inline]
    pub fn sent(&mut self) {
        self.state = State::Sent;
    }

    /// The answer that ends the call is here.
    #[inline]
    pub fn answered(&mut self) {
        self.state = State::Done;
    }

    /// The server wants the request elsewhere, or addressed otherwise.
    pub fn redirected(&mut self) -> Step {
        if self.has_ended() || self.forwards >= FORWARDS_MAX {
            return self.fail(CompletionStatus::No);
        }
        let Attempts { forwards, was_returned, .. } = *self;
        *self = Attempts { forwards: forwards + 1, was_returned, ..Attempts::default() };
        Step::Follow
    }

    /// An interceptor sends the request on, whatever the answer was or why there was none: as
    /// [`Attempts::redirected`].
    pub fn sent_on(&mut self) -> Step {
        self.state = State::Ready;
        self.redirected()
    }

    /// The server does not know the object (any more), and did nothing.
    pub fn gone(&mut self, place: Place) -> Step {
        self.go_back(place)
    }

    /// The attempt ended without an answer.
    pub fn failed(&mut self, fault: Fault, place: Place) -> Step {
        if self.has_ended() {
            return self.fail(CompletionStatus::No);
        }
        match fault {
            Fault::NotSent | Fault::ClosedInOrder if !self.was_repeated => {
                (self.state, self.was_repeated) = (State::Ready, true);
                Step::Send
            }
            Fault::NotSent | Fault::ClosedInOrder | Fault::Unreachable
                if self.address + 1 < place.addresses =>
            {
                (self.state, self.was_repeated) = (State::Ready, false);
                self.address += 1;
                Step::Send
            }
            Fault::NotSent | Fault::ClosedInOrder | Fault::Unreachable => self.go_back(place),
            Fault::Stopped if self.state == State::Ready => self.fail(CompletionStatus::No),
            Fault::Lost | Fault::Stopped => self.fail(CompletionStatus::Maybe),
            Fault::Refused => self.fail(CompletionStatus::No),
        }
    }

    /// The place that a server forwarded to is of no use: the original reference may know a new
    /// one (CORBA 3.3 P2 §9.6). Once a call, as it may point to the same place again.
    fn go_back(&mut self, place: Place) -> Step {
        if self.has_ended() || self.was_returned || !place.is_forwarded {
            return self.fail(CompletionStatus::No);
        }
        let forwards = self.forwards;
        *self = Attempts { forwards, was_returned: true, ..Attempts::default() };
        Step::Return
    }

    fn has_ended(&self) -> bool {
        matches!(self.state, State::Done | State::Failed(_))
    }

    fn fail(&mut self, completed: CompletionStatus) -> Step {
        match self.state {
            State::Done => Step::End(CompletionStatus::Yes),
            State::Failed(before) => Step::End(before),
            State::Ready | State::Sent => {
                self.state = State::Failed(completed);
                Step::End(completed)
            }
        }
    }
}
