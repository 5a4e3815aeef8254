//! How a connection ends, and how its requests end without a reply. The thread that moves its
//! [`Life`] to the end says the last words and ends the requests that wait, so that happens once.
//!
//! [`Life`]: corbie_giop::Life

use super::notes::Note;
use super::{Connection, Context, User};
use crate::{Awaited, ConnectionFault, ReceiveFailure, Taking};
use corbie_cdr::ByteOrder;
use corbie_giop::{Control, GiopError, cancel_request, close_connection};
use corbie_threads::reactor::Next;
use std::time::Instant;

impl<U: User> Connection<U> {
    /// The call of `id` was given up: forgets it, and tells the server. The user is not told of it,
    /// if it was still pending.
    pub fn cancel(&self, id: u32) -> Option<U::Call> {
        let call = self.replies.abandon(id)?;
        self.tell_cancelled(id);
        Some(call)
    }

    fn tell_cancelled(&self, id: u32) {
        let version = self.activity.version();
        self.sender.post(&self.link, &cancel_request(version, ByteOrder::NATIVE, id));
    }

    /// Ends the requests whose time is over at `now`.
    pub fn expire(&self, now: Instant) {
        for (id, call) in self.replies.take_expired(now) {
            self.tell_cancelled(id);
            U::failed(call, ConnectionFault::TimedOut(Awaited::Reply(None)));
        }
    }

    /// Whether the peer has taken nothing of what waits for `message_timeout` at `now`: threads
    /// that never wait for it would go on for ever.
    pub fn is_stuck(&self, context: &U::Context, now: Instant) -> bool {
        let Taking::NothingSince(since) = self.sender.taking() else { return false };
        let timeout = context.settings().message_timeout;
        timeout.is_some_and(|timeout| now.saturating_duration_since(since) >= timeout)
    }

    /// What the peer does with what waits for it. After [`Taking::Freely`] the user is told anew
    /// when something waits ([`User::has_to_take`]).
    pub fn taking(&self) -> Taking {
        let taking = self.sender.taking();
        if taking != Taking::Freely {
            return taking;
        }
        self.notes.take(Note::Timed);
        // What came to wait before that was not told; of two threads that see it one tells.
        match self.sender.taking() {
            Taking::Freely => Taking::Freely,
            waits if self.notes.set(Note::Timed) => waits,
            _ => Taking::Freely,
        }
    }

    /// Closes the connection unless a request waits or is served; whether it is ending now.
    pub fn close_if_idle(&self) -> bool {
        // A reply may still have to be taken by the peer.
        if self.sender.waits() {
            return self.is_ending();
        }
        if !self.roles.answers {
            if self.replies.close_if_empty() {
                self.close(&ConnectionFault::closed);
            }
        } else if self.pending() == 0 && self.life.close_if_idle() {
            self.say_close_connection();
        }
        self.is_ending()
    }

    /// Closes in the orderly way as soon as the requests that are being served have their replies.
    pub fn close_when_served(&self) {
        if self.life.close() {
            self.say_close_connection();
        }
    }

    /// The client may send unanswered requests again elsewhere (CORBA 3.3 P2 §9.4.7).
    pub(super) fn say_close_connection(&self) {
        let word = close_connection(self.activity.version(), ByteOrder::NATIVE);
        self.fail_all(self.say_last(Some(word)), &ConnectionFault::gone);
    }

    /// Closes in order at once; requests that are in service are answered no more, and the client
    /// may send them again elsewhere.
    pub fn close_unserved(&self) {
        let word = close_connection(self.activity.version(), ByteOrder::NATIVE);
        self.end(Some(word), &ConnectionFault::closed);
    }

    /// Closes without a word; the requests that wait end with what `fault` says.
    pub fn close(&self, fault: &dyn Fn() -> ConnectionFault) {
        self.end(None, fault);
    }

    /// The context is shut down: all pending calls are told so.
    pub fn shut_down(&self) {
        self.close(&|| ConnectionFault::ShutDown);
    }

