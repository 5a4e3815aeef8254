//! POA managers: whether the POAs of a group take requests (CORBA 3.3 P1 §15.3.2, §15.3.3).
//!
//! Applications reach the manager of a POA by [`crate::Poa::the_poa_manager`] and activate it once
//! their servants are in place; `factory` makes managers that have a name. Each state is a bit in
//! the gates of the manager's POAs, so a POA that takes requests costs a call nothing; the long way
//! of `dispatch` asks the manager about all other requests. A POA is a [`Managed`] here.

mod factory;

pub(crate) use factory::Managers;
pub use factory::{PoaManagerFactory, PoaManagerPolicy};

use crate::closed;
use crate::error::PoaManagerError;
use corbie_core::Orb;
use corbie_core::server::ServerRequest;
use corbie_core::server::held::{HeldRequests, Reason, Watcher};
use corbie_threads::lock::{Ranked, rank};
use corbie_types::{SystemException, minor};
use corbie_upcall::Gate;
use std::fmt;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Weak};

/// What the POAs of a manager do with requests (`PortableServer::POAManager::State`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum PoaManagerState {
    /// `HOLDING`: requests wait until the manager is active, as many as the settings
    /// `held_requests_max` and `held_octets_max` allow. The state that a manager begins in.
    Holding,
    /// `ACTIVE`: requests are served.
    Active,
    /// `DISCARDING`: clients get `TRANSIENT` (minor code 1) and may try again.
    Discarding,
    /// `INACTIVE`: clients get `OBJ_ADAPTER` (minor code 1), for good.
    Inactive,
}

impl PoaManagerState {
    /// The bit in the gates of the manager's POAs.
    fn bit(self) -> u32 {
        match self {
            PoaManagerState::Holding => closed::HOLDING,
            PoaManagerState::Active => 0,
            PoaManagerState::Discarding => closed::DISCARDING,
            PoaManagerState::Inactive => closed::INACTIVE,
        }
    }
}

/// What a manager asks of each of its POAs.
pub(crate) trait Managed: Send + Sync {
    /// Its gate.
    fn gate(&self) -> &Gate;

    /// Whether the calling thread is inside a request to any POA of the same ORB, or ends objects
    /// of one: then it must not wait for requests to end.
    fn is_entered_by_this_thread(&self) -> bool;

    /// Whether its policies are those that a servant activator goes with.
    fn has_servant_activator(&self) -> bool;

    /// Deactivates all objects and has each etherealised, at once or by the thread that leaves it
    /// last.
    fn etherealize_all(&self);

    /// Waits until no request is being served, and every object that was deactivated has been
    /// etherealised. Called by threads that serve no request of the ORB.
    fn wait_until_etherealized(&self);
}

/// All bits that are a manager's.
const BITS: u32 = closed::HOLDING | closed::DRAINING | closed::DISCARDING | closed::INACTIVE;

/// A POA manager. Clones are the same manager.
///
/// ```
/// # use corbie_core::Orb;
/// # use corbie_settings::Settings;
/// # use corbie_poa::{PoaManagerState, RootPoa};
/// # let orb = Orb::new(Settings::default());
/// let root = RootPoa::attach(&orb)?;
/// let manager = root.the_poa_manager();
/// assert_eq!(manager.get_state(), PoaManagerState::Holding);
/// manager.activate()?;
/// assert_eq!(manager.get_state(), PoaManagerState::Active);
/// # orb.shutdown(false);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct PoaManager(Arc<ManagerInner>);

pub(crate) struct ManagerInner {
    id: String,
    /// The requests of its POAs that wait.
    held: HeldRequests,
    /// At most so many wait, besides the limits of the ORB.
    held_max: Option<usize>,
    /// A copy of `Inner::state`, to be looked at under the locks of gates.
    state: AtomicU8,
    inner: Ranked<rank::Poa, Inner>,
}

struct Inner {
    state: PoaManagerState,
    /// The manager is active, but requests that it held are not served yet: no later one of the
    /// same connection may overtake them.
    is_draining: bool,
    /// Those that were not destroyed.
    poas: Vec<Weak<dyn Managed>>,
}

impl PoaManager {
    pub(crate) fn new(orb: &Orb, id: String, held_max: Option<usize>) -> Self {
        let held = HeldRequests::new(orb, Reason::UntilActive);
        let inner = Inner { state: PoaManagerState::Holding, is_draining: false, poas: vec![] };
        let manager = Arc::new(ManagerInner {
            id,
            held,
            held_max,
            state: AtomicU8::new(PoaManagerState::Holding as u8),
            inner: Ranked::new(inner),
        });
        let watcher: Weak<dyn Watcher> = Arc::<ManagerInner>::downgrade(&manager);
        manager.held.set_watcher(watcher);
        PoaManager(manager)
    }

