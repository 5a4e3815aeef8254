//! Which passwords are right: checked by a thread of their own, since a check takes 20 ms and more
//! on purpose, and remembered for a minute.
//!
//! The thread that reads a request asks [`Checks::verdict`]; where nothing is known it puts the
//! request aside and calls [`Checks::ask`], and the request is served again when the verdict is
//! there. What a peer can make this thread do is bounded: by `csi_checks_per_peer`, by
//! [`WAITING_MAX`] for all. Nothing of a password is kept but a keyed hash.

use crate::Orb;
use crate::handles::OrbInner;
use crate::server::held::HeldRequests;
use blake2::Blake2sMac256;
use blake2::digest::{KeyInit as _, Mac as _};
use corbie_access::CheckPassword;
use corbie_threads::lock::{Ranked, rank};
use std::collections::HashMap;
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, LazyLock, Weak};
use std::time::{Duration, Instant};

/// Checks that wait for their turn, of all peers.
const WAITING_MAX: usize = 256;

/// Verdicts that are remembered.
const VERDICTS_MAX: usize = 1024;

/// So long: a password that was changed elsewhere is not taken for ever.
const LIFE: Duration = Duration::from_secs(60);

/// A keyed hash of evidence: what is remembered in its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Fingerprint([u8; 32]);

impl Fingerprint {
    /// That of these parts, in this order.
    pub(super) fn of(parts: &[&[u8]]) -> Self {
        let mut mac = KEY.clone();
        for part in parts {
            // Lengths keep one part from passing for two.
            mac.update(&(part.len() as u64).to_le_bytes());
            mac.update(part);
        }
        Fingerprint(mac.finalize().into_bytes().into())
    }
}

/// Hashes with a key that this process drew.
static KEY: LazyLock<Blake2sMac256> = LazyLock::new(|| {
    let mut key = [0; 32];
    for (number, part) in key.chunks_exact_mut(8).enumerate() {
        let mut hasher = RandomState::new().build_hasher();
        hasher.write_usize(number);
        part.copy_from_slice(&hasher.finish().to_le_bytes());
    }
    Blake2sMac256::new(&key.into())
});

/// A user name and a password that are to be checked.
pub(super) struct Check {
    pub(super) generation: u64,
    pub(super) fingerprint: Fingerprint,
    pub(super) checker: Arc<dyn CheckPassword>,
    pub(super) user: String,
    pub(super) password: Vec<u8>,
}

/// What is known of a password.
enum State {
    /// It is being checked; these queues wait for that.
    Pending(Vec<HeldRequests>),
    Known {
        is_right: bool,
        since: Instant,
    },
}

/// Why a password is not checked.
pub(super) enum NotChecked {
    /// As many wait already as may.
    Full,
    /// No thread can be had.
    NoThread(io::Error),
}

#[derive(Default)]
struct Inner {
    /// By what they are of: a generation of users, and evidence.
    states: HashMap<(u64, Fingerprint), State>,
    waiting: Vec<Check>,
    has_thread: bool,
}

/// See the module.
#[derive(Default)]
pub(super) struct Checks(Ranked<rank::Leaf, Inner>);

impl Checks {
    /// Whether the password is right, if that is known.
    pub(super) fn verdict(&self, generation: u64, fingerprint: Fingerprint) -> Option<bool> {
        match self.0.lock().states.get(&(generation, fingerprint)) {
            Some(State::Known { is_right, since }) if since.elapsed() < LIFE => Some(*is_right),
            _ => None,
        }
    }

