//! The handles that all else is reached from, as data: the ORB and references.
//!
//! Both stand below the layers that act on them. A method of [`Orb`] or [`Object`] is written in
//! the module that has the behaviour (`client` calls, `collocation` calls without a message, `orb`
//! starts and shuts down), and what such a module keeps in a handle is an [`Extension`] of it.
//! `shortcuts` and `borrowed` are what a reference remembers of servants of its own process.

mod borrowed;
mod shortcuts;

pub(crate) use borrowed::Lent;
pub use borrowed::View;
pub(crate) use shortcuts::Shortcuts;

use crate::executor::{Executor, ExecutorSlot, Task};
use crate::memory::AllocatorSlot;
use crate::policy::{
    self, CachedPolicies, HasPolicies, OrbPolicies, PolicyCurrent, PolicyManager, PolicySet,
};
use crate::profile::Known;
use corbie_cdr::payload::PayloadAllocator;
use corbie_cdr::{ByteOrder, Limits, Version, buffers};
use corbie_giop::{MessageReader, Plugged, Protocol, ReaderLimits, Roles};
use corbie_settings::{Settings, WaitStrategy};
use corbie_threads::flusher::Flusher;
use corbie_threads::lock::{Ranked, Signal, rank};
use corbie_transport::{PeerIdentity, Registry, WaitStrategy as Wait};
use corbie_types::{Ior, SystemException, minor};
use std::any::Any;
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::time::{Duration, Instant};

/// What a module or a crate above keeps in a handle, and the handle does not know.
pub trait Part: Any + Send + Sync {
    /// The ORB was shut down.
    fn shut_down(&self) {}
}

/// The place of a [`Part`], made at the first need. One module alone names the type. Reading it
/// compares the type, so the synchronous call path reads one at most.
#[derive(Default)]
pub(crate) struct Extension(OnceLock<Box<dyn Part>>);

impl Extension {
    /// The part. All callers name the same type.
    #[inline]
    pub(crate) fn get<P: Part + Default>(&self) -> &P {
        let part: &dyn Any = &**self.0.get_or_init(|| Box::<P>::default());
        part.downcast_ref().expect("an extension has one type")
    }

    /// The ORB was shut down.
    pub(crate) fn shut_down(&self) {
        if let Some(part) = self.0.get() {
            part.shut_down();
        }
    }
}

/// An Object Request Broker. Clones are the same ORB.
#[derive(Clone)]
pub struct Orb(Arc<OrbInner>);

pub(crate) struct OrbInner {
    settings: Settings,
    transports: Registry,
    protocols: Vec<Plugged>,
    limits: Limits,
    policies: OrbPolicies,
    extensions: OrbExtensions,
    housekeeping: Housekeeping,
    /// Starts the thread of the housekeeping, unless it runs.
    keep_house: fn(&Orb),
    executor: ExecutorSlot,
    payload_allocator: AllocatorSlot,
    flusher: Flusher,
    is_shut_down: AtomicBool,
    /// For [`Orb::sleep_while`].
    sleepers: Ranked<rank::Sleepers, ()>,
    woken: Signal,
}

/// What modules above keep with the ORB.
#[derive(Default)]
pub(crate) struct OrbExtensions {
    pub(crate) connections: Extension,
    pub(crate) server: Extension,
    pub(crate) initial_references: Extension,
    /// That of a crate above, `orb/messaging`.
    pub(crate) part: Extension,
    pub(crate) main_loop: Extension,
    pub(crate) value_factories: Extension,
    pub(crate) interceptors: Extension,
    pub(crate) later_calls: Extension,
    pub(crate) egress: Extension,
    pub(crate) own_user: Extension,
}

impl HasPolicies for OrbInner {
    fn policies(&self) -> &OrbPolicies {
        &self.policies
    }
}

/// See the module `housekeeping`.
#[derive(Default)]
pub(crate) struct Housekeeping {
    pub(crate) started: AtomicBool,
    /// Seconds, roughly, since housekeeping began.
    pub(crate) ticks: Arc<AtomicU64>,
}

