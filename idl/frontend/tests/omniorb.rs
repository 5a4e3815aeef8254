//! Every IDL file that omniORB ships (its own and the OMG services) compiles without error.
//!
//! The folder is `$CORBIE_OMNIORB_IDL`, or where Debian's package omniorb-idl puts it.

use std::path::{Path, PathBuf};

use corbie_frontend::{
    LoadError, LoadedSource, Options, SourceLoader, compile, include_candidates,
};

/// Reads files, as `corbie_build::FileLoader` does.
struct Files {
    include_paths: Vec<String>,
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

fn folder() -> PathBuf {
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

fn idl_files(folder: &Path) -> Vec<PathBuf> {
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

#[test]
fn every_file_of_omniorb_compiles() {
    let folder = folder();
    let path = |x: &Path| x.to_str().unwrap().to_owned();
    let loader = Files { include_paths: vec![path(&folder), path(&folder.join("COS"))] };
    let files = idl_files(&folder);
    assert!(files.len() >= 60, "only {} files in {}", files.len(), folder.display());
    let mut faulty = String::new();
    let mut definitions = 0;
    for file in &files {
        let compilation = compile(&path(file), &loader, &Options::new());
        definitions += compilation.model.len();
        if compilation.has_errors() {
            faulty += &format!("== {}\n{}", file.display(), compilation.render_diagnostics());
        }
    }
    assert!(faulty.is_empty(), "{faulty}");
    assert!(definitions > 5_000, "only {definitions} definitions in all");
}
