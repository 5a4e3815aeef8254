//! Builds the peers' programs (omniORB in C++, JacORB in Java) into `target/bench-peers`, or says
//! what is missing.
//!
//! `contender.rs` asks for the command line of a peer; it is built once and again when its sources
//! have changed. A peer that cannot be built is named as missing, with the reason, in the table and
//! in the JSON.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;

/// The bench crate's folder: where `idl/` and `peers/` are.
pub(crate) fn bench_folder() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The folder for built peers.
fn peers_folder() -> PathBuf {
    let target = std::env::var_os("CARGO_TARGET_DIR").map(PathBuf::from);
    target.unwrap_or_else(|| bench_folder().join("../target")).join("bench-peers")
}

/// Runs a tool to its end.
///
/// # Errors
/// A sentence with the tool's name and the end of what it said.
fn run(command: &mut Command) -> Result<(), String> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command.output().map_err(|e| match e.kind() {
        io::ErrorKind::NotFound => format!("`{program}` is not installed"),
        _ => format!("`{program}` does not start: {e}"),
    })?;
    if output.status.success() {
        return Ok(());
    }
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text);
    let last: Vec<&str> =
        text.lines().rev().filter(|line| !line.trim().is_empty()).take(3).collect();
    Err(format!("`{program}` failed ({}): {}", output.status, last.join(" / ")))
}

/// Whether `built` is there and younger than every source.
fn is_fresh(built: &Path, sources: &[PathBuf]) -> bool {
    let time = |path: &Path| fs::metadata(path).and_then(|m| m.modified()).ok();
    let Some(built) = time(built) else { return false };
    sources.iter().all(|source| time(source).unwrap_or(SystemTime::now()) < built)
}

/// The omniORB program, built if need be.
///
/// # Errors
/// Why it cannot be had.
pub(crate) fn omniorb() -> Result<PathBuf, String> {
    let source = bench_folder().join("peers/omniorb/echo.cc");
    let idl = bench_folder().join("idl/bench.idl");
    let cuber = bench_folder().join("idl/cuber.idl");
    let folder = peers_folder().join("omniorb");
    let program = folder.join("echo");
    if is_fresh(&program, &[source.clone(), idl.clone(), cuber.clone()]) {
        return Ok(program);
    }
    fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let include = format!("-I{}", folder.display());
    // With AMI; its exception holders are values, which need the code for `any`.
    run(Command::new("omniidl").args(["-bcxx", "-Wba", "-Wbami", "-C"]).arg(&folder).arg(&idl))?;
    run(Command::new("omniidl").args(["-bcxx", "-C"]).arg(&folder).arg(&cuber))?;
    run(Command::new("g++")
        .args(["-O2", "-std=c++17", &include, "-o"])
        .arg(&program)
        .arg(&source)
        .arg(folder.join("benchSK.cc"))
        .arg(folder.join("benchDynSK.cc"))
        .arg(folder.join("cuberSK.cc"))
        .args(["-lomniDynamic4", "-lomniORB4", "-lomnithread", "-lpthread"]))?;
    Ok(program)
}

/// Another event channel, of which we have a supplier and consumers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EventPeer {
    /// NATS, with its C client.
    Nats,
    /// IceStorm, with Ice for C++.
    IceStorm,
    /// omniEvents, with omniORB.
    OmniEvents,
}