impl Orb {
    /// An ORB that nothing was done with yet. `keep_house` starts the thread of its housekeeping,
    /// unless it runs.
    pub(crate) fn assemble(
        settings: Settings,
        transports: Registry,
        protocols: Vec<Plugged>,
        keep_house: fn(&Orb),
    ) -> Self {
        let limits = settings.limits();
        Orb(Arc::new(OrbInner {
            settings,
            transports,
            protocols,
            limits,
            policies: OrbPolicies::default(),
            extensions: OrbExtensions::default(),
            housekeeping: Housekeeping::default(),
            keep_house,
            executor: ExecutorSlot::default(),
            payload_allocator: AllocatorSlot::default(),
            // What is sent was written by other threads, which need the memory again.
            flusher: Flusher::new(buffers::leave_to_others),
            is_shut_down: AtomicBool::new(false),
            sleepers: Ranked::default(),
            woken: Signal::new(),
        }))
    }

    /// What modules above keep here.
    #[inline]
    pub(crate) fn extensions(&self) -> &OrbExtensions {
        &self.0.extensions
    }

    /// Connections or listeners exist: their idle times have to be looked after.
    pub(crate) fn ensure_housekeeping(&self) {
        (self.0.keep_house)(self);
    }

    /// Whether both are the same ORB.
    pub(crate) fn is(&self, other: &Orb) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// What the ORB was started with.
    #[inline]
    pub fn settings(&self) -> &Settings {
        &self.0.settings
    }

    /// Whether [`Orb::shutdown`] was called.
    pub fn is_shut_down(&self) -> bool {
        self.0.is_shut_down.load(Ordering::Acquire)
    }

    /// The thread that sends what was kept back.
    #[inline]
    pub(crate) fn flusher(&self) -> &Flusher {
        &self.0.flusher
    }

    /// The third-party transports of this ORB.
    pub fn transports(&self) -> &Registry {
        &self.0.transports
    }

