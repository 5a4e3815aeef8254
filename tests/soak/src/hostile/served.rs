//! A server as a process, and what it says of what it refused: lines of its log, and its metrics.
//! Each refusal has to be in both, once.

use crate::vitals::Vitals;
use corbie_testkit::servers::free_port;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value as Json;
use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How long a server may take to say its last refusals, and to end: with a rate of 1,000 requests a
/// second it reads on for a while what attackers had sent.
const PATIENCE: Duration = Duration::from_secs(240);
/// For so long nothing is refused any more before what was refused is counted.
const QUIET: Duration = Duration::from_millis(1500);

/// So many connections a peer may open in a second.
pub(super) const CONNECTION_RATE: u32 = 200;

/// See the module.
pub(super) struct Served {
    pub(super) name: &'static str,
    process: Child,
    pub(super) address: String,
    /// The first line that it printed.
    pub(super) said_first: String,
    metrics: String,
    lines: Arc<AtomicU64>,
    log: Option<JoinHandle<Logged>>,
}

/// What a log says of settings that stood in the way.
#[derive(Debug, Default)]
struct Logged {
    /// Lines that name a setting, by their text.
    lines: BTreeMap<String, u64>,
    /// Lines that were left out, by their text.
    left_out: BTreeMap<String, u64>,
    /// The settings that lines name.
    settings: BTreeMap<String, u64>,
    has_ended: bool,
}

impl Logged {
    fn hear(&mut self, line: &str) {
        let Ok(line) = serde_json::from_str::<Json>(line) else { return };
        let text = |name: &str| line.get(name).and_then(Json::as_str).unwrap_or_default();
        if let Some(left_out) = line.get("left_out").and_then(Json::as_u64) {
            *self.left_out.entry(text("line").to_owned()).or_default() += left_out;
            return;
        }
        let message = text("message");
        self.has_ended |= message.starts_with("ending in peace");
        let setting = text("setting");
        if self.has_ended || setting.is_empty() {
            return;
        }
        *self.settings.entry(setting.to_owned()).or_default() += 1;
        *self.lines.entry(message.to_owned()).or_default() += 1;
    }

    /// How often a line named a setting, those that were left out counted.
    fn refusals(&self) -> u64 {
        let left_out = |text: &String| self.left_out.get(text).copied().unwrap_or(0);
        self.lines.iter().map(|(text, written)| written + left_out(text)).sum()
    }
}

impl Served {
    /// Starts `corbie` with these arguments, and reads its log.
    pub(super) fn start(
        corbie: &Path,
        name: &'static str,
        command: &[&str],
        more: &[&str],
    ) -> Result<Self, String> {
        let address = format!("127.0.0.1:{}", free_port());
        let metrics = format!("127.0.0.1:{}", free_port());
        let mut line = Command::new(corbie);
        line.args(command).args(["--listen", &address, "--metrics", &metrics]);
        // All lines of a peer: only those of one place are few.
        line.args(["--log-format", "json", "--grace", "2", "-ORBLogLinesPerPeer", "1000000"]);
        line.args(["-ORBConnectionRatePerPeer", &CONNECTION_RATE.to_string()]);
        line.args(more).env_remove("CORBIE_CONFIG_FILE").env_remove("CORBIE_LOG");
        let spawned =
            line.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
        let mut process = spawned.map_err(|e| format!("{line:?} cannot be run: {e}"))?;
        let (output, errors) = (process.stdout.take(), process.stderr.take());
        let lines = Arc::new(AtomicU64::new(0));
        let counted = Arc::clone(&lines);
        let log = std::thread::spawn(move || {
            let mut logged = Logged::default();
            for line in errors.into_iter().flat_map(|errors| BufReader::new(errors).lines()) {
                counted.fetch_add(1, Ordering::Relaxed);
                logged.hear(&line.unwrap_or_default());
            }
            logged
        });
        let mut said_first = String::new();
        let _ = BufReader::new(output.ok_or("no standard output")?).read_line(&mut said_first);
        if said_first.is_empty() {
            return Err(format!("{line:?} says nothing"));
        }
        Ok(Served { name, process, address, said_first, metrics, lines, log: Some(log) })
    }

