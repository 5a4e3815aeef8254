//! How many requests one ORB holds back, and how many octets of messages.
//!
//! `queue` takes a [`Charge`] for every request that it takes in; it is given back when the request
//! was served or refused. What a POA manager holds is refused beyond the limit; what waits for its
//! turn has its connection read no further, as responses that are due do (`due_responses`).

use crate::Orb;
use crate::server::request::peer_of;
use crate::server::{ServerConnection, due_responses};
use corbie_types::{SystemException, minor};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

/// What the queues of one ORB hold together.
#[derive(Default)]
pub(crate) struct HeldLimits {
    requests: AtomicU32,
    octets: AtomicUsize,
    /// Octets of requests that wait for their turn.
    turn_octets: AtomicUsize,
}

impl HeldLimits {
    /// How many requests are held, of how many octets; and octets of those that wait for a turn.
    pub(crate) fn held(&self) -> (usize, usize, usize) {
        let octets = |count: &AtomicUsize| count.load(Ordering::Relaxed);
        let requests = self.requests.load(Ordering::Relaxed) as usize;
        (requests, octets(&self.octets), octets(&self.turn_octets))
    }

    /// Whether requests that wait for their turn take so many octets that no more are to be read
    /// from connections which have one.
    pub(crate) fn is_full(&self, orb: &Orb) -> bool {
        self.turn_octets.load(Ordering::Acquire) >= orb.settings().held_octets_max
    }
}

/// The place of one request that is held, until dropped. Its connection counts as busy.
pub(crate) struct Charge {
    orb: Orb,
    connection: Option<Arc<ServerConnection>>,
    octets: usize,
    is_for_turn: bool,
    /// Whether it counts among `requests`.
    is_counted: bool,
}

impl Charge {
    /// A place for a request that a POA manager holds.
    ///
    /// # Errors
    /// `TRANSIENT` with minor code 1 (`COMPLETED_NO`) when there is none.
    pub(crate) fn until_active(
        orb: &Orb,
        connection: Option<&Arc<ServerConnection>>,
        octets: usize,
    ) -> Result<Self, SystemException> {
        let (held, settings) = (&orb.server().held, orb.settings());
        let requests = held.requests.fetch_add(1, Ordering::AcqRel);
        let all = held.octets.fetch_add(octets, Ordering::AcqRel);
        if let Some(connection) = connection {
            connection.life().keep();
        }
        // Dropped on the way out, it gives back what was taken.
        let connection = connection.cloned();
        let orb = orb.clone();
        let charge = Charge { orb, connection, octets, is_for_turn: false, is_counted: true };
        let too_large = all.saturating_add(octets) > settings.held_octets_max;
        if requests >= settings.held_requests_max || too_large {
            let key = if too_large { "held_octets_max" } else { "held_requests_max" };
            return Err(full(key, charge.connection.as_deref()));
        }
        Ok(charge)
    }

    /// A place for a request that waits for its turn: there always is one.
    pub(crate) fn for_turn(
        orb: &Orb,
        connection: Option<&Arc<ServerConnection>>,
        octets: usize,
    ) -> Self {
        orb.server().held.turn_octets.fetch_add(octets, Ordering::AcqRel);
        if let Some(connection) = connection {
            due_responses::begin(orb, connection);
        }
        let (orb, connection) = (orb.clone(), connection.cloned());
        Charge { orb, connection, octets, is_for_turn: true, is_counted: false }
    }
}

impl Charge {
    /// The request does not wait any more; its connection stays busy.
    pub(crate) fn end_waiting(&mut self) {
        let held = &self.orb.server().held;
        let octets = std::mem::take(&mut self.octets);
        if self.is_for_turn {
            let before = held.turn_octets.fetch_sub(octets, Ordering::AcqRel);
            let limit = self.orb.settings().held_octets_max;
            if before >= limit && before - octets < limit {
                due_responses::resume(&self.orb);
            }
        } else if std::mem::take(&mut self.is_counted) {
            held.requests.fetch_sub(1, Ordering::AcqRel);
            held.octets.fetch_sub(octets, Ordering::AcqRel);
        }
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        self.end_waiting();
        match &self.connection {
            Some(connection) if self.is_for_turn => due_responses::end(&self.orb, connection),
            Some(connection) => connection.end_request(),
            None => {}
        }
    }
}

#[cold]
fn full(key: &'static str, connection: Option<&ServerConnection>) -> SystemException {
    let (peer, setting) = (peer_of(connection), key);
    tracing::warn!(%peer, setting, "a request was refused: a POA manager holds as many as may be");
    minor::TRANSIENT_REQUEST_DISCARDED.no(format!(
        "the POA manager holds requests, and as many wait as {key} allows: try again when the \
             server has activated it"
    ))
}
