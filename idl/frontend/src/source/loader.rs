//! [`SourceLoader`]: where the text of the file compiled and of included files comes from.
//!
//! Implemented by [`MemoryLoader`] (tests, fuzzing, built-in text) and `corbie_build::FileLoader`.
//! The search order of `#include` is one function, [`include_candidates`], that every loader uses.

use std::collections::BTreeMap;

/// Finds and reads IDL files for the preprocessor.
pub trait SourceLoader {
    /// Finds `path` and returns its text.
    ///
    /// `include_from` is the [`LoadedSource::name`] of the file that has the `#include`, or `None`
    /// for the file compiled itself (then `path` is taken as it is). `system` is true for `#include
    /// <path>`. [`include_candidates`] gives the paths to try.
    ///
    /// # Errors
    /// [`LoadError::NotFound`] when no candidate exists, [`LoadError::Failed`] when one exists but
    /// cannot be read.
    fn load(
        &self,
        path: &str,
        include_from: Option<&str>,
        system: bool,
    ) -> Result<LoadedSource, LoadError>;
}

/// A file as a loader found it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoadedSource {
    /// The path under which it was found: shown in messages, and the identity for `#pragma once`.
    pub name: String,
    /// Its contents. UTF-8, or else taken as ISO 8859-1.
    pub octets: Vec<u8>,
}

/// Why a file could not be had.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LoadError {
    /// It is not there. Holds the folders (or paths) that were tried, for the message.
    NotFound(Vec<String>),
    /// It is there but cannot be read; the text says why.
    Failed(String),
}

/// The paths to try for a file, in order: the folder of the including file (only for `#include
/// "…"`), then each include path (`-I`). An absolute path, and the file compiled itself, is taken
/// as it is.
#[must_use]
pub fn include_candidates(
    path: &str,
    include_from: Option<&str>,
    system: bool,
    include_paths: &[String],
) -> Vec<String> {
    let Some(from) = include_from else {
        return vec![path.to_owned()];
    };
    if path.starts_with('/') || path.get(1..3).is_some_and(|x| x == ":\\" || x == ":/") {
        return vec![path.to_owned()];
    }
    let own_folder = match from.rfind(['/', '\\']) {
        Some(end) => &from[..end],
        None => "",
    };
    let own = (!system).then_some(own_folder);
    let mut candidates = Vec::new();
    let all =
        own.into_iter().chain(include_paths.iter().map(String::as_str)).map(|folder| match folder
            .trim_end_matches('/')
        {
            "" if folder.is_empty() => path.to_owned(),
            "." => path.to_owned(),
            folder => format!("{folder}/{path}"),
        });
    for candidate in all {
        if !candidates.contains(&candidate) {
            candidates.push(candidate);
        }
    }
    candidates
}

/// A loader whose files are in memory.
#[derive(Debug, Clone, Default)]
pub struct MemoryLoader {
    files: BTreeMap<String, Vec<u8>>,
    include_paths: Vec<String>,
}

impl MemoryLoader {
    /// A loader with no files.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds (or replaces) a file.
    #[must_use]
    pub fn file(mut self, name: impl Into<String>, text: impl Into<Vec<u8>>) -> Self {
        self.files.insert(name.into(), text.into());
        self
    }

    /// Adds a folder to search for included files (`-I`).
    #[must_use]
    pub fn include_path(mut self, folder: impl Into<String>) -> Self {
        self.include_paths.push(folder.into());
        self
    }
}

impl SourceLoader for MemoryLoader {
    fn load(
        &self,
        path: &str,
        include_from: Option<&str>,
        system: bool,
    ) -> Result<LoadedSource, LoadError> {
        let candidates = include_candidates(path, include_from, system, &self.include_paths);
        for candidate in &candidates {
            if let Some(octets) = self.files.get(candidate) {
                return Ok(LoadedSource { name: candidate.clone(), octets: octets.clone() });
            }
        }
        Err(LoadError::NotFound(candidates))
    }
}
