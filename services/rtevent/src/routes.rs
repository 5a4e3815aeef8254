//! Which consumers an event of a supplier is shown to: sets that are computed when clients connect,
//! not when events come (paper RTEC §4.2, §4.3).
//!
//! No input, output or clock is here.

#[cfg(test)]
mod tests;

use crate::collection::{Change, Collection, CollectionStrategy};
use crate::filter::Publication;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

/// For what there is a set of consumers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SupplierFilter {
    /// For each supplier, by what it publishes. An event that is of none of its publications goes
    /// to no other consumers.
    #[default]
    PerSupplier,
    /// For each type of event.
    PerType,
    /// One, of all consumers.
    Global,
}

/// A consumer, as the sets see it.
pub(crate) trait Interested: Clone {
    /// Tells it from others.
    fn number(&self) -> u64;
    /// Whether it is the same one, and not another one that has its number now.
    fn is(&self, other: &Self) -> bool;
    /// Whether it may accept an event of this publication.
    fn may_accept(&self, publication: Publication) -> bool;
}

/// Types of events for which there is a set; events of others are shown to all consumers.
const MOST_TYPES: usize = 4096;

/// The sets of a channel.
#[derive(Debug)]
pub(crate) struct Routes<C> {
    kind: SupplierFilter,
    strategy: CollectionStrategy,
    all: Arc<Collection<C>>,
    /// Lock "members": held while clients come and go, and in no visit.
    members: Mutex<Members<C>>,
    /// Lock "types": held to look at it and to change it.
    types: RwLock<HashMap<i32, Arc<Collection<C>>>>,
}

#[derive(Debug)]
struct Members<C> {
    consumers: BTreeMap<u64, C>,
    suppliers: BTreeMap<u64, Route<C>>,
}

/// The consumers of one supplier.
#[derive(Clone, Debug)]
pub(crate) struct Route<C> {
    publications: Arc<[Publication]>,
    set: Arc<Collection<C>>,
}

/// What a consumer that is to be added may accept, of the suppliers and types that were there.
#[derive(Default)]
struct Wants {
    suppliers: HashMap<u64, (Arc<[Publication]>, bool)>,
    types: HashMap<i32, bool>,
}

impl<C: Interested> Routes<C> {
    /// Those of a channel without clients.
    #[must_use]
    pub(crate) fn new(kind: SupplierFilter, strategy: CollectionStrategy) -> Self {
        let members = Members { consumers: BTreeMap::new(), suppliers: BTreeMap::new() };
        Self {
            kind,
            strategy,
            all: Arc::new(Collection::new(strategy)),
            members: Mutex::new(members),
            types: RwLock::default(),
        }
    }

    /// A supplier has connected.
    pub(crate) fn add_supplier(&self, number: u64, publications: Vec<Publication>) -> Route<C> {
        let publications: Arc<[Publication]> = publications.into();
        if self.kind != SupplierFilter::PerSupplier {
            let route = Route { publications, set: Arc::clone(&self.all) };
            self.members().suppliers.insert(number, route.clone());
            return route;
        }
        // It may take long, so it is done first: other clients come and go meanwhile.
        let before = self.members().consumers.clone();
        let is_for = |consumer: &C| is_for_any(consumer, &publications);
        let wanting: BTreeSet<u64> =
            before.iter().filter(|(_, consumer)| is_for(consumer)).map(|(n, _)| *n).collect();
        let mut members = self.members();
        let set = self.set_of(&members, |consumer| match before.get(&consumer.number()) {
            Some(seen) if seen.is(consumer) => wanting.contains(&consumer.number()),
            _ => is_for(consumer),
        });
        let route = Route { publications, set };
        members.suppliers.insert(number, route.clone());
        drop(members);
        route
    }

    /// A supplier has gone.
    pub(crate) fn remove_supplier(&self, number: u64) {
        self.members().suppliers.remove(&number);
    }

    /// A consumer has connected.
    pub(crate) fn add_consumer(&self, consumer: &C) {
        let number = consumer.number();
        // It may take long, so it is done first.
        let wants = self.wants_of(consumer);
        let mut members = self.members();
        members.consumers.insert(number, consumer.clone());
        let add = || Change::Add(number, consumer.clone());
        self.all.change(add());
        match self.kind {
            SupplierFilter::PerSupplier => {
                for (number, route) in &members.suppliers {
                    let is_wanted = match wants.suppliers.get(number) {
                        Some((seen, is_wanted)) if Arc::ptr_eq(seen, &route.publications) => {
                            *is_wanted
                        }
                        _ => is_for_any(consumer, &route.publications),
                    };
                    if is_wanted {
                        route.set.change(add());
                    }
                }
            }
            SupplierFilter::PerType => {
                for (kind, set) in &*self.types() {
                    let seen = wants.types.get(kind).copied();
                    if seen.unwrap_or_else(|| is_for_type(consumer, *kind)) {
                        set.change(add());
                    }
                }
            }
            SupplierFilter::Global => {}
        }
    }

