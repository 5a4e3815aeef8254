//! The machine a record was made on: numbers from two machines are not to be compared, and this
//! says which one it was.
//!
//! Called once a run by `experiment.rs`. A load on the machine before the run starts is part of the
//! description, since other work on the same cores is the usual reason for a wide spread.

use crate::placement;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde_json::{Value, json};
use std::fs;
use std::process::Command;

/// Processor, cores, kernel, load before the run, versions of compiler and peers, commit.
pub(crate) fn describe() -> Value {
    let cpuinfo = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let field = |name: &str| {
        cpuinfo
            .lines()
            .filter_map(|line| line.split_once(':'))
            .find(|(key, _)| key.trim() == name)
            .map(|(_, value)| value.trim().to_owned())
    };
    let virtual_machine = field("flags").is_some_and(|f| f.split(' ').any(|f| f == "hypervisor"));
    json!({
        "processor": field("model name").unwrap_or_else(|| std::env::consts::ARCH.to_owned()),
        "cores": placement::allowed_cores().map(|cores| cores.len()).unwrap_or(0),
        "virtual_machine": virtual_machine,
        "memory_mib": memory_mib(),
        "kernel": first_line("/proc/sys/kernel/osrelease"),
        "load_before": load(),
        "compiler": said(Command::new("rustc").arg("--version")),
        "commit": said(Command::new("git").args(["describe", "--always", "--dirty"])),
        "omniorb": said(Command::new("dpkg-query").args(["-W", "-f=${Version}", "libomniorb4-2"])),
        "java": said(Command::new("java").arg("--version")),
        "date": said(Command::new("date").args(["-u", "+%Y-%m-%dT%H:%M:%SZ"])),
        "debug_assertions": cfg!(debug_assertions),
    })
}

/// Lets this process open as many files as it may: a connection is one, and there are thousands.
pub(crate) fn allow_many_files() {
    let limit = getrlimit(Resource::Nofile);
    // Refused means that the old limit stays, and the connection too many says so.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
}

/// Processes that wanted a core, averaged over the last minute.
pub(crate) fn load() -> f64 {
    let text = first_line("/proc/loadavg").unwrap_or_default();
    text.split(' ').next().and_then(|word| word.parse().ok()).unwrap_or(0.0)
}

fn memory_mib() -> Option<u64> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let kib: u64 = text.split_ascii_whitespace().nth(1)?.parse().ok()?;
    Some(kib / 1024)
}

fn first_line(path: &str) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    text.lines().next().map(str::to_owned)
}

/// The first line that a command prints, if it is there and succeeds.
fn said(command: &mut Command) -> Option<String> {
    let output = command.output().ok().filter(|output| output.status.success())?;
    let text = String::from_utf8_lossy(&output.stdout);
    text.lines().next().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_description_names_processor_kernel_and_cores() {
        let machine = describe();
        assert!(machine["processor"].as_str().is_some_and(|text| !text.is_empty()));
        assert!(machine["kernel"].as_str().is_some_and(|text| text.contains('.')));
        assert!(machine["cores"].as_u64().is_some_and(|cores| cores >= 1));
        assert!(machine["memory_mib"].as_u64().is_some_and(|mib| mib > 64));
    }
}
