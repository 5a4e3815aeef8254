//! Application code that is asked for what a request needs: servant managers for a servant
//! (CORBA 3.3 P1 §15.3.5 to §15.3.7), adapter activators for a POA (§15.3.3).
//!
//! A POA with `USE_SERVANT_MANAGER` is given an activator under `RETAIN`, a locator under
//! `NON_RETAIN`; [`crate::Poa::set_the_activator`] takes an adapter activator. All are called with
//! no lock held, an adapter activator by one thread at a time for a name.

use super::Poa;
use crate::object_id::ObjectId;
use corbie_core::Object;
use corbie_core::server::Servant;
use corbie_types::SystemException;
use std::any::Any;
use std::sync::Arc;

/// Makes servants for a POA that keeps them (CORBA 3.3 P1 §15.3.6).
///
/// ```
/// use corbie_core::server::Servant;
/// use corbie_poa::{ObjectId, Poa, ServantActivator, ServantManager, ServantRefusal};
/// use corbie_types::{CompletionStatus, SystemException, minor};
/// use std::sync::Arc;
///
/// /// Makes the servants of known objects by a function.
/// struct Makes(fn(&[u8]) -> Option<Arc<dyn Servant>>);
///
/// impl ServantActivator for Makes {
///     fn incarnate(&self, id: &ObjectId, _: &Poa) -> Result<Arc<dyn Servant>, ServantRefusal> {
///         let minor = minor::OBJECT_NOT_EXIST_NO_MATCH;
///         let unknown = || SystemException::object_not_exist(minor, CompletionStatus::No);
///         Ok((self.0)(id.as_octets()).ok_or_else(unknown)?)
///     }
///     fn etherealize(&self, _: &ObjectId, _: &Poa, _: Arc<dyn Servant>, _: bool, _: bool) {}
/// }
///
/// let manager = ServantManager::activator(Makes(|_id| None)); // for Poa::set_servant_manager
/// # drop(manager);
/// ```
pub trait ServantActivator: Send + Sync {
    /// The servant for `id`, which has none: it stands for the object from now on. Called once for
    /// an object at a time; other requests for it wait.
    ///
    /// # Errors
    /// [`ServantRefusal`]: the client is sent on to another object, or gets the exception.
    fn incarnate(&self, id: &ObjectId, adapter: &Poa) -> Result<Arc<dyn Servant>, ServantRefusal>;

    /// `servant` does not stand for `id` any more: it was deactivated, and the last request has
    /// ended. Nothing is incarnated for `id` before this returns.
    ///
    /// `cleanup_in_progress`: the POA is being destroyed or its manager deactivated.
    /// `remaining_activations`: the servant stands for other objects of this POA.
    fn etherealize(
        &self,
        id: &ObjectId,
        adapter: &Poa,
        servant: Arc<dyn Servant>,
        cleanup_in_progress: bool,
        remaining_activations: bool,
    );
}

/// Finds servants for each request anew (CORBA 3.3 P1 §15.3.7).
///
/// ```
/// use corbie_core::server::Servant;
/// use corbie_poa::{Cookie, ObjectId, Poa, ServantLocator, ServantRefusal};
/// use corbie_types::SystemException;
/// use std::sync::Arc;
/// use std::time::Instant;
///
/// /// Serves all objects with one servant and takes the time of each request.
/// struct Timed(Arc<dyn Servant>);
///
/// impl ServantLocator for Timed {
///     fn preinvoke(
///         &self,
///         _: &ObjectId,
///         _: &Poa,
///         _operation: &str,
///     ) -> Result<(Arc<dyn Servant>, Cookie), ServantRefusal> {
///         Ok((Arc::clone(&self.0), Box::new(Instant::now())))
///     }
///     fn postinvoke(
///         &self,
///         _: &ObjectId,
///         _: &Poa,
///         _operation: &str,
///         cookie: Cookie,
///         _: &Arc<dyn Servant>,
///     ) -> Result<(), SystemException> {
///         let begun = cookie.downcast::<Instant>().expect("the cookie of preinvoke");
///         let _it_took = begun.elapsed();
///         Ok(())
///     }
/// }
/// ```
pub trait ServantLocator: Send + Sync {
    /// The servant for one request, and a cookie that [`ServantLocator::postinvoke`] gets back.
    ///
    /// # Errors
    /// [`ServantRefusal`]; `postinvoke` is not called then.
    fn preinvoke(
        &self,
        id: &ObjectId,
        adapter: &Poa,
        operation: &str,
    ) -> Result<(Arc<dyn Servant>, Cookie), ServantRefusal>;

    /// The servant is done with the request, on the same thread, also when it has failed or
    /// panicked. Called before the answer leaves; when the servant defers its answer (AMH), when
    /// the upcall has returned.
    ///
    /// # Errors
    /// The caller gets the exception instead of what the servant answered, unless that is deferred.
    fn postinvoke(
        &self,
        id: &ObjectId,
        adapter: &Poa,
        operation: &str,
        cookie: Cookie,
        servant: &Arc<dyn Servant>,
    ) -> Result<(), SystemException>;
}

/// What a servant locator wants to find again after the request. `Box::new(())` takes no memory.
pub type Cookie = Box<dyn Any + Send>;

/// Why a servant manager gives no servant.
#[derive(Clone, Debug)]
pub enum ServantRefusal {
    /// `PortableServer::ForwardRequest`: clients are to call this object instead.
    ForwardRequest(Object),
    /// The client gets this exception.
    Raise(SystemException),
}

impl From<SystemException> for ServantRefusal {
    fn from(exception: SystemException) -> Self {
        ServantRefusal::Raise(exception)
    }
}

/// A servant manager of either kind.
#[derive(Clone)]
pub enum ServantManager {
    /// For `RETAIN`.
    Activator(Arc<dyn ServantActivator>),
    /// For `NON_RETAIN`.
    Locator(Arc<dyn ServantLocator>),
}

impl ServantManager {
    /// `activator` as a servant manager.
    pub fn activator(activator: impl ServantActivator + 'static) -> Self {
        ServantManager::Activator(Arc::new(activator))
    }

    /// `locator` as a servant manager.
    pub fn locator(locator: impl ServantLocator + 'static) -> Self {
        ServantManager::Locator(Arc::new(locator))
    }
}

impl std::fmt::Debug for ServantManager {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            ServantManager::Activator(_) => "ServantManager::Activator",
            ServantManager::Locator(_) => "ServantManager::Locator",
        })
    }
}

/// Makes child POAs on demand.
///
/// ```
/// use corbie_poa::{AdapterActivator, Poa, PoaPolicy};
/// use corbie_types::SystemException;
///
/// struct Accounts;
///
/// impl AdapterActivator for Accounts {
///     fn unknown_adapter(&self, parent: &Poa, name: &str) -> Result<bool, SystemException> {
///         if name != "accounts" {
///             return Ok(false);
///         }
///         let manager = parent.the_poa_manager();
///         parent.create_poa(name, Some(&manager), &PoaPolicy::PERSISTENT_USER_ID)?;
///         Ok(true)
///     }
/// }
/// ```
pub trait AdapterActivator: Send + Sync {
    /// `parent` has no child `name`: makes it with [`Poa::create_poa`] and says `true`, or says
    /// `false`, and the object does not exist. Requests for the new POA wait until this returns.
    ///
    /// # Errors
    /// The caller gets `OBJ_ADAPTER`, minor 1, instead.
    fn unknown_adapter(&self, parent: &Poa, name: &str) -> Result<bool, SystemException>;
}
