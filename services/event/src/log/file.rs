//! The file of a segment while it is written: every octet of it is either on the disk or cut off
//! again.

use super::LogError;
use super::format::{SEGMENT_HEADER, SegmentHeader};
use std::fs::{File, OpenOptions};
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

/// A segment that is written.
pub(super) struct SegmentFile {
    file: File,
    path: PathBuf,
    /// How far it is whole, and on the disk.
    length: u64,
    /// What failed could not be cut off again, so far.
    is_torn: bool,
}

/// Why a batch was not written.
pub(super) struct NotWritten {
    pub(super) error: LogError,
    /// What is on the disk is not known: no more is to be written to this file.
    pub(super) is_unsure: bool,
}

impl SegmentFile {
    /// Makes a segment, whose header is on the disk, and its name in the folder.
    ///
    /// # Errors
    /// Those of the file system.
    pub(super) fn create(path: &Path, header: &SegmentHeader) -> Result<Self, LogError> {
        let failed = |error| LogError::io("make", path, error);
        let mut options = OpenOptions::new();
        options.write(true).create_new(true).mode(0o600);
        let file = options.open(path).map_err(failed)?;
        let written = write_at(&file, &header.write(), 0)
            .and_then(|()| sync(&file))
            .and_then(|()| sync_folder(path));
        if let Err(error) = written {
            // An empty segment would be removed at the next start as well.
            let _ = std::fs::remove_file(path);
            return Err(failed(error));
        }
        Ok(Self { file, path: path.to_owned(), length: SEGMENT_HEADER as u64, is_torn: false })
    }

    /// Opens a segment that is whole up to `length`; what follows is cut off.
    ///
    /// # Errors
    /// Those of the file system.
    pub(super) fn open(path: &Path, length: u64) -> Result<Self, LogError> {
        let failed = |error| LogError::io("open", path, error);
        let file = OpenOptions::new().write(true).open(path).map_err(failed)?;
        if file.metadata().map_err(failed)?.len() != length {
            file.set_len(length).and_then(|()| sync(&file)).map_err(failed)?;
        }
        Ok(Self { file, path: path.to_owned(), length, is_torn: false })
    }

    pub(super) fn length(&self) -> u64 {
        self.length
    }

    /// Appends `octets`; returns when they are on the disk.
    ///
    /// # Errors
    /// [`NotWritten`]; then they are not in the file, as far as is known.
    pub(super) fn append(&mut self, octets: &[u8]) -> Result<(), NotWritten> {
        if self.is_torn {
            self.cut().map_err(|error| NotWritten { error, is_unsure: true })?;
        }
        if let Err(error) = write_at(&self.file, octets, self.length) {
            self.is_torn = true;
            let error = LogError::io("write to", &self.path, error);
            return Err(match self.cut() {
                Ok(()) => NotWritten { error, is_unsure: false },
                Err(_) => NotWritten { error: error.unsure(), is_unsure: true },
            });
        }
        if let Err(error) = sync(&self.file) {
            // What the kernel could not write it forgets: nothing can be said of the file's end.
            self.is_torn = true;
            let error = LogError::io("flush", &self.path, error).unsure();
            return Err(NotWritten { error, is_unsure: true });
        }
        self.length += octets.len() as u64;
        Ok(())
    }

    /// Cuts off what was not written as a whole.
    ///
    /// # Errors
    /// Those of the file system.
    pub(super) fn cut(&mut self) -> Result<(), LogError> {
        let cut = self.file.set_len(self.length).and_then(|()| sync(&self.file));
        cut.map_err(|error| LogError::io("cut", &self.path, error))?;
        self.is_torn = false;
        Ok(())
    }
}

/// Has the name of `path` in its folder on the disk.
pub(super) fn sync_folder(path: &Path) -> std::io::Result<()> {
    match path.parent() {
        Some(folder) => File::open(folder)?.sync_all(),
        None => Ok(()),
    }
}

fn write_at(file: &File, octets: &[u8], at: u64) -> std::io::Result<()> {
    #[cfg(test)]
    faults::write(file, octets, at)?;
    file.write_all_at(octets, at)
}

fn sync(file: &File) -> std::io::Result<()> {
    #[cfg(test)]
    faults::sync()?;
    file.sync_data()
}

/// Disks that fail, for tests: what they do to the thread that sets it.
#[cfg(test)]
pub(super) mod faults {
    use std::cell::Cell;
    use std::fs::File;
    use std::io::{Error, ErrorKind, Result};
    use std::os::unix::fs::FileExt as _;

    thread_local! {
        static ROOM: Cell<Option<usize>> = const { Cell::new(None) };
        static SYNCS_FAIL: Cell<u32> = const { Cell::new(0) };
    }

    /// So many more octets can be written.
    pub(in crate::log) fn set_room(octets: Option<usize>) {
        ROOM.set(octets);
    }

    /// So many of the next flushes fail.
    pub(in crate::log) fn fail_syncs(count: u32) {
        SYNCS_FAIL.set(count);
    }

    pub(super) fn write(file: &File, octets: &[u8], at: u64) -> Result<()> {
        let Some(room) = ROOM.get() else { return Ok(()) };
        let Some((fits, rest)) = octets.split_at_checked(room) else {
            ROOM.set(Some(room - octets.len()));
            return Ok(());
        };
        if rest.is_empty() {
            ROOM.set(Some(0));
            return Ok(());
        }
        file.write_all_at(fits, at)?;
        Err(Error::from(ErrorKind::StorageFull))
    }

    pub(super) fn sync() -> Result<()> {
        match SYNCS_FAIL.get() {
            0 => Ok(()),
            left => {
                SYNCS_FAIL.set(left - 1);
                Err(Error::other("the disk failed"))
            }
        }
    }
}
