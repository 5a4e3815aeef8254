//! A disk that is full while a test says so, under a redb file.
//!
//! For tests of what keeps things in one: `corbie-store`, and who uses it.

use redb::StorageBackend;
use redb::backends::FileBackend;
use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

/// What the disk refuses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// Nothing.
    Nothing = 0,
    /// To write, to grow and to flush.
    Changes = 1,
    /// To flush: what was written before may be there or not.
    Flushes = 2,
    /// All, so that a file cannot be opened either.
    All = 3,
}

/// A file on a disk that fails when it is told to. Clones are of the same disk.
#[derive(Clone, Debug)]
pub struct FailingDisk {
    path: PathBuf,
    refused: Arc<AtomicU8>,
}

impl FailingDisk {
    /// A disk that works, with a file in `path`.
    #[must_use]
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), refused: Arc::default() }
    }

    /// From now on the disk refuses this.
    pub fn refuse(&self, what: Refused) {
        self.refused.store(what as u8, Ordering::SeqCst);
    }

    /// Opens the file, or makes it.
    ///
    /// # Errors
    /// When the disk refuses all, and what the file system says.
    pub fn open(&self) -> io::Result<impl StorageBackend + use<>> {
        self.check(&[Refused::All])?;
        let mut options = File::options();
        let file = options.read(true).write(true).create(true).truncate(false).open(&self.path)?;
        let file = FileBackend::new(file).map_err(io::Error::other)?;
        Ok(OnDisk { file, disk: self.clone() })
    }

    fn check(&self, refusing: &[Refused]) -> io::Result<()> {
        let refused = self.refused.load(Ordering::SeqCst);
        let refuses = refusing.iter().any(|what| *what as u8 == refused);
        if refuses { Err(io::ErrorKind::StorageFull.into()) } else { Ok(()) }
    }
}

#[derive(Debug)]
struct OnDisk {
    file: FileBackend,
    disk: FailingDisk,
}

impl StorageBackend for OnDisk {
    fn len(&self) -> io::Result<u64> {
        self.disk.check(&[Refused::All])?;
        self.file.len()
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.disk.check(&[Refused::All])?;
        self.file.read(offset, out)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.disk.check(&[Refused::Changes, Refused::All])?;
        self.file.set_len(len)
    }

    fn sync_data(&self) -> io::Result<()> {
        self.disk.check(&[Refused::Changes, Refused::Flushes, Refused::All])?;
        self.file.sync_data()
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.disk.check(&[Refused::Changes, Refused::All])?;
        self.file.write(offset, data)
    }
}
