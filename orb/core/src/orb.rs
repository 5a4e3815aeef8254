//! The ORB: settings, connections, servers and names of one application (CORBA 3.3 P1 §8.2).
//!
//! [`Orb`] is a cheap handle that everything else is reached from. It is made by the façade's
//! `Orb::init` and `Orb::builder`.

mod event_loop;
mod publish;

use crate::Object;
use crate::connection::ConnectionCache;
#[cfg(feature = "dynamic")]
use crate::dynamic::DeferredRequests;
use crate::executor::ExecutorSlot;
use crate::housekeeping;
use crate::initial_references::InitialReferences;
use crate::interceptor::Interceptors;
use crate::memory::{self, AllocatorSlot};
use crate::policy::{OrbPolicies, PolicyCurrent, PolicyManager};
use crate::server::{self, Adapter, Server};
use corbie_cdr::buffers;
use corbie_cdr::{ByteOrder, Limits, Version};
use corbie_giop::{MessageReader, Protocol, ReaderLimits, Roles};
use corbie_settings::{Settings, WaitStrategy};
use corbie_threads::flusher::Flusher;
use corbie_threads::thread::{self, Sleeper};
use corbie_transport::{Endpoint, Registry, Transport, WaitStrategy as Wait};
use corbie_types::{CompletionStatus, SystemException, minor};
use event_loop::MainLoop;
use std::fmt;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError, Weak};
use std::time::Duration;

/// An Object Request Broker. Clones are the same ORB.
#[derive(Clone)]
pub struct Orb(Arc<OrbInner>);

pub(crate) struct OrbInner {
    settings: Settings,
    transports: Registry,
    limits: Limits,
    policies: OrbPolicies,
    interceptors: Interceptors,
    connections: ConnectionCache,
    server: Server,
    initial_references: InitialReferences,
    #[cfg(feature = "dynamic")]
    deferred_requests: DeferredRequests,
    housekeeping: Housekeeping,
    executor: ExecutorSlot,
    payload_allocator: AllocatorSlot,
    main_loop: MainLoop,
    flusher: Flusher,
    /// Lock "shutdown": whether the ORB has been shut down.
    is_shut_down: Mutex<bool>,
    shut_down: Condvar,
}

/// See [`housekeeping`].
#[derive(Default)]
pub(crate) struct Housekeeping {
    pub(crate) started: AtomicBool,
    /// Seconds, roughly, since housekeeping began.
    pub(crate) ticks: AtomicU64,
}

impl Orb {
    /// An ORB with these settings. Nothing is connected or listened on yet.
    pub fn new(settings: Settings) -> Self {
        Self::assemble(settings, Registry::default())
    }

    /// An ORB with these settings, which also speaks over `transports`.
    ///
    /// # Errors
    /// `BAD_PARAM` (`COMPLETED_NO`) when the scheme or the profile tag of a transport is taken, or
    /// an endpoint is of a transport that is not among them or has an address of another form.
    pub fn with_transports(
        settings: Settings,
        transports: impl IntoIterator<Item = Arc<dyn Transport>>,
    ) -> Result<Self, SystemException> {
        let refuse = |why: String| {
            SystemException::bad_param(minor::BAD_PARAM_TRANSPORT, CompletionStatus::No)
                .with_detail(why)
        };
        let mut registry = Registry::new();
        transports.into_iter().try_for_each(|one| registry.add(one)).map_err(refuse)?;
        settings.check_transports(&registry).map_err(refuse)?;
        Ok(Self::assemble(settings, registry))
    }

