//! The table of what is kept beside the events: channels, proxies, and how far each consumer is.
//! One redb file, whole after a crash at any moment.
//!
//! A change returns when it is on the disk. Changes that come while others are written are written
//! together by the thread that waits first, so that many who connect at once share a flush.

mod change;
mod rows;
#[cfg(test)]
mod tests;

pub(crate) use change::Change;
pub(crate) use rows::{ChannelRow, InterfaceRow, Progress, ProxyRow};

use crate::log::LogError;
use corbie::IdSecret;
use corbie_store::redb::{self, ReadableTable as _, TableDefinition, WriteTransaction};
use corbie_store::{StoreFailure, StoreFile};
use rows::{ChannelValue, InterfaceValue, ProgressValue, ProxyValue};
use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher as _, RandomState};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// Numbers of the folder as a whole, by the names below.
const META: TableDefinition<'_, &str, u64> = TableDefinition::new("meta");
/// Channels by number.
const CHANNELS: TableDefinition<'_, u64, ChannelValue<'static>> = TableDefinition::new("channels");
/// What typed channels know, by channel and repository id.
const INTERFACES: TableDefinition<'_, (u64, &str), InterfaceValue<'static>> =
    TableDefinition::new("interfaces");
/// Proxies by channel and number.
const PROXIES: TableDefinition<'_, (u64, u64), ProxyValue<'static>> =
    TableDefinition::new("proxies");
/// How far consumers are, by channel and proxy.
const PROGRESS: TableDefinition<'_, (u64, u64), ProgressValue> = TableDefinition::new("progress");

const FORMAT: &str = "format";
/// Tells the objects of this folder from those of another.
const UID: &str = "uid";
/// The two halves of what makes the ids of its objects.
const SECRET: [&str; 2] = ["secret 1", "secret 2"];
/// How often a server was started.
const LIVES: &str = "lives";
const NEXT_CHANNEL: &str = "next channel";

/// The table.
pub(crate) struct Table {
    file: StoreFile,
    path: PathBuf,
    /// A number of this folder's own.
    pub(crate) uid: u64,
    /// What makes the ids of its objects, in each life of the server the same.
    pub(crate) secret: IdSecret,
    /// How often a server was started here before.
    pub(crate) lives: u64,
    /// Lock "changes": not held while a transaction is written.
    changes: Mutex<Changes>,
    /// Signalled when a transaction was written, or not.
    written: Condvar,
}

#[derive(Default)]
struct Changes {
    waiting: Vec<Change>,
    /// Changes are numbered; those below this one are done.
    done: u64,
    /// The number of the next one.
    next: u64,
    /// Why those failed.
    failed: HashMap<u64, Arc<StoreFailure>>,
    is_writing: bool,
}

impl Table {
    /// Opens the table in `path`, or makes it.
    ///
    /// # Errors
    /// [`LogError::Table`].
    pub(crate) fn open(path: &Path) -> Result<Self, LogError> {
        let failed = |why: String| LogError::Table { path: path.to_owned(), is_unsure: false, why };
        let file = StoreFile::create(path).map_err(|error| failed(error.to_string()))?;
        let fresh = IdSecret::random().map_err(|error| failed(error.to_string()))?;
        let begun = file.write(|transaction| begin(transaction, &fresh));
        let begun = begun.map_err(|error| failed(error.to_string()))?;
        if begun.format != 1 {
            return Err(failed(format!("its format is {}; this program knows 1", begun.format)));
        }
        Ok(Self::of(file, path, begun))
    }

    fn of(file: StoreFile, path: &Path, Begun { uid, secret, lives, .. }: Begun) -> Self {
        let path = path.to_owned();
        let (changes, written) = (Mutex::default(), Condvar::new());
        Self { file, path, uid, secret, lives, changes, written }
    }

    /// Closes the file, even if others still have the table.
    pub(crate) fn close(&self) {
        self.file.close();
    }

    #[cfg(test)]
    pub(super) fn lose(&self) {
        self.file.let_go();
    }

    fn read<T>(
        &self,
        work: impl Fn(&redb::ReadTransaction) -> Result<T, redb::Error>,
    ) -> Result<T, LogError> {
        self.file.read(work).map_err(|failure| self.failed(&failure))
    }

    /// All channels, with their proxies and how far these are.
    ///
    /// # Errors
    /// [`LogError::Table`].
    pub(crate) fn channels(&self) -> Result<Vec<(u64, ChannelRow)>, LogError> {
        self.read(|transaction| {
            let channels = transaction.open_table(CHANNELS)?;
            let rows = channels.iter()?.map(|row| {
                let (number, value) = row?;
                Ok((number.value(), ChannelRow::of(value.value())))
            });
            rows.collect()
        })
    }

    /// What a typed channel knows.
    ///
    /// # Errors
    /// [`LogError::Table`].
    pub(crate) fn interfaces(&self, channel: u64) -> Result<Vec<InterfaceRow>, LogError> {
        self.read(|transaction| {
            let interfaces = transaction.open_table(INTERFACES)?;
            let rows = interfaces.range((channel, "")..(channel + 1, ""))?.map(|row| {
                let (key, value) = row?;
                Ok(InterfaceRow::of(key.value().1, value.value()))
            });
            rows.collect()
        })
    }

    /// The proxies of a channel.
    ///
    /// # Errors
    /// [`LogError::Table`].
    pub(crate) fn proxies(
        &self,
        channel: u64,
    ) -> Result<Vec<(u64, ProxyRow, Option<Progress>)>, LogError> {
        self.read(|transaction| {
            let progress = transaction.open_table(PROGRESS)?;
            let proxies = transaction.open_table(PROXIES)?;
            let rows = proxies.range((channel, 0)..=(channel, u64::MAX))?.map(|row| {
                let (key, value) = row?;
                let known = progress.get(key.value())?;
                let known = known.map(|known| Progress::of(known.value()));
                Ok((key.value().1, ProxyRow::of(value.value()), known))
            });
            rows.collect()
        })
    }

