//! Adapter activators: application code that makes a POA when a request or `find_poa` needs one
//! (CORBA 3.3 P1 §15.3.3).
//!
//! Set with [`crate::Poa::set_the_activator`]; called with no lock held, one thread at a time for
//! a name.

use super::Poa;
use corbie_types::SystemException;

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
