//! What a typed channel knows of interfaces: which operations they have, of which types their
//! parameters are, and whether events can be calls of them (Event Service 1.2 §2.6, §2.7).
//!
//! Asked by `server::typed` when proxies are made. [`Interfaces`] is where descriptions come from:
//! an [`InterfaceTable`] of what was compiled in or handed over, or an [`InterfaceRepository`].
//! Whether an interface follows the rules of `<I>` or `Pull<I>` is decided in `rules`, wherever it
//! comes from.

mod event_interface;
mod known;
mod repository;
mod rules;
mod table;
mod wire;

pub use event_interface::{EventInterface, Signature};
pub(crate) use known::{Keep, Known, Refusal, Sources, Told};
pub use repository::InterfaceRepository;
pub(crate) use rules::TRY;
pub use table::InterfaceTable;
pub(crate) use wire::{of_octets, to_octets};

use corbie::types::InterfaceDescription;
use corbie::{Object, SystemException};
use std::fmt;
use std::sync::Arc;

/// Where the descriptions of interfaces come from.
pub trait Interfaces: Send + Sync {
    /// The interface with this repository id; `None` when it is not known here.
    ///
    /// # Errors
    /// Those of asking the repository.
    fn describe(
        &self,
        repository_id: &str,
    ) -> Result<Option<Arc<InterfaceDescription>>, SystemException>;

    /// The `CORBA::InterfaceDef` of that interface, which its objects give to callers of
    /// `_interface`; `None` where there is no such object.
    ///
    /// # Errors
    /// As [`Interfaces::describe`].
    fn definition(&self, repository_id: &str) -> Result<Option<Object>, SystemException> {
        let _ = repository_id;
        Ok(None)
    }
}

/// Why events cannot be calls of an interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotForEvents {
    /// The repository id of the interface.
    pub interface: String,
    /// A sentence that names the operation and the rule.
    pub why: String,
}

impl fmt::Display for NotForEvents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "events cannot be calls of {}: {}", self.interface, self.why)
    }
}

impl std::error::Error for NotForEvents {}
