//! The memory budget of the process: what peers can make it hold, over all connections.
//!
//! What a connection holds beyond its free share is drawn in steps: messages that are received or
//! put together, replies that a peer does not take, requests that it does not answer, events that a
//! service keeps. When the budget is used up, the largest account of the peer that holds most is
//! refused first, so those that hold little go on. Services hold half of it at most. Asked by
//! `corbie_giop`, `orb/connection` and services; `orb/core` sets the limit. A message that fits
//! into the buffers of every connection touches nothing here.

use std::fmt;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};

/// Octets that each draw has for nothing.
pub const FREE_OCTETS: usize = 64 << 10;
/// Octets that are drawn at a time.
const STEP: usize = 64 << 10;

static LIMIT: AtomicUsize = AtomicUsize::new(usize::MAX);
static USED: AtomicUsize = AtomicUsize::new(0);
/// By [`Purpose::INDEX`].
static USED_FOR: [AtomicUsize; 4] = [const { AtomicUsize::new(0) }; 4];
static REFUSED: AtomicU64 = AtomicU64::new(0);
/// Those that have drawn something. Lock "budget": taken when an account draws for the first time,
/// and when the budget is used up; no other lock is taken under it.
static ACCOUNTS: Mutex<Vec<Weak<Account>>> = Mutex::new(Vec::new());

/// What memory is drawn for.
pub trait Purpose {
    /// Its place among the [`Statistics`].
    const INDEX: usize;
}

macro_rules! purposes {
    ($($(#[$doc:meta])* $name:ident $index:literal;)+) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub struct $name;

        impl Purpose for $name {
            const INDEX: usize = $index;
        }
    )+};
}
purposes! {
    /// Messages that are being received or put together, and those in service.
    Reading 0;
    /// Messages that a peer has not taken yet.
    Sending 1;
    /// What a service keeps for its clients.
    Service 2;
    /// Requests that a peer has not answered yet.
    Waiting 3;
}

/// The budget as it is now, in octets beyond the free shares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Statistics {
    /// What may be drawn.
    pub limit: usize,
    /// Drawn for messages that are received or served.
    pub reading: usize,
    /// Drawn for messages that peers have not taken.
    pub sending: usize,
    /// Drawn by services: half of the limit at most.
    pub services: usize,
    /// Drawn for requests that peers have not answered.
    pub waiting: usize,
    /// How often an account was refused since the process began.
    pub refused: u64,
}

/// Sets what all accounts may draw together, in octets.
pub fn set_limit(octets: usize) {
    LIMIT.store(octets, Ordering::Relaxed);
}

/// What is drawn now.
#[must_use]
pub fn statistics() -> Statistics {
    let [reading, sending, services, waiting] =
        [0, 1, 2, 3].map(|at: usize| USED_FOR.get(at).map_or(0, |u| u.load(Ordering::Relaxed)));
    let (limit, refused) = (LIMIT.load(Ordering::Relaxed), REFUSED.load(Ordering::Relaxed));
    Statistics { limit, reading, sending, services, waiting, refused }
}

/// What all services may draw now, in octets: half of the limit.
#[must_use]
pub fn of_services() -> usize {
    LIMIT.load(Ordering::Relaxed) / 2
}

/// The budget is used up and this account holds most of it, or services have their half.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exhausted {
    /// Octets that the account holds.
    pub held: usize,
    /// Octets that all accounts may hold, or those of services.
    pub limit: usize,
    /// Whether services hold what they may.
    pub is_of_services: bool,
}

impl fmt::Display for Exhausted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { held, limit, is_of_services } = self;
        if *is_of_services {
            return write!(f, "services hold the half of memory_max that they may: {limit} octets");
        }
        write!(f, "memory_max of {limit} octets is used up, and most is held here: {held} octets")
    }
}

impl std::error::Error for Exhausted {}

type OnRefusal = Box<dyn Fn(Exhausted) + Send + Sync>;

/// What one peer holds in all of its accounts.
#[derive(Debug, Default)]
pub struct Holder(AtomicUsize);

/// What one connection, or one client of a service, holds.
#[derive(Default)]
pub struct Account {
    held: AtomicUsize,
    /// Whose account it is, who may have others.
    holder: Arc<Holder>,
    /// Ends what holds the memory; never waits.
    on_refusal: OnceLock<OnRefusal>,
    is_listed: AtomicBool,
    is_refused: AtomicBool,
}

impl Account {
    /// An account that holds nothing.
    #[must_use]
    pub fn new() -> Arc<Self> {
        Arc::default()
    }

    /// One of several accounts of a peer.
    #[must_use]
    pub fn of(holder: &Arc<Holder>) -> Arc<Self> {
        Arc::new(Self { holder: Arc::clone(holder), ..Self::default() })
    }

    /// What its peer holds in all, and what it holds itself: the larger is refused first.
    fn weight(&self) -> (usize, usize) {
        (self.holder.0.load(Ordering::Relaxed), self.held())
    }