/// The program with the supplier and the consumers of another event channel, built if need be.
///
/// # Errors
/// Why it cannot be had.
pub(crate) fn events(peer: EventPeer) -> Result<PathBuf, String> {
    let sources = bench_folder().join("peers/events");
    let name = match peer {
        EventPeer::Nats => "nats",
        EventPeer::IceStorm => "icestorm",
        EventPeer::OmniEvents => "omnievents",
    };
    let folder = peers_folder().join(format!("events-{name}"));
    let program = folder.join(name);
    let source = sources.join(name).with_extension("cc");
    let idl = match peer {
        EventPeer::Nats => vec![],
        EventPeer::IceStorm => vec![sources.join("icestorm.ice")],
        EventPeer::OmniEvents => {
            let service = bench_folder().join("../services/event/idl");
            let standard = ["CosEventComm.idl", "CosEventChannelAdmin.idl"];
            let own = ["octets.idl", "unanswered.idl"].map(|name| sources.join(name));
            standard.iter().map(|name| service.join(name)).chain(own).collect()
        }
    };
    let used = [&[source.clone(), sources.join("process.h")][..], &idl].concat();
    if is_fresh(&program, &used) {
        return Ok(program);
    }
    fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let mut generated = Vec::new();
    for file in &idl {
        let stem = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        if peer == EventPeer::IceStorm {
            run(Command::new("slice2cpp").arg("--output-dir").arg(&folder).arg(file))?;
            generated.push(folder.join(format!("{stem}.cpp")));
        } else {
            run(Command::new("omniidl").args(["-bcxx", "-Wba", "-C"]).arg(&folder).arg(file))?;
            generated.push(folder.join(format!("{stem}SK.cc")));
            generated.push(folder.join(format!("{stem}DynSK.cc")));
        }
    }
    let libraries: &[&str] = match peer {
        EventPeer::Nats => &["-lnats"],
        EventPeer::IceStorm => &["-DICE_CPP11_MAPPING", "-lIceStorm++11", "-lIce++11"],
        EventPeer::OmniEvents => &["-lomniDynamic4", "-lomniORB4", "-lomnithread"],
    };
    run(Command::new("g++")
        .args(["-O2", "-std=c++17", "-o"])
        .arg(&program)
        .arg(format!("-I{}", folder.display()))
        .arg(&source)
        .args(&generated)
        .args(libraries)
        .arg("-lpthread"))?;
    Ok(program)
}

/// The class path of the JacORB program, built if need be.
///
/// # Errors
/// Why it cannot be had.
pub(crate) fn jacorb() -> Result<String, String> {
    let source = bench_folder().join("peers/jacorb/src/bench/EchoProgram.java");
    let pom = bench_folder().join("peers/jacorb/pom.xml");
    let idl = bench_folder().join("idl/bench.idl");
    let folder = peers_folder().join("jacorb");
    let (library, generated, classes) =
        (folder.join("lib"), folder.join("generated"), folder.join("classes"));
    let jars = format!("{}/*", library.display());
    let class_path = format!("{jars}:{}", classes.display());
    let program = classes.join("bench/EchoProgram.class");
    if is_fresh(&program, &[source.clone(), idl.clone(), pom.clone()]) {
        return Ok(class_path);
    }
    // JacORB's compiler leaves alone what is younger than the IDL, whatever its options were then.
    let _ = fs::remove_dir_all(&generated);
    fs::create_dir_all(&generated).map_err(|e| format!("{}: {e}", generated.display()))?;
    run(Command::new("mvn")
        .args(["-q", "-B", "-f"])
        .arg(&pom)
        .arg("dependency:copy-dependencies")
        .arg(format!("-DoutputDirectory={}", library.display())))?;
    run(Command::new("java")
        .args(["-cp", &jars, "org.jacorb.idl.parser", "-ami_callback", "-d"])
        .arg(&generated)
        .arg(&idl))?;
    run(Command::new("javac")
        .args(["-nowarn", "-cp", &jars, "-d"])
        .arg(&classes)
        .args(java_files(&generated).map_err(|e| format!("{}: {e}", generated.display()))?)
        .arg(&source))?;
    Ok(class_path)
}

/// Every `.java` below a folder.
fn java_files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            found.extend(java_files(&path)?);
        } else if path.extension().is_some_and(|e| e == "java") {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_that_is_missing_or_fails_is_named() {
        let missing = run(&mut Command::new("no-such-tool-of-corbie")).unwrap_err();
        assert_eq!(missing, "`no-such-tool-of-corbie` is not installed");
        let failed = run(Command::new("sh").args(["-c", "echo one; echo two >&2; exit 4"]));
        let failed = failed.unwrap_err();
        assert!(failed.contains("exit status: 4") && failed.contains("two"), "{failed}");
    }

    #[test]
    fn what_is_not_built_is_not_fresh() {
        let source = bench_folder().join("idl/bench.idl");
        assert!(!is_fresh(Path::new("/no/such/file"), std::slice::from_ref(&source)));
        assert!(!is_fresh(&source, &[PathBuf::from("/no/such/source")]));
    }
}
