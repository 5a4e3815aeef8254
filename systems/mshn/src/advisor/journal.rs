//! What the advisor must not forget: jobs that it accepted, in one `redb` file. A change is on the
//! disk when it returns.

use crate::idl::Accepted;
use corbie::{ByteOrder, Decoder, Encoder, Marshal};
use redb::{Database, ReadableDatabase, ReadableTable, TableDefinition};
use std::path::Path;

/// Id to CDR of [`Accepted`], little-endian.
const JOBS: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("jobs");

pub(super) struct Journal(Database);

impl Journal {
    pub(super) fn open(path: Option<&Path>) -> Result<Self, redb::Error> {
        let database = match path {
            Some(path) => Database::create(path)?,
            None => {
                let backend = redb::backends::InMemoryBackend::new();
                Database::builder().create_with_backend(backend)?
            }
        };
        let transaction = database.begin_write()?;
        transaction.open_table(JOBS)?;
        transaction.commit()?;
        Ok(Self(database))
    }

    /// Writes all of these, in one transaction.
    pub(super) fn write(&self, jobs: &[Accepted]) -> Result<(), redb::Error> {
        if jobs.is_empty() {
            return Ok(());
        }
        let transaction = self.0.begin_write()?;
        {
            let mut table = transaction.open_table(JOBS)?;
            for job in jobs {
                let mut encoder = Encoder::new(Vec::new(), ByteOrder::LittleEndian);
                <Accepted as Marshal>::encode(job, &mut encoder).map_err(|e| other(&e))?;
                table.insert(job.what.id.as_str(), encoder.to_vec().as_slice())?;
            }
        }
        transaction.commit()?;
        Ok(())
    }

    /// Forgets these, in one transaction.
    pub(super) fn remove(&self, ids: &[String]) -> Result<(), redb::Error> {
        let transaction = self.0.begin_write()?;
        {
            let mut table = transaction.open_table(JOBS)?;
            for id in ids {
                table.remove(id.as_str())?;
            }
        }
        transaction.commit()?;
        Ok(())
    }

    /// Every job that was accepted and not removed.
    pub(super) fn read(&self) -> Result<Vec<Accepted>, redb::Error> {
        let table = self.0.begin_read()?.open_table(JOBS)?;
        let mut jobs = Vec::new();
        for entry in table.iter()? {
            let (_, octets) = entry?;
            let mut decoder = Decoder::new(octets.value(), ByteOrder::LittleEndian);
            jobs.push(<Accepted as Marshal>::decode(&mut decoder).map_err(|e| other(&e))?);
        }
        Ok(jobs)
    }
}

/// Only a file that something else wrote has octets that are no job.
fn other(error: &dyn std::fmt::Display) -> redb::Error {
    redb::Error::Corrupted(format!("a job is malformed: {error}"))
}
