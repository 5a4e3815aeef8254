//! The servant manager and the default servant of a POA
//! (CORBA 3.3 P1 §15.3.9.12 to §15.3.9.15).

use super::servant_manager::{ServantActivator, ServantLocator, ServantManager};
use super::{Poa, PoaError, PoaInner};
use crate::policies::{RequestProcessing, ServantRetention};
use corbie_core::collocation::shows_itself;
use corbie_core::server::Servant;
use corbie_threads::lock::{RankedRw, rank};
use corbie_types::{CompletionStatus, SystemException, minor};
use std::sync::Arc;
use std::sync::atomic::Ordering;

#[derive(Default)]
pub(super) struct Servants {
    manager: RankedRw<rank::Leaf, Option<ServantManager>>,
    default: RankedRw<rank::Leaf, Option<Arc<dyn Servant>>>,
}

impl Poa {
    #[cfg(feature = "servant-managers")]
    /// The servant manager; `None` when none was set.
    ///
    /// # Errors
    /// [`PoaError::WrongPolicy`] without `USE_SERVANT_MANAGER`.
    pub fn get_servant_manager(&self) -> Result<Option<ServantManager>, PoaError> {
        self.needs_manager("get_servant_manager")?;
        Ok(self.0.servant_manager())
    }

    #[cfg(feature = "servant-managers")]
    /// Sets the servant manager, once and for all.
    ///
    /// # Errors
    /// [`PoaError::WrongPolicy`] without `USE_SERVANT_MANAGER`; `OBJ_ADAPTER` minor 4 for a locator
    /// under `RETAIN` or an activator under `NON_RETAIN`, `BAD_INV_ORDER` minor 6 the second time;
    /// both `COMPLETED_NO`; [`PoaError::Destroyed`].
    pub fn set_servant_manager(&self, manager: ServantManager) -> Result<(), PoaError> {
        self.needs_manager("set_servant_manager")?;
        let retains = self.0.policies.servant_retention == ServantRetention::Retain;
        if retains != matches!(manager, ServantManager::Activator(_)) {
            let text = "RETAIN takes a servant activator, NON_RETAIN a servant locator";
            return Err(no_servant_manager().with_detail(text).into());
        }
        let mut slot = self.0.servants.manager.write();
        // Under the lock: the thread that destroys the POA takes it afterwards.
        self.check_alive()?;
        if slot.is_some() {
            let minor = minor::BAD_INV_ORDER_SERVANT_MANAGER_SET;
            let exception = SystemException::bad_inv_order(minor, CompletionStatus::No);
            return Err(exception.with_detail("the POA has a servant manager already").into());
        }
        *slot = Some(manager);
        Ok(())
    }

    /// The default servant.
    ///
    /// # Errors
    /// [`PoaError::WrongPolicy`] without `USE_DEFAULT_SERVANT`, [`PoaError::NoServant`] when none
    /// was set.
    pub fn get_servant(&self) -> Result<Arc<dyn Servant>, PoaError> {
        self.needs_default("get_servant")?;
        self.0.default_servant().ok_or(PoaError::NoServant)
    }

    /// Sets the default servant: from now on it serves the requests for all objects that are not
    /// active.
    ///
    /// # Errors
    /// [`PoaError::WrongPolicy`] without `USE_DEFAULT_SERVANT`; [`PoaError::Destroyed`].
    pub fn set_servant(&self, servant: Arc<dyn Servant>) -> Result<(), PoaError> {
        self.needs_default("set_servant")?;
        if servant._keeps_order() {
            self.orb().expect_order();
        }
        let mut slot = self.0.servants.default.write();
        // Under the lock: the thread that destroys the POA takes it afterwards.
        self.check_alive()?;
        let before = slot.replace(servant);
        drop(slot);
        // After the lock: its destructor is application code.
        drop(before);
        Ok(())
    }

    #[cfg(feature = "servant-managers")]
    fn needs_manager(&self, operation: &'static str) -> Result<(), PoaError> {
        let is_met = self.0.policies.request_processing == RequestProcessing::ServantManager;
        PoaError::unless(is_met, operation, "USE_SERVANT_MANAGER")
    }

    fn needs_default(&self, operation: &'static str) -> Result<(), PoaError> {
        let is_met = self.0.policies.request_processing == RequestProcessing::DefaultServant;
        PoaError::unless(is_met, operation, "USE_DEFAULT_SERVANT")
    }
}

impl PoaInner {
    pub(crate) fn default_servant(&self) -> Option<Arc<dyn Servant>> {
        self.servants.default.read().clone()
    }

    fn servant_manager(&self) -> Option<ServantManager> {
        if cfg!(not(feature = "servant-managers")) {
            return None;
        }
        self.servants.manager.read().clone()
    }

    /// Lets go of servant manager and default servant, which may hold this POA.
    pub(super) fn forget_servant_sources(&self) {
        let manager = self.servants.manager.write().take();
        let default = self.servants.default.write().take();
        // After the locks: their destructors are application code.
        drop((manager, default));
    }

    pub(crate) fn servant_activator(&self) -> Option<Arc<dyn ServantActivator>> {
        match self.servant_manager() {
            Some(ServantManager::Activator(activator)) => Some(activator),
            _ => None,
        }
    }

    /// The servant locator gave this for a request.
    pub(crate) fn note_located(&self, servant: &dyn Servant) {
        self.locates_shown.store(shows_itself(servant), Ordering::Relaxed);
    }

    /// Whether calls of the process are likely to need a message: found out by asking the servant
    /// locator, they would have it asked twice.
    pub(crate) fn locates_for_messages(&self) -> bool {
        self.servant_locator().is_some() && !self.locates_shown.load(Ordering::Relaxed)
    }

    pub(crate) fn servant_locator(&self) -> Option<Arc<dyn ServantLocator>> {
        match self.servant_manager() {
            Some(ServantManager::Locator(locator)) => Some(locator),
            _ => None,
        }
    }
}

/// For requests to a POA whose servant manager is missing (CORBA 3.3 P1 §15.3.8.6).
#[cold]
pub(crate) fn no_servant_manager() -> SystemException {
    minor::OBJ_ADAPTER_NO_SERVANT_MANAGER
        .no("the POA has USE_SERVANT_MANAGER and no servant manager: set_servant_manager")
}

/// For requests to a POA whose default servant is missing (CORBA 3.3 P1 §15.3.8.6).
#[cold]
pub(crate) fn no_default_servant() -> SystemException {
    minor::OBJ_ADAPTER_NO_DEFAULT_SERVANT
        .no("the POA has USE_DEFAULT_SERVANT and no default servant: set_servant")
}