    fn wants_of(&self, consumer: &C) -> Wants {
        let mut wants = Wants::default();
        match self.kind {
            SupplierFilter::PerSupplier => {
                for (number, publications) in self.publications() {
                    let is_wanted = is_for_any(consumer, &publications);
                    wants.suppliers.insert(number, (publications, is_wanted));
                }
            }
            SupplierFilter::PerType => {
                let kinds: Vec<i32> = self.types().keys().copied().collect();
                wants.types.extend(kinds.into_iter().map(|k| (k, is_for_type(consumer, k))));
            }
            SupplierFilter::Global => {}
        }
        wants
    }

    /// A consumer has gone.
    pub(crate) fn remove_consumer(&self, number: u64) {
        let mut members = self.members();
        let removed = members.consumers.remove(&number);
        if removed.is_some() {
            self.change_all(&members, || Change::Remove(number));
        }
        drop(members);
        drop(removed);
    }

    /// All clients have gone.
    pub(crate) fn clear(&self) {
        let mut members = self.members();
        let consumers = std::mem::take(&mut members.consumers);
        self.change_all(&members, || Change::Clear);
        members.suppliers.clear();
        drop(members);
        drop(consumers);
    }

    fn change_all(&self, members: &Members<C>, change: impl Fn() -> Change<C>) {
        self.all.change(change());
        match self.kind {
            SupplierFilter::PerSupplier => {
                members.suppliers.values().for_each(|route| route.set.change(change()));
            }
            SupplierFilter::PerType => {
                self.types().values().for_each(|set| set.change(change()));
            }
            SupplierFilter::Global => {}
        }
    }

    /// Shows `visitor` the consumers that may accept an event of this type by this route.
    pub(crate) fn visit(&self, route: &Route<C>, kind: i32, visitor: impl FnMut(&C)) {
        match self.kind {
            SupplierFilter::PerSupplier | SupplierFilter::Global => route.set.visit(visitor),
            SupplierFilter::PerType => self.set_of_type(kind).visit(visitor),
        }
    }

    /// All consumers that are connected.
    #[must_use]
    pub(crate) fn consumers(&self) -> Vec<C> {
        self.members().consumers.values().cloned().collect()
    }

    /// What the suppliers publish that are connected, with their numbers.
    #[must_use]
    pub(crate) fn publications(&self) -> Vec<(u64, Arc<[Publication]>)> {
        let members = self.members();
        let suppliers = members.suppliers.iter();
        suppliers.map(|(number, route)| (*number, Arc::clone(&route.publications))).collect()
    }

    fn set_of_type(&self, kind: i32) -> Arc<Collection<C>> {
        if let Some(set) = self.types().get(&kind) {
            return Arc::clone(set);
        }
        // In the order of the locks: no consumer comes or goes meanwhile.
        let members = self.members();
        let mut types = self.types.write().unwrap_or_else(PoisonError::into_inner);
        if types.len() >= MOST_TYPES {
            return Arc::clone(types.get(&kind).unwrap_or(&self.all));
        }
        let set = types
            .entry(kind)
            .or_insert_with(|| self.set_of(&members, |consumer| is_for_type(consumer, kind)));
        Arc::clone(set)
    }

    fn set_of(&self, members: &Members<C>, is_in: impl Fn(&C) -> bool) -> Arc<Collection<C>> {
        let set = Collection::new(self.strategy);
        for consumer in members.consumers.values().filter(|c| is_in(c)) {
            set.change(Change::Add(consumer.number(), consumer.clone()));
        }
        Arc::new(set)
    }

    fn members(&self) -> MutexGuard<'_, Members<C>> {
        self.members.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn types(&self) -> std::sync::RwLockReadGuard<'_, HashMap<i32, Arc<Collection<C>>>> {
        self.types.read().unwrap_or_else(PoisonError::into_inner)
    }
}

fn is_for_any<C: Interested>(consumer: &C, publications: &[Publication]) -> bool {
    publications.iter().any(|publication| consumer.may_accept(*publication))
}

fn is_for_type<C: Interested>(consumer: &C, kind: i32) -> bool {
    consumer.may_accept(Publication { kind, ..Publication::ANYTHING })
}