    /// What this ORB reads references with.
    #[inline]
    pub(crate) fn known(&self) -> Known<'_> {
        let OrbInner { settings, transports, protocols, .. } = &*self.0;
        Known { settings, transports, protocols }
    }

    /// The policies of this ORB.
    pub fn policy_manager(&self) -> PolicyManager {
        PolicyManager::new(Arc::<OrbInner>::clone(&self.0))
    }

    /// The policies of the calling thread.
    pub fn policy_current(&self) -> PolicyCurrent {
        PolicyCurrent::default()
    }

    #[inline]
    pub(crate) fn policies(&self) -> &OrbPolicies {
        &self.0.policies
    }

    /// What decoders of this ORB accept.
    #[inline]
    pub fn limits(&self) -> &Limits {
        &self.0.limits
    }

    pub(crate) fn housekeeping(&self) -> &Housekeeping {
        &self.0.housekeeping
    }

    /// The coarse clock, in seconds.
    #[inline]
    pub(crate) fn tick(&self) -> u64 {
        self.0.housekeeping.ticks.load(Ordering::Relaxed)
    }

    /// Octets after which a message of this version is fragmented; GIOP 1.0 and other protocols
    /// than GIOP have no fragments.
    #[inline]
    pub(crate) fn fragment_octets(&self, version: Version) -> Option<usize> {
        let fragments = version.is_giop() && version != Version::V1_0;
        if fragments { self.0.settings.fragment_octets } else { None }
    }

    /// A reader for a new connection.
    pub(crate) fn reader(&self, roles: Roles, protocol: Protocol) -> MessageReader {
        let reader = MessageReader::new(self.reader_limits(), roles);
        let mut reader = reader.with_protocol(protocol, ByteOrder::NATIVE);
        reader.set_clock(Arc::clone(&self.0.housekeeping.ticks));
        reader.set_allocator(self.payload_allocator());
        reader
    }

    fn reader_limits(&self) -> ReaderLimits {
        let settings = &self.0.settings;
        ReaderLimits {
            message_octets: settings.message_octets_max,
            fragments_per_message: settings.fragments_max,
            fragmented_messages: settings.reassembly_messages_max as usize,
            reassembly_octets: settings.reassembly_octets_max,
        }
    }

    pub(crate) fn client_wait(&self) -> Wait {
        wait(self.settings().wait_strategy, self.settings().spin_budget)
    }

    pub(crate) fn server_wait(&self) -> Wait {
        wait(self.settings().server_wait_strategy, self.settings().server_spin_budget)
    }

    pub(crate) fn downgrade(&self) -> Weak<OrbInner> {
        Arc::downgrade(&self.0)
    }

    pub(crate) fn upgrade(weak: &Weak<OrbInner>) -> Option<Orb> {
        weak.upgrade().map(Orb)
    }

    /// Waits at most `patience` for [`Orb::shutdown`]; whether it was called.
    pub(crate) fn wait_for_shutdown(&self, patience: Duration) -> bool {
        let deadline = Instant::now().checked_add(patience);
        let is_running = |(): &mut ()| !self.is_shut_down();
        drop(self.0.woken.wait_while_until(self.0.sleepers.lock(), deadline, is_running));
        self.is_shut_down()
    }

    /// The exception for work that a shut-down ORB is asked for (CORBA 3.3 P1 §8.2.3).
    #[cold]
    pub(crate) fn already_shut_down(&self, what: &str) -> SystemException {
        minor::BAD_INV_ORDER_ORB_SHUTDOWN.no(format!("{what} after the ORB was shut down"))
    }

    /// The ORB has been shut down: wakes all that sleep until then.
    pub(crate) fn note_shut_down(&self) {
        self.0.is_shut_down.store(true, Ordering::Release);
        self.wake_sleepers();
    }

    /// Wakes threads in [`Orb::sleep_while`] to look again.
    pub(crate) fn wake_sleepers(&self) {
        // Under the lock, so that a thread about to sleep does not miss it.
        drop(self.0.sleepers.lock());
        self.0.woken.wake_all();
    }

    /// Sleeps until the ORB is shut down, or `is_idle` does not hold any more.
    pub(crate) fn sleep_while(&self, is_idle: impl Fn() -> bool) {
        let idle = |(): &mut ()| !self.is_shut_down() && is_idle();
        drop(self.0.woken.wait_while(self.0.sleepers.lock(), idle));
    }

    /// Runs the futures of `async` servants on `executor` from now on.
    pub fn set_executor(&self, executor: Arc<dyn Executor>) {
        self.0.executor.set(executor);
    }

    /// What runs the futures of `async` servants.
    #[must_use]
    pub fn executor(&self) -> Option<Arc<dyn Executor>> {
        self.0.executor.get()
    }

    /// Runs `task` on the executor.
    ///
    /// # Errors
    /// `BAD_INV_ORDER` (`COMPLETED_NO`) when the ORB has none.
    pub fn spawn(&self, task: Task) -> Result<(), SystemException> {
        self.executor_for_servants()?.spawn(task);
        Ok(())
    }

    /// The executor, which async servants cannot do without.
    pub(crate) fn executor_for_servants(&self) -> Result<Arc<dyn Executor>, SystemException> {
        self.executor().ok_or_else(|| {
            minor::BAD_INV_ORDER_NO_EXECUTOR
                .no("an async servant was called, but the ORB has no executor: call \
                 Orb::set_executor with that of your runtime before activating the servant")
        })
    }

    /// Has `allocator` give the memory that messages of more than 128 KiB are received into: on
    /// connections that are made from now on, so best before the first call and before a POA is
    /// made. What a servant or a stub then gets as octets is the allocator's memory, and
    /// [`keep`](corbie_cdr::payload::keep) holds on to it without a copy.
    pub fn set_payload_allocator(&self, allocator: Arc<dyn PayloadAllocator>) {
        self.0.payload_allocator.set(allocator);
    }

    /// What gives the memory that large messages are received into.
    #[must_use]
    pub fn payload_allocator(&self) -> Option<Arc<dyn PayloadAllocator>> {
        self.0.payload_allocator.get()
    }
}

