//! What a replica of the requirement database keeps: of every replica a share, as that one counted
//! it; means are over all shares.
//!
//! A share is changed by its origin only and numbered there, so replicas that hand each other what
//! is new come to have the same shares, in whatever order and however often they do it.

use crate::bounds;
use crate::idl::{Known, News, Receipt, Requirements, Seen, Share, Usage};
use crate::messages::{accepted, refused};
use corbie_store::redb::{
    self, ReadTransaction, ReadableTable, ReadableTableMetadata, TableDefinition, WriteTransaction,
};
use corbie_store::{StoreFailure, StoreFile};
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

/// Application, format, machine, origin.
type Key = (&'static str, &'static str, &'static str, &'static str);
/// Version, mean wall seconds, mean processor seconds, largest memory in KiB, mean octets read and
/// written in KiB, samples.
type Value = (u64, f64, f64, u64, u64, u64);

const SHARES: TableDefinition<'_, Key, Value> = TableDefinition::new("shares");
/// Origin and version to application, format and machine.
const VERSIONS: TableDefinition<'_, (&str, u64), (&str, &str, &str)> =
    TableDefinition::new("versions");
/// The name of this database.
const SELF: TableDefinition<'_, (), &str> = TableDefinition::new("self");

/// Shares in one answer.
const NEWS_MAX: usize = 500;

pub(super) struct Shares {
    file: StoreFile,
    origin: String,
    /// The latest version of each origin. Lock "seen": held while shares are written.
    seen: Mutex<BTreeMap<String, u64>>,
    /// Shares at most.
    most: u64,
}

impl Shares {
    pub(super) fn prepare(file: StoreFile) -> Result<Self, StoreFailure> {
        let (origin, seen) = file.write(|transaction| {
            let mut seen = BTreeMap::new();
            transaction.open_table(SHARES)?;
            let mut own = transaction.open_table(SELF)?;
            let known = own.get(())?.map(|known| known.value().to_owned());
            let origin = known.unwrap_or_else(|| format!("{:016x}", crate::unique::unique()));
            own.insert((), origin.as_str())?;
            for entry in transaction.open_table(VERSIONS)?.iter()? {
                let (key, _) = entry?;
                let (origin, version) = key.value();
                // Versions of one origin ascend.
                seen.insert(origin.to_owned(), version);
            }
            Ok((origin, seen))
        })?;
        Ok(Self { file, origin, seen: Mutex::new(seen), most: bounds::RECORDS_MAX })
    }

    pub(super) fn origin(&self) -> &str {
        &self.origin
    }

    /// Counts a run, or several, to our own share, if there is room for it.
    pub(super) fn record(&self, used: &Usage) -> Result<Receipt, StoreFailure> {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let version = seen.get(&self.origin).copied().unwrap_or(0) + 1;
        let is_kept = self.file.write(|transaction| {
            let before = {
                let shares = transaction.open_table(SHARES)?;
                let found = shares.get(key(used, &self.origin))?;
                if found.is_none() && shares.len()? >= self.most {
                    return Ok(false);
                }
                found.map(|value| usage(used, value.value()))
            };
            let used = match before {
                // Files of earlier versions may have means that are infinite.
                Some(before) if super::is_sound(&before) => super::joined(&before, used),
                _ => Usage { samples: used.samples.max(1), ..used.clone() },
            };
            write(transaction, &self.origin, version, &used).map(|()| true)
        })?;
        if !is_kept {
            let most = self.most;
            return Ok(refused(format!("{most} formats on machines are known, as many as may be")));
        }
        seen.insert(self.origin.clone(), version);
        Ok(accepted())
    }

    /// The means of an application over all shares.
    pub(super) fn means_of(&self, application: &str) -> Result<Requirements, StoreFailure> {
        self.file.read(|transaction| {
            let shares = transaction.open_table(SHARES)?;
            let mut means: Vec<Usage> = Vec::new();
            for entry in shares.range((application, "", "", "")..)? {
                let (key, value) = entry?;
                let (name, format, machine, _) = key.value();
                if name != application {
                    break;
                }
                let share = usage(&of(name, format, machine), value.value());
                if !super::is_sound(&share) {
                    continue;
                }
                match means.last_mut() {
                    Some(last) if last.format == share.format && last.machine == share.machine => {
                        *last = super::joined(last, &share);
                    }
                    _ => means.push(share),
                }
            }
            Ok(Requirements { means })
        })
    }

    /// What we have seen, for others to say what we have not.
    pub(super) fn known(&self) -> Known {
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let one =
            |(origin, version): (&String, &u64)| Seen { origin: origin.clone(), version: *version };
        Known { asker: self.origin.clone(), seen: seen.iter().map(one).collect() }
    }

