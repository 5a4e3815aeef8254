//! Durable channels: where they are kept, and what keeps them (decision 26).
//!
//! A [`Store`] is a folder: a lock, a table of channels, proxies and positions (`table`), and a
//! folder for the log of each channel (`crate::log`). `server` opens it and makes again what was
//! there; a [`Journal`] is what a channel has of it. `commit` writes events, `keep` positions
//! and who has gone.

mod commit;
mod keep;
mod table;
#[cfg(test)]
mod tests;

pub(crate) use table::{Change, ChannelRow, InterfaceRow, Progress, ProxyRow};

use crate::event::Event;
use crate::log::{Log, LogError, Place, Retention};
use crate::ticket::Ticket;
use crate::workers::Workers;
use commit::Commit;
use corbie::IdSecret;
use keep::Keeper;
use std::collections::HashSet;
use std::fs::{File, TryLockError};
use std::io::ErrorKind;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::thread::JoinHandle;
use table::Table;

/// A proxy as it was: its number, what it is, and how far its consumer was, if it has one.
pub(crate) type KeptProxy = (u64, ProxyRow, Option<Progress>);

/// What the names of the folders of channels begin with; then comes the number.
const CHANNEL: &str = "channel-";

/// Threads that read logs for consumers which are behind.
const READERS: usize = 2;

/// A folder of durable channels.
pub(crate) struct Store {
    folder: PathBuf,
    /// Lock "folder": held to take the file out, which is locked as long as the store is open.
    lock: Mutex<Option<File>>,
    table: Arc<Table>,
    commit: Arc<Commit>,
    keeper: Arc<Keeper>,
    readers: Arc<Workers>,
    /// Lock "threads": held to take them out.
    threads: Mutex<Vec<JoinHandle<()>>>,
}

impl Store {
    /// Opens the folder, which is made if it is not there.
    ///
    /// # Errors
    /// [`LogError::InUse`] when another process has it, [`LogError::Io`], [`LogError::Table`].
    pub(crate) fn open(folder: &Path) -> Result<Self, LogError> {
        make_folder(folder).map_err(|e| LogError::io("make", folder, e))?;
        let lock = lock(folder)?;
        let table = Arc::new(Table::open(&folder.join("channels.redb"))?);
        sync_folder(folder).map_err(|e| LogError::io("flush", folder, e))?;
        remove_orphans(folder, &table)?;
        let commit = Arc::new(Commit::default());
        let keeper = Keeper::new(&table);
        let threads = commit
            .start()
            .and_then(|mut threads| {
                threads.push(keeper.start()?);
                Ok(threads)
            })
            .inspect_err(|_| commit.close())
            .map_err(|error| LogError::io("start the threads for", folder, error))?;
        Ok(Self {
            folder: folder.to_owned(),
            lock: Mutex::new(Some(lock)),
            table,
            commit,
            keeper,
            readers: Workers::new(READERS),
            threads: Mutex::new(threads),
        })
    }

    /// A number of this folder's own, for references.
    pub(crate) fn uid(&self) -> u64 {
        self.table.uid
    }

    /// What makes the ids of its objects.
    pub(crate) fn secret(&self) -> &IdSecret {
        &self.table.secret
    }

    /// How often it was opened before.
    pub(crate) fn lives(&self) -> u64 {
        self.table.lives
    }

    /// The channels that it has.
    ///
    /// # Errors
    /// [`LogError::Table`].
    pub(crate) fn channels(&self) -> Result<Vec<(u64, ChannelRow)>, LogError> {
        self.table.channels()
    }

    /// What a typed channel knows.
    ///
    /// # Errors
    /// [`LogError::Table`].
    pub(crate) fn interfaces(&self, channel: u64) -> Result<Vec<InterfaceRow>, LogError> {
        self.table.interfaces(channel)
    }

    /// Makes a place for a new channel, which knows `interfaces`: its number and journal.
    ///
    /// # Errors
    /// [`LogError::Io`], [`LogError::Table`].
    pub(crate) fn make(
        &self,
        row: &ChannelRow,
        interfaces: Vec<InterfaceRow>,
    ) -> Result<Arc<Journal>, LogError> {
        let number = self.table.next_channel()?;
        let folder = self.folder_of(number);
        make_folder(&folder).map_err(|e| LogError::io("make", &folder, e))?;
        let retention = row.qos.durable.unwrap_or_default();
        let journal = self.open_journal(number, retention, 0)?;
        self.table.change(Change::Made { channel: number, row: row.clone(), interfaces })?;
        Ok(journal)
    }

