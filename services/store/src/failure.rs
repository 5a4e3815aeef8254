//! Why an operation of a [`StoreFile`](crate::StoreFile) failed, and what it left behind.
//!
//! Services make their own errors of it; what matters to them is whether to say MAYBE.

use thiserror::Error;

/// Why an operation on the file failed.
#[derive(Debug, Error)]
pub enum StoreFailure {
    /// Nothing was changed.
    #[error("{0}")]
    Unchanged(redb::Error),
    /// The commit failed: the change may be found when the file is opened again, or not.
    #[error("the change may have been written or not: {0}")]
    Uncertain(redb::Error),
    /// The file was closed; nothing was changed.
    #[error("the store is closed")]
    Closed,
}

impl StoreFailure {
    /// Whether the change may have been made all the same.
    #[must_use]
    pub fn is_uncertain(&self) -> bool {
        matches!(self, Self::Uncertain(_))
    }
}

impl From<redb::Error> for StoreFailure {
    fn from(error: redb::Error) -> Self {
        Self::Unchanged(error)
    }
}
