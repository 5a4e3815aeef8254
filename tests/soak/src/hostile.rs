//! `--hostile`: clients that take what they can from a naming server, a server of event channels
//! and an application server, all at once, beside clients that behave. Those have to be served as
//! fast as before, or nearly; the servers may not grow, and have to say what they refuse.

mod attacks;
mod honest;

use crate::vitals::Vitals;
use corbie_testkit::servers::{ScratchFolder, free_port};
use honest::Honest;
use std::fmt;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// What honest clients may be slower by under attack.
const SLOWER: u32 = 10;
/// A round trip below this is fast, however fast those of quiet times are.
const FAST: Duration = Duration::from_millis(50);
/// What may wait in the queues of all channels.
const QUEUES_OCTETS: u64 = 64 << 20;
/// What a server may take under attack, and by how much it may grow when its limits are reached.
const MOST_KIB: u64 = 384 << 10;
const GROWTH_KIB: u64 = 32 << 10;
/// Attacks take so long until they have reached all limits.
const UNTIL_FULL: Duration = Duration::from_secs(60);
/// Lines that a server may write in a second.
const LINES: u64 = 60;

/// What to do.
#[derive(Clone, Debug)]
pub struct HostileOptions {
    /// The program `corbie`.
    pub corbie: PathBuf,
    /// How long: a quarter of it is quiet.
    pub length: Duration,
}

/// A server as a process.
pub(crate) struct Served {
    name: &'static str,
    process: Child,
    pub(crate) address: String,
    said: Arc<AtomicU64>,
}

impl Served {
    fn start(corbie: &Path, name: &'static str, more: &[&str]) -> Result<Self, String> {
        let address = format!("127.0.0.1:{}", free_port());
        let mut command = Command::new(corbie);
        command.args([name, "serve", "--print-reference", "--listen", &address]).args(more);
        command.env_remove("CORBIE_CONFIG_FILE").stdin(Stdio::null());
        let spawned = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
        let mut process = spawned.map_err(|e| format!("{command:?} cannot be run: {e}"))?;
        let (output, errors) = (process.stdout.take(), process.stderr.take());
        let said = Arc::new(AtomicU64::new(0));
        let counted = Arc::clone(&said);
        std::thread::spawn(move || {
            for _ in errors.into_iter().flat_map(|errors| BufReader::new(errors).lines()) {
                counted.fetch_add(1, Ordering::Relaxed);
            }
        });
        let mut first = String::new();
        let _ = BufReader::new(output.ok_or("no standard output")?).read_line(&mut first);
        let served = Served { name, process, address, said };
        let starts = first.starts_with("IOR:");
        if starts { Ok(served) } else { Err(format!("corbie {name} serve printed {first:?}")) }
    }

    fn memory_kib(&self) -> u64 {
        Vitals::of(self.process.id()).map_or(0, |vitals| vitals.memory_kib)
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// What was found.
#[derive(Debug)]
pub struct HostileReport {
    lines: Vec<String>,
    faults: Vec<String>,
}

impl HostileReport {
    /// What was not as it has to be, a sentence each.
    #[must_use]
    pub fn faults(&self) -> &[String] {
        &self.faults
    }
}

impl fmt::Display for HostileReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.lines.iter().try_for_each(|line| writeln!(f, "{line}"))?;
        self.faults.iter().try_for_each(|fault| writeln!(f, "FAULT: {fault}"))
    }
}

/// Does it; `say` hears how far it is.
///
/// # Errors
/// A sentence when it could not be carried out.
pub fn run(options: &HostileOptions, say: &mut dyn FnMut(&str)) -> Result<HostileReport, String> {
    let folder = ScratchFolder::new("hostile");
    let path = |name: &str| folder.path().join(name).display().to_string();
    let names = Served::start(&options.corbie, "naming", &["--store", &path("names.redb")])?;
    let queues = QUEUES_OCTETS.to_string();
    let more = ["--store", &path("events"), "--queues-octets-max", &queues];
    let more = [&more[..], &["--channel", "plain", "--durable-channel", "durable"]].concat();
    let events = Served::start(&options.corbie, "events", &more)?;
    let mut honest = Honest::start(&names.address, &events.address)?;
    let servers = [&names, &events];

    let quiet = honest.serve_for(options.length / 4);
    say(&format!("quiet: {quiet}"));
    let is_over = Arc::new(AtomicBool::new(false));
    let targets = attacks::Targets {
        names: names.address.clone(),
        events: events.address.clone(),
        application: honest.application(),
    };
    let attackers = attacks::start(&targets, &is_over);
    let began = Instant::now();
    // The attacks fill what they may fill; from then on nothing grows.
    let filling = honest.serve_for(options.length / 4);
    let full = servers.map(Served::memory_kib);
    let hostile = honest.serve_for(options.length / 2);
    let last = servers.map(Served::memory_kib);
    say(&format!("filling: {filling}\nattacked: {hostile}"));
    is_over.store(true, Ordering::SeqCst);
    let attacks: Vec<_> = attackers.into_iter().map(attacks::Attack::end).collect();
    let seconds = began.elapsed().as_secs() + 1;

    let mut report = HostileReport { lines: Vec::new(), faults: Vec::new() };
    report.lines.push(format!("quiet: {quiet}\nattacked at first: {filling}\nthen: {hostile}"));
    for (name, times) in &attacks {
        report.lines.push(format!("{name}: {times} times"));
        if *times == 0 {
            report.faults.push(format!("the attack `{name}` was not carried out"));
        }
    }
    for ((server, full), last) in servers.iter().zip(full).zip(last) {
        let said = server.said.load(Ordering::Relaxed);
        let Served { name, .. } = server;
        report.lines.push(format!("{name}: {full} KiB, then {last} KiB; {said} lines of log"));
        if last == 0 {
            report.faults.push(format!("{name} has ended"));
        }
        let was_full = options.length / 4 >= UNTIL_FULL;
        if last > MOST_KIB || (was_full && last > full + GROWTH_KIB) {
            report.faults.push(format!("{name} grows: {full} KiB, then {last} KiB"));
        }
        if said > LINES * seconds {
            report.faults.push(format!("{name} wrote {said} lines in {seconds} s"));
        }
    }
    if events.said.load(Ordering::Relaxed) == 0 {
        report.faults.push("no refusal of the event server was said".to_owned());
    }
    for (what, under) in [("at first", &filling), ("then", &hostile)] {
        if under.failed > 0 {
            let why = under.why.as_deref().unwrap_or_default();
            report.faults.push(format!("{what} {} honest rounds failed: {why}", under.failed));
        }
        if under.p99 > (quiet.p99 * SLOWER).max(FAST * SLOWER) {
            report.faults.push(format!("{what} honest clients waited: {:?}", under.p99));
        }
    }
    Ok(report)
}
