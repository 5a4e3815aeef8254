//! What tidy looks at: the files of the repository, its parsed Rust sources and its manifests.
//! Loaded once from disk by `Project::load`, or made of literals by the checks' own unit tests,
//! so that no check does input or output of its own.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use super::manifest::Manifest;
use super::rust_file::RustFile;
use super::violation::Violation;

/// Folders that hold no source of ours.
const SKIPPED_FOLDERS: [&str; 4] = [".git", "node_modules", "target", "corpus"];

/// A text file of the repository.
pub(crate) struct TextFile {
    /// Path from the root of the repository, with `/` between its parts.
    pub(crate) path: String,
    pub(crate) text: String,
}

/// Everything the checks may look at.
pub(crate) struct Project {
    /// Every text file, sources and manifests included.
    pub(crate) files: Vec<TextFile>,
    /// Every file and folder, text or not, by its path from the root.
    pub(crate) paths: BTreeSet<String>,
    pub(crate) rust: Vec<RustFile>,
    pub(crate) manifests: Vec<Manifest>,
    /// Files that could not be parsed; reported with all the rest.
    pub(crate) unreadable: Vec<Violation>,
}

impl Project {
    /// Reads the repository below `root`.
    pub(crate) fn load(root: &Path) -> Result<Project, String> {
        let mut files = Vec::new();
        let mut paths = BTreeSet::new();
        walk(root, "", &mut files, &mut paths)?;
        Ok(Project::of(files, paths))
    }

    /// A project of literals, for the checks' unit tests.
    #[cfg(test)]
    pub(crate) fn of_texts(texts: &[(&str, &str)]) -> Project {
        let mut paths = BTreeSet::new();
        let mut files = Vec::new();
        for (path, text) in texts {
            for (i, _) in path.match_indices('/') {
                paths.insert(path[..i].to_string());
            }
            paths.insert((*path).to_string());
            files.push(TextFile { path: (*path).to_string(), text: (*text).to_string() });
        }
        Project::of(files, paths)
    }

    fn of(files: Vec<TextFile>, paths: BTreeSet<String>) -> Project {
        let mut project =
            Project { files, paths, rust: vec![], manifests: vec![], unreadable: vec![] };
        for file in &project.files {
            if file.path.ends_with(".rs") {
                match RustFile::parse(&file.path, &file.text) {
                    Ok(parsed) => project.rust.push(parsed),
                    Err(violation) => project.unreadable.push(violation),
                }
            } else if file.path.ends_with("Cargo.toml") {
                match Manifest::parse(&file.path, &file.text) {
                    Ok(manifest) => project.manifests.push(manifest),
                    Err(violation) => project.unreadable.push(violation),
                }
            }
        }
        let of_tests: Vec<String> = project.rust.iter().flat_map(RustFile::test_modules).collect();
        for file in &mut project.rust {
            let stem = file.path.trim_end_matches(".rs");
            let is_below = |module: &String| {
                stem.strip_prefix(module.as_str())
                    .is_some_and(|s| s.is_empty() || s.starts_with('/'))
            };
            file.is_test_module = of_tests.iter().any(is_below);
        }
        project
    }

    /// The text of the file at `path`, if there is one.
    pub(crate) fn text(&self, path: &str) -> Option<&str> {
        self.files.iter().find(|file| file.path == path).map(|file| file.text.as_str())
    }
}

fn walk(
    root: &Path,
    folder: &str,
    files: &mut Vec<TextFile>,
    paths: &mut BTreeSet<String>,
) -> Result<(), String> {
    let listing = fs::read_dir(root.join(folder))
        .map_err(|e| format!("cannot list the folder `{folder}`: {e}"))?;
    let mut entries: Vec<_> = listing.filter_map(Result::ok).collect();
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = if folder.is_empty() { name.clone() } else { format!("{folder}/{name}") };
        let Ok(kind) = entry.file_type() else {
            continue;
        };
        if kind.is_dir() {
            paths.insert(path.clone());
            if !SKIPPED_FOLDERS.contains(&name.as_str()) && !name.starts_with("target-") {
                walk(root, &path, files, paths)?;
            }
        } else {
            paths.insert(path.clone());
            if is_text(&name)
                && let Ok(text) = fs::read_to_string(entry.path())
            {
                files.push(TextFile { path, text });
            }
        }
    }
    Ok(())
}

fn is_text(name: &str) -> bool {
    let endings =
        [".rs", ".md", ".toml", ".idl", ".sh", ".java", ".cc", ".h", ".xml", ".py", ".list"];
    endings.iter().any(|ending| name.ends_with(ending)) || name == "run"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_module_that_is_declared_for_tests_is_test_code_with_what_is_below_it() {
        let project = Project::of_texts(&[
            ("x/src/lib.rs", "#[cfg(test)]\nmod samples;\nmod wire;\n"),
            ("x/src/samples.rs", ""),
            ("x/src/samples/small.rs", ""),
            ("x/src/samples_of_all.rs", ""),
            ("x/src/wire.rs", "#[cfg(all(test, not(loom)))]\n#[cfg(test)]\nmod peer;\n"),
            ("x/src/wire/peer.rs", ""),
        ]);
        let tests = project.rust.iter().filter(|file| file.is_test_file());
        let paths: Vec<&str> = tests.map(|file| file.path.as_str()).collect();
        assert_eq!(paths, ["x/src/samples.rs", "x/src/samples/small.rs", "x/src/wire/peer.rs"]);
    }
}