    /// Holds more, or less; what it holds then.
    fn hold(&self, more: usize) -> (usize, usize) {
        let of_peer = self.holder.0.fetch_add(more, Ordering::Relaxed) + more;
        (of_peer, self.held.fetch_add(more, Ordering::Relaxed) + more)
    }

    fn let_go(&self, fewer: usize) {
        self.held.fetch_sub(fewer, Ordering::Relaxed);
        self.holder.0.fetch_sub(fewer, Ordering::Relaxed);
    }

    /// Has `end` free what the account holds when others need it: it is called once at most, by any
    /// thread, and must not wait. An account without one is refused only when it draws.
    pub fn on_refusal(&self, end: impl Fn(Exhausted) + Send + Sync + 'static) {
        let _ = self.on_refusal.set(Box::new(end));
    }

    /// Octets that it holds.
    #[must_use]
    pub fn held(&self) -> usize {
        self.held.load(Ordering::Relaxed)
    }

    /// Has the account end, as it holds most.
    #[cold]
    pub fn refuse(&self, why: Exhausted) {
        if self.note_refused()
            && let Some(end) = self.on_refusal.get()
        {
            end(why);
        }
    }

    /// Counts that it is refused; whether it was not before.
    fn note_refused(&self) -> bool {
        let is_first = !self.is_refused.swap(true, Ordering::AcqRel);
        REFUSED.fetch_add(u64::from(is_first), Ordering::Relaxed);
        is_first
    }

    fn list(self: &Arc<Self>) {
        if !self.is_listed.swap(true, Ordering::AcqRel) {
            let mut accounts = accounts();
            if accounts.len() == accounts.capacity() {
                accounts.retain(|account| account.strong_count() > 0);
            }
            accounts.push(Arc::downgrade(self));
        }
    }
}

impl fmt::Debug for Account {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Account").field("held", &self.held()).finish_non_exhaustive()
    }
}

/// What an account has drawn for one thing; given back when dropped.
#[derive(Debug)]
pub struct Draw<P: Purpose> {
    account: Arc<Account>,
    octets: usize,
    purpose: PhantomData<P>,
}

impl<P: Purpose> Draw<P> {
    /// Nothing yet.
    #[must_use]
    pub fn of(account: &Arc<Account>) -> Self {
        Self { account: Arc::clone(account), octets: 0, purpose: PhantomData }
    }

    /// Another one of the same account, of nothing yet.
    #[must_use]
    pub fn another(&self) -> Self {
        Self::of(&self.account)
    }

    /// The account.
    #[must_use]
    pub fn account(&self) -> &Arc<Account> {
        &self.account
    }

    /// Draws as much as holding `octets` takes, or gives back.
    ///
    /// # Errors
    /// [`Exhausted`], when the budget is used up and no account holds more than this one; what was
    /// drawn before stays.
    #[inline]
    pub fn resize(&mut self, octets: usize) -> Result<(), Exhausted> {
        let wanted = octets.saturating_sub(FREE_OCTETS).next_multiple_of(STEP);
        if wanted == self.octets { Ok(()) } else { self.change(wanted) }
    }

    /// As [`Draw::resize`], for a thread that ends what holds the memory itself when it is refused.
    ///
    /// # Errors
    /// As [`Draw::resize`].
    #[inline]
    pub fn resize_or_end(&mut self, octets: usize) -> Result<(), Exhausted> {
        self.resize(octets).inspect_err(|_| {
            self.account.note_refused();
        })
    }

    #[cold]
    fn change(&mut self, wanted: usize) -> Result<(), Exhausted> {
        let Some(used_for) = USED_FOR.get(P::INDEX) else { return Ok(()) };
        if let Some(fewer) = self.octets.checked_sub(wanted) {
            self.octets = wanted;
            self.account.let_go(fewer);
            used_for.fetch_sub(fewer, Ordering::Relaxed);
            USED.fetch_sub(fewer, Ordering::Relaxed);
            return Ok(());
        }
        let more = wanted - self.octets;
        let limit = LIMIT.load(Ordering::Relaxed);
        let of_services = used_for.load(Ordering::Relaxed).saturating_add(more);
        if P::INDEX == Service::INDEX && of_services > limit / 2 {
            let held = self.account.held();
            return Err(Exhausted { held, limit: limit / 2, is_of_services: true });
        }
        self.account.list();
        let weight = self.account.hold(more);
        let used = USED.fetch_add(more, Ordering::Relaxed) + more;
        if used > limit && !refuse_another(&self.account, weight, used - limit) {
            self.account.let_go(more);
            USED.fetch_sub(more, Ordering::Relaxed);
            return Err(Exhausted { held: weight.1, limit, is_of_services: false });
        }
        self.octets = wanted;
        used_for.fetch_add(more, Ordering::Relaxed);
        Ok(())
    }
}

