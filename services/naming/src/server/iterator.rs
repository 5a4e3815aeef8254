//! Iterators over the rest of a `list` (Naming Service 1.3 §2.3).
//!
//! An iterator is a place in a context, not a copy of it: it holds the name that it gave last.
//! There are so many at most; one too many ends that of the peer with most of them which was not
//! used for longest, so a peer that asks for very many ends its own. One that is not used for a
//! while ends. A client that comes back to it gets `OBJECT_NOT_EXIST`.

use super::Limits;
use crate::NameComponent;
use crate::cos_naming::{
    Binding, BindingIterator, BindingIteratorServant, BindingIteratorSkeleton, BindingType,
};
use crate::refusal::system;
use crate::store::{ContextId, Kind, Store, StoreError};
use corbie::budget::{Account, Draw, Service};
use corbie::transport::PeerOrigin;
use corbie::{CompletionStatus, ObjectId, Orb, Poa, PoaPolicy, SystemException, SystemIds, minor};
use std::collections::HashMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

/// A place in the bindings of a context.
pub(super) struct Cursor {
    store: Arc<dyn Store>,
    context: ContextId,
    last: Option<NameComponent>,
}

impl Cursor {
    pub(super) fn new(store: Arc<dyn Store>, context: ContextId) -> Self {
        Self { store, context, last: None }
    }

    /// The next bindings, at most so many.
    pub(super) fn take(&mut self, most: usize) -> Result<Vec<Binding>, SystemException> {
        let found = self.look(most)?;
        if let Some((name, _)) = found.last() {
            self.last = Some(name.clone());
        }
        Ok(found.into_iter().map(binding).collect())
    }

    pub(super) fn is_at_end(&self) -> Result<bool, SystemException> {
        Ok(self.look(1)?.is_empty())
    }

    fn look(&self, most: usize) -> Result<Vec<(NameComponent, Kind)>, SystemException> {
        match self.store.list(self.context, self.last.as_ref(), most) {
            // It had bindings, which are gone, and then it went.
            Err(StoreError::NoContext) if self.last.is_some() => Ok(Vec::new()),
            other => other.map_err(|error| system(&error)),
        }
    }
}

fn binding((name, kind): (NameComponent, Kind)) -> Binding {
    let binding_type = match kind {
        Kind::Object => BindingType::Nobject,
        Kind::Context => BindingType::Ncontext,
    };
    Binding { binding_name: vec![name], binding_type }
}

/// A peer cannot go on with the lists of others, or end them.
const POLICIES: [PoaPolicy; 1] = [PoaPolicy::SystemIds(SystemIds::Secret)];

/// All iterators of a server.
pub(super) struct Iterators {
    poa: Poa,
    most: usize,
    idle: Duration,
    list: usize,
    /// Lock "iterators": held for a look; objects are deactivated after it.
    known: Mutex<Known>,
    /// Signalled when the first one comes, so that the thread that ends idle ones sleeps before.
    came: Condvar,
}

/// What one iterator takes, about: its object, and the longest name.
const ITERATOR_OCTETS: usize = 2 << 10;

/// Those that there are, and what they take of the process's memory budget.
struct Known {
    places: HashMap<ObjectId, Arc<Place>>,
    memory: Draw<Service>,
}

impl Default for Known {
    fn default() -> Self {
        Self { places: HashMap::new(), memory: Draw::of(&Account::new()) }
    }
}

impl Known {
    /// Draws what so many take; whether there is memory for them.
    fn draw(&mut self, iterators: usize) -> bool {
        self.memory.resize(iterators * ITERATOR_OCTETS).is_ok()
    }

    fn remove(&mut self, id: &ObjectId) {
        self.places.remove(id);
        self.draw(self.places.len());
    }
}

/// One iterator. Lock "place": held while the store is read, so that two calls of one client give
/// two parts.
struct Place {
    client: PeerOrigin,
    cursor: Mutex<Cursor>,
    used: Mutex<Instant>,
}

