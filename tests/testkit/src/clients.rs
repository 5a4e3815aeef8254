//! Clients of other ORBs that tests compile and run: C++ with omniORB, Java with JacORB. Where a
//! compiler or a library is missing, it is named with what installs it, and the test passes that
//! peer over; `cargo xtask test` installs what it can, CI fails without.

use crate::servers::{ScratchFolder, java, say_missing};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// Runs a compiler or a client to its end; what it printed.
///
/// # Panics
/// When it cannot be started or fails, with all that it said.
pub fn run(command: &mut Command) -> String {
    let output = command.output().expect("it is installed");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {}\n{text}\n{errors}", output.status);
    text
}

/// The jars of JacORB and its services, fetched once into a folder below `scratch`, which is the
/// test's `CARGO_TARGET_TMPDIR`; `None` without Maven, Java or the network.
#[must_use]
pub fn jacorb(scratch: &str) -> Option<&'static Path> {
    static LIBRARIES: OnceLock<Option<PathBuf>> = OnceLock::new();
    LIBRARIES.get_or_init(|| fetch_jacorb(scratch)).as_deref()
}

fn fetch_jacorb(scratch: &str) -> Option<PathBuf> {
    let folder = Path::new(scratch).join("jacorb-services");
    let complete = folder.join("complete-with-compiler");
    if !complete.is_file() {
        let fetched = Command::new("mvn")
            .args(["-q", "-B", "-f"])
            .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/peers/jacorb/pom.xml"))
            .arg("dependency:copy-dependencies")
            .arg(format!("-DoutputDirectory={}", folder.display()))
            .output();
        if !fetched.is_ok_and(|output| output.status.success()) {
            say_missing("JacORB (Java 17, Maven, and Maven Central in reach)");
            return None;
        }
        std::fs::write(&complete, "").expect("a file");
    }
    Some(folder)
}

/// A compiled program of Java classes, beside JacORB.
#[derive(Debug)]
pub struct JavaProgram {
    libraries: PathBuf,
    classes: ScratchFolder,
}

impl JavaProgram {
    /// Compiles the classes of one file.
    ///
    /// # Panics
    /// When the compiler refuses it.
    #[must_use]
    pub fn compile(libraries: &Path, source: &str) -> Self {
        Self::compile_with(libraries, source, &[])
    }

    /// Compiles the classes of one file, with the stubs of these IDL files.
    ///
    /// # Panics
    /// When a compiler refuses them.
    #[must_use]
    pub fn compile_with(libraries: &Path, source: &str, idl: &[&str]) -> Self {
        let classes = ScratchFolder::new("java");
        let stubs = classes.path().join("stubs");
        for file in idl {
            run(Command::new("java")
                .arg("-cp")
                .arg(libraries.join("*"))
                .args(["org.jacorb.idl.parser", "-d"])
                .args([stubs.as_os_str(), file.as_ref()]));
        }
        run(Command::new("javac")
            .args(["-nowarn", "-Xlint:none", "-encoding", "UTF-8", "-cp"])
            .arg(libraries.join("*"))
            .arg("-sourcepath")
            .arg(&stubs)
            .arg("-d")
            .arg(classes.path())
            .arg(source));
        Self { libraries: libraries.to_owned(), classes }
    }

    /// The stubs of these IDL files, with what JacORB's Interface Repository needs to read them.
    ///
    /// # Panics
    /// When a compiler refuses them.
    #[must_use]
    pub fn for_repository(libraries: &Path, idl: &[&str]) -> Self {
        let classes = ScratchFolder::new("java");
        let sources = ScratchFolder::new("java-sources");
        let mut files = vec![];
        for file in idl {
            run(Command::new("java")
                .arg("-cp")
                .arg(libraries.join("*"))
                .args(["org.jacorb.idl.parser", "-ir", "-d"])
                .args([sources.path().as_os_str(), file.as_ref()]));
        }
        java_files(sources.path(), &mut files);
        run(Command::new("javac")
            .args(["-nowarn", "-Xlint:none", "-encoding", "UTF-8", "-cp"])
            .arg(libraries.join("*"))
            .arg("-d")
            .arg(classes.path())
            .args(files));
        Self { libraries: libraries.to_owned(), classes }
    }

    /// Where the classes are.
    #[must_use]
    pub fn classes(&self) -> &Path {
        self.classes.path()
    }

    /// Java with these classes and JacORB; system properties and the main class are to follow.
    #[must_use]
    pub fn command(&self) -> Command {
        let mut command = java(&self.libraries);
        // The later class path counts.
        let classes = self.classes.path().display();
        command.arg("-cp").arg(format!("{classes}:{}/*", self.libraries.display()));
        command
    }
}

fn java_files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            java_files(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "java") {
            found.push(path);
        }
    }
}

/// A compiled program of C++ with omniORB.
#[derive(Debug)]
pub struct CppProgram {
    folder: ScratchFolder,
}

impl CppProgram {
    /// Compiles one file, with the stubs of these IDL files, told from one folder; `None` where
    /// omniORB is not installed.
    ///
    /// # Panics
    /// When a compiler refuses it.
    #[must_use]
    pub fn compile(source: &str, idl_folder: &str, idl: &[&str]) -> Option<Self> {
        let has_compiler = Command::new("omniidl").arg("-V").output().is_ok();
        if !has_compiler || !Path::new("/usr/include/omniORB4/CORBA.h").exists() {
            say_missing("omniORB (packages omniidl, libomniorb4-dev)");
            return None;
        }
        let folder = ScratchFolder::new("cpp");
        let path = folder.path();
        let mut compiler = Command::new("g++");
        compiler.args(["-std=c++17", "-O0", "-o"]).arg(path.join("program"));
        compiler.arg(format!("-I{}", path.display())).arg(source);
        for name in idl {
            run(Command::new("omniidl")
                .args(["-bcxx", &format!("-I{idl_folder}")])
                .arg(format!("-C{}", path.display()))
                .arg(format!("{idl_folder}/{name}.idl")));
            let stem = name.rsplit('/').next().unwrap_or(name);
            compiler.arg(path.join(format!("{stem}SK.cc")));
        }
        compiler.args(["-lomniDynamic4", "-lomniORB4", "-lomnithread", "-lpthread"]);
        run(&mut compiler);
        Some(Self { folder })
    }

    /// The program; its arguments are to follow.
    #[must_use]
    pub fn command(&self) -> Command {
        Command::new(self.folder.path().join("program"))
    }
}