    /// Opens the place of a channel that was there before: its journal, and its proxies.
    ///
    /// # Errors
    /// [`LogError::Damaged`], [`LogError::Io`], [`LogError::Table`].
    pub(crate) fn open_channel(
        &self,
        number: u64,
        row: &ChannelRow,
    ) -> Result<(Arc<Journal>, Vec<KeptProxy>), LogError> {
        let folder = self.folder_of(number);
        // It may have been moved away, to go on without its events.
        make_folder(&folder).map_err(|e| LogError::io("make", &folder, e))?;
        let proxies = self.table.proxies(number)?;
        let positions =
            proxies.iter().filter_map(|(_, _, progress)| Some(progress.as_ref()?.position));
        let least = positions.max().unwrap_or(0);
        let retention = row.qos.durable.unwrap_or_default();
        Ok((self.open_journal(number, retention, least)?, proxies))
    }

    fn open_journal(
        &self,
        number: u64,
        retention: Retention,
        least: u64,
    ) -> Result<Arc<Journal>, LogError> {
        let (log, opened) = Log::open(&self.folder_of(number), retention, least)?;
        if opened.torn > 0 {
            let torn = opened.torn;
            tracing::warn!(number, torn, "octets that were never acknowledged were cut off a log");
        }
        if opened.missing > 0 {
            let missing = opened.missing;
            tracing::error!(number, missing, "events are missing in the log of a channel");
        }
        Ok(Arc::new(Journal {
            number,
            log,
            channel: OnceLock::new(),
            commit: Arc::clone(&self.commit),
            table: Arc::clone(&self.table),
            readers: Arc::clone(&self.readers),
            leaving: Mutex::default(),
            held: AtomicU64::new(u64::MAX),
        }))
    }

    /// From now on `journal` is that of `channel`.
    pub(crate) fn serve<C: DurableChannel>(&self, journal: &Arc<Journal>, channel: &Arc<C>) {
        let channel: Weak<C> = Arc::downgrade(channel);
        let _ = journal.channel.set(channel);
    }

    /// From now on positions of its consumers are kept, and what none of them needs is dropped: to
    /// be called when all are there.
    pub(crate) fn look_after(&self, journal: &Arc<Journal>) {
        self.keeper.add(journal);
    }

    /// A channel is destroyed: returns when nothing of it is kept.
    ///
    /// # Errors
    /// [`LogError::Table`], [`LogError::Closed`]: it is to go on.
    pub(crate) fn destroy(&self, journal: &Arc<Journal>) -> Result<(), LogError> {
        self.table.change(Change::Destroyed { channel: journal.number })?;
        self.keeper.remove(journal);
        remove_folder(&self.folder_of(journal.number));
        Ok(())
    }

    /// As if the disk had failed: the table is opened again when it is needed next.
    #[cfg(test)]
    pub(crate) fn lose_table(&self) {
        self.table.lose();
    }

    /// Writes what is left to write, and ends its threads.
    pub(crate) fn close(&self) {
        self.commit.close();
        self.keeper.close();
        self.readers.close();
        let threads =
            std::mem::take(&mut *self.threads.lock().unwrap_or_else(PoisonError::into_inner));
        let me = std::thread::current().id();
        for thread in threads.into_iter().filter(|thread| thread.thread().id() != me) {
            if thread.join().is_err() {
                tracing::error!("a thread of the event log panicked");
            }
        }
        // Callers may hold channels for longer.
        self.table.close();
        drop(self.lock.lock().unwrap_or_else(PoisonError::into_inner).take());
    }

    fn folder_of(&self, number: u64) -> PathBuf {
        self.folder.join(format!("{CHANNEL}{number}"))
    }
}

/// Makes a folder, and those that it is in; their names are on the disk then.
fn make_folder(folder: &Path) -> std::io::Result<()> {
    let missing: Vec<&Path> = folder.ancestors().take_while(|folder| !folder.exists()).collect();
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    for made in missing {
        match made.parent() {
            Some(parent) if parent != Path::new("") => sync_folder(parent)?,
            _ => sync_folder(Path::new("."))?,
        }
    }
    Ok(())
}

fn sync_folder(folder: &Path) -> std::io::Result<()> {
    File::open(folder)?.sync_all()
}

/// Removes the folders of channels that were destroyed, or not made after all, just before the
/// server died. Numbers that the table has not given yet are none of its.
fn remove_orphans(folder: &Path, table: &Table) -> Result<(), LogError> {
    let there: HashSet<u64> = table.channels()?.into_iter().map(|(number, _)| number).collect();
    let given = table.given()?;
    let failed = |error| LogError::io("read the folder", folder, error);
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let name = entry.file_name();
        let number = name.to_str().and_then(|name| name.strip_prefix(CHANNEL));
        let number = number.and_then(|number| number.parse::<u64>().ok());
        if number.is_some_and(|number| number < given && !there.contains(&number)) {
            tracing::warn!(folder = %entry.path().display(), "left of a channel that is no more");
            remove_folder(&entry.path());
        }
    }
    Ok(())
}

