//! What the checks need beside the tool chain: `mdbook` and `cargo-deny` (built from crates.io
//! at a pinned version into `target/tools`), and the peers and tracers of Debian (apt, as root).
//! `cargo xtask test` asks for each when it needs it; what cannot be had is named as missing.

use std::path::{Path, PathBuf};

use crate::process::{self, Program};

/// A program that cargo can install. Built unoptimised: that takes a minute on two cores where a
/// release build takes several, and each runs for a few seconds only.
struct CargoTool {
    program: &'static str,
    package: &'static str,
    version: &'static str,
    options: &'static str,
}

const CARGO_TOOLS: [CargoTool; 2] = [
    CargoTool {
        program: "mdbook",
        package: "mdbook",
        version: "0.5.4",
        // Neither `serve` nor `watch` nor search: that halves the build.
        options: "--no-default-features",
    },
    CargoTool { program: "cargo-deny", package: "cargo-deny", version: "0.20.2", options: "" },
];

/// A program by which the package is known to be installed, and the Debian package.
const DEBIAN_TOOLS: [(&str, &str); 9] = [
    ("/usr/bin/omniidl", "omniidl"),
    ("/usr/bin/omniNames", "omniorb-nameserver"),
    ("/usr/share/idl/omniORB/Naming.idl", "omniorb-idl"),
    ("/usr/include/omniORB4/CORBA.h", "libomniorb4-dev"),
    ("/usr/bin/nameclt", "omniorb"),
    ("/usr/sbin/omniEvents", "omnievents"),
    ("/usr/bin/etcd", "etcd-server"),
    ("/usr/bin/strace", "strace"),
    ("/usr/bin/tmux", "tmux"),
];

/// Tools that are part of the machine; we do not install them, only say that they are not there.
const MACHINE_TOOLS: [&str; 3] = ["java", "mvn", "g++"];

/// Where cargo tools are installed, below the root of the repository.
const TOOLS_FOLDER: &str = "target/tools";

/// `cargo xtask tools`: installs everything, and says what is missing.
///
/// # Errors
/// A sentence that names what could not be installed.
pub(crate) fn run(root: &Path, _: &[String]) -> Result<String, String> {
    let mut missing: Vec<String> = peers_missing(root);
    for tool in &CARGO_TOOLS {
        missing.extend(cargo_tool(root, tool.program).err());
    }
    if missing.is_empty() {
        return Ok("everything is there".to_string());
    }
    Err(missing.join("; "))
}

/// The path of `mdbook` or `cargo-deny`, installed first when it is not there.
///
/// # Errors
/// Why it could not be installed.
pub(crate) fn cargo_tool(root: &Path, program: &str) -> Result<PathBuf, String> {
    let Some(tool) = CARGO_TOOLS.iter().find(|tool| tool.program == program) else {
        return Err(format!("`{program}` is not among the tools that xtask knows"));
    };
    let CargoTool { package, version, options, .. } = tool;
    let folder = root.join(TOOLS_FOLDER);
    // Each version has its own folder, so that a new pin is a new installation.
    let installed = folder.join(format!("{package}-{version}"));
    let path = installed.join("bin").join(program);
    if path.is_file() {
        return Ok(path);
    }
    println!("installing {package} {version} into {}", installed.display());
    let line = format!("cargo install --locked --debug --quiet {options} {package}@{version}");
    let program = Program::new(root, &line)
        .arguments(&["--root".to_string(), installed.display().to_string()])
        .variable("CARGO_TARGET_DIR", folder.join("build"))
        .variable("CARGO_PROFILE_DEV_DEBUG", "none");
    // The registry may falter; the second attempt goes on from what was fetched and built.
    let mut outcome = program.run();
    for _ in 0..2 {
        if outcome.is_ok() {
            break;
        }
        outcome = program.run();
    }
    outcome.map(|()| path)
}

/// Installs the Debian packages that are missing when it can; names what is missing after that.
pub(crate) fn peers_missing(root: &Path) -> Vec<String> {
    if !absent_packages().is_empty() && is_root() && process::find("apt-get", &[]).is_some() {
        let packages = absent_packages().join(" ");
        println!("installing {packages}");
        let update = Program::new(root, "apt-get -o Acquire::Retries=5 -qq update");
        let line = format!(
            "apt-get -o Acquire::Retries=5 -qq -y --no-install-recommends install {packages}"
        );
        let install = Program::new(root, &line).variable("DEBIAN_FRONTEND", "noninteractive");
        for step in [update, install] {
            if let Err(sentence) = step.run() {
                println!("{sentence}");
            }
        }
    }
    let packages = absent_packages().into_iter().map(|p| format!("Debian package {p} is missing"));
    let programs = MACHINE_TOOLS.iter().filter(|name| process::find(name, &[]).is_none());
    packages.chain(programs.map(|name| format!("program {name} is missing"))).collect()
}

fn absent_packages() -> Vec<&'static str> {
    let absent = DEBIAN_TOOLS.iter().filter(|(file, _)| !Path::new(file).exists());
    absent.map(|(_, package)| *package).collect()
}

fn is_root() -> bool {
    let id = Program::new(Path::new("."), "id -u").capture();
    id.is_ok_and(|(text, _)| text.trim() == "0")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_tool_is_refused() {
        let refused = cargo_tool(Path::new("/nowhere"), "make").unwrap_err();
        assert!(refused.contains("`make`"));
    }

    #[test]
    fn versions_are_pinned_exactly() {
        for tool in &CARGO_TOOLS {
            assert_eq!(tool.version.split('.').count(), 3, "{}", tool.package);
        }
    }
}