    /// What the asker has not seen, oldest first by origin; some of it, when it is much.
    pub(super) fn news_since(&self, known: &Known) -> Result<News, StoreFailure> {
        let seen: BTreeMap<&str, u64> =
            known.seen.iter().map(|seen| (seen.origin.as_str(), seen.version)).collect();
        let mut origins = self.seen.lock().unwrap_or_else(PoisonError::into_inner).clone();
        origins.remove(&known.asker);
        let changed = self.file.read(|transaction| {
            let mut changed = Vec::new();
            for (origin, latest) in &origins {
                let after = seen.get(origin.as_str()).copied().unwrap_or(0);
                told(transaction, origin, after..*latest, &mut changed)?;
            }
            Ok(changed)
        })?;
        Ok(News { origin: self.origin.clone(), changed })
    }

    /// Takes over what another one has told. How much of it was new.
    pub(super) fn learn(&self, news: &News) -> Result<usize, StoreFailure> {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let mut now = seen.clone();
        let mut learnt = Vec::new();
        let is_new = |share: &&Share| {
            share.origin != self.origin && bounds::too_long([&share.origin]).is_none()
        };
        let mut room = self.room()?;
        for share in news.changed.iter().filter(is_new) {
            if super::refusal_of(&share.used).is_some() || !self.has_room(share, &mut room)? {
                continue;
            }
            let latest = now.entry(share.origin.clone()).or_default();
            if share.version > *latest {
                *latest = share.version;
                learnt.push(share);
            }
        }
        if learnt.is_empty() {
            return Ok(0);
        }
        self.file.write(|transaction| {
            let mut shares = learnt.iter();
            shares
                .try_for_each(|share| write(transaction, &share.origin, share.version, &share.used))
        })?;
        *seen = now;
        Ok(learnt.len())
    }
}

impl Shares {
    /// How many shares more may be kept.
    fn room(&self) -> Result<u64, StoreFailure> {
        let known = self.file.read(|transaction| Ok(transaction.open_table(SHARES)?.len()?))?;
        Ok(self.most.saturating_sub(known))
    }

    /// Whether a share may be kept: there is room, which it takes, or it is known.
    fn has_room(&self, share: &Share, room: &mut u64) -> Result<bool, StoreFailure> {
        if *room > 0 {
            *room -= 1;
            return Ok(true);
        }
        self.file.read(|transaction| {
            let shares = transaction.open_table(SHARES)?;
            let found = shares.get(key(&share.used, &share.origin))?;
            Ok(found.is_some())
        })
    }
}

/// What `origin` counted after the first and up to the last of these versions, behind what is in
/// `changed`.
fn told(
    transaction: &ReadTransaction,
    origin: &str,
    versions: Range<u64>,
    changed: &mut Vec<Share>,
) -> Result<(), redb::Error> {
    if versions.is_empty() {
        return Ok(());
    }
    let shares = transaction.open_table(SHARES)?;
    let (first, last) = ((origin, versions.start + 1), (origin, versions.end));
    for entry in transaction.open_table(VERSIONS)?.range(first..=last)? {
        if changed.len() >= NEWS_MAX {
            break;
        }
        let (key, what) = entry?;
        let (application, format, machine) = what.value();
        let Some(value) = shares.get((application, format, machine, origin))? else { continue };
        let used = usage(&of(application, format, machine), value.value());
        changed.push(Share { origin: origin.to_owned(), version: key.value().1, used });
    }
    Ok(())
}

/// What is known of a share by its key.
fn of(application: &str, format: &str, machine: &str) -> Usage {
    let text = |text: &str| text.to_owned();
    let (application, format, machine) = (text(application), text(format), text(machine));
    Usage { application, format, machine, ..Usage::default() }
}

fn key<'a>(of: &'a Usage, origin: &'a str) -> (&'a str, &'a str, &'a str, &'a str) {
    (of.application.as_str(), of.format.as_str(), of.machine.as_str(), origin)
}

/// A share as it is kept, for what is known of it.
fn usage(of: &Usage, value: (u64, f64, f64, u64, u64, u64)) -> Usage {
    let (_, wall_s, processor_s, memory_kib, io_kib, samples) = value;
    let samples = u32::try_from(samples).unwrap_or(u32::MAX);
    Usage { wall_s, processor_s, memory_kib, io_kib, samples, ..of.clone() }
}

