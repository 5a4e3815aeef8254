//! The IDL files that omniORB ships, and a loader that reads files.
//! The folder is `$CORBIE_OMNIORB_IDL`, or where Debian's package omniorb-idl puts it.

#![allow(unreachable_pub)] // for the tests

use std::path::{Path, PathBuf};

use corbie_frontend::{LoadError, LoadedSource, SourceLoader, include_candidates};

/// Reads files, as `corbie_build::FileLoader` does.
pub struct Files {
    pub include_paths: Vec<String>,
}

impl SourceLoader for Files {
    fn load(
        &self,
        path: &str,
        include_from: Option<&str>,
        system: bool,
    ) -> Result<LoadedSource, LoadError> {
        let candidates = include_candidates(path, include_from, system, &self.include_paths);
        for candidate in &candidates {
            match std::fs::read(candidate) {
                Ok(octets) => return Ok(LoadedSource { name: candidate.clone(), octets }),
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                Err(error) => return Err(LoadError::Failed(error.to_string())),
            }
        }
        Err(LoadError::NotFound(candidates))
    }
}

/// Fails with what to install when the folder is not there.
pub fn omniorb_folder() -> PathBuf {
    let folder = std::env::var_os("CORBIE_OMNIORB_IDL")
        .map_or_else(|| PathBuf::from("/usr/share/idl/omniORB"), PathBuf::from);
    assert!(
        folder.join("COS/CosNaming.idl").is_file(),
        "{} has no COS/CosNaming.idl: install the Debian package omniorb-idl, or set \
         CORBIE_OMNIORB_IDL to the folder of omniORB's IDL files",
        folder.display()
    );
    folder
}

pub fn idl_files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).expect("the folder can be listed") {
        let path = entry.expect("the folder can be listed").path();
        if path.is_dir() {
            found.extend(idl_files(&path));
        } else if path.extension().is_some_and(|extension| extension == "idl") {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// A loader that looks in omniORB's two folders.
pub fn omniorb_loader(folder: &Path) -> Files {
    let path = |x: &Path| x.to_str().expect("the path is UTF-8").to_owned();
    Files { include_paths: vec![path(folder), path(&folder.join("COS"))] }
}