fn wait(strategy: WaitStrategy, budget: Duration) -> Wait {
    match strategy {
        WaitStrategy::Block => Wait::Block,
        WaitStrategy::Spin => Wait::Spin(budget),
        WaitStrategy::Adaptive => Wait::Adaptive(budget),
    }
}

impl fmt::Debug for Orb {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Orb").field("id", &self.0.settings.orb_id).finish_non_exhaustive()
    }
}

/// The state of the table of `neighbours`: changes whenever an ORB of the process begins or ends to
/// listen; never 0.
pub(crate) static NEIGHBOURS: AtomicU64 = AtomicU64::new(1);

/// A reference to an object, anywhere. Clones are the same reference. Nil is `Option::None`.
#[derive(Clone)]
pub struct Object(Arc<ObjectInner>);

/// The peer that handed a reference over.
pub(crate) type Giver = Arc<PeerIdentity>;

struct ObjectInner {
    orb: Orb,
    ior: Ior,
    /// Noted while the ORB has rules of egress.
    giver: Option<Giver>,
    /// Where calls go: what the client keeps.
    bindings: Extension,
    /// The ways of calls of this process past the connection.
    shortcuts: Shortcuts,
    /// The object's key, where it is in this process.
    local_key: OnceLock<Option<Vec<u8>>>,
    /// Whether a server sent us on: spares a lock on every call that was not forwarded.
    is_forwarded: AtomicBool,
    /// The state of the table of neighbours in which the object was not in this process; 0: not
    /// asked yet.
    elsewhere_as_of: AtomicU64,
    /// Whether a call was answered: from then on rebinding is what `RebindPolicy` restricts.
    is_bound: AtomicBool,
    /// Policies set on this reference.
    policy_overrides: PolicySet,
    /// What the server says of its policies in the reference.
    exposed_policies: OnceLock<Result<PolicySet, SystemException>>,
    /// What calls go by; made by the first one.
    policies: OnceLock<CachedPolicies>,
}

impl Object {
    /// The reference `ior`, used through `orb`. Nothing is connected yet.
    pub fn new(orb: &Orb, ior: Ior) -> Self {
        Self::given(orb, ior, None)
    }

    /// The reference `ior`, which this peer has handed over.
    pub(crate) fn given(orb: &Orb, ior: Ior, giver: Option<Giver>) -> Self {
        Self::with_policies(orb, ior, giver, PolicySet::default())
    }

    /// The reference `ior` with policies of its own.
    pub(crate) fn with_policies(
        orb: &Orb,
        ior: Ior,
        giver: Option<Giver>,
        policy_overrides: PolicySet,
    ) -> Self {
        Object(Arc::new(ObjectInner {
            orb: orb.clone(),
            ior,
            giver,
            bindings: Extension::default(),
            shortcuts: Shortcuts::default(),
            local_key: OnceLock::new(),
            is_forwarded: AtomicBool::new(false),
            elsewhere_as_of: AtomicU64::new(0),
            is_bound: AtomicBool::new(false),
            policy_overrides,
            exposed_policies: OnceLock::new(),
            policies: OnceLock::new(),
        }))
    }

    /// The ORB that the reference belongs to.
    pub fn orb(&self) -> &Orb {
        &self.0.orb
    }

    /// What the reference consists of.
    pub fn ior(&self) -> &Ior {
        &self.0.ior
    }

    /// The peer that handed it over, where that was noted.
    pub(crate) fn giver(&self) -> Option<&Giver> {
        self.0.giver.as_ref()
    }

    /// A call was answered.
    #[inline]
    pub(crate) fn note_bound(&self) {
        if !self.0.is_bound.load(Ordering::Relaxed) {
            self.0.is_bound.store(true, Ordering::Relaxed);
        }
    }

