//! All connections that this ORB opened, by endpoint, message protocol and code sets.
//!
//! `client/bind` finds pools here, once per reference. When more connections are open than
//! `client_connections_max`, or some were idle longer than `client_idle_timeout`, the ORB's
//! housekeeping closes the old ones.

mod back;
mod connector;
mod line;
mod line_clock;
mod opens;
mod pool;
mod shared;
mod waiting;

use back::Backs;
use connector::Connector;
use corbie_cdr::CodeSets;
use corbie_giop::Protocol;
use corbie_threads::lock::{Guard, Ranked, rank};
use corbie_transport::Endpoint;
use line_clock::LineClock;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

pub use back::Place;
pub use opens::Opens;
pub use pool::{Lease, Opening, Pool, PooledConnection};
pub use waiting::NotInLine;

/// A client's connection that was not used for so long holds no buffers.
const SHORT: Duration = Duration::from_millis(500);

/// See the module.
pub struct Pools<U: Opens> {
    pools: Ranked<rank::Pools, Table<U>>,
    connector: Arc<Connector<U>>,
    line_clock: Arc<LineClock<U>>,
}

/// What a pool is found by.
type Key = (Endpoint, Protocol, CodeSets);

struct Table<U: Opens> {
    by_endpoint: HashMap<Key, Arc<Pool<U>>>,
    /// Connections that clients opened, by the places to which they lead back.
    backs: Backs<U>,
    /// Connections that are opened from now on are offered to their servers.
    offers: bool,
    /// The ORB was shut down: pools are closed from the beginning.
    closed: bool,
}

impl<U: Opens> Default for Pools<U> {
    fn default() -> Self {
        let (by_endpoint, backs) = (HashMap::new(), Backs::new());
        let table = Table { by_endpoint, backs, offers: false, closed: false };
        let (connector, line_clock) = (Arc::default(), Arc::default());
        Pools { pools: Ranked::new(table), connector, line_clock }
    }
}

impl<U: Opens> Pools<U> {
    /// The pool of `endpoint` for connections of this protocol with these code sets.
    pub fn pool(
        &self,
        endpoint: Endpoint,
        protocol: Protocol,
        code_sets: CodeSets,
    ) -> Arc<Pool<U>> {
        let mut pools = self.lock();
        if pools.closed {
            let pool = Pool::new(endpoint, protocol, code_sets);
            pool.close();
            return Arc::new(pool);
        }
        let Table { by_endpoint, backs, offers, .. } = &mut *pools;
        let entry = by_endpoint.entry((endpoint, protocol, code_sets));
        let new = |(endpoint, protocol, code_sets): &Key| {
            let pool = Pool::new(endpoint.clone(), *protocol, *code_sets);
            if *offers {
                pool.offer();
            }
            let back = Place::of(endpoint).filter(|_| *protocol == Protocol::Giop);
            if let Some(ways) = back.and_then(|place| backs.get(&place)) {
                pool.set_ways(ways);
            }
            Arc::new(pool)
        };
        Arc::clone(entry.or_insert_with_key(new))
    }

    /// Closes connections idle for longer than `idle_timeout`, and beyond `most` the oldest idle
    /// ones; forgets pools that are no longer in use.
    pub fn purge(&self, idle_timeout: Option<Duration>, most: u32) {
        let table = &mut self.lock();
        table.backs.retain(|_, ways| ways.open().is_some());
        let pools = &mut table.by_endpoint;
        if let Some(cutoff) = Instant::now().checked_sub(SHORT) {
            pools.values().for_each(|pool| pool.rest(cutoff));
        }
        if let Some(cutoff) = idle_timeout.and_then(|t| Instant::now().checked_sub(t)) {
            for pool in pools.values() {
                pool.purge(cutoff);
            }
        }
        let open = |pools: &HashMap<_, Arc<Pool<U>>>| {
            pools.values().map(|pool| u64::from(pool.open_connections())).sum::<u64>()
        };
        while open(pools) > u64::from(most) {
            let oldest = pools.values().filter_map(|pool| Some((pool.oldest_idle()?, pool)));
            let Some((used, pool)) = oldest.min_by_key(|(used, _)| *used) else { break };
            pool.purge(used + Duration::from_nanos(1));
        }
        pools.retain(|_, pool| Arc::strong_count(pool) > 1 || pool.open_connections() > 0);
    }

    /// Ends the asynchronous calls whose time is over. `scratch` is empty, and again afterwards: it
    /// saves an allocation each second.
    pub fn expire(&self, context: &U::Context, scratch: &mut Vec<Arc<Pool<U>>>) {
        scratch.extend(self.lock().by_endpoint.values().cloned());
        let now = Instant::now();
        for pool in scratch.drain(..) {
            pool.expire(context, now);
        }
    }

    /// Opens connections for calls whose threads do not wait.
    fn connector(&self) -> &Arc<Connector<U>> {
        &self.connector
    }

    /// Ends calls that stand in lines in time.
    fn line_clock(&self) -> &Arc<LineClock<U>> {
        &self.line_clock
    }

    /// Ends the calls in lines whose time is over at `now`; when that of the next one is.
    fn expire_lines(&self, now: Instant) -> Option<Instant> {
        let pools: Vec<_> = self.lock().by_endpoint.values().cloned().collect();
        pools.iter().filter_map(|pool| pool.expire_lines(now)).min()
    }

    /// Sends what any connection keeps back.
    pub fn flush(&self) {
        let pools: Vec<_> = self.lock().by_endpoint.values().cloned().collect();
        pools.iter().for_each(|pool| pool.flush());
    }

    /// Closes everything.
    pub fn close(&self) {
        let mut pools = self.lock();
        pools.closed = true;
        let by_endpoint = std::mem::take(&mut pools.by_endpoint);
        pools.backs.clear();
        drop(pools);
        for pool in by_endpoint.values() {
            pool.close();
        }
        self.connector.close();
    }

    fn lock(&self) -> Guard<'_, rank::Pools, Table<U>> {
        self.pools.lock()
    }
}