    pub(super) fn memory_kib(&self) -> u64 {
        Vitals::of(self.process.id()).map_or(0, |vitals| vitals.memory_kib)
    }

    /// Lines of its log so far.
    pub(super) fn lines(&self) -> u64 {
        self.lines.load(Ordering::Relaxed)
    }

    /// How often settings stood in the way, by its metrics.
    fn counted(&self) -> Result<BTreeMap<String, u64>, String> {
        let cannot =
            |e: std::io::Error| format!("the metrics of {} cannot be read: {e}", self.name);
        let mut stream = TcpStream::connect(&self.metrics).map_err(cannot)?;
        stream.set_read_timeout(Some(PATIENCE)).map_err(cannot)?;
        stream.write_all(b"GET /metrics HTTP/1.0\r\n\r\n").map_err(cannot)?;
        let mut page = String::new();
        stream.read_to_string(&mut page).map_err(cannot)?;
        let of = |line: &str| {
            let rest = line.strip_prefix("corbie_limit_reached_total{setting=\"")?;
            let (setting, count) = rest.split_once("\"} ")?;
            Some((setting.to_owned(), count.trim().parse().ok()?))
        };
        Ok(page.lines().filter_map(of).collect())
    }

    /// When nothing is refused any more, ends the server, and compares what its log says of
    /// refusals with its metrics: what it says of them, and the faults.
    pub(super) fn account(&mut self, is_full: bool) -> Result<(String, Vec<String>), String> {
        let (deadline, mut counted) = (Instant::now() + PATIENCE, self.counted()?);
        loop {
            std::thread::park_timeout(QUIET);
            let now = self.counted()?;
            if now == counted || Instant::now() >= deadline {
                break;
            }
            counted = now;
        }
        let process = i32::try_from(self.process.id()).ok().and_then(Pid::from_raw);
        process.map(|process| kill_process(process, Signal::TERM));
        while self.process.try_wait().map_err(|e| e.to_string())?.is_none() {
            if Instant::now() >= deadline + PATIENCE {
                return Err(format!("{} does not end when it is told to", self.name));
            }
            std::thread::park_timeout(Duration::from_millis(20));
        }
        let log = self.log.take().ok_or("its log was read already")?;
        let logged = log.join().map_err(|_| "the log cannot be read")?;
        let (written, all) = (logged.refusals(), counted.values().sum::<u64>());
        let said = format!("{}: {all} refusals counted, {written} logged: {counted:?}", self.name);
        let mut faults = Vec::new();
        if written != all {
            faults.push(format!("{}: {all} refusals counted, {written} logged", self.name));
        }
        // Attackers that get no processor are not too fast.
        if is_full && !counted.contains_key("connection_rate_per_peer") {
            faults.push(format!("{}: no peer was too fast for it: {counted:?}", self.name));
        }
        let unsaid = counted.keys().find(|setting| !logged.settings.contains_key(*setting));
        if let Some(setting) = unsaid {
            faults.push(format!("{}: {setting} is in no line of the log", self.name));
        }
        Ok((said, faults))
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_name_a_setting_are_counted_with_those_that_were_left_out() {
        let mut logged = Logged::default();
        logged.hear(r#"{"message":"refused","setting":"a","peer":"x"}"#);
        logged.hear(r#"{"message":"refused","setting":"b"}"#);
        logged.hear(r#"{"message":"listening"}"#);
        logged.hear(
            r#"{"message":"lines of the last minute were left out","left_out":7,"line":"refused"}"#,
        );
        logged.hear(r#"{"message":"lines of the last minute were left out","left_out":3,"line":"listening"}"#);
        logged.hear(r#"{"message":"ending in peace; soon"}"#);
        logged.hear(r#"{"message":"refused","setting":"a"}"#);
        assert_eq!(logged.refusals(), 9);
    }
}