    /// Whether a call was ever answered.
    pub(crate) fn is_bound(&self) -> bool {
        self.0.is_bound.load(Ordering::Relaxed)
    }

    /// Policies set on this reference.
    pub(crate) fn policy_overrides(&self) -> &PolicySet {
        &self.0.policy_overrides
    }

    /// What the reference says of its server's policies.
    ///
    /// # Errors
    /// `MARSHAL` (`COMPLETED_NO`) when it cannot be read.
    pub(crate) fn exposed_policies(&self) -> Result<&PolicySet, SystemException> {
        let read = || policy::exposed_by(self.orb().known(), &self.0.ior);
        self.0.exposed_policies.get_or_init(read).as_ref().map_err(Clone::clone)
    }

    /// What calls go by, as far as the thread says nothing; the first call makes it.
    #[inline]
    pub(crate) fn policy_cache(&self) -> &OnceLock<CachedPolicies> {
        &self.0.policies
    }

    /// Where calls go: the client's.
    #[inline]
    pub(crate) fn bindings(&self) -> &Extension {
        &self.0.bindings
    }

    /// The object's key where it is in this process: the server's.
    pub(crate) fn local_key_slot(&self) -> &OnceLock<Option<Vec<u8>>> {
        &self.0.local_key
    }

    /// Whether a server sent us on.
    #[inline]
    pub(crate) fn is_forwarded(&self) -> bool {
        self.0.is_forwarded.load(Ordering::Acquire)
    }

    /// A server has sent us on, or calls go where the reference leads again.
    pub(crate) fn note_forwarded(&self, is_forwarded: bool) {
        self.0.shortcuts.set_forwarded(is_forwarded);
        self.0.is_forwarded.store(is_forwarded, Ordering::Release);
    }

    /// Whether the object is known not to be in this process: one look, for calls that go out.
    #[inline]
    pub(crate) fn is_surely_elsewhere(&self) -> bool {
        self.0.elsewhere_as_of.load(Ordering::Relaxed) == NEIGHBOURS.load(Ordering::Acquire)
    }

    /// The object is not in this process, in this state of the table of neighbours.
    pub(crate) fn note_elsewhere(&self, generation: u64) {
        self.0.elsewhere_as_of.store(generation, Ordering::Relaxed);
    }

    #[inline]
    pub(crate) fn shortcuts(&self) -> &Shortcuts {
        &self.0.shortcuts
    }
}

impl Object {
    /// Whether both are surely references to the same object (CORBA 3.3 P1 §8.3.5.2): to the same
    /// key at the same addresses by the same protocol, whatever octets say so and whichever
    /// interface they name. Two references that differ may lead to one object still. No server is
    /// asked.
    #[must_use]
    pub fn is_equivalent(&self, other: &Object) -> bool {
        let same = || self.0.ior.profiles == other.0.ior.profiles;
        Arc::ptr_eq(&self.0, &other.0) || same() || self.ior().identity() == other.ior().identity()
    }

    /// A number from 0 to `maximum` that equivalent references share, for hash tables
    /// (CORBA 3.3 P1 §8.3.5.1). It does not change in the life of the process.
    #[must_use]
    pub fn hash(&self, maximum: u32) -> u32 {
        let mut hasher = DefaultHasher::new();
        self.ior().identity().hash(&mut hasher);
        let all = u64::from(maximum) + 1;
        u32::try_from(hasher.finish() % all).unwrap_or(maximum)
    }
}

impl PartialEq for Object {
    /// As [`Object::is_equivalent`].
    fn eq(&self, other: &Self) -> bool {
        self.is_equivalent(other)
    }
}

impl Eq for Object {}

impl Hash for Object {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.ior().identity().hash(state);
    }
}

impl fmt::Debug for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Object").field("ior", &self.0.ior).finish()
    }
}

impl fmt::Display for Object {
    /// The stringified reference, `IOR:…`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.ior.fmt(f)
    }
}
