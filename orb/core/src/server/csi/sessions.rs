//! What a connection remembers of the users of its requests: contexts that its client numbered, and
//! tokens that came without a number. Both are bounded; what was used least recently is forgotten.

use super::caller::Caller;
use super::checks::Fingerprint;
use crate::Orb;
use crate::server::held::{HeldRequests, Reason};
use corbie_threads::lock::{Ranked, rank};
use std::sync::Arc;

/// Tokens without a number that are remembered.
const TOKENS_MAX: usize = 16;

/// A user that was accepted, by what, and in which generation of users.
#[derive(Clone)]
pub(super) struct Session {
    pub(super) generation: u64,
    pub(super) fingerprint: Fingerprint,
    pub(super) caller: Arc<Caller>,
}

/// See the module.
pub(crate) struct Sessions {
    contexts: Ranked<rank::Leaf, Recent<u64, Session>>,
    tokens: Ranked<rank::Leaf, Recent<Fingerprint, Session>>,
    /// Requests that wait until a password is checked.
    pub(super) queue: HeldRequests,
}

impl Sessions {
    pub(crate) fn new(orb: &Orb) -> Self {
        let contexts_max = orb.settings().csi_contexts_max as usize;
        Sessions {
            contexts: Ranked::new(Recent::new(contexts_max)),
            tokens: Ranked::new(Recent::new(TOKENS_MAX)),
            queue: HeldRequests::new(orb, Reason::ForServant),
        }
    }

    /// The context with this number, if it is of this generation of users.
    pub(super) fn context(&self, id: u64, generation: u64) -> Option<Session> {
        let mut contexts = self.contexts.lock();
        contexts.find(&id).filter(|context| context.generation == generation).cloned()
    }

    pub(super) fn keep_context(&self, id: u64, session: Session) {
        let forgotten = self.contexts.lock().insert(id, session);
        drop(forgotten);
    }

    pub(super) fn discard_context(&self, id: u64) {
        let forgotten = self.contexts.lock().remove(&id);
        drop(forgotten);
    }

    pub(super) fn token(&self, fingerprint: Fingerprint, generation: u64) -> Option<Session> {
        let mut tokens = self.tokens.lock();
        tokens.find(&fingerprint).filter(|token| token.generation == generation).cloned()
    }

    pub(super) fn keep_token(&self, session: Session) {
        let forgotten = self.tokens.lock().insert(session.fingerprint, session);
        drop(forgotten);
    }
}

/// Some values by keys, the one that was used last at the end.
struct Recent<K, V> {
    all: Vec<(K, V)>,
    most: usize,
}

impl<K: PartialEq, V> Recent<K, V> {
    fn new(most: usize) -> Self {
        Recent { all: Vec::new(), most: most.max(1) }
    }

    fn find(&mut self, key: &K) -> Option<&V> {
        let at = self.all.iter().rposition(|(known, _)| known == key)?;
        self.all[at..].rotate_left(1);
        self.all.last().map(|(_, value)| value)
    }

    /// Puts it in; what has to make room for it comes back.
    fn insert(&mut self, key: K, value: V) -> Option<V> {
        let mut gone = self.remove(&key);
        if self.all.len() >= self.most {
            gone = Some(self.all.remove(0).1);
        }
        self.all.push((key, value));
        gone
    }

    fn remove(&mut self, key: &K) -> Option<V> {
        let at = self.all.iter().rposition(|(known, _)| known == key)?;
        Some(self.all.remove(at).1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_used_least_recently_is_forgotten() {
        let mut recent = Recent::new(2);
        assert_eq!(recent.insert(1, 'a'), None);
        assert_eq!(recent.insert(2, 'b'), None);
        assert_eq!(recent.find(&1), Some(&'a'));
        assert_eq!(recent.insert(3, 'c'), Some('b'), "1 was used after 2");
        assert_eq!(recent.find(&1), Some(&'a'));
        assert_eq!(recent.find(&2), None);
        assert_eq!(recent.insert(1, 'd'), Some('a'), "in its own place");
        assert_eq!(recent.find(&1), Some(&'d'));
        assert_eq!(recent.find(&3), Some(&'c'));
        assert_eq!(recent.remove(&1), Some('d'));
        assert_eq!(recent.find(&1), None);
    }
}
