//! What an ORB has in interceptors: registered by its initializers, unchanged afterwards. Read by
//! the client and by the infos.

use super::{
    ClientRequestInterceptor, Interceptor, IorInterceptor, PiCurrent, ServerRequestInterceptor,
    SlotId,
};
use crate::Orb;
use crate::handles::Part;
use corbie_types::SystemException;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

/// The name of PICurrent as an initial reference.
const PI_CURRENT: &str = "PICurrent";

/// Numbers of ORBs: slots of threads go by them.
static ORBS: AtomicU64 = AtomicU64::new(1);

/// See the module.
pub(crate) struct OrbInterceptors {
    number: u64,
    registered: OnceLock<Registration>,
    /// How many slots PICurrent has.
    slots: Arc<AtomicU32>,
    /// The id of the next request that interceptors see, on either side.
    next_request: AtomicU32,
    is_destroyed: AtomicBool,
}

/// What initializers have registered.
#[derive(Clone, Default)]
pub(crate) struct Registration {
    pub(crate) client: Vec<Arc<dyn ClientRequestInterceptor>>,
    pub(crate) server: Vec<Arc<dyn ServerRequestInterceptor>>,
    pub(crate) ior: Vec<Arc<dyn IorInterceptor>>,
}

impl Default for OrbInterceptors {
    fn default() -> Self {
        OrbInterceptors {
            number: ORBS.fetch_add(1, Ordering::Relaxed),
            registered: OnceLock::new(),
            slots: Arc::default(),
            next_request: AtomicU32::new(0),
            is_destroyed: AtomicBool::new(false),
        }
    }
}

impl Part for OrbInterceptors {}

impl OrbInterceptors {
    /// The number of the ORB.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// How many slots PICurrent has.
    pub(crate) fn slot_count(&self) -> SlotId {
        self.slots.load(Ordering::Relaxed)
    }

    pub(super) fn add_slot(&self) -> SlotId {
        self.slots.fetch_add(1, Ordering::Relaxed)
    }

    pub(super) fn current(&self) -> PiCurrent {
        PiCurrent::new(self.number, Arc::clone(&self.slots))
    }

    /// Those that see requests go out.
    pub(crate) fn client(&self) -> &[Arc<dyn ClientRequestInterceptor>] {
        self.registered.get().map_or(&[], |registered| &registered.client)
    }

    /// Those that see requests come in.
    pub(crate) fn server(&self) -> &[Arc<dyn ServerRequestInterceptor>] {
        self.registered.get().map_or(&[], |registered| &registered.server)
    }

    /// Those that add to references.
    pub(crate) fn ior(&self) -> &[Arc<dyn IorInterceptor>] {
        self.registered.get().map_or(&[], |registered| &registered.ior)
    }

    /// An id that no other request has which interceptors see now.
    pub(crate) fn next_request_id(&self) -> u32 {
        self.next_request.fetch_add(1, Ordering::Relaxed)
    }

    /// Takes what initializers have registered, once.
    pub(super) fn set(&self, registered: Registration) {
        let _ = self.registered.set(registered);
    }

    /// The ORB is being destroyed.
    fn destroy(&self) {
        if self.is_destroyed.swap(true, Ordering::Relaxed) {
            return;
        }
        let client = self.client().iter().map(|one| -> &dyn Interceptor { &**one });
        let server = self.server().iter().map(|one| -> &dyn Interceptor { &**one });
        let ior = self.ior().iter().map(|one| -> &dyn Interceptor { &**one });
        for interceptor in client.chain(server).chain(ior) {
            super::flow::quiet(|| interceptor.destroy());
        }
    }
}

impl Orb {
    /// The interceptors of this ORB.
    pub(crate) fn interceptors(&self) -> &OrbInterceptors {
        self.extensions().interceptors.get()
    }

    /// Whether requests of this ORB have interceptors to pass.
    pub(crate) fn intercepts_calls(&self) -> bool {
        cfg!(feature = "interceptors") && !self.interceptors().client().is_empty()
    }

    /// Tells all interceptors that the ORB is destroyed.
    pub(crate) fn destroy_interceptors(&self) {
        self.interceptors().destroy();
    }

    /// Makes `PICurrent` an initial reference.
    ///
    /// # Errors
    /// `BAD_PARAM` (`COMPLETED_NO`) when the name is taken.
    pub(super) fn register_pi_current(&self) -> Result<(), SystemException> {
        let repository_id = "IDL:omg.org/PortableInterceptor/Current:1.0";
        self.register_local_reference(PI_CURRENT, repository_id)
    }
}

impl PiCurrent {
    /// What `orb.resolve_initial_references("PICurrent")` gave; `None` for any other reference.
    #[must_use]
    pub fn narrow(object: &crate::Object) -> Option<Self> {
        Orb::is_local_reference(object, PI_CURRENT).then(|| object.orb().pi_current())
    }
}
