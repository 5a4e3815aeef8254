//! [`StoreFile`]: a redb database that is opened again after a failure.
//!
//! Transactions are made and committed here, so that all who keep something know the same of a
//! failure. The work in them is the service's, and may be done twice.

use crate::StoreFailure;
use redb::backends::InMemoryBackend;
use redb::{Database, ReadTransaction, ReadableDatabase as _, StorageBackend, WriteTransaction};
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::sync::{PoisonError, RwLock};

/// A redb database that is opened again after a failure of its disk.
///
/// ```
/// use corbie_store::StoreFile;
/// use corbie_store::redb::{ReadableTable, TableDefinition};
///
/// const COUNTS: TableDefinition<'_, &str, u64> = TableDefinition::new("counts");
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let file = StoreFile::in_memory()?;
/// let before = file.write(|transaction| {
///     let mut counts = transaction.open_table(COUNTS)?;
///     Ok(counts.insert("starts", 1)?.map(|count| count.value()))
/// })?;
/// let starts = file.read(|transaction| {
///     Ok(transaction.open_table(COUNTS)?.get("starts")?.map(|count| count.value()))
/// })?;
/// assert_eq!((before, starts), (None, Some(1)));
/// # Ok(())
/// # }
/// ```
pub struct StoreFile {
    /// Lock "store file": held for reading while the file is used, for writing to open it again
    /// and to close it.
    kept: RwLock<Kept>,
    /// For the log.
    name: String,
    open_again: Box<dyn Fn() -> Result<Database, redb::Error> + Send + Sync>,
}

struct Kept {
    held: Held,
    /// How often it was opened again: a caller that failed before that need not open it once more.
    reopened: u64,
}

enum Held {
    Open(Database),
    /// It could not be opened again after a failure; the next who needs it tries.
    Lost,
    Closed,
}

impl StoreFile {
    /// Opens the file in `path`, or makes it. What was not closed is repaired.
    ///
    /// # Errors
    /// When the file is no database, cannot be written, or is in use by another process.
    pub fn create(path: impl AsRef<Path>) -> Result<Self, redb::Error> {
        let path = path.as_ref().to_owned();
        let name = path.display().to_string();
        // The names and keys in it are for the user of the service alone.
        let mut options = std::fs::File::options();
        options.read(true).write(true).create(true).truncate(false).mode(0o600);
        drop(options.open(&path).map_err(redb::Error::Io)?);
        let database = Database::create(&path)?;
        // Not `create`: a file that has gone must not come back empty.
        Ok(Self::holding(database, name, move || Ok(Database::open(&path)?)))
    }

    /// A database in memory, which ends with the process.
    ///
    /// # Errors
    /// None in practice.
    pub fn in_memory() -> Result<Self, redb::Error> {
        let database = Database::builder().create_with_backend(InMemoryBackend::new())?;
        let lost = || Err(redb::Error::Io(io::Error::other("memory cannot be opened again")));
        Ok(Self::holding(database, "memory".to_owned(), lost))
    }

    /// A database in a storage of the application, which `open` opens: now, and again after it
    /// has failed. `name` is for the log.
    ///
    /// # Errors
    /// What `open` says, and when what is there is no database.
    pub fn with_storage<B: StorageBackend>(
        name: impl Into<String>,
        open: impl Fn() -> io::Result<B> + Send + Sync + 'static,
    ) -> Result<Self, redb::Error> {
        let open = move || Ok(Database::builder().create_with_backend(open()?)?);
        Ok(Self::holding(open()?, name.into(), open))
    }

    fn holding(
        database: Database,
        name: String,
        open_again: impl Fn() -> Result<Database, redb::Error> + Send + Sync + 'static,
    ) -> Self {
        let kept = RwLock::new(Kept { held: Held::Open(database), reopened: 0 });
        Self { kept, name, open_again: Box::new(open_again) }
    }

    /// Does `work` in a transaction that reads. It is done once more from the beginning when the
    /// file had to be opened again.
    ///
    /// # Errors
    /// [`StoreFailure::Unchanged`], [`StoreFailure::Closed`].
    pub fn read<T>(
        &self,
        work: impl Fn(&ReadTransaction) -> Result<T, redb::Error>,
    ) -> Result<T, StoreFailure> {
        self.with(|database| Ok(work(&database.begin_read().map_err(redb::Error::from)?)?))
    }

    /// Does `work` in a transaction that writes, and waits until that is on the disk; when `work`
    /// fails, nothing of it is kept. It is done once more from the beginning when the file had to
    /// be opened again before its commit.
    ///
    /// # Errors
    /// All of [`StoreFailure`].
    pub fn write<T>(
        &self,
        work: impl Fn(&WriteTransaction) -> Result<T, redb::Error>,
    ) -> Result<T, StoreFailure> {
        self.with(|database| {
            let transaction = database.begin_write().map_err(redb::Error::from)?;
            let done = work(&transaction)?;
            transaction.commit().map_err(|error| StoreFailure::Uncertain(error.into()))?;
            Ok(done)
        })
    }

    /// Closes the file, also for other owners of this.
    pub fn close(&self) {
        self.kept.write().unwrap_or_else(PoisonError::into_inner).held = Held::Closed;
    }

    /// Lets go of the file, as after a failure: it is opened again when it is needed next.
    pub fn let_go(&self) {
        let mut kept = self.kept.write().unwrap_or_else(PoisonError::into_inner);
        if matches!(kept.held, Held::Open(_)) {
            kept.held = Held::Lost;
        }
    }

    fn with<T>(
        &self,
        work: impl Fn(&Database) -> Result<T, StoreFailure>,
    ) -> Result<T, StoreFailure> {
        let once = || {
            let kept = self.kept.read().unwrap_or_else(PoisonError::into_inner);
            let done = match &kept.held {
                Held::Open(database) => work(database),
                Held::Lost => Err(StoreFailure::Unchanged(redb::Error::PreviousIo)),
                Held::Closed => Err(StoreFailure::Closed),
            };
            (done, kept.reopened)
        };
        match once() {
            (Err(StoreFailure::Unchanged(redb::Error::PreviousIo)), reopened) => {
                self.open_once_more(reopened)?;
                once().0
            }
            (done, _) => done,
        }
    }

    /// Opens the file again, unless a caller did since it was opened `reopened` times.
    fn open_once_more(&self, reopened: u64) -> Result<(), StoreFailure> {
        let mut kept = self.kept.write().unwrap_or_else(PoisonError::into_inner);
        match kept.held {
            Held::Closed => return Err(StoreFailure::Closed),
            Held::Open(_) if kept.reopened != reopened => return Ok(()),
            Held::Open(_) | Held::Lost => {}
        }
        // The file has one user at a time.
        kept.held = Held::Lost;
        kept.held = Held::Open((self.open_again)()?);
        kept.reopened += 1;
        drop(kept);
        tracing::warn!(store = %self.name, "opened again after a failure of the disk");
        Ok(())
    }
}

impl std::fmt::Debug for StoreFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StoreFile").field("name", &self.name).finish_non_exhaustive()
    }
}
