//! The ORB as data: settings, policies, state, and what other modules keep with it.
//!
//! Made, started and shut down by the module `orb`; all modules read it.

use super::Extension;
use crate::executor::{Executor, ExecutorSlot, Task};
use crate::memory::AllocatorSlot;
use crate::policy::{HasPolicies, OrbPolicies, PolicyCurrent, PolicyManager};
use corbie_cdr::buffers;
use corbie_cdr::payload::PayloadAllocator;
use corbie_cdr::{ByteOrder, Limits, Version};
use corbie_giop::{MessageReader, Protocol, ReaderLimits, Roles};
use corbie_settings::{Settings, WaitStrategy};
use corbie_threads::flusher::Flusher;
use corbie_threads::lock::{Ranked, Signal, rank};
use corbie_transport::{Registry, WaitStrategy as Wait};
use corbie_types::{CompletionStatus, SystemException, minor};
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

/// An Object Request Broker. Clones are the same ORB.
#[derive(Clone)]
pub struct Orb(Arc<OrbInner>);

pub(crate) struct OrbInner {
    settings: Settings,
    transports: Registry,
    limits: Limits,
    policies: OrbPolicies,
    extensions: OrbExtensions,
    housekeeping: Housekeeping,
    /// Starts the thread of the housekeeping, unless it runs.
    keep_house: fn(&Orb),
    executor: ExecutorSlot,
    payload_allocator: AllocatorSlot,
    flusher: Flusher,
    /// Lock "shutdown": whether the ORB has been shut down.
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
    pub(crate) part: Extension,
    pub(crate) main_loop: Extension,
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
    pub(crate) fn assemble(settings: Settings, transports: Registry, keep_house: fn(&Orb)) -> Self {
        let limits = settings.limits();
        Orb(Arc::new(OrbInner {
            settings,
            transports,
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

    /// Octets after which a message of this version is fragmented; GIOP 1.0 and GIOPlite have no
    /// fragments.
    #[inline]
    pub(crate) fn fragment_octets(&self, version: Version) -> Option<usize> {
        match version {
            Version::V1_0 | Version::GIOP_LITE => None,
            _ => self.0.settings.fragment_octets,
        }
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
        SystemException::bad_inv_order(minor::BAD_INV_ORDER_ORB_SHUTDOWN, CompletionStatus::No)
            .with_detail(format!("{what} after the ORB was shut down"))
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
            SystemException::bad_inv_order(minor::BAD_INV_ORDER_NO_EXECUTOR, CompletionStatus::No)
                .with_detail(
                    "an async servant was called, but the ORB has no executor: call \
                 Orb::set_executor with that of your runtime before activating the servant",
                )
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