    /// Has it checked, and `queue` released then.
    ///
    /// # Errors
    /// Why it will not be checked. Then `queue` is not released.
    pub(super) fn ask(
        &self,
        orb: &Orb,
        check: Check,
        queue: &HeldRequests,
    ) -> Result<(), NotChecked> {
        let key = (check.generation, check.fingerprint);
        let mut starts = false;
        {
            let mut inner = self.0.lock();
            let is_full = inner.waiting.len() >= WAITING_MAX;
            match inner.states.get_mut(&key) {
                Some(State::Known { since, .. }) if since.elapsed() < LIFE => {
                    drop(inner);
                    queue.release();
                    return Ok(());
                }
                Some(State::Pending(queues)) => queues.push(queue.clone()),
                _ if is_full => return Err(NotChecked::Full),
                _ => {
                    inner.make_room();
                    inner.states.insert(key, State::Pending(vec![queue.clone()]));
                    inner.waiting.push(check);
                    starts = !std::mem::replace(&mut inner.has_thread, true);
                }
            }
        }
        if starts { self.start(orb) } else { Ok(()) }
    }

    /// Whether it is being checked already.
    pub(super) fn is_pending(&self, generation: u64, fingerprint: Fingerprint) -> bool {
        matches!(self.0.lock().states.get(&(generation, fingerprint)), Some(State::Pending(_)))
    }

    fn start(&self, orb: &Orb) -> Result<(), NotChecked> {
        let thread = std::thread::Builder::new().name("corbie-passwords".to_owned());
        let weak = orb.downgrade();
        match thread.spawn(move || run(&weak)) {
            Ok(_) => Ok(()),
            Err(error) => {
                // All that waits is given up: its clients ask again.
                let (waiting, queues) = {
                    let mut inner = self.0.lock();
                    inner.has_thread = false;
                    let waiting = std::mem::take(&mut inner.waiting);
                    let queues: Vec<_> =
                        waiting.iter().flat_map(|check| inner.forget(check)).collect();
                    (waiting, queues)
                };
                drop(waiting);
                queues.iter().for_each(HeldRequests::release);
                Err(NotChecked::NoThread(error))
            }
        }
    }

    /// The next one to be checked; `None` ends the thread.
    fn next(&self) -> Option<Check> {
        let mut inner = self.0.lock();
        if inner.waiting.is_empty() {
            inner.has_thread = false;
            return None;
        }
        Some(inner.waiting.remove(0))
    }

    fn settle(&self, check: &Check, is_right: bool) {
        let key = (check.generation, check.fingerprint);
        let known = State::Known { is_right, since: Instant::now() };
        let before = self.0.lock().states.insert(key, known);
        if let Some(State::Pending(queues)) = before {
            queues.iter().for_each(HeldRequests::release);
        }
    }
}

impl Inner {
    fn forget(&mut self, check: &Check) -> Vec<HeldRequests> {
        match self.states.remove(&(check.generation, check.fingerprint)) {
            Some(State::Pending(queues)) => queues,
            _ => Vec::new(),
        }
    }

    /// Forgets what is out of date, and then, if there is still no room, the oldest verdict.
    fn make_room(&mut self) {
        if self.states.len() < VERDICTS_MAX {
            return;
        }
        let is_kept = |state: &State| match state {
            State::Pending(_) => true,
            State::Known { since, .. } => since.elapsed() < LIFE,
        };
        self.states.retain(|_, state| is_kept(state));
        let known = |(key, state): (&(u64, Fingerprint), &State)| match state {
            State::Known { since, .. } => Some((*since, *key)),
            State::Pending(_) => None,
        };
        if self.states.len() >= VERDICTS_MAX
            && let Some((_, oldest)) =
                self.states.iter().filter_map(known).min_by_key(|(at, _)| *at)
        {
            self.states.remove(&oldest);
        }
    }
}

/// Checks all that waits, then ends.
fn run(orb: &Weak<OrbInner>) {
    while let Some(orb) = Orb::upgrade(orb) {
        let checks = &orb.server().csi.checks;
        let Some(check) = checks.next() else { return };
        let Check { checker, user, password, .. } = &check;
        // Code of the application may panic: then the password counts as wrong.
        let checked = catch_unwind(AssertUnwindSafe(|| checker.check(user, password)));
        if checked.is_err() {
            tracing::error!(user, "the application's check of a password panicked");
        }
        checks.settle(&check, checked.unwrap_or(false));
    }
}