impl Place {
    fn touch(&self) {
        *self.used.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    fn used(&self) -> Instant {
        *self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Iterators {
    pub(super) fn start(orb: &Orb, limits: &Limits) -> Result<Arc<Self>, SystemException> {
        let poa = orb.root_poa()?.create_poa("BindingIterators", None, &POLICIES)?;
        poa.the_poa_manager().activate().map_err(SystemException::from)?;
        let iterators = Arc::new(Self {
            poa,
            most: limits.iterators.max(1),
            idle: limits.iterator_idle,
            list: limits.list.max(1),
            known: Mutex::default(),
            came: Condvar::new(),
        });
        let weak = Arc::downgrade(&iterators);
        std::thread::Builder::new()
            .name("corbie-iterators".to_owned())
            .spawn(move || end_idle_ones(&weak))
            .map_err(|error| {
                minor::NO_RESOURCES_THREAD
                    .no(format!("the thread that ends iterators cannot start: {error}"))
            })?;
        Ok(iterators)
    }

    /// Ends all, for good.
    pub(super) fn close(&self) {
        *self.known() = Known::default();
        // It fails when the ORB was shut down, and the POA with it.
        let _ = self.poa.destroy(true, false);
    }

    pub(super) fn len(&self) -> usize {
        self.known().places.len()
    }

    /// A new iterator for `client`, in place of another one if there are too many.
    pub(super) fn add(
        self: &Arc<Self>,
        orb: &Orb,
        cursor: Cursor,
        client: PeerOrigin,
    ) -> Result<BindingIterator, SystemException> {
        if orb.is_shut_down() {
            return Err(
                minor::BAD_INV_ORDER_ORB_SHUTDOWN.no("the naming server is being shut down")
            );
        }
        let cursor = Mutex::new(cursor);
        let place = Arc::new(Place { client, cursor, used: Mutex::new(Instant::now()) });
        let servant = Iterator { iterators: Arc::downgrade(self), place: Arc::clone(&place) };
        let reference = self.poa.activate(BindingIteratorSkeleton::new(servant))?;
        let id = self.poa.reference_to_id(reference.as_object())?;
        let mut known = self.known();
        let others = known.places.len();
        let is_within = others < self.most;
        let has_room = is_within && known.draw(others + 1);
        let one_too_many = (!has_room).then(|| oldest_of_largest(&known.places)).flatten();
        if let Some((id, _)) = &one_too_many {
            known.remove(id);
        }
        known.places.insert(id, place);
        drop(known);
        self.came.notify_all();
        if let Some((id, peer)) = one_too_many {
            let setting = if is_within { "memory_max" } else { "iterators_max" };
            let why = "an iterator ends: there are too many, and most are of this peer";
            tracing::warn!(peer = named(&peer), others, setting, "{why}");
            self.deactivate(&id);
        }
        Ok(reference)
    }

    /// Ends one; whether it was there.
    fn end(&self, place: &Arc<Place>) -> bool {
        let mut known = self.known();
        let id = known
            .places
            .iter()
            .find(|(_, other)| Arc::ptr_eq(place, other))
            .map(|(id, _)| id.clone());
        let Some(id) = id else { return false };
        known.remove(&id);
        drop(known);
        self.deactivate(&id);
        true
    }

    /// Ends those that are idle for too long; when to look again, if any is left.
    fn end_idle(&self) -> Option<Duration> {
        let mut known = self.known();
        let now = Instant::now();
        let is_idle = |place: &Place| now.saturating_duration_since(place.used()) >= self.idle;
        let idle: Vec<ObjectId> = known
            .places
            .iter()
            .filter(|(_, place)| is_idle(place))
            .map(|(id, _)| id.clone())
            .collect();
        for id in &idle {
            known.remove(id);
        }
        let next = known.places.values().map(|place| place.used() + self.idle).min();
        drop(known);
        idle.iter().for_each(|id| self.deactivate(id));
        next.map(|next| next.saturating_duration_since(now).max(Duration::from_millis(1)))
    }

    fn deactivate(&self, id: &ObjectId) {
        if let Err(error) = self.poa.deactivate_object(id) {
            tracing::debug!(%error, "an iterator had ended already");
        }
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Of the peer that has most iterators, the one that was not used for longest.
fn oldest_of_largest(known: &HashMap<ObjectId, Arc<Place>>) -> Option<(ObjectId, PeerOrigin)> {
    let mut of_peers: HashMap<&PeerOrigin, usize> = HashMap::new();
    for place in known.values() {
        *of_peers.entry(&place.client).or_default() += 1;
    }
    let most = of_peers.values().copied().max()?;
    let of_largest = known.iter().filter(|(_, place)| of_peers.get(&place.client) == Some(&most));
    let (id, place) = of_largest.min_by_key(|(_, place)| place.used())?;
    Some((id.clone(), place.client.clone()))
}

/// As other lines of the log name the peer, but for its port.
fn named(peer: &PeerOrigin) -> String {
    match peer {
        PeerOrigin::Network(address) => address.to_string(),
        PeerOrigin::User(user) => format!("user {user}"),
        other => format!("{other:?}"),
    }
}

/// How long the thread that ends idle iterators sleeps before it sees whether its server is gone.
const LOOK_AROUND: Duration = Duration::from_secs(1);

fn end_idle_ones(iterators: &Weak<Iterators>) {
    while let Some(iterators) = iterators.upgrade() {
        let wait = iterators.end_idle().unwrap_or(LOOK_AROUND).min(LOOK_AROUND);
        let known = iterators.known();
        drop(iterators.came.wait_timeout(known, wait));
    }
}

/// The servant of one iterator.
struct Iterator {
    iterators: Weak<Iterators>,
    place: Arc<Place>,
}

impl Iterator {
    fn take(&self, most: usize) -> Result<Vec<Binding>, SystemException> {
        self.place.touch();
        let mut cursor = self.place.cursor.lock().unwrap_or_else(PoisonError::into_inner);
        cursor.take(most)
    }
}

impl BindingIteratorServant for Iterator {
    fn next_one(&self) -> Result<(bool, Binding), SystemException> {
        Ok(match self.take(1)?.pop() {
            Some(binding) => (true, binding),
            None => {
                (false, Binding { binding_name: Vec::new(), binding_type: BindingType::Nobject })
            }
        })
    }

    fn next_n(&self, how_many: u32) -> Result<(bool, Vec<Binding>), SystemException> {
        if how_many == 0 {
            return Err(SystemException::bad_param(
                minor::BAD_PARAM_ARGUMENT,
                CompletionStatus::No,
            )
            .with_detail("next_n was asked for no bindings; it takes one or more"));
        }
        let most = self.iterators.upgrade().map_or(1, |iterators| iterators.list);
        let bindings = self.take(most.min(how_many as usize))?;
        Ok((!bindings.is_empty(), bindings))
    }

    fn destroy(&self) -> Result<(), SystemException> {
        if self.iterators.upgrade().is_some_and(|iterators| iterators.end(&self.place)) {
            return Ok(());
        }
        Err(SystemException::object_not_exist(
            minor::OBJECT_NOT_EXIST_DISCONNECTED,
            CompletionStatus::No,
        )
        .with_detail("the iterator has ended"))
    }
}
