//! Attaches the object adapter to an ORB.
//!
//! The façade makes one [`RootPoa`] per ORB and registers it as the ORB's adapter.

use crate::dispatch::RootPoa;
use crate::poa::{NewPoa, Poa, Registry};
use crate::policies::PoaPolicies;
use corbie_core::Orb;
use corbie_types::SystemException;
use std::sync::Arc;

impl RootPoa {
    /// Makes the root POA of `orb`, registers it there, and starts listening.
    ///
    /// # Errors
    /// What [`Orb::set_adapter`] says: `INITIALIZE` (`COMPLETED_NO`) when no endpoint can be
    /// listened on, `BAD_INV_ORDER` when the ORB has an adapter already or was shut down.
    pub fn attach(orb: &Orb) -> Result<Poa, SystemException> {
        let registry = Registry::new();
        let root = Poa::register(NewPoa {
            orb,
            registry: &registry,
            parent: None,
            name: "RootPOA",
            path: &[],
            policies: PoaPolicies::root(),
            manager: registry.managers.make_unnamed(orb),
        });
        let root = root.map_err(SystemException::from)?;
        registry.set_root(&root.0);
        match orb.set_adapter(Arc::new(RootPoa { registry })) {
            Ok(()) => Ok(root),
            Err(exception) => {
                // Without it registry and root would keep each other alive.
                root.0.begin_destruction(false);
                Err(exception)
            }
        }
    }
}
