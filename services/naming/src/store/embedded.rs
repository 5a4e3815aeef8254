//! The store of a single server: one `redb` file, whole after a crash at any moment, and opened
//! again after a failure of the disk (`corbie-store`).
//!
//! A change is acknowledged when its transaction is on the disk. Changes that come while one is
//! being written are written together by the thread that waits first (`group`), so that many
//! clients share one flush.

mod change;
mod group;
#[cfg(test)]
mod tests;

use super::{ContextId, Kind, Mode, Quota, Store, StoreError, Target, follow_by};
use crate::NameComponent;
use change::{Made, TableChange};
use corbie_store::redb::{self, ReadTransaction, ReadableTable, TableDefinition};
use corbie_store::{StoreFailure, StoreFile};
use group::Group;
use std::hash::{BuildHasher, RandomState};
use std::io::ErrorKind;
use std::path::Path;

/// The store's own numbers: [`UID`] and [`NEXT_CONTEXT`].
const META: TableDefinition<'_, &str, u64> = TableDefinition::new("meta");
/// Contexts, with how many bindings each has.
const CONTEXTS: TableDefinition<'_, u64, u64> = TableDefinition::new("contexts");
/// Context, id and kind to [`Target`].
const BINDINGS: TableDefinition<'_, (u64, &str, &str), &str> = TableDefinition::new("bindings");

const UID: &str = "uid";
const NEXT_CONTEXT: &str = "next context";

/// A store in one file.
pub struct Embedded {
    file: StoreFile,
    uid: u64,
    group: Group,
}

impl Embedded {
    /// Opens the store in `path`, or makes it. A file that was not closed is repaired.
    ///
    /// # Errors
    /// [`StoreError::Failed`] when the file is no store, cannot be written, or is in use by
    /// another process.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, StoreError> {
        let path = path.as_ref();
        let file = StoreFile::create(path).map_err(|error| {
            let place = path.display();
            StoreError::Failed(match error {
                redb::Error::DatabaseAlreadyOpen => format!(
                    "the file {place} is in use by another process; each server needs a file of \
                     its own (several servers share names by etcd)"
                ),
                redb::Error::Io(error) if error.kind() == ErrorKind::InvalidData => {
                    format!(
                        "{place} is no store of names: {error}; give a file that is one, or one \
                         that is not there yet"
                    )
                }
                error => format!("cannot open the file {place}: {error}"),
            })
        })?;
        Self::prepare(file)
    }

    /// A store in memory, which ends with the process.
    ///
    /// # Errors
    /// [`StoreError::Failed`].
    pub fn in_memory() -> Result<Self, StoreError> {
        Self::prepare(StoreFile::in_memory().map_err(StoreFailure::from)?)
    }

    fn prepare(file: StoreFile) -> Result<Self, StoreError> {
        let uid = first_transaction(&file)?;
        Ok(Self { file, uid, group: Group::default() })
    }

    fn change(&self, change: TableChange) -> Result<Made, StoreError> {
        self.group.write(change, |changes| change::commit(&self.file, changes))
    }
}

/// Makes tables, root and uid where they are not there; the uid.
fn first_transaction(file: &StoreFile) -> Result<u64, StoreFailure> {
    file.write(|transaction| {
        let mut meta = transaction.open_table(META)?;
        let known = meta.get(UID)?.map(|value| value.value());
        let uid = known.unwrap_or_else(|| RandomState::new().hash_one("a new store"));
        if known.is_none() {
            meta.insert(UID, uid)?;
            meta.insert(NEXT_CONTEXT, ContextId::ROOT.0 + 1)?;
            transaction.open_table(CONTEXTS)?.insert(ContextId::ROOT.0, 0)?;
            transaction.open_table(BINDINGS)?;
        }
        Ok(uid)
    })
}

/// What `name` is bound to at this moment. The outer error is the file's.
fn look_up(
    transaction: &ReadTransaction,
    bindings: &redb::ReadOnlyTable<(u64, &'static str, &'static str), &'static str>,
    context: ContextId,
    name: &NameComponent,
) -> Result<Result<Target, StoreError>, redb::Error> {
    let key = (context.0, name.id.as_str(), name.kind.as_str());
    if let Some(found) = bindings.get(key)? {
        return Ok(Target::parse(found.value()));
    }
    let is_there = transaction.open_table(CONTEXTS)?.get(context.0)?.is_some();
    Ok(Err(if is_there { StoreError::NotBound } else { StoreError::NoContext }))
}

