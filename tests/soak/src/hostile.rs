//! `--hostile`: clients that take what they can from a naming server, a server of event channels
//! and an application server, all at once, beside clients that behave. Those have to be served as
//! fast as before, or nearly; the servers may not grow, and have to say what they refuse.

mod attacks;
mod honest;
mod plain;
mod real_time;
mod served;

use corbie_testkit::servers::ScratchFolder;
use honest::{Honest, Rounds};
use served::Served;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// What honest clients may be slower by under attack.
const SLOWER: u32 = 10;
/// A round below this is fast, however fast those of quiet times are.
const FAST: Duration = Duration::from_millis(5);
/// For so long attacks are waited for that were not carried out yet.
const UNTIL_ALL_BEGAN: Duration = Duration::from_secs(60);
/// What may wait in the queues of all channels.
const QUEUES_OCTETS: u64 = 64 << 20;
/// Naming contexts that clients may make. They are made before the memory is compared.
const NAMES_MAX: &str = "1000";
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

/// The servers that are attacked.
struct Servers {
    names: Served,
    events: Served,
    real_time: Served,
    /// A component of MSHN, and where it is found.
    advisor: Served,
    system: Served,
    _folder: ScratchFolder,
}

impl Servers {
    fn start(options: &HostileOptions) -> Result<Self, String> {
        let folder = ScratchFolder::new("hostile");
        let path = |name: &str| folder.path().join(name).display().to_string();
        let start = |name, command: &[&str], more: &[&str]| {
            Served::start(&options.corbie, name, command, more)
        };
        let serve = ["naming", "serve", "--print-reference"];
        let more = ["--store", &path("names.redb"), "--contexts-max", NAMES_MAX];
        let names = start("naming", &serve, &more)?;
        let queues = QUEUES_OCTETS.to_string();
        let more = ["--store", &path("events"), "--queues-octets-max", &queues];
        let more = [&more[..], &["--channel", "plain", "--durable-channel", "durable"]].concat();
        let events = start("events", &["events", "serve", "--print-reference"], &more)?;
        let more = ["--queues-octets-max", &queues, "--proxies-of-server-max", "500"];
        let channels = ["--channel", real_time::QUIET, "--channel", real_time::ATTACKED];
        let more = [&more[..], &channels].concat();
        let real_time = start("real-time", &["rtevents", "serve", "--print-reference"], &more)?;
        // Those of MSHN serve the peers that a file names.
        let access = path("access.toml");
        let rules =
            "[peers.own]\naddresses = [\"127.0.0.1\", \"127.0.0.4\"]\n[[allow]]\npeers = \"own\"\n";
        std::fs::write(&access, rules).map_err(|e| format!("{access}: {e}"))?;
        // Calls that are refused cost time as well: a peer makes so many a second and no more.
        let access = ["-ORBAccessFile", &access, "-ORBRequestRatePerPeer", "1000"];
        let mshn = |component| ["mshn", "serve", component, "--name", component];
        let system = start("mshn-naming", &mshn("naming"), &access)?;
        let found = system.said_first.trim().to_owned();
        let more = [&access[..], &["-n", &found]].concat();
        let advisor = start("mshn-advisor", &mshn("advisor"), &more)?;
        Ok(Servers { names, events, real_time, advisor, system, _folder: folder })
    }

    fn all(&self) -> [&Served; 5] {
        [&self.names, &self.events, &self.real_time, &self.advisor, &self.system]
    }

    fn all_to_end(&mut self) -> [&mut Served; 5] {
        let Servers { names, events, real_time, advisor, system, _folder } = self;
        [names, events, real_time, advisor, system]
    }

    fn memory_kib(&self) -> [u64; 5] {
        self.all().map(Served::memory_kib)
    }
}

