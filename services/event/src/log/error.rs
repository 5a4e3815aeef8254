//! What can be wrong with the files of durable channels.
//!
//! Suppliers get it as a system exception, the caller that starts a server as a sentence.

use corbie::{CompletionStatus, SystemException, minor};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// Why something could not be kept, or read again.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    /// The file system failed.
    #[error("cannot {doing} {}: {source}", path.display())]
    Io {
        /// What was being done: a verb.
        doing: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// Whether it may have been done all the same.
        is_unsure: bool,
        /// What the file system said.
        source: io::Error,
    },
    /// A file is not what was written.
    #[error(
        "the event log {} is damaged at octet {at}: {why}; restore the file from a copy, or move \
         it away to go on without its events",
        path.display()
    )]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Where the damage was found, in octets from the beginning.
        at: u64,
        /// What is wrong there.
        why: String,
    },
    /// Another process uses the folder.
    #[error(
        "the folder {} is in use by another process; each server needs a folder of its own",
        .0.display()
    )]
    InUse(PathBuf),
    /// The table of channels failed.
    #[error("the table of channels {} failed: {why}", path.display())]
    Table {
        /// The file.
        path: PathBuf,
        /// Whether what was to be changed may have been.
        is_unsure: bool,
        /// What is wrong with it.
        why: String,
    },
    /// An event cannot be kept.
    #[error("an event cannot be written to the log: {0}")]
    Unwritable(String),
    /// The server ends.
    #[error("the event server ends")]
    Closed,
}

impl LogError {
    pub(crate) fn io(doing: &'static str, path: &Path, source: io::Error) -> Self {
        LogError::Io { doing, path: path.to_owned(), is_unsure: false, source }
    }

    /// The same, of what may have been done.
    pub(crate) fn unsure(mut self) -> Self {
        if let LogError::Io { is_unsure, .. } = &mut self {
            *is_unsure = true;
        }
        self
    }

    /// What a supplier is told whose event could not be kept: `NO_RESOURCES` when the disk is full,
    /// else `PERSIST_STORE`; `TRANSIENT` when the server ends.
    #[must_use]
    pub fn to_exception(&self) -> SystemException {
        let completed = match self {
            LogError::Io { is_unsure: true, .. } | LogError::Table { is_unsure: true, .. } => {
                CompletionStatus::Maybe
            }
            _ => CompletionStatus::No,
        };
        let exception = match self {
            LogError::Io { source, .. } if is_full(source) => {
                SystemException::no_resources(minor::NO_RESOURCES_STORE_FULL, completed)
            }
            LogError::Closed => SystemException::transient(minor::TRANSIENT_STORE, completed),
            _ => SystemException::persist_store(minor::PERSIST_STORE_FAILED, completed),
        };
        exception.with_detail(self.to_string())
    }
}

/// Whether there is no room left, for this file or for all.
fn is_full(error: &io::Error) -> bool {
    let kind = error.kind();
    matches!(kind, ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge)
}
