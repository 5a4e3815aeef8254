//! The memory that messages take: the limits of the pools of buffers, when they are trimmed, and
//! the application's allocator for what is received.
//!
//! The pools themselves are [`corbie_cdr::buffers`]; what is sent and received without a copy is
//! [`corbie_cdr::payload`] (paper POA §3.2).

use corbie_cdr::budget;
use corbie_cdr::buffers::{self, BufferLimits};
use corbie_cdr::payload::PayloadAllocator;
use corbie_settings::Settings;
use corbie_threads::lock::{Ranked, RankedRw, rank};
use std::path::Path;
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};
use std::{fmt, fs};

/// The allocator of an ORB, if it has one.
#[derive(Default)]
pub(crate) struct AllocatorSlot(RankedRw<rank::Leaf, Option<Arc<dyn PayloadAllocator>>>);

impl fmt::Debug for AllocatorSlot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AllocatorSlot").finish_non_exhaustive()
    }
}

/// The settings of this ORB hold for the pools of the process from now on.
pub(crate) fn set_limits(settings: &Settings) {
    buffers::set_limits(BufferLimits {
        thread_buffers: settings.thread_buffers_max as usize,
        thread_octets: settings.thread_buffer_octets_max,
        shared_octets: settings.shared_buffer_octets_max,
    });
    budget::set_limit(settings.memory_max.unwrap_or(*OF_THE_MACHINE / 2));
}

/// Octets of memory that the machine has, or that the control group of the process may use, where
/// that is less; without either, no limit.
static OF_THE_MACHINE: LazyLock<usize> = LazyLock::new(|| {
    let text = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let groups = text("/proc/self/cgroup");
    let machine = total_of(&text("/proc/meminfo"));
    let group = limit_files(&groups).filter_map(|path| text(&path).trim().parse().ok());
    group.chain(machine).min().unwrap_or(usize::MAX)
});

/// `MemTotal` of `/proc/meminfo`, in octets.
fn total_of(meminfo: &str) -> Option<usize> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kib: usize = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kib.checked_mul(1 << 10)
}

/// Where the limits of the control groups in the text of `/proc/self/cgroup` stand, those around
/// them too: of version 2 (`0::/path`) and of version 1 (`4:memory:/path`).
fn limit_files(groups: &str) -> impl Iterator<Item = String> {
    let of_line = |line: &str| {
        let mut parts = line.splitn(3, ':').skip(1);
        let (kinds, path) = (parts.next()?, parts.next()?);
        let (root, file) = match kinds {
            "" => ("/sys/fs/cgroup", "memory.max"),
            kinds if kinds.split(',').any(|kind| kind == "memory") => {
                ("/sys/fs/cgroup/memory", "memory.limit_in_bytes")
            }
            _ => return None,
        };
        let around: Vec<_> = Path::new(path)
            .ancestors()
            .map(|group| format!("{root}{}/{file}", group.display()))
            .collect();
        Some(around)
    };
    groups.lines().filter_map(of_line).flatten().collect::<Vec<_>>().into_iter()
}

/// When the pools were trimmed last.
static TRIMMED: Ranked<rank::Leaf, Option<Instant>> = Ranked::new(None);

/// Called with each tick, in seconds: frees what was not needed lately. Each ORB of the process
/// comes by, and the pools are of all of them: what rests between the trimming of one and that of
/// another, a moment later, is needed still.
pub(crate) fn trim_now_and_then(settings: &Settings, tick: u64) {
    if let Some(interval) = settings.buffer_trim_interval
        && tick.is_multiple_of(interval.as_secs().max(1))
        && is_due(&mut TRIMMED.lock(), interval)
    {
        buffers::trim();
    }
}

/// Whether what was done `last` is to be done now, which is noted. Ticks come late, so half of the
/// interval is enough.
fn is_due(last: &mut Option<Instant>, interval: Duration) -> bool {
    let now = Instant::now();
    let is_due = last.is_none_or(|last| now.saturating_duration_since(last) >= interval / 2);
    if is_due {
        *last = Some(now);
    }
    is_due
}

impl AllocatorSlot {
    /// Keeps `allocator` from now on.
    pub(crate) fn set(&self, allocator: Arc<dyn PayloadAllocator>) {
        *self.0.write() = Some(allocator);
    }

    /// The allocator, if there is one.
    pub(crate) fn get(&self) -> Option<Arc<dyn PayloadAllocator>> {
        self.0.read().clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_memory_of_the_machine_and_of_control_groups_is_found() {
        assert_eq!(
            total_of("MemTotal:       16303428 kB\nMemFree: 5 kB\n"),
            Some(16_303_428 << 10)
        );
        assert_eq!(total_of("nothing"), None);
        let files: Vec<_> = limit_files("4:cpu,memory:/a\n7:pids:/b\n0::/c/d\n").collect();
        let expected = [
            "/sys/fs/cgroup/memory/a/memory.limit_in_bytes",
            "/sys/fs/cgroup/memory//memory.limit_in_bytes",
            "/sys/fs/cgroup/c/d/memory.max",
            "/sys/fs/cgroup/c/memory.max",
            "/sys/fs/cgroup//memory.max",
        ];
        assert_eq!(files, expected);
        assert!(*OF_THE_MACHINE > 16 << 20, "{}", *OF_THE_MACHINE);
    }

    #[test]
    fn what_one_orb_has_just_trimmed_no_other_trims() {
        let (mut last, long, none) = (None, Duration::from_secs(3600), Duration::ZERO);
        assert!(is_due(&mut last, long), "no thread has done it");
        assert!(!is_due(&mut last, long), "another ORB, a moment later");
        assert!(is_due(&mut last, none), "its interval is over");
    }
}
