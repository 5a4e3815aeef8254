//! The servant manager and the default servant of a POA
//! (CORBA 3.3 P1 §15.3.9.12 to §15.3.9.15).

use super::servant_manager::{ServantActivator, ServantLocator, ServantManager};
use super::{Poa, PoaError, PoaInner};
use crate::policies::{RequestProcessing, ServantRetention};
use corbie_core::collocation::shows_itself;
use corbie_core::server::Servant;
use corbie_types::{CompletionStatus, SystemException, minor};
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError, RwLock};

#[derive(Default)]
pub(super) struct Servants {
    /// Lock "servant manager": held for a look.
    manager: RwLock<Option<ServantManager>>,
    /// Lock "default servant": held for a look.
    default: RwLock<Option<Arc<dyn Servant>>>,
}

impl Poa {
    #[cfg(feature = "servant-managers")]
    /// The servant manager; `None` when none was set.
    ///
    /// # Errors
    /// [`PoaError::WrongPolicy`] without `USE_SERVANT_MANAGER`.
    pub fn get_servant_manager(&self) -> Result<Option<ServantManager>, PoaError> {
        self.needs(
            RequestProcessing::ServantManager,
            "get_servant_manager",
            "USE_SERVANT_MANAGER",
        )?;
        Ok(self.0.servant_manager())
    }

    #[cfg(feature = "servant-managers")]
    /// Sets the servant manager, once and for all.
    ///
    /// # Errors
    /// [`PoaError::WrongPolicy`] without `USE_SERVANT_MANAGER`; `OBJ_ADAPTER` minor 4 for a locator
    /// under `RETAIN` or an activator under `NON_RETAIN`, `BAD_INV_ORDER` minor 6 the second time;
    /// both `COMPLETED_NO`.
    pub fn set_servant_manager(&self, manager: ServantManager) -> Result<(), PoaError> {
        self.needs(
            RequestProcessing::ServantManager,
            "set_servant_manager",
            "USE_SERVANT_MANAGER",
        )?;
        let retains = self.0.policies.servant_retention == ServantRetention::Retain;
        if retains != matches!(manager, ServantManager::Activator(_)) {
            let text = "RETAIN takes a servant activator, NON_RETAIN a servant locator";
            return Err(no_servant_manager().with_detail(text).into());
        }
        let slot = &self.0.servants.manager;
        let mut slot = slot.write().unwrap_or_else(PoisonError::into_inner);
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
        self.needs(RequestProcessing::DefaultServant, "get_servant", "USE_DEFAULT_SERVANT")?;
        self.0.default_servant().ok_or(PoaError::NoServant)
    }

    /// Sets the default servant: from now on it serves the requests for all objects that are not
    /// active.
    ///
    /// # Errors
    /// [`PoaError::WrongPolicy`] without `USE_DEFAULT_SERVANT`.
    pub fn set_servant(&self, servant: Arc<dyn Servant>) -> Result<(), PoaError> {
        self.needs(RequestProcessing::DefaultServant, "set_servant", "USE_DEFAULT_SERVANT")?;
        let slot = &self.0.servants.default;
        let before = slot.write().unwrap_or_else(PoisonError::into_inner).replace(servant);
        // After the lock: its destructor is application code.
        drop(before);
        Ok(())
    }

    fn needs(
        &self,
        processing: RequestProcessing,
        operation: &'static str,
        needed: &'static str,
    ) -> Result<(), PoaError> {
        match self.0.policies.request_processing == processing {
            true => Ok(()),
            false => Err(PoaError::WrongPolicy { operation, needed }),
        }
    }
}

impl PoaInner {
    pub(crate) fn default_servant(&self) -> Option<Arc<dyn Servant>> {
        self.servants.default.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn servant_manager(&self) -> Option<ServantManager> {
        if cfg!(not(feature = "servant-managers")) {
            return None;
        }
        self.servants.manager.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Lets go of servant manager and default servant, which may hold this POA.
    pub(super) fn forget_servant_sources(&self) {
        let manager = &self.servants.manager;
        let manager = manager.write().unwrap_or_else(PoisonError::into_inner).take();
        let default = &self.servants.default;
        let default = default.write().unwrap_or_else(PoisonError::into_inner).take();
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
    SystemException::obj_adapter(minor::OBJ_ADAPTER_NO_SERVANT_MANAGER, CompletionStatus::No)
        .with_detail("the POA has USE_SERVANT_MANAGER and no servant manager: set_servant_manager")
}

/// For requests to a POA whose default servant is missing (CORBA 3.3 P1 §15.3.8.6).
#[cold]
pub(crate) fn no_default_servant() -> SystemException {
    SystemException::obj_adapter(minor::OBJ_ADAPTER_NO_DEFAULT_SERVANT, CompletionStatus::No)
        .with_detail("the POA has USE_DEFAULT_SERVANT and no default servant: set_servant")
}