    /// Tells the peer what was wrong, as far as it can be told, and closes.
    pub fn refuse(&self, error: &GiopError) {
        self.broke(&ReceiveFailure::Giop(error.clone()));
    }

    /// The connection broke, or the peer broke the rules: what became of the pending requests is
    /// unknown.
    #[cold]
    pub fn broke(&self, failure: &ReceiveFailure) {
        if self.is_ending() {
            return; // It was closed here, and what that means was said.
        }
        let peer = self.peer();
        let mut word = None;
        match failure {
            ReceiveFailure::Giop(error) => {
                match error.kind().setting() {
                    Some(setting) => {
                        let why = "connection closed: a message exceeds a limit";
                        tracing::warn!(%peer, setting, %error, "{why}");
                    }
                    None => {
                        let why = "connection closed: the peer sent bad octets";
                        tracing::warn!(%peer, %error, "{why}");
                    }
                }
                word = self.roles.last_words(error, self.activity.version());
            }
            ReceiveFailure::TooSlow => {
                let setting = "message_timeout";
                tracing::warn!(%peer, setting, "connection closed: a message took too long");
            }
            ReceiveFailure::Io(error) => tracing::debug!(%peer, %error, "connection broke"),
            ReceiveFailure::Closed | ReceiveFailure::NothingCame => {}
        }
        self.end(word, &|| ConnectionFault::broken(failure));
    }

    fn end(&self, word: Option<Control>, fault: &dyn Fn() -> ConnectionFault) {
        if self.life.end() {
            self.fail_all(self.say_last(word), fault);
        }
    }

    pub(super) fn fail_all(&self, calls: Vec<U::Call>, fault: &dyn Fn() -> ConnectionFault) {
        calls.into_iter().for_each(|call| U::failed(call, fault()));
    }

    /// The peer closes in order: what is pending here was not served (CORBA 3.3 P2 §9.4.7).
    pub(super) fn closed_by_peer(&self) -> Vec<U::Call> {
        if self.life.end() { self.say_last(None) } else { Vec::new() }
    }

    /// This thread has moved the connection to its end: sends the last word behind everything else
    /// and ends the link; if the peer does not take what is before it now, the link ends when it
    /// has, or after `message_timeout`. The requests that wait are to be ended.
    fn say_last(&self, word: Option<Control>) -> Vec<U::Call> {
        let calls = self.replies.close();
        match word {
            // Behind requests that end now, there is no use in a last word.
            Some(word) if self.roles.answers || !self.sender.waits() => {
                self.sender.last(&self.link, &word);
            }
            _ => self.shut(),
        }
        U::ending(self);
        calls
    }

    /// Closes without a word, also when last words wait to be taken.
    pub fn cut(&self) {
        self.close(&ConnectionFault::gone);
        self.shut();
    }

    /// Nothing is sent any more. With no lock held.
    fn shut(&self) {
        self.life.gone();
        self.sender.close(&self.link);
    }

    /// The ORB ends, and with it the threads that would have sent what waits for the peer.
    pub fn end_sending(&self) {
        if self.has_own_threads() && self.sender.has_last_word() {
            self.shut();
        }
    }

    /// The connection's own thread ends: what is still to be said is said before.
    pub fn finish(&self) {
        if self.sender.has_last_word() {
            self.flush();
            self.shut();
        }
    }

    /// The connection ends; while its last words wait for the peer to take them, an event loop
    /// still reads it. `has_end`: the peer has closed.
    pub fn leave_when_said(&self, context: &U::Context, has_end: bool) -> Next {
        if self.sender.waits() && !has_end {
            return Next::Wait;
        }
        // What still waits is lost, and those who want to know learn it now: later it would be
        // where the last of its responses is dropped.
        if self.sender.waits() {
            self.shut();
        }
        U::ended(self, context);
        Next::Remove
    }
}
