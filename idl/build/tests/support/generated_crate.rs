//! A crate made of generated code, in cargo's target folder, and what cargo says about it.
//!
//! Used by the tests that compile generated code against the real façade. Modules are given as
//! text; the crate is checked with warnings denied. It has a target folder of its own, so that only
//! the first run compiles the ORB.

#![allow(dead_code)] // each test file uses a part

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// What a strict crate may ask of all its code.
const DENIED: &str = "#![deny(warnings, missing_docs, missing_debug_implementations)]
#![deny(rust_2018_idioms, unreachable_pub, unused_qualifications, unsafe_code)]";

/// A crate under construction.
pub(crate) struct GeneratedCrate {
    folder: PathBuf,
    modules: String,
}

/// The root of the workspace.
pub(crate) fn workspace() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    root.canonicalize().expect("the workspace")
}

impl GeneratedCrate {
    /// An empty crate of this name.
    pub(crate) fn new(name: &str) -> Self {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        // What an earlier run left must not be compiled.
        for inner in ["src", "examples"] {
            let _ = fs::remove_dir_all(folder.join(inner));
            fs::create_dir_all(folder.join(inner)).expect("a folder");
        }
        let corbie = workspace().join("orb/corbie");
        let manifest = format!(
            "[package]\nname = \"{name}\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n\
             [dependencies]\ncorbie = {{ path = {corbie:?} }}\n\n[workspace]\n"
        );
        fs::write(folder.join("Cargo.toml"), manifest).expect("writable");
        let lock = workspace().join("Cargo.lock");
        fs::copy(lock, folder.join("Cargo.lock")).expect("the workspace's Cargo.lock");
        GeneratedCrate { folder, modules: String::new() }
    }

    /// Adds a module that includes `source`.
    pub(crate) fn module(&mut self, name: &str, source: &str) {
        let file = self.folder.join("src").join(format!("{name}.generated.rs"));
        fs::write(file, source).expect("writable");
        let _ = writeln!(
            self.modules,
            "/// Generated.\npub mod {name} {{\n    include!(\"{name}.generated.rs\");\n}}"
        );
    }

    /// Adds a program; it sees the modules as those of the crate.
    pub(crate) fn example(&self, name: &str, source: &str) {
        let file = self.folder.join("examples").join(format!("{name}.rs"));
        fs::write(file, source).expect("writable");
    }

    /// Adds a module of programs, beside them.
    pub(crate) fn example_part(&self, name: &str, source: &str) {
        let folder = self.folder.join("examples");
        // A file there would be a program of its own.
        fs::create_dir_all(folder.join("parts")).expect("a folder");
        fs::write(folder.join("parts").join(format!("{name}.rs")), source).expect("writable");
    }

    /// Runs a cargo command on the crate and returns what it said.
    pub(crate) fn cargo(&self, arguments: &[&str]) -> Output {
        let root = format!("//! Generated code.\n{DENIED}\n{}", self.modules);
        fs::write(self.folder.join("src/lib.rs"), root).expect("writable");
        Command::new(env!("CARGO"))
            .args(arguments)
            .args(["--offline", "--quiet", "--manifest-path"])
            .arg(self.folder.join("Cargo.toml"))
            .arg("--target-dir")
            .arg(Path::new(env!("CARGO_TARGET_TMPDIR")).join("generated-target"))
            .env_remove("RUSTFLAGS")
            .output()
            .expect("cargo runs")
    }

    /// Runs a cargo command that must succeed without warnings.
    #[track_caller]
    pub(crate) fn cargo_ok(&self, arguments: &[&str]) {
        let output = self.cargo(arguments);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "cargo {arguments:?} on {:?}:\n{said}", self.folder);
        assert!(said.trim().is_empty(), "cargo {arguments:?} warns:\n{said}");
    }
}
