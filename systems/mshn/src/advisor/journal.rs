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

    /// Writes a new job, unless one of its id is there. Whether it was new.
    pub(super) fn add(&self, job: &Accepted) -> Result<bool, redb::Error> {
        let transaction = self.0.begin_write()?;
        let is_new = {
            let mut table = transaction.open_table(JOBS)?;
            let is_new = table.get(job.what.id.as_str())?.is_none();
            if is_new {
                table.insert(job.what.id.as_str(), octets(job)?.as_slice())?;
            }
            is_new
        };
        transaction.commit()?;
        Ok(is_new)
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
                table.insert(job.what.id.as_str(), octets(job)?.as_slice())?;
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

fn octets(job: &Accepted) -> Result<Vec<u8>, redb::Error> {
    let mut encoder = Encoder::new(Vec::new(), ByteOrder::LittleEndian);
    <Accepted as Marshal>::encode(job, &mut encoder).map_err(|e| other(&e))?;
    Ok(encoder.to_vec())
}

/// Only a file that something else wrote has octets that are no job.
fn other(error: &dyn std::fmt::Display) -> redb::Error {
    redb::Error::Corrupted(format!("a job is malformed: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::idl::{Job, Outcome, Phase};

    #[test]
    fn a_job_that_is_submitted_twice_does_not_undo_what_became_of_it() {
        let journal = Journal::open(None).unwrap();
        let what = Job { id: "j".to_owned(), ..Job::default() };
        let new = Accepted { what, ..Accepted::default() };
        assert!(journal.add(&new).unwrap());
        let state = Outcome { state: Phase::Done, ..Outcome::default() };
        journal.write(&[Accepted { state, ..new.clone() }]).unwrap();
        assert!(!journal.add(&new).unwrap());
        let read = journal.read().unwrap();
        assert_eq!((read.len(), read[0].state.state), (1, Phase::Done));
    }
}