    /// The numbers of channels below this one were given.
    ///
    /// # Errors
    /// [`LogError::Table`].
    pub(crate) fn given(&self) -> Result<u64, LogError> {
        self.read(|transaction| {
            let meta = transaction.open_table(META)?;
            Ok(meta.get(NEXT_CHANNEL)?.map_or(1, |number| number.value()))
        })
    }

    /// A number for a new channel, which no other one ever has.
    ///
    /// # Errors
    /// [`LogError::Table`].
    pub(crate) fn next_channel(&self) -> Result<u64, LogError> {
        let given = self.file.write(|transaction| {
            let mut meta = transaction.open_table(META)?;
            let number = meta.get(NEXT_CHANNEL)?.map_or(1, |number| number.value());
            meta.insert(NEXT_CHANNEL, number + 1)?;
            Ok(number)
        });
        given.map_err(|failure| self.failed(&failure))
    }

    /// Makes a change; returns when it is on the disk.
    ///
    /// # Errors
    /// [`LogError::Table`], which tells whether it may have been made; [`LogError::Closed`].
    pub(crate) fn change(&self, change: Change) -> Result<(), LogError> {
        let mut changes = self.lock();
        let number = changes.next;
        changes.next += 1;
        changes.waiting.push(change);
        while changes.done <= number {
            if changes.is_writing {
                changes = self.written.wait(changes).unwrap_or_else(PoisonError::into_inner);
                continue;
            }
            changes.is_writing = true;
            let turn = std::mem::take(&mut changes.waiting);
            let numbers = changes.done..changes.next;
            drop(changes);
            let mut ending = Ending { table: self, numbers, outcome: Err(did_not_end()) };
            ending.outcome =
                self.file.write(|transaction| change::make(transaction, &turn)).map_err(Arc::new);
            drop(ending);
            changes = self.lock();
        }
        match changes.failed.remove(&number) {
            None => Ok(()),
            Some(failure) => Err(self.failed(&failure)),
        }
    }

    fn failed(&self, failure: &StoreFailure) -> LogError {
        if matches!(failure, StoreFailure::Closed) {
            return LogError::Closed;
        }
        let (path, is_unsure) = (self.path.clone(), failure.is_uncertain());
        LogError::Table { path, is_unsure, why: failure.to_string() }
    }

    fn lock(&self) -> MutexGuard<'_, Changes> {
        self.changes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The turn to write, ended also when the writer unwinds.
struct Ending<'t> {
    table: &'t Table,
    numbers: std::ops::Range<u64>,
    outcome: Result<(), Arc<StoreFailure>>,
}

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        let mut changes = self.table.lock();
        changes.is_writing = false;
        changes.done = self.numbers.end;
        if let Err(failure) = &self.outcome {
            let numbers = self.numbers.clone();
            changes.failed.extend(numbers.map(|number| (number, Arc::clone(failure))));
        }
        drop(changes);
        self.table.written.notify_all();
    }
}

fn did_not_end() -> Arc<StoreFailure> {
    let why = std::io::Error::other("the thread that wrote ended");
    Arc::new(StoreFailure::Uncertain(redb::Error::Io(why)))
}

/// What a folder has of its own.
struct Begun {
    format: u64,
    uid: u64,
    secret: IdSecret,
    /// Before this one.
    lives: u64,
}

/// Makes the tables where they are not there, with `fresh` where they have no secret.
fn begin(transaction: &WriteTransaction, fresh: &IdSecret) -> Result<Begun, redb::Error> {
    let mut meta = transaction.open_table(META)?;
    let known = |name| -> Result<Option<u64>, redb::Error> {
        Ok(meta.get(name)?.map(|value| value.value()))
    };
    let format = known(FORMAT)?.unwrap_or(1);
    let uid = known(UID)?.unwrap_or_else(|| RandomState::new().hash_one("a new folder"));
    let lives = known(LIVES)?.unwrap_or(0);
    let kept = (known(SECRET[0])?, known(SECRET[1])?);
    let secret = match kept {
        (Some(first), Some(second)) => secret_of([first, second]),
        _ => fresh.clone(),
    };
    for (name, half) in SECRET.into_iter().zip(halves(&secret)) {
        meta.insert(name, half)?;
    }
    meta.insert(FORMAT, format)?;
    meta.insert(UID, uid)?;
    meta.insert(LIVES, lives + 1)?;
    transaction.open_table(INTERFACES)?;
    let channels = transaction.open_table(CHANNELS)?;
    let channels = channels.iter()?.map(|row| Ok(row?.0.value()));
    let channels = channels.collect::<Result<HashSet<u64>, redb::Error>>()?;
    // Earlier versions could leave proxies of a channel that was destroyed.
    transaction.open_table(PROXIES)?.retain(|(channel, _), _| channels.contains(&channel))?;
    transaction.open_table(PROGRESS)?.retain(|(channel, _), _| channels.contains(&channel))?;
    Ok(Begun { format, uid, secret, lives })
}

fn halves(secret: &IdSecret) -> [u64; 2] {
    let number = u128::from_be_bytes(*secret.octets());
    [(number >> 64) as u64, number as u64]
}

fn secret_of([first, second]: [u64; 2]) -> IdSecret {
    IdSecret::new(&(u128::from(first) << 64 | u128::from(second)).to_be_bytes())
}
