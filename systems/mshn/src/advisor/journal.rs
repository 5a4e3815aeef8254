//! What the advisor must not forget: jobs that it accepted, in one `redb` file. A change is on the
//! disk when it returns.

use crate::idl::Accepted;
use corbie::{ByteOrder, Decoder, Encoder, Marshal};
use corbie_store::redb::{self, ReadableTable, TableDefinition};
use corbie_store::{StoreFailure, StoreFile};
use std::path::Path;

/// Id to CDR of [`Accepted`], little-endian.
const JOBS: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("jobs");

pub(super) struct Journal(StoreFile);

impl Journal {
    pub(super) fn open(path: Option<&Path>) -> Result<Self, StoreFailure> {
        Self::prepare(match path {
            Some(path) => StoreFile::create(path)?,
            None => StoreFile::in_memory()?,
        })
    }

    fn prepare(file: StoreFile) -> Result<Self, StoreFailure> {
        file.write(|transaction| {
            transaction.open_table(JOBS)?;
            Ok(())
        })?;
        Ok(Self(file))
    }

    /// Writes a new job, unless one of its id is there. The one that is there then: it may have
    /// been written by an earlier try whose outcome is not known.
    pub(super) fn add(&self, job: &Accepted) -> Result<Accepted, StoreFailure> {
        self.0.write(|transaction| {
            let mut table = transaction.open_table(JOBS)?;
            let known = table.get(job.what.id.as_str())?.map(|known| accepted(known.value()));
            if let Some(known) = known {
                return known;
            }
            table.insert(job.what.id.as_str(), octets(job)?.as_slice())?;
            Ok(job.clone())
        })
    }

    /// Writes all of these, in one transaction.
    pub(super) fn write(&self, jobs: &[Accepted]) -> Result<(), StoreFailure> {
        if jobs.is_empty() {
            return Ok(());
        }
        self.0.write(|transaction| {
            let mut table = transaction.open_table(JOBS)?;
            for job in jobs {
                table.insert(job.what.id.as_str(), octets(job)?.as_slice())?;
            }
            Ok(())
        })
    }

    /// Forgets these, in one transaction.
    pub(super) fn remove(&self, ids: &[String]) -> Result<(), StoreFailure> {
        self.0.write(|transaction| {
            let mut table = transaction.open_table(JOBS)?;
            for id in ids {
                table.remove(id.as_str())?;
            }
            Ok(())
        })
    }

    /// Every job that was accepted and not removed.
    pub(super) fn read(&self) -> Result<Vec<Accepted>, StoreFailure> {
        self.0.read(|transaction| {
            let table = transaction.open_table(JOBS)?;
            table.iter()?.map(|entry| accepted(entry?.1.value())).collect()
        })
    }
}

fn accepted(octets: &[u8]) -> Result<Accepted, redb::Error> {
    let mut decoder = Decoder::new(octets, ByteOrder::LittleEndian);
    <Accepted as Marshal>::decode(&mut decoder).map_err(|e| other(&e))
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
    use corbie_testkit::disk::{FailingDisk, Refused};
    use corbie_testkit::servers::ScratchFolder;

    #[test]
    fn a_job_that_is_submitted_twice_does_not_undo_what_became_of_it() {
        let journal = Journal::open(None).unwrap();
        let what = Job { id: "j".to_owned(), ..Job::default() };
        let new = Accepted { what, ..Accepted::default() };
        assert_eq!(journal.add(&new).unwrap().state.state, Phase::default());
        let state = Outcome { state: Phase::Done, ..Outcome::default() };
        journal.write(&[Accepted { state, ..new.clone() }]).unwrap();
        assert_eq!(journal.add(&new).unwrap().state.state, Phase::Done);
        let read = journal.read().unwrap();
        assert_eq!((read.len(), read[0].state.state), (1, Phase::Done));
    }

    #[test]
    fn a_job_whose_writing_nobody_could_tell_is_found_when_it_is_submitted_again() {
        let folder = ScratchFolder::new("journal");
        let disk = FailingDisk::new(folder.path().join("journal.redb"));
        let opened = disk.clone();
        let file = StoreFile::with_storage("a test's", move || opened.open()).unwrap();
        let journal = Journal::prepare(file).unwrap();
        let job = |id: &str| {
            let what = Job { id: id.to_owned(), ..Job::default() };
            Accepted { what, ..Accepted::default() }
        };
        journal.add(&job("before")).unwrap();
        // Written, but not flushed: the job is there when the file is opened again.
        disk.refuse(Refused::Flushes);
        assert!(journal.add(&job("j")).unwrap_err().is_uncertain());
        disk.refuse(Refused::Nothing);
        assert_eq!(journal.add(&job("j")).unwrap().what.id, "j");
        let ids: Vec<String> = journal.read().unwrap().into_iter().map(|job| job.what.id).collect();
        assert_eq!(ids, ["before", "j"]);
    }
}
