//! The Resource Requirement Database: what applications used, by format and machine, in one `redb`
//! file; and the proxy that gathers before it passes on (paper MSHN §2).
//!
//! Client Libraries record; the Scheduling Advisor asks for means.

mod gather;

pub use gather::RequirementProxy;

use crate::idl::{Requirements, Usage};
use crate::messages::{Component, Done, Request, accepted, not_mine, refused};
use redb::{Database, ReadableDatabase, ReadableTable, TableDefinition};
use std::path::Path;

/// Application, format, machine.
type Key = (&'static str, &'static str, &'static str);
/// Mean wall seconds, mean processor seconds, largest memory in KiB, samples.
type Means = (f64, f64, u64, u64);

const USED: TableDefinition<'_, Key, Means> = TableDefinition::new("used");

/// See the module.
pub struct RequirementDatabase {
    database: Database,
}

impl RequirementDatabase {
    /// Opens the database in `path`, or makes it.
    ///
    /// # Errors
    /// When the file is no database, cannot be written, or is in use by another process.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, redb::Error> {
        Self::prepare(Database::create(path)?)
    }

    /// A database in memory, which ends with the process.
    ///
    /// # Errors
    /// None in practice.
    pub fn in_memory() -> Result<Self, redb::Error> {
        let backend = redb::backends::InMemoryBackend::new();
        Self::prepare(Database::builder().create_with_backend(backend)?)
    }

    fn prepare(database: Database) -> Result<Self, redb::Error> {
        let transaction = database.begin_write()?;
        transaction.open_table(USED)?;
        transaction.commit()?;
        Ok(Self { database })
    }

    fn record(&self, used: &Usage) -> Result<(), redb::Error> {
        let transaction = self.database.begin_write()?;
        {
            let mut table = transaction.open_table(USED)?;
            let key = (used.application.as_str(), used.format.as_str(), used.machine.as_str());
            let before = table.get(key)?.map(|means| means.value());
            table.insert(key, joined(before, used))?;
        }
        transaction.commit()?;
        Ok(())
    }

    fn means_of(&self, application: &str) -> Result<Requirements, redb::Error> {
        let table = self.database.begin_read()?.open_table(USED)?;
        let mut means = Vec::new();
        for entry in table.range((application, "", "")..)? {
            let (key, value) = entry?;
            let (name, format, machine) = key.value();
            if name != application {
                break;
            }
            let (wall_s, processor_s, memory_kib, samples) = value.value();
            means.push(Usage {
                application: name.to_owned(),
                format: format.to_owned(),
                machine: machine.to_owned(),
                wall_s,
                processor_s,
                memory_kib,
                samples: u32::try_from(samples).unwrap_or(u32::MAX),
            });
        }
        Ok(Requirements { means })
    }
}

/// The mean with one more, or several more, in it.
fn joined(before: Option<Means>, used: &Usage) -> Means {
    let (wall, processor, memory, samples) = before.unwrap_or((0.0, 0.0, 0, 0));
    let more = u64::from(used.samples.max(1));
    let all = samples.saturating_add(more);
    let mean = |old: f64, new: f64| (old * samples as f64 + new * more as f64) / all as f64;
    let memory = memory.max(used.memory_kib);
    (mean(wall, used.wall_s), mean(processor, used.processor_s), memory, all)
}

/// Whether the numbers are such as a run can give.
fn is_sound(used: &Usage) -> bool {
    let is_time = |seconds: f64| seconds.is_finite() && seconds >= 0.0;
    is_time(used.wall_s) && is_time(used.processor_s)
}

impl Component for RequirementDatabase {
    fn serve(&self, request: Request, done: Done) {
        let outcome = match request {
            Request::Record(used) if !is_sound(&used) => {
                Ok(refused("a time is negative or not finite").into())
            }
            Request::Record(used) => self.record(&used).map(|()| accepted().into()),
            Request::MeansOf(which) => self.means_of(&which.name).map(Into::into),
            other => return done(Err(not_mine(&other))),
        };
        done(outcome.map_err(|error| {
            corbie::SystemException::persist_store(0, corbie::CompletionStatus::Maybe)
                .with_detail(format!("the requirement database: {error}"))
        }));
    }
}
