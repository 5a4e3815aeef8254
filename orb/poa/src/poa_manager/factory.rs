//! Makes POA managers, and finds them by name (CORBA 3.3 P1 §15.3.4).
//!
//! One an ORB, reached by [`crate::Poa::the_poa_manager_factory`]. `create_poa` without a manager
//! makes one here, too, with a name of its own.

use super::{ManagerInner, PoaManager};
use crate::error::PoaManagerError;
use corbie_core::Orb;
use corbie_threads::lock::{Ranked, rank};
use std::collections::BTreeMap;
use std::sync::{Arc, Weak};

/// The name of the root POA's manager (CORBA 3.3 P1 §15.3.3.7).
const ROOT: &str = "RootPOAManager";

/// A policy for [`PoaManagerFactory::create_poa_manager`]. The specification defines none itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PoaManagerPolicy {
    /// So many requests of the manager's POAs may wait while it holds requests, more get
    /// `TRANSIENT`; besides the limit of the ORB, the setting `held_requests_max`.
    HeldRequestsMax(u32),
}

/// The managers of one ORB, by name.
#[derive(Default)]
pub(crate) struct Managers {
    names: Ranked<rank::PoaManagers, Names>,
}

#[derive(Default)]
struct Names {
    /// A manager without handles is gone, unless it was made by name.
    all: BTreeMap<String, Weak<ManagerInner>>,
    made_by_name: Vec<PoaManager>,
    next: u64,
}

impl Managers {
    /// A manager for a POA that is created without one; the first is the root's.
    pub(crate) fn make_unnamed(&self, orb: &Orb) -> PoaManager {
        let mut names = self.names.lock();
        let id = loop {
            let id = match names.next {
                0 => ROOT.to_owned(),
                number => format!("POAManager-{number}"),
            };
            names.next += 1;
            if !names.has(&id) {
                break id;
            }
        };
        let manager = PoaManager::new(orb, id.clone(), None);
        names.all.retain(|_, manager| manager.strong_count() > 0);
        names.all.insert(id, manager.downgrade());
        manager
    }
}

impl Names {
    fn has(&self, id: &str) -> bool {
        self.all.get(id).is_some_and(|manager| manager.strong_count() > 0)
    }
}

/// `PortableServer::POAManagerFactory`.
#[derive(Clone)]
pub struct PoaManagerFactory {
    orb: Orb,
    managers: Arc<Managers>,
}

impl PoaManagerFactory {
    pub(crate) fn new(orb: &Orb, managers: &Arc<Managers>) -> Self {
        PoaManagerFactory { orb: orb.clone(), managers: Arc::clone(managers) }
    }

    /// Makes the manager `id`, which begins by holding requests. It exists as long as the ORB.
    ///
    /// # Errors
    /// [`PoaManagerError::ManagerAlreadyExists`]; [`PoaManagerError::InvalidPolicy`] for a policy
    /// that is given twice.
    pub fn create_poa_manager(
        &self,
        id: &str,
        policies: &[PoaManagerPolicy],
    ) -> Result<PoaManager, PoaManagerError> {
        let held_max = held_max(policies)?;
        let mut names = self.managers.names.lock();
        if names.has(id) {
            return Err(PoaManagerError::ManagerAlreadyExists(id.to_owned()));
        }
        let manager = PoaManager::new(&self.orb, id.to_owned(), held_max);
        names.all.insert(id.to_owned(), manager.downgrade());
        names.made_by_name.push(manager.clone());
        Ok(manager)
    }

    /// All managers: the root's, those made here, and those that `create_poa` made.
    #[must_use]
    pub fn list(&self) -> Vec<PoaManager> {
        self.managers.names.lock().all.values().filter_map(Weak::upgrade).map(PoaManager).collect()
    }

    /// The manager `id`, if there is one.
    #[must_use]
    pub fn find(&self, id: &str) -> Option<PoaManager> {
        self.managers.names.lock().all.get(id).and_then(Weak::upgrade).map(PoaManager)
    }
}

impl std::fmt::Debug for PoaManagerFactory {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PoaManagerFactory").field("managers", &self.list()).finish()
    }
}

fn held_max(policies: &[PoaManagerPolicy]) -> Result<Option<usize>, PoaManagerError> {
    let mut held_max = None;
    for (index, PoaManagerPolicy::HeldRequestsMax(most)) in policies.iter().enumerate() {
        if held_max.replace(*most as usize).is_some() {
            let why = "the list holds a policy of this kind already";
            return Err(PoaManagerError::InvalidPolicy { index, why });
        }
    }
    Ok(held_max)
}
