//! Servant managers and the adapter activator of the yard; they write down what they are asked.
//! Called by `super`.

use super::ItemOne;
use crate::peer::servants::Side;
use corbie::{
    AdapterActivator, Cookie, Object, ObjectId, Poa, PoaPolicy, RequestProcessing, Servant,
    ServantActivator, ServantLocator, ServantManager, ServantRefusal, SystemException,
};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// What was asked about each name.
#[derive(Default)]
pub(super) struct History(Mutex<BTreeMap<String, Vec<String>>>);

impl History {
    fn add(&self, name: &str, what: impl Into<String>) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.entry(name.to_owned()).or_default().push(what.into());
    }

    pub(super) fn of(&self, name: &str) -> String {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.get(name).map_or(String::new(), |said| said.join("; "))
    }
}

fn name_of(id: &ObjectId) -> String {
    String::from_utf8_lossy(id.as_octets()).into_owned()
}

/// Makes `archive`, and `archive/boxes` with a servant activator: both persistent.
pub(super) struct Adapters {
    side: Side,
    history: Arc<History>,
}

impl Adapters {
    pub(super) fn new(side: &Side, history: &Arc<History>) -> Adapters {
        Adapters { side: side.clone(), history: Arc::clone(history) }
    }
}

impl AdapterActivator for Adapters {
    fn unknown_adapter(&self, parent: &Poa, name: &str) -> Result<bool, SystemException> {
        self.history.add(name, "unknown_adapter");
        let manager = parent.the_poa_manager();
        let [lifespan, id] = PoaPolicy::PERSISTENT_USER_ID;
        match (parent.the_parent().is_some(), name) {
            (false, "archive") => {
                let archive = parent.create_poa(name, Some(&manager), &[lifespan, id])?;
                let next = Adapters::new(&self.side, &self.history);
                archive.set_the_activator(Some(Arc::new(next)));
                Ok(true)
            }
            (true, "boxes") => {
                let on_demand = RequestProcessing::ServantManager.into();
                let policies = [lifespan, id, on_demand];
                let boxes = parent.create_poa(name, Some(&manager), &policies)?;
                let activator =
                    Incarnated { side: self.side.clone(), history: Arc::clone(&self.history) };
                boxes.set_servant_manager(ServantManager::activator(activator))?;
                Ok(true)
            }
            _ => Ok(false),
        }
    }
}

struct Incarnated {
    side: Side,
    history: Arc<History>,
}

impl ServantActivator for Incarnated {
    fn incarnate(&self, id: &ObjectId, _: &Poa) -> Result<Arc<dyn Servant>, ServantRefusal> {
        self.history.add(&name_of(id), "incarnate");
        Ok(Arc::new(ItemOne::skeleton(&self.side)))
    }

    fn etherealize(
        &self,
        id: &ObjectId,
        _: &Poa,
        _: Arc<dyn Servant>,
        cleanup_in_progress: bool,
        remaining_activations: bool,
    ) {
        let what = format!("etherealize {cleanup_in_progress} {remaining_activations}");
        self.history.add(&name_of(id), what);
    }
}

/// A new servant for each request.
pub(super) struct Located {
    pub(super) side: Side,
    pub(super) history: Arc<History>,
}

impl ServantLocator for Located {
    fn preinvoke(
        &self,
        id: &ObjectId,
        _: &Poa,
        operation: &str,
    ) -> Result<(Arc<dyn Servant>, Cookie), ServantRefusal> {
        self.history.add(&name_of(id), format!("preinvoke {operation}"));
        Ok((Arc::new(ItemOne::skeleton(&self.side)), Box::new(operation.to_owned())))
    }

    fn postinvoke(
        &self,
        id: &ObjectId,
        _: &Poa,
        operation: &str,
        cookie: Cookie,
        _: &Arc<dyn Servant>,
    ) -> Result<(), SystemException> {
        let is_of_this_request = cookie.downcast::<String>().is_ok_and(|of| *of == operation);
        let what =
            if is_of_this_request { operation } else { "with the cookie of another request" };
        self.history.add(&name_of(id), format!("postinvoke {what}"));
        Ok(())
    }
}

/// Sends every request on.
pub(super) struct ForwardingLocator(pub(super) Object);

impl ServantLocator for ForwardingLocator {
    fn preinvoke(
        &self,
        _: &ObjectId,
        _: &Poa,
        _: &str,
    ) -> Result<(Arc<dyn Servant>, Cookie), ServantRefusal> {
        Err(ServantRefusal::ForwardRequest(self.0.clone()))
    }

    fn postinvoke(
        &self,
        _: &ObjectId,
        _: &Poa,
        _: &str,
        _: Cookie,
        _: &Arc<dyn Servant>,
    ) -> Result<(), SystemException> {
        Ok(())
    }
}

/// Sends every request on.
pub(super) struct ForwardingActivator(pub(super) Object);

impl ServantActivator for ForwardingActivator {
    fn incarnate(&self, _: &ObjectId, _: &Poa) -> Result<Arc<dyn Servant>, ServantRefusal> {
        Err(ServantRefusal::ForwardRequest(self.0.clone()))
    }

    fn etherealize(&self, _: &ObjectId, _: &Poa, _: Arc<dyn Servant>, _: bool, _: bool) {}
}