impl<P: Purpose> Drop for Draw<P> {
    #[inline]
    fn drop(&mut self) {
        if self.octets > 0 {
            // Less never fails.
            let _ = self.change(0);
        }
    }
}

fn accounts() -> MutexGuard<'static, Vec<Weak<Account>>> {
    ACCOUNTS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// `excess` octets are drawn too much, and `own` wants to hold `weight`: refuses the largest
/// account of the peer that holds more than any other; whether there is room then. What refused
/// accounts hold is on its way back.
#[cold]
fn refuse_another(own: &Arc<Account>, weight: (usize, usize), excess: usize) -> bool {
    let mut returning = 0;
    let mut largest: Option<Arc<Account>> = None;
    for account in accounts().iter().filter_map(Weak::upgrade) {
        if Arc::ptr_eq(&account, own) {
            continue;
        }
        if account.is_refused.load(Ordering::Acquire) {
            returning += account.held();
        } else if account.on_refusal.get().is_some()
            && largest.as_ref().is_none_or(|largest| largest.weight() < account.weight())
        {
            largest = Some(account);
        }
    }
    if returning >= excess {
        return true;
    }
    let Some(largest) = largest.filter(|largest| largest.weight() >= weight) else { return false };
    let (held, limit) = (largest.held(), LIMIT.load(Ordering::Relaxed));
    largest.refuse(Exhausted { held, limit, is_of_services: false });
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicU32;

    /// The budget is one for the process, so all of it is one test.
    #[test]
    fn the_account_that_holds_most_is_refused_first() {
        const MIB: usize = 1 << 20;
        set_limit(10 * MIB);
        let ended = Arc::new(AtomicU32::new(0));
        let account = || {
            let (account, ended) = (Account::new(), Arc::clone(&ended));
            account.on_refusal(move |_| {
                ended.fetch_add(1, Ordering::Relaxed);
            });
            account
        };
        let (large, small) = (account(), account());
        let mut most = Draw::<Reading>::of(&large);
        most.resize(8 * MIB).unwrap();
        let mut little = Draw::<Sending>::of(&small);
        little.resize(FREE_OCTETS).unwrap();
        assert_eq!(small.held(), 0, "the free share");
        // The large one wants more than there is: it is refused itself.
        assert_eq!(most.resize(12 * MIB).unwrap_err().limit, 10 * MIB);
        assert!((7 * MIB..=8 * MIB).contains(&large.held()), "{}", large.held());
        assert_eq!(statistics().refused, 0, "it may go on with what it has");
        // The small one gets what it needs; the large one ends, once.
        little.resize(3 * MIB).unwrap();
        little.resize(4 * MIB).unwrap();
        assert_eq!(ended.load(Ordering::Relaxed), 1);
        assert_eq!(statistics().refused, 1);
        // A thread that ends its account itself has that counted, once.
        let last = account();
        let mut of_last = Draw::<Reading>::of(&last);
        assert!(of_last.resize_or_end(40 * MIB).is_err());
        assert!(of_last.resize_or_end(40 * MIB).is_err());
        assert_eq!((statistics().refused, ended.load(Ordering::Relaxed)), (2, 1));
        drop(most);
        assert_eq!(statistics().reading, 0);
        assert!(statistics().sending >= 3 * MIB);
        drop(little);
        // Of a peer with many connections the largest goes, before the larger one of another peer.
        let (many, other) = (Arc::<Holder>::default(), account());
        let of_many = |octets| {
            let (account, ended) = (Account::of(&many), Arc::clone(&ended));
            account.on_refusal(move |_| {
                ended.fetch_add(1, Ordering::Relaxed);
            });
            let mut draw = Draw::<Waiting>::of(&account);
            draw.resize(octets).unwrap();
            draw
        };
        let draws = [of_many(2 * MIB), of_many(3 * MIB), of_many(MIB)];
        let mut of_other = Draw::<Reading>::of(&other);
        of_other.resize(4 * MIB).unwrap();
        let mut newcomer = Draw::<Reading>::of(&account());
        newcomer.resize(MIB).unwrap();
        let is_refused = |draw: &Draw<Waiting>| draw.account().is_refused.load(Ordering::Acquire);
        assert_eq!(draws.each_ref().map(is_refused), [false, true, false]);
        assert!(!other.is_refused.load(Ordering::Acquire));
        assert!(statistics().waiting > 5 * MIB);
        drop((draws, of_other, newcomer));
        // Services hold half of it at most.
        let mut kept = Draw::<Service>::of(&account());
        let refused = kept.resize(6 * MIB).unwrap_err();
        assert!(refused.to_string().contains("half of memory_max"), "{refused}");
        assert!(kept.resize(5 * MIB).is_ok() && of_services() == 5 * MIB);
        drop(kept);
        let Statistics { reading, sending, services, waiting, .. } = statistics();
        let used = USED.load(Ordering::Relaxed);
        assert_eq!((reading, sending, services, waiting, used), (0, 0, 0, 0, 0));
        set_limit(usize::MAX);
    }
}
