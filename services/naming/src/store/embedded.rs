//! The store of a single server: one `redb` file, whole after a crash at any moment.
//!
//! A change is acknowledged when its transaction is on the disk. Changes that come while one is
//! being written are written together by whoever waits first (`group`), so that many clients share
//! one flush.

mod change;
mod group;

use super::{ContextId, Kind, Mode, Quota, Store, StoreError, Target, follow_by};
use crate::NameComponent;
use change::{Change, Made};
use group::Group;
use redb::{
    Database, DatabaseError, ReadableDatabase, ReadableTable, StorageError, TableDefinition,
};
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
    database: Database,
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
        let database = Database::create(path).map_err(|error| {
            let place = path.display();
            StoreError::Failed(match error {
                DatabaseError::DatabaseAlreadyOpen => format!(
                    "the file {place} is in use by another process; each server needs a file of \
                     its own (several servers share names by etcd)"
                ),
                DatabaseError::Storage(StorageError::Io(error))
                    if error.kind() == ErrorKind::InvalidData =>
                {
                    format!(
                        "{place} is no store of names: {error}; give a file that is one, or one \
                         that is not there yet"
                    )
                }
                error => format!("cannot open the file {place}: {error}"),
            })
        })?;
        Self::prepare(database)
    }

    /// A store in memory, which ends with the process.
    ///
    /// # Errors
    /// [`StoreError::Failed`].
    pub fn in_memory() -> Result<Self, StoreError> {
        let backend = redb::backends::InMemoryBackend::new();
        Self::prepare(Database::builder().create_with_backend(backend).map_err(failed)?)
    }

    fn prepare(database: Database) -> Result<Self, StoreError> {
        let uid = first_transaction(&database).map_err(failed)?;
        Ok(Self { database, uid, group: Group::default() })
    }

    fn change(&self, change: Change) -> Result<Made, StoreError> {
        self.group.write(change, |changes| change::commit(&self.database, changes))
    }
}

/// Makes tables, root and uid where they are not there; the uid.
fn first_transaction(database: &Database) -> Result<u64, redb::Error> {
    let transaction = database.begin_write()?;
    let uid = {
        let mut meta = transaction.open_table(META)?;
        let known = meta.get(UID)?.map(|value| value.value());
        let uid = known.unwrap_or_else(|| RandomState::new().hash_one("a new store"));
        if known.is_none() {
            meta.insert(UID, uid)?;
            meta.insert(NEXT_CONTEXT, ContextId::ROOT.0 + 1)?;
            transaction.open_table(CONTEXTS)?.insert(ContextId::ROOT.0, 0)?;
            transaction.open_table(BINDINGS)?;
        }
        uid
    };
    transaction.commit()?;
    Ok(uid)
}

/// A moment of the bindings.
struct Reading {
    transaction: redb::ReadTransaction,
    bindings: redb::ReadOnlyTable<(u64, &'static str, &'static str), &'static str>,
}

impl Reading {
    fn begin(database: &Database) -> Result<Self, redb::Error> {
        let transaction = database.begin_read()?;
        let bindings = transaction.open_table(BINDINGS)?;
        Ok(Self { transaction, bindings })
    }

    fn lookup(&self, context: ContextId, name: &NameComponent) -> Result<Target, StoreError> {
        let key = (context.0, name.id.as_str(), name.kind.as_str());
        if let Some(found) = self.bindings.get(key).map_err(failed)? {
            return Target::parse(found.value());
        }
        let contexts = self.transaction.open_table(CONTEXTS).map_err(failed)?;
        let is_there = contexts.get(context.0).map_err(failed)?.is_some();
        Err(if is_there { StoreError::NotBound } else { StoreError::NoContext })
    }
}

impl Store for Embedded {
    fn uid(&self) -> u64 {
        self.uid
    }

    fn exists(&self, context: ContextId) -> Result<bool, StoreError> {
        let look = || -> Result<bool, redb::Error> {
            let contexts = self.database.begin_read()?.open_table(CONTEXTS)?;
            Ok(contexts.get(context.0)?.is_some())
        };
        look().map_err(failed)
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
        match Reading::begin(&self.database) {
            Ok(reading) => follow_by(start, names, |context, name| reading.lookup(context, name)),
            Err(error) => (0, Err(failed(error))),
        }
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
        self.change(Change::Bind { context, name, target, mode, quota }).map(drop)
    }

    fn unbind(&self, context: ContextId, name: &NameComponent) -> Result<(), StoreError> {
        self.change(Change::Unbind { context, name: name.clone() }).map(drop)
    }

    fn create(&self, quota: Quota) -> Result<ContextId, StoreError> {
        self.change(Change::Create { bound: None, quota }).and_then(Made::context)
    }

    fn create_bound(
        &self,
        parent: ContextId,
        name: &NameComponent,
        quota: Quota,
    ) -> Result<ContextId, StoreError> {
        let bound = Some((parent, name.clone()));
        self.change(Change::Create { bound, quota }).and_then(Made::context)
    }

    fn destroy(&self, context: ContextId) -> Result<(), StoreError> {
        if context == ContextId::ROOT {
            return Err(StoreError::root_stays());
        }
        self.change(Change::Destroy { context }).map(drop)
    }

    fn list(
        &self,
        context: ContextId,
        after: Option<&NameComponent>,
        limit: usize,
    ) -> Result<Vec<(NameComponent, Kind)>, StoreError> {
        let look = || -> Result<Option<Vec<(NameComponent, Kind)>>, redb::Error> {
            let transaction = self.database.begin_read()?;
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
        };
        look().map_err(failed)?.ok_or(StoreError::NoContext)
    }
}

fn failed(error: impl Into<redb::Error>) -> StoreError {
    StoreError::Failed(error.into().to_string())
}