    fn assemble(settings: Settings, transports: Registry) -> Self {
        let settings = settings.with_what_they_imply();
        let limits = settings.limits();
        memory::set_limits(&settings);
        Orb(Arc::new(OrbInner {
            settings,
            transports,
            limits,
            policies: OrbPolicies::default(),
            interceptors: Interceptors::default(),
            connections: ConnectionCache::default(),
            server: Server::default(),
            initial_references: InitialReferences::default(),
            #[cfg(feature = "dynamic")]
            deferred_requests: DeferredRequests::default(),
            housekeeping: Housekeeping::default(),
            executor: ExecutorSlot::default(),
            payload_allocator: AllocatorSlot::default(),
            main_loop: MainLoop::default(),
            // What is sent was written by other threads, which need the memory again.
            flusher: Flusher::new(buffers::leave_to_others),
            is_shut_down: Mutex::new(false),
            shut_down: Condvar::new(),
        }))
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

    /// Stops serving and closes all connections. Requests that are in servants are finished, and
    /// answered; with `wait_for_completion` this returns after that (or after `request_timeout`).
    /// From inside a servant it never waits, as it would wait for itself.
    pub fn shutdown(&self, wait_for_completion: bool) {
        let is_inside = thread::is_serving() || corbie_upcall::is_inside_any(|_| true);
        let wait = wait_for_completion && !is_inside;
        let patience = self.settings().request_timeout.unwrap_or(Duration::from_secs(3600));
        server::stop(self, wait, patience);
        self.0.connections.close();
        self.0.flusher.close();
        self.0.initial_references.lock().clear();
        #[cfg(feature = "dynamic")]
        self.0.deferred_requests.clear();
        *self.0.is_shut_down.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.0.shut_down.notify_all();
        self.close_event_loop();
    }

    /// Whether [`Orb::shutdown`] was called.
    pub fn is_shut_down(&self) -> bool {
        *self.0.is_shut_down.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives requests to `adapter` from now on and starts listening. Called by the object adapter.
    ///
    /// # Errors
    /// `BAD_INV_ORDER` when there is an adapter already or the ORB was shut down, `INITIALIZE` when
    /// an endpoint cannot be listened on; both `COMPLETED_NO`.
    pub fn set_adapter(&self, adapter: Arc<dyn Adapter>) -> Result<(), SystemException> {
        if self.is_shut_down() {
            return Err(self.already_shut_down("making a POA"));
        }
        server::start(self, || {
            self.0.server.adapter.set(adapter).map_err(|_| {
                SystemException::bad_inv_order(
                    minor::BAD_INV_ORDER_ADAPTER_EXISTS,
                    CompletionStatus::No,
                )
                .with_detail("the ORB has an object adapter already")
            })
        })?;
        housekeeping::ensure_running(self);
        Ok(())
    }

    /// The third-party transports of this ORB.
    pub fn transports(&self) -> &Registry {
        &self.0.transports
    }

    /// Everything that is listened on, of any protocol, as it was really taken.
    pub fn listen_endpoints(&self) -> Vec<Endpoint> {
        self.0.server.endpoints()
    }

    /// The TCP addresses listened on, with the ports that were really taken.
    pub fn listen_addresses(&self) -> Vec<SocketAddr> {
        self.0.server.addresses()
    }

    /// Makes `object` reachable by a plain name: `corbaloc::host:port/key`. Callers are sent on to
    /// it by `LOCATION_FORWARD`. A key that was bound before is bound anew.
    pub fn bind_object_key(&self, key: impl AsRef<[u8]>, object: &Object) {
        self.0.server.object_keys.bind(key.as_ref(), object.clone());
    }

    /// Takes a plain name back; whether it was bound.
    pub fn unbind_object_key(&self, key: impl AsRef<[u8]>) -> bool {
        self.0.server.object_keys.unbind(key.as_ref())
    }

    /// Sends all requests that are kept back to be sent with others, also those that a
    /// `BufferingConstraint` keeps. Does not wait for servers that take nothing.
    pub fn flush(&self) {
        self.0.connections.flush();
    }

    /// The policies of this ORB.
    pub fn policy_manager(&self) -> PolicyManager {
        PolicyManager::new(self)
    }

    /// The policies of the calling thread.
    pub fn policy_current(&self) -> PolicyCurrent {
        PolicyCurrent::default()
    }

    #[inline]
    pub(crate) fn interceptors(&self) -> &Interceptors {
        &self.0.interceptors
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

    #[inline]
    pub(crate) fn connections(&self) -> &ConnectionCache {
        &self.0.connections
    }

    /// See [`Flusher`].
    #[inline]
    pub(crate) fn flusher(&self) -> &Flusher {
        &self.0.flusher
    }

    #[inline]
    pub(crate) fn server(&self) -> &Server {
        &self.0.server
    }

    #[cfg(feature = "dynamic")]
    pub(crate) fn deferred_requests(&self) -> &DeferredRequests {
        &self.0.deferred_requests
    }

    pub(crate) fn initial_references(&self) -> &InitialReferences {
        &self.0.initial_references
    }

    pub(crate) fn main_loop(&self) -> &MainLoop {
        &self.0.main_loop
    }

    /// Sleeps until the ORB is shut down, or this is the main thread and has something to serve.
    fn wait_for_end(&self) {
        let guard = self.0.is_shut_down.lock().unwrap_or_else(PoisonError::into_inner);
        let idle = |is_shut_down: &mut bool| !*is_shut_down && !self.has_main_thread_work();
        let _done = self.0.shut_down.wait_while(guard, idle);
    }

    /// Something waits for the main thread, that of `sleeper`.
    pub(crate) fn wake_main_thread(&self, sleeper: &Sleeper) {
        // Under the lock, so that a thread about to sleep does not miss it.
        drop(self.0.is_shut_down.lock().unwrap_or_else(PoisonError::into_inner));
        self.0.shut_down.notify_all();
        if let Some(reactor) = self.0.main_loop.made() {
            reactor.unblock(sleeper);
        }
    }

    pub(crate) fn executor_slot(&self) -> &ExecutorSlot {
        &self.0.executor
    }

    pub(crate) fn allocator_slot(&self) -> &AllocatorSlot {
        &self.0.payload_allocator
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
        let guard = self.0.is_shut_down.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.0.shut_down.wait_timeout_while(guard, patience, |done| !*done);
        *waited.unwrap_or_else(PoisonError::into_inner).0
    }

    /// The exception for work that a shut-down ORB is asked for (CORBA 3.3 P1 §8.2.3).
    #[cold]
    pub(crate) fn already_shut_down(&self, what: &str) -> SystemException {
        SystemException::bad_inv_order(minor::BAD_INV_ORDER_ORB_SHUTDOWN, CompletionStatus::No)
            .with_detail(format!("{what} after the ORB was shut down"))
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
