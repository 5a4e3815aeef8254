//! The server: naming contexts of a store as CORBA objects.
//!
//! `corbie naming serve` and tests start it; it is an ordinary application of the façade. A request
//! goes to `context`, which walks the name through the store (`walk`), over to contexts of other
//! servers where need be (`federation`).

mod context;
mod federation;
mod iterator;
mod limits;
mod objects;
mod walk;

pub use limits::Limits;

use crate::cos_naming::NamingContextExt;
use crate::name::NAME_SERVICE;
use crate::store::{ContextId, Store};
use corbie::{Orb, SystemException};
use federation::Federation;
use iterator::Iterators;
use objects::Objects;
use std::sync::Arc;

/// What all contexts of a server share.
struct Shared {
    orb: Orb,
    store: Arc<dyn Store>,
    limits: Limits,
    objects: Objects,
    iterators: Arc<Iterators>,
    federation: Federation,
}

/// A naming server within an ORB. Its contexts are served until it is dropped.
pub struct NamingServer {
    shared: Arc<Shared>,
    root: NamingContextExt,
}

impl NamingServer {
    /// Serves the contexts of `store` in `orb`: under persistent references, under the object key
    /// `NameService`, and as the initial reference of that name within this process. Listens on the
    /// endpoints of the ORB; references survive a restart if they have a fixed port. The manager of
    /// the root POA is the application's: as long as it holds requests, those for objects that do
    /// not exist wait.
    ///
    /// # Errors
    /// What making POAs says: `INITIALIZE` when an endpoint cannot be listened on, `BAD_PARAM`
    /// when `orb` has an initial reference `NameService` or a naming server already.
    pub fn start(
        orb: &Orb,
        store: Arc<dyn Store>,
        limits: Limits,
    ) -> Result<NamingServer, SystemException> {
        let objects = Objects::new(orb, store.uid())?;
        let iterators = Iterators::start(orb, &limits)?;
        let federation = Federation::new(&limits);
        let orb = orb.clone();
        let shared = Arc::new(Shared { orb, store, limits, objects, iterators, federation });
        shared.objects.serve(&shared)?;
        let root = shared.objects.reference(ContextId::ROOT)?;
        shared.orb.bind_object_key(NAME_SERVICE, root.as_object());
        shared.orb.register_initial_reference(NAME_SERVICE, root.as_object())?;
        Ok(NamingServer { shared, root })
    }

    /// The root context.
    #[must_use]
    pub fn root(&self) -> &NamingContextExt {
        &self.root
    }

    /// How many iterators clients have at the moment.
    #[must_use]
    pub fn iterators(&self) -> usize {
        self.shared.iterators.len()
    }
}

impl Drop for NamingServer {
    fn drop(&mut self) {
        self.shared.orb.unbind_object_key(NAME_SERVICE);
        self.shared.objects.close();
        self.shared.iterators.close();
    }
}

impl std::fmt::Debug for NamingServer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("NamingServer").field("uid", &self.shared.store.uid()).finish()
    }
}