    /// The name of the manager, unique in its ORB (CORBA 3.3 P1 §15.3.3.7).
    #[must_use]
    pub fn get_id(&self) -> &str {
        &self.0.id
    }

    /// The state.
    #[must_use]
    pub fn get_state(&self) -> PoaManagerState {
        self.0.inner.lock().state
    }

    /// How many requests wait until the manager is active.
    #[must_use]
    pub fn requests_held(&self) -> usize {
        self.0.held.len()
    }

    /// Has the POAs of this manager serve requests (CORBA 3.3 P1 §15.3.3.2): those that wait first,
    /// each connection's in the order in which they came.
    ///
    /// # Errors
    /// [`PoaManagerError::AdapterInactive`] when the manager is inactive.
    pub fn activate(&self) -> Result<(), PoaManagerError> {
        let mut inner = self.0.inner.lock();
        match inner.state {
            PoaManagerState::Inactive => return Err(PoaManagerError::AdapterInactive),
            PoaManagerState::Active => return Ok(()),
            PoaManagerState::Holding | PoaManagerState::Discarding => {}
        }
        inner.is_draining = !self.0.held.is_settled();
        self.0.set(&mut inner, PoaManagerState::Active);
        if inner.is_draining {
            self.0.held.release();
        }
        Ok(())
    }

    /// Has requests wait (CORBA 3.3 P1 §15.3.3.3). With `wait_for_completion`, returns when no
    /// request of the manager's POAs is being served any more, or another thread has changed the
    /// state.
    ///
    /// # Errors
    /// [`PoaManagerError::AdapterInactive`]; `BAD_INV_ORDER` with minor code 3, and no change, when
    /// it is to wait inside an upcall of a POA of the same ORB, since it would wait for itself.
    pub fn hold_requests(&self, wait_for_completion: bool) -> Result<(), PoaManagerError> {
        self.change(PoaManagerState::Holding, wait_for_completion)
    }

    /// Has requests answered with `TRANSIENT`, those that wait, too (CORBA 3.3 P1 §15.3.3.4).
    /// `wait_for_completion` as in [`PoaManager::hold_requests`].
    ///
    /// # Errors
    /// As [`PoaManager::hold_requests`].
    pub fn discard_requests(&self, wait_for_completion: bool) -> Result<(), PoaManagerError> {
        self.change(PoaManagerState::Discarding, wait_for_completion)?;
        Ok(())
    }

    /// Has requests answered with `OBJ_ADAPTER`, those that wait, too, for good (CORBA 3.3 P1
    /// §15.3.3.5); its POAs live on and objects may still be activated in them. With
    /// `etherealize_objects`, servant activators of its POAs get their servants back, each once no
    /// request of the object is being served any more; with `wait_for_completion` that has happened
    /// when this returns. Of several calls, the first one says whether there is etherealisation.
    ///
    /// # Errors
    /// `BAD_INV_ORDER` with minor code 3, and no change, when it is to wait inside an upcall of a
    /// POA of the same ORB.
    pub fn deactivate(
        &self,
        etherealize_objects: bool,
        wait_for_completion: bool,
    ) -> Result<(), PoaManagerError> {
        let poas = self.0.poas();
        if wait_for_completion {
            self.check_may_wait(&poas)?;
        }
        let is_first = {
            let mut inner = self.0.inner.lock();
            let is_first = inner.state != PoaManagerState::Inactive;
            self.0.set(&mut inner, PoaManagerState::Inactive);
            is_first
        };
        if is_first {
            self.0.held.refuse(&inactive());
            if etherealize_objects {
                poas.iter().filter(|poa| poa.has_servant_activator()).for_each(|poa| {
                    poa.etherealize_all();
                });
            }
        }
        if wait_for_completion {
            poas.iter().for_each(|poa| poa.wait_until_etherealized());
        }
        Ok(())
    }

    fn change(&self, state: PoaManagerState, wait: bool) -> Result<(), PoaManagerError> {
        let poas = self.0.poas();
        if wait {
            self.check_may_wait(&poas)?;
        }
        {
            let mut inner = self.0.inner.lock();
            if inner.state == PoaManagerState::Inactive {
                return Err(PoaManagerError::AdapterInactive);
            }
            self.0.held.keep();
            self.0.set(&mut inner, state);
        }
        if state == PoaManagerState::Discarding {
            self.0.held.refuse(&discarding());
        }
        if wait {
            let changed = || self.0.state.load(Ordering::SeqCst) != state as u8;
            poas.iter().for_each(|poa| poa.gate().wait_until_idle_unless(&changed));
        }
        Ok(())
    }

