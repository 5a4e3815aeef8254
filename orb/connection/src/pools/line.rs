//! Asynchronous calls that wait for a connection: a bounded line, in the order of the calls.
//!
//! A thread that makes an asynchronous call never connects: its call stands in a line until another
//! thread has a connection, or the time of the call is over.

use crate::Call;
use std::collections::VecDeque;
use std::time::Instant;

/// The calls that wait for one connection.
#[derive(Debug)]
pub(super) struct Line<C> {
    calls: VecDeque<C>,
    /// Octets of all arguments.
    octets: usize,
}

impl<C> Default for Line<C> {
    fn default() -> Self {
        Line { calls: VecDeque::new(), octets: 0 }
    }
}

impl<C: Call> Line<C> {
    /// How many calls wait.
    pub(super) fn len(&self) -> usize {
        self.calls.len()
    }

    /// Whether no call waits.
    pub(super) fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    /// The call comes last, if there is room for it among `calls_max` with `octets_max` of
    /// arguments. One call alone has room, however large it is.
    ///
    /// # Errors
    /// The call comes back.
    pub(super) fn push(&mut self, call: C, calls_max: usize, octets_max: usize) -> Result<(), C> {
        let octets = self.octets.saturating_add(call.octets());
        if !self.is_empty() && (self.calls.len() >= calls_max || octets > octets_max) {
            return Err(call);
        }
        self.octets = octets;
        self.calls.push_back(call);
        Ok(())
    }

    /// The call that came first.
    pub(super) fn pop(&mut self) -> Option<C> {
        let call = self.calls.pop_front()?;
        self.octets -= call.octets();
        Some(call)
    }

    /// All of them, in their order.
    pub(super) fn take(&mut self) -> VecDeque<C> {
        self.octets = 0;
        std::mem::take(&mut self.calls)
    }

    /// Those whose time is over at `now`.
    pub(super) fn take_expired(&mut self, now: Instant) -> Vec<C> {
        let is_over = |call: &mut C| call.deadline().is_some_and(|end| end <= now);
        let mut expired = Vec::new();
        let mut index = 0;
        while index < self.calls.len() {
            if is_over(&mut self.calls[index]) {
                expired.extend(self.calls.remove(index));
            } else {
                index += 1;
            }
        }
        self.octets -= expired.iter().map(|call| call.octets()).sum::<usize>();
        expired
    }

    /// When the time of the first of them is over.
    pub(super) fn next_deadline(&self) -> Option<Instant> {
        self.calls.iter().filter_map(|call| call.deadline()).min()
    }
}
