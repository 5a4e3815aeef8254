//! Why a component cannot be part of a system. Raised by those that serve and announce components:
//! `peers`, `node`, `channel_server`.

use corbie::SystemException;
use corbie_naming::NamingError;
use corbie_store::StoreFailure;
use std::path::PathBuf;

/// Why a component cannot be part of a system.
#[derive(Debug, thiserror::Error)]
pub enum NodeError {
    /// The ORB or its object adapter refuses.
    #[error("cannot serve the component: {0}")]
    Orb(#[from] SystemException),
    /// The naming service refuses.
    #[error("cannot announce the component: {0}")]
    Naming(#[from] NamingError),
    /// The store cannot be used.
    #[error("cannot use the store {path}: {why}")]
    Store {
        /// The file.
        path: PathBuf,
        /// Why.
        why: StoreFailure,
    },
}
