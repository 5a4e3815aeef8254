//! What a machine has to give at the moment, from `/proc`: processors, load, idleness, memory,
//! network.
//!
//! Daemons measure with it and report to the status server; rates are since the last measurement.

use crate::idl::MachineStatus;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Measures this host.
#[derive(Debug)]
pub struct Host {
    folder: PathBuf,
    last: Option<(Instant, Counters)>,
}

/// What `/proc` counts since the machine was started.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Counters {
    processors: u32,
    /// Ticks of all processors: idle and waiting for disks, and all.
    idle: u64,
    all: u64,
    /// Octets received and sent, the loopback interface aside.
    network: u64,
}

impl Default for Host {
    fn default() -> Self {
        Self::at("/proc")
    }
}

impl Host {
    /// Measures by the files of this folder, which are as those of `/proc`.
    #[must_use]
    pub fn at(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into(), last: None }
    }

    /// The status of the machine, under this name.
    ///
    /// # Errors
    /// When a file of `/proc` cannot be read or is not as it should be.
    pub fn measure(&mut self, machine: &str) -> io::Result<MachineStatus> {
        let read = |name: &str| read(&self.folder, name);
        let now = Instant::now();
        let mut counters = processors(&read("stat")?)?;
        counters.network = network(&read("net/dev")?);
        let before = self.last.replace((now, counters));
        let (idle, rate) = match before {
            Some((then, before)) => since(&before, &counters, (now - then).as_secs_f64()),
            None => (share(counters.idle, counters.all), 0.0),
        };
        Ok(MachineStatus {
            machine: machine.to_owned(),
            processors: counters.processors,
            load: first_number(&read("loadavg")?, "loadavg")?,
            idle,
            memory_free_kib: memory(&read("meminfo")?)?,
            network_octets_per_s: rate,
            running: 0,
            age_s: 0.0,
        })
    }
}

fn read(folder: &Path, name: &str) -> io::Result<String> {
    let path = folder.join(name);
    std::fs::read_to_string(&path)
        .map_err(|e| io::Error::new(e.kind(), format!("cannot read {}: {e}", path.display())))
}

fn malformed(file: &str, wanted: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("/proc/{file} has no {wanted}"))
}

fn first_number(text: &str, file: &str) -> io::Result<f64> {
    let word = text.split_whitespace().next();
    word.and_then(|word| word.parse().ok()).ok_or_else(|| malformed(file, "load"))
}

/// The line of all processors and the number of lines of one.
fn processors(stat: &str) -> io::Result<Counters> {
    let mut counters = Counters::default();
    for line in stat.lines() {
        let Some(rest) = line.strip_prefix("cpu") else { continue };
        if !rest.starts_with(' ') {
            counters.processors += 1;
            continue;
        }
        let ticks: Vec<u64> = rest.split_whitespace().filter_map(|t| t.parse().ok()).collect();
        counters.idle = ticks.iter().skip(3).take(2).sum();
        // The guests' ticks, behind the eighth, are among the users' already.
        counters.all = ticks.iter().take(8).sum();
    }
    if counters.all == 0 || counters.processors == 0 {
        return Err(malformed("stat", "line of all processors"));
    }
    Ok(counters)
}

fn memory(meminfo: &str) -> io::Result<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"));
    let number = line.and_then(|rest| rest.split_whitespace().next()?.parse().ok());
    number.ok_or_else(|| malformed("meminfo", "line MemAvailable"))
}

fn network(dev: &str) -> u64 {
    let octets = |line: &str| -> Option<u64> {
        let (name, counts) = line.split_once(':')?;
        let counts: Vec<u64> = counts.split_whitespace().filter_map(|c| c.parse().ok()).collect();
        (name.trim() != "lo")
            .then(|| counts.first().copied().zip(counts.get(8).copied()))?
            .map(|(received, sent)| received + sent)
    };
    dev.lines().filter_map(octets).sum()
}

fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

/// Idle share and octets a second between two measurements.
fn since(before: &Counters, now: &Counters, seconds: f64) -> (f64, f64) {
    let all = now.all.saturating_sub(before.all);
    let idle = now.idle.saturating_sub(before.idle);
    let octets = now.network.saturating_sub(before.network) as f64;
    // Two measurements within one tick say nothing new of the processors.
    let idle = if all == 0 { share(now.idle, now.all) } else { share(idle, all) };
    (idle.min(1.0), if seconds > 0.0 { octets / seconds } else { 0.0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    const STAT: &str = "cpu  100 0 50 800 50 0 0 0 0 0\ncpu0 50 0 25 400 25 0 0 0 0 0\n\
                        cpu1 50 0 25 400 25 0 0 0 0 0\nintr 1\n";
    const DEV: &str = "Inter-| Receive\n face |bytes\n    lo: 9 1 0 0 0 0 0 0 9 1 0 0 0 0 0 0\n  \
                       eth0: 100 1 0 0 0 0 0 0 50 1 0 0 0 0 0 0\n";

    #[test]
    fn the_files_are_understood() {
        let counters = processors(STAT).unwrap();
        let expected = Counters { processors: 2, idle: 850, all: 1_000, network: 0 };
        assert_eq!(counters, expected);
        assert_eq!(network(DEV), 150);
        assert_eq!(memory("MemTotal: 9 kB\nMemAvailable:   1234 kB\n").unwrap(), 1_234);
        assert_eq!(first_number("0.25 0.10 0.05 1/200 99\n", "loadavg").unwrap(), 0.25);
    }

    #[test]
    fn what_is_not_as_it_should_be_is_said() {
        assert!(processors("intr 1").unwrap_err().to_string().contains("/proc/stat"));
        assert!(memory("MemTotal: 9 kB").is_err() && first_number("x", "loadavg").is_err());
        assert_eq!(network("nothing"), 0);
    }

    #[test]
    fn rates_are_of_the_time_between() {
        let before = Counters { processors: 2, idle: 850, all: 1_000, network: 100 };
        let now = Counters { idle: 875, all: 1_100, network: 1_100, ..before };
        assert_eq!(since(&before, &now, 2.0), (0.25, 500.0));
        assert_eq!(since(&before, &before, 0.0), (0.85, 0.0));
    }

    #[test]
    fn this_host_is_measured() {
        let mut host = Host::default();
        let status = host.measure("here").unwrap();
        assert!(status.processors > 0 && status.memory_free_kib > 0);
        assert!((0.0..=1.0).contains(&status.idle));
    }
}