impl Store for Embedded {
    fn uid(&self) -> u64 {
        self.uid
    }

    fn exists(&self, context: ContextId) -> Result<bool, StoreError> {
        let found = self
            .file
            .read(|transaction| Ok(transaction.open_table(CONTEXTS)?.get(context.0)?.is_some()));
        Ok(found?)
    }

    fn lookup(&self, context: ContextId, name: &NameComponent) -> Result<Target, StoreError> {
        self.follow(context, std::slice::from_ref(name)).1
    }

    /// In one transaction, so that the whole way is as it was at one moment.
    fn follow(
        &self,
        start: ContextId,
        names: &[NameComponent],
    ) -> (usize, Result<Target, StoreError>) {
        let followed = self.file.read(|transaction| {
            let bindings = transaction.open_table(BINDINGS)?;
            let mut failure = None;
            let found = follow_by(start, names, |context, name| {
                look_up(transaction, &bindings, context, name).unwrap_or_else(|error| {
                    // Ends the way; what is said of it does not matter.
                    failure = Some(error);
                    Err(StoreError::NotBound)
                })
            });
            failure.map_or(Ok(found), Err)
        });
        followed.unwrap_or_else(|failure| (0, Err(failure.into())))
    }

    fn bind(
        &self,
        context: ContextId,
        name: &NameComponent,
        target: &Target,
        mode: Mode,
        quota: Quota,
    ) -> Result<(), StoreError> {
        let (name, target) = (name.clone(), target.clone());
        self.change(TableChange::Bind { context, name, target, mode, quota }).map(drop)
    }

    fn unbind(&self, context: ContextId, name: &NameComponent) -> Result<(), StoreError> {
        self.change(TableChange::Unbind { context, name: name.clone() }).map(drop)
    }

    fn create(&self, quota: Quota) -> Result<ContextId, StoreError> {
        self.change(TableChange::Create { bound: None, quota }).and_then(Made::context)
    }

    fn create_bound(
        &self,
        parent: ContextId,
        name: &NameComponent,
        quota: Quota,
    ) -> Result<ContextId, StoreError> {
        let bound = Some((parent, name.clone()));
        self.change(TableChange::Create { bound, quota }).and_then(Made::context)
    }

    fn destroy(&self, context: ContextId) -> Result<(), StoreError> {
        if context == ContextId::ROOT {
            return Err(StoreError::root_stays());
        }
        self.change(TableChange::Destroy { context }).map(drop)
    }

    fn list(
        &self,
        context: ContextId,
        after: Option<&NameComponent>,
        limit: usize,
    ) -> Result<Vec<(NameComponent, Kind)>, StoreError> {
        let found = self.file.read(|transaction| {
            if transaction.open_table(CONTEXTS)?.get(context.0)?.is_none() {
                return Ok(None);
            }
            let bindings = transaction.open_table(BINDINGS)?;
            let (id, kind) = after.map_or(("", ""), |name| (name.id.as_str(), name.kind.as_str()));
            let mut found = Vec::new();
            for entry in bindings.range((context.0, id, kind)..)? {
                let (key, target) = entry?;
                let (owner, id, kind) = key.value();
                if owner != context.0 || found.len() == limit {
                    break;
                }
                let name = NameComponent { id: id.to_owned(), kind: kind.to_owned() };
                if Some(&name) != after {
                    found.push((name, Target::kind_of(target.value())));
                }
            }
            Ok(Some(found))
        });
        found?.ok_or(StoreError::NoContext)
    }
}

impl From<StoreFailure> for StoreError {
    fn from(failure: StoreFailure) -> Self {
        match failure {
            StoreFailure::Uncertain(error) => StoreError::Uncertain(error.to_string()),
            unchanged => StoreError::Failed(unchanged.to_string()),
        }
    }
}