    /// Whether waiting here could not be waiting for oneself.
    fn check_may_wait(&self, poas: &[Arc<dyn Managed>]) -> Result<(), PoaManagerError> {
        if poas.first().is_some_and(|poa| poa.is_entered_by_this_thread()) {
            return Err(PoaManagerError::System(would_deadlock()));
        }
        Ok(())
    }

    /// `poa` belongs to this manager from now on. Its gate says so when this returns.
    pub(crate) fn adopt(&self, poa: &Arc<dyn Managed>) {
        let mut inner = self.0.inner.lock();
        inner.poas.retain(|poa| poa.strong_count() > 0);
        inner.poas.push(Arc::downgrade(poa));
        poa.gate().change(inner.bits(), 0);
    }

    /// `poa` was destroyed.
    pub(crate) fn forget(&self, poa: &Weak<dyn Managed>) {
        self.0.inner.lock().poas.retain(|other| !other.ptr_eq(poa));
    }

    fn downgrade(&self) -> Weak<ManagerInner> {
        Arc::downgrade(&self.0)
    }
}

impl PoaManager {
    /// Whether `request` passes; `false`: it was taken away to wait.
    ///
    /// # Errors
    /// `TRANSIENT` when the manager discards requests or holds as many as it may, `OBJ_ADAPTER`
    /// when it is inactive; `COMPLETED_NO`.
    pub(crate) fn admit(&self, request: &mut ServerRequest<'_>) -> Result<bool, SystemException> {
        let manager = &*self.0;
        let inner = manager.inner.lock();
        let passes = match inner.state {
            // What was held goes first.
            PoaManagerState::Active if inner.is_draining => {
                manager.held.gave(request) || !manager.held.precedes(request)
            }
            PoaManagerState::Active => true,
            PoaManagerState::Holding => false,
            PoaManagerState::Discarding => return Err(discarding()),
            PoaManagerState::Inactive => return Err(inactive()),
        };
        if passes {
            return Ok(true);
        }
        if manager.held_max.is_some_and(|most| manager.held.len() >= most) {
            return Err(full());
        }
        manager.held.hold(request)?;
        Ok(false)
    }
}

impl Inner {
    fn bits(&self) -> u32 {
        self.state.bit() | if self.is_draining { closed::DRAINING } else { 0 }
    }
}

impl ManagerInner {
    fn poas(&self) -> Vec<Arc<dyn Managed>> {
        self.inner.lock().poas.iter().filter_map(Weak::upgrade).collect()
    }

    /// Changes the state, and the gates of all POAs with it.
    fn set(&self, inner: &mut Inner, state: PoaManagerState) {
        if state != PoaManagerState::Active {
            inner.is_draining = false;
        }
        inner.state = state;
        self.state.store(state as u8, Ordering::SeqCst);
        for poa in inner.poas.iter().filter_map(Weak::upgrade) {
            // One step, so that no request slips in between.
            poa.gate().change(inner.bits(), BITS & !inner.bits());
            poa.gate().wake();
        }
    }
}

impl Watcher for ManagerInner {
    fn eased(&self) {
        let mut inner = self.inner.lock();
        if inner.is_draining && self.held.is_settled() {
            inner.is_draining = false;
            for poa in inner.poas.iter().filter_map(Weak::upgrade) {
                poa.gate().change(0, closed::DRAINING);
            }
        }
    }
}

impl PartialEq for PoaManager {
    /// Whether both are the same manager.
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for PoaManager {}

impl fmt::Debug for PoaManager {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PoaManager")
            .field("id", &self.0.id)
            .field("state", &self.get_state())
            .finish_non_exhaustive()
    }
}

#[cold]
pub(crate) fn discarding() -> SystemException {
    minor::TRANSIENT_REQUEST_DISCARDED
        .no("the POA manager discards requests for now: try again later")
}

#[cold]
pub(crate) fn inactive() -> SystemException {
    minor::OBJ_ADAPTER_UNKNOWN_ADAPTER
        .no("the POA manager was deactivated: the server takes no more requests there")
}

#[cold]
fn full() -> SystemException {
    minor::TRANSIENT_REQUEST_DISCARDED
        .no("as many requests wait as the HeldRequestsMax of the POA manager allows")
}

#[cold]
fn would_deadlock() -> SystemException {
    minor::BAD_INV_ORDER_WOULD_DEADLOCK.no(
        "waiting for requests to be completed inside an upcall would be waiting for itself: do not \
         wait, or call it from a thread that serves no request",
    )
}