/// Does it; `say` hears how far it is.
///
/// # Errors
/// A sentence when it could not be carried out.
pub fn run(options: &HostileOptions, say: &mut dyn FnMut(&str)) -> Result<HostileReport, String> {
    let mut servers = Servers::start(options)?;
    let found = servers.system.said_first.trim();
    let channels = (&*servers.events.address, &*servers.real_time.address);
    let mut honest = Honest::start(&servers.names.address, channels, found)?;

    let quiet = honest.serve_for(options.length / 4)?;
    say(&format!("quiet: {quiet}"));
    let is_over = Arc::new(AtomicBool::new(false));
    let targets = attacks::Targets {
        names: servers.names.address.clone(),
        events: servers.events.address.clone(),
        real_time: servers.real_time.address.clone(),
        advisor: servers.advisor.address.clone(),
        system: servers.system.address.clone(),
        application: honest.application(),
    };
    let attackers = attacks::start(&targets, &is_over);
    let began = Instant::now();
    // The attacks fill what they may fill; from then on nothing grows.
    let mut filling = vec![honest.serve_for(options.length / 4)?];
    // Goes on until each attack was carried out once.
    while attackers.iter().any(|attack| attack.times() == 0) && began.elapsed() < UNTIL_ALL_BEGAN {
        filling.push(honest.serve_for(options.length / 8)?);
    }
    let full = servers.memory_kib();
    let hostile = honest.serve_for(options.length / 2)?;
    let last = servers.memory_kib();
    filling.iter().for_each(|filling| say(&format!("filling: {filling}")));
    say(&format!("attacked: {hostile}"));
    is_over.store(true, Ordering::SeqCst);
    let seconds = began.elapsed().as_secs() + 1;

    let mut report = HostileReport { lines: Vec::new(), faults: Vec::new() };
    let is_full = options.length / 4 >= UNTIL_FULL;
    report.see_attacks(attackers, is_full);
    for (server, (full, last)) in servers.all().into_iter().zip(full.into_iter().zip(last)) {
        report.see_vitals(server, (full, last), is_full, seconds);
    }
    report.lines.push(format!("quiet: {quiet}"));
    filling.iter().for_each(|filling| report.see_rounds("at first", filling, &quiet, is_full));
    report.see_rounds("then", &hostile, &quiet, is_full);
    drop(honest);
    let accounts = std::thread::scope(|threads| {
        let all = servers.all_to_end().map(|server| threads.spawn(|| server.account(is_full)));
        all.map(|account| account.join().unwrap_or(Err("an account panicked".to_owned())))
    });
    for account in accounts {
        let (said, faults) = account?;
        report.lines.push(said);
        report.faults.extend(faults);
    }
    Ok(report)
}

impl HostileReport {
    fn see_vitals(&mut self, server: &Served, kib: (u64, u64), is_full: bool, seconds: u64) {
        let ((full, last), lines) = (kib, server.lines());
        let name = server.name;
        self.lines.push(format!("{name}: {full} KiB, then {last} KiB; {lines} lines of log"));
        if last == 0 {
            self.faults.push(format!("{name} has ended"));
        }
        if last > MOST_KIB || (is_full && last > full + GROWTH_KIB) {
            self.faults.push(format!("{name} grows: {full} KiB, then {last} KiB"));
        }
        if lines > LINES * seconds {
            self.faults.push(format!("{name} wrote {lines} lines in {seconds} s"));
        }
        if lines == 0 {
            self.faults.push(format!("no refusal of {name} was said"));
        }
    }

    /// In the short form an attacker may get no processor at all.
    fn see_attacks(&mut self, attackers: Vec<attacks::Attack>, is_full: bool) {
        for attack in attackers {
            let (name, times) = (attack.name, attack.times());
            self.lines.push(format!("{name}: {times} times"));
            if times == 0 && is_full {
                self.faults.push(format!("the attack `{name}` was not carried out"));
            }
            attack.end();
        }
    }

    /// No round may fail. How long they take is judged in the long form only, on a machine that
    /// does nothing else; in the short one other programs take processors and the disk.
    fn see_rounds(&mut self, what: &str, under: &Rounds, quiet: &Rounds, is_full: bool) {
        self.lines.push(format!("attacked, {what}: {under}"));
        if under.failed > 0 {
            let why = under.why.as_deref().unwrap_or_default();
            self.faults.push(format!("{what} {} honest rounds failed: {why}", under.failed));
        }
        let most = quiet.p99.max(FAST) * SLOWER;
        if is_full && under.p99 > most {
            let waited = under.p99;
            self.faults.push(format!("{what} honest clients waited {waited:?}, not {most:?}"));
        }
    }
}