fn write(
    transaction: &WriteTransaction,
    origin: &str,
    version: u64,
    used: &Usage,
) -> Result<(), redb::Error> {
    let mut shares = transaction.open_table(SHARES)?;
    let mut versions = transaction.open_table(VERSIONS)?;
    let value = (
        version,
        used.wall_s,
        used.processor_s,
        used.memory_kib,
        used.io_kib,
        u64::from(used.samples),
    );
    let before = shares.insert(key(used, origin), value)?.map(|before| before.value().0);
    if let Some(before) = before {
        versions.remove((origin, before))?;
    }
    let of = (used.application.as_str(), used.format.as_str(), used.machine.as_str());
    versions.insert((origin, version), of)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use corbie_testkit::disk::{FailingDisk, Refused};
    use corbie_testkit::servers::ScratchFolder;

    fn replica() -> Shares {
        Shares::prepare(StoreFile::in_memory().unwrap()).unwrap()
    }

    fn run(format: &str, wall_s: f64) -> Usage {
        let (application, format) = ("app".to_owned(), format.to_owned());
        Usage { application, format, wall_s, samples: 1, ..Usage::default() }
    }

    fn exchange(from: &Shares, to: &Shares) -> usize {
        to.learn(&from.news_since(&to.known()).unwrap()).unwrap()
    }

    #[test]
    fn shares_are_few_and_those_that_are_known_change_on() {
        let few = Shares { most: 3, ..replica() };
        let record = |name: &str| few.record(&run(name, 1.0)).unwrap();
        assert!(["a", "b", "c", "a"].iter().all(|name| record(name).accepted));
        let refused = record("d");
        assert!(!refused.accepted && refused.why.contains("as many as may be"), "{refused:?}");
        // Of others no more are kept, either.
        let other = replica();
        other.record(&run("e", 1.0)).unwrap();
        other.record(&run("f", 1.0)).unwrap();
        assert_eq!(exchange(&other, &few), 0);
        assert_eq!(few.means_of("app").unwrap().means.len(), 3);
        let roomy = Shares { most: 4, ..few };
        assert_eq!(exchange(&other, &roomy), 1);
        other.record(&run("e", 9.0)).unwrap();
        assert_eq!(exchange(&other, &roomy), 1, "what is known changes on");
    }

    #[test]
    fn replicas_that_exchange_agree() {
        let (a, b, c) = (replica(), replica(), replica());
        a.record(&run("fine", 1.0)).unwrap();
        a.record(&run("fine", 3.0)).unwrap();
        b.record(&run("fine", 8.0)).unwrap();
        c.record(&run("coarse", 2.0)).unwrap();
        // By way of b, and twice: nothing is counted twice.
        for _ in 0..2 {
            exchange(&a, &b);
            exchange(&c, &b);
            exchange(&b, &a);
            exchange(&b, &c);
        }
        assert_eq!(exchange(&b, &c), 0);
        let means = a.means_of("app").unwrap();
        assert_eq!(means, b.means_of("app").unwrap());
        assert_eq!(means, c.means_of("app").unwrap());
        let of = |format: &str| {
            let mean = means.means.iter().find(|mean| mean.format == format).unwrap();
            (mean.wall_s, mean.samples)
        };
        assert_eq!((of("fine"), of("coarse")), ((4.0, 3), (2.0, 1)));
    }

    #[test]
    fn a_disk_that_was_full_for_a_while_is_written_to_again() {
        let folder = ScratchFolder::new("shares");
        let disk = FailingDisk::new(folder.path().join("shares.redb"));
        let open = || {
            let disk = disk.clone();
            Shares::prepare(StoreFile::with_storage("a", move || disk.open()).unwrap()).unwrap()
        };
        let (a, b) = (open(), replica());
        a.record(&run("fine", 1.0)).unwrap();
        disk.refuse(Refused::Changes);
        let failed = a.record(&run("fine", 1.0)).unwrap_err();
        assert!(failed.is_uncertain(), "{failed:?}");
        disk.refuse(Refused::Nothing);
        a.record(&run("fine", 1.0)).unwrap();
        exchange(&a, &b);
        let means = a.means_of("app").unwrap();
        assert!((2..=3).contains(&means.means[0].samples), "{means:?}");
        assert_eq!(b.means_of("app").unwrap(), means, "what no replica could tell is told, too");
        drop(a);
        assert_eq!(open().means_of("app").unwrap(), means);
    }

    #[test]
    fn much_news_comes_in_parts() {
        let (a, b) = (replica(), replica());
        for number in 0..NEWS_MAX + 7 {
            a.record(&run(&format!("f{number}"), 1.0)).unwrap();
        }
        assert_eq!(exchange(&a, &b), NEWS_MAX);
        assert_eq!(exchange(&a, &b), 7);
        assert_eq!(exchange(&a, &b), 0);
        assert_eq!(b.means_of("app").unwrap().means.len(), NEWS_MAX + 7);
    }
}
