//! [`FileLoader`]: IDL files from the file system, with a list of what was read.
//!
//! Used by [`crate::Builder`], the `corbie` command and tests. The search order is the front end's
//! (`corbie_frontend::include_candidates`): the folder of the including file, then the include
//! paths.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use corbie_frontend::source::include_candidates;
use corbie_frontend::{LoadError, LoadedSource, SourceLoader};

/// Reads IDL files from the file system.
#[derive(Debug, Default)]
pub struct FileLoader {
    include_paths: Vec<String>,
    read: RefCell<BTreeSet<PathBuf>>,
}

impl FileLoader {
    /// A loader that searches these folders for included files, in this order.
    #[must_use]
    pub fn new(include_paths: &[PathBuf]) -> Self {
        let include_paths =
            include_paths.iter().map(|path| path.to_string_lossy().into_owned()).collect();
        FileLoader { include_paths, read: RefCell::default() }
    }

    /// Every file that was read so far, included ones too, in alphabetical order.
    #[must_use]
    pub fn files_read(&self) -> Vec<PathBuf> {
        self.read.borrow().iter().cloned().collect()
    }
}

impl SourceLoader for FileLoader {
    fn load(
        &self,
        path: &str,
        include_from: Option<&str>,
        system: bool,
    ) -> Result<LoadedSource, LoadError> {
        let candidates = include_candidates(path, include_from, system, &self.include_paths);
        for candidate in &candidates {
            // A folder of that name is not what was meant.
            if Path::new(candidate).is_dir() {
                continue;
            }
            match std::fs::read(candidate) {
                Ok(octets) => {
                    self.read.borrow_mut().insert(PathBuf::from(candidate));
                    return Ok(LoadedSource { name: candidate.clone(), octets });
                }
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                Err(error) => return Err(LoadError::Failed(format!("{candidate}: {error}"))),
            }
        }
        Err(LoadError::NotFound(candidates))
    }
}
