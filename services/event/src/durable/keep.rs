//! Keeps positions of consumers and which proxies have gone, and drops what no consumer needs: by a
//! thread, once a second.
//!
//! A position that is kept late means an event that is delivered twice after a crash, and a proxy
//! that has gone and is there again goes again. A segment is
//! dropped only when the positions behind it are on the disk.

use super::Journal;
use super::table::{Change, Progress, Table};
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

const INTERVAL: Duration = Duration::from_secs(1);

/// The thread's work.
pub(super) struct Keeper {
    table: Arc<Table>,
    /// Lock "keeper": not held in input and output.
    state: Mutex<KeeperState>,
    ends: Condvar,
}

#[derive(Default)]
struct KeeperState {
    journals: BTreeMap<u64, Arc<Journal>>,
    is_closed: bool,
}

/// What the table has, by channel and proxy.
type KeptProgress = HashMap<(u64, u64), Progress>;

impl Keeper {
    pub(super) fn new(table: &Arc<Table>) -> Arc<Self> {
        let table = Arc::clone(table);
        Arc::new(Self { table, state: Mutex::default(), ends: Condvar::new() })
    }

    /// # Errors
    /// What starting a thread says.
    pub(super) fn start(self: &Arc<Self>) -> std::io::Result<JoinHandle<()>> {
        let keeper = Arc::clone(self);
        thread::Builder::new().name("corbie-log-keep".to_owned()).spawn(move || keeper.work())
    }

    pub(super) fn add(&self, journal: &Arc<Journal>) {
        self.lock().journals.insert(journal.number(), Arc::clone(journal));
    }

    pub(super) fn remove(&self, journal: &Arc<Journal>) {
        self.lock().journals.remove(&journal.number());
    }

    /// Has all kept once more, and ends the thread.
    pub(super) fn close(&self) {
        self.lock().is_closed = true;
        self.ends.notify_all();
    }

    fn work(&self) {
        let mut kept = KeptProgress::new();
        loop {
            let state = self.lock();
            let waited = self.ends.wait_timeout_while(state, INTERVAL, |state| !state.is_closed);
            let (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
            let is_last = state.is_closed;
            let journals: Vec<Arc<Journal>> = state.journals.values().cloned().collect();
            drop(state);
            self.keep(&journals, &mut kept);
            if is_last {
                return;
            }
        }
    }

    fn keep(&self, journals: &[Arc<Journal>], kept: &mut KeptProgress) {
        let mut now = KeptProgress::new();
        let mut needed = Vec::new();
        for journal in journals {
            if let Err(error) = journal.keep_ends() {
                tracing::error!(%error, "proxies that have ended would be there again");
            }
            // One whose channel is gone keeps what it has.
            let Some(channel) = journal.channel() else { continue };
            let progress = channel.progress();
            let end = journal.log().end();
            let first = progress.iter().map(|(_, progress)| progress.position).min();
            needed.push((journal, first.unwrap_or(end).min(journal.held())));
            let number = journal.number();
            now.extend(progress.into_iter().map(|(proxy, at)| ((number, proxy), at)));
        }
        let further = now.iter().filter(|(key, at)| kept.get(*key) != Some(*at));
        let further: Vec<_> = further.map(|(key, at)| (*key, *at)).collect();
        if !further.is_empty()
            && let Err(error) = self.table.change(Change::Progressed(further))
        {
            tracing::error!(%error, "positions of consumers are not kept");
            // Nothing is dropped for having been consumed.
            needed.iter_mut().for_each(|(_, needed)| *needed = 0);
        } else {
            *kept = now;
        }
        for (journal, needed) in needed {
            if let Err(error) = journal.log().drop_below(needed) {
                tracing::warn!(%error, "events that no consumer needs take room");
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, KeeperState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