/// What cannot be removed is tried again when the store is opened next.
fn remove_folder(folder: &Path) {
    match std::fs::remove_dir_all(folder) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            tracing::warn!(%error, folder = %folder.display(), "a folder could not be removed");
        }
        _ => {}
    }
}

fn lock(folder: &Path) -> Result<File, LogError> {
    let path = folder.join("lock");
    let file = File::options().create(true).truncate(false).write(true).mode(0o600).open(&path);
    let file = file.map_err(|error| LogError::io("open", &path, error))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(LogError::InUse(folder.to_owned())),
        Err(TryLockError::Error(error)) => Err(LogError::io("lock", &path, error)),
    }
}

/// A durable channel, as its journal sees it.
pub(crate) trait DurableChannel: Send + Sync + 'static {
    /// Gives these events to the consumers: they are on the disk, from the number `first` on.
    fn deliver(&self, first: u64, place: Place, events: &[Arc<Event>]);

    /// How far the consumers are, by their proxies.
    fn progress(&self) -> Vec<(u64, Progress)>;
}

/// What a durable channel has of the store.
pub(crate) struct Journal {
    number: u64,
    log: Log,
    channel: OnceLock<Weak<dyn DurableChannel>>,
    commit: Arc<Commit>,
    table: Arc<Table>,
    readers: Arc<Workers>,
    /// Lock "leaving": proxies that have ended and that the table still has.
    leaving: Mutex<Vec<u64>>,
    /// The first event that a consumer needs which could not be served again.
    held: AtomicU64,
}

impl Journal {
    /// The number of the channel in the store.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    pub(crate) fn log(&self) -> &Log {
        &self.log
    }

    /// The threads that read for consumers.
    pub(crate) fn readers(&self) -> &Arc<Workers> {
        &self.readers
    }

    fn channel(&self) -> Option<Arc<dyn DurableChannel>> {
        self.channel.get()?.upgrade()
    }

    /// From this event on, all is needed by a consumer that could not be served again: it may be at
    /// the next start.
    pub(crate) fn hold(&self, position: u64) {
        self.held.fetch_min(position, Ordering::SeqCst);
    }

    fn held(&self) -> u64 {
        self.held.load(Ordering::SeqCst)
    }

    /// Has `event` written, then given to the consumers; the ticket is kept until it is written.
    pub(crate) fn take(self: &Arc<Self>, event: &Arc<Event>, ticket: &Arc<Ticket>) {
        self.commit.add(self, event, ticket);
    }

    /// The channel knows these interfaces, too: returns when that is on the disk.
    ///
    /// # Errors
    /// [`LogError::Table`].
    pub(crate) fn knows(&self, interfaces: Vec<InterfaceRow>) -> Result<(), LogError> {
        self.table.change(Change::Knows { channel: self.number, interfaces })
    }

    /// A proxy was connected: returns when that is on the disk. Consumers begin with the events
    /// that come from now on.
    ///
    /// # Errors
    /// [`LogError::Table`].
    pub(crate) fn connected(
        &self,
        proxy: u64,
        row: ProxyRow,
        progress: Option<Progress>,
    ) -> Result<(), LogError> {
        self.table.change(Change::Connected { channel: self.number, proxy, row, progress })
    }

    /// A proxy has ended: returns when that is on the disk.
    ///
    /// # Errors
    /// [`LogError::Table`].
    pub(crate) fn ended(&self, proxy: u64) -> Result<(), LogError> {
        self.table.change(Change::Ended { channel: self.number, proxies: vec![proxy] })
    }

    /// A proxy has ended, and no caller waits for it: it is on the disk within a second, or when
    /// the store is closed.
    pub(crate) fn ends(&self, proxy: u64) {
        self.leaving().push(proxy);
    }

    /// Has those kept that have ended.
    fn keep_ends(&self) -> Result<(), LogError> {
        let leaving = std::mem::take(&mut *self.leaving());
        if leaving.is_empty() {
            return Ok(());
        }
        let channel = self.number;
        let kept = self.table.change(Change::Ended { channel, proxies: leaving.clone() });
        kept.inspect_err(|_| self.leaving().extend(leaving))
    }

    fn leaving(&self) -> MutexGuard<'_, Vec<u64>> {
        self.leaving.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
