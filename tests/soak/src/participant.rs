//! One supplier or consumer: a process of `corbie events`, a thread that writes its events, a
//! thread that reads what it prints, and what is known of it. Used by `system`.

use crate::account::{self, Acknowledged, Life, Received};
use rustix::process::{Pid, Signal, kill_process};
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Whatever is waited for, it takes less, on a busy machine as well.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);
/// Events that were written to a supplier and are not acknowledged: enough that it never waits.
const AHEAD: u64 = 64;

/// What a process has printed, shared with the thread that reads it.
#[derive(Default)]
struct Printed {
    acknowledged: Acknowledged,
    received: Received,
    lines: u64,
    /// A line that could not be read; the last of a process that was killed may be cut.
    broken: Option<String>,
    fault: Option<String>,
    is_over: bool,
}

#[derive(Default)]
struct Shared {
    /// Lock "printed".
    printed: Mutex<Printed>,
    changed: Condvar,
    /// The supplier is to get no more events, the consumer to be read on.
    is_stopped: AtomicBool,
    /// Nothing is read, so that the consumer is slow; or written to the supplier.
    is_held: AtomicBool,
}

impl Shared {
    fn pause_if_held(&self) {
        while self.is_held.load(Ordering::SeqCst) {
            std::thread::park_timeout(Duration::from_millis(20));
        }
    }

    fn lock(&self) -> MutexGuard<'_, Printed> {
        self.printed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until something holds, or the process has ended; whether it holds.
    fn wait_until(&self, holds: impl Fn(&Printed) -> bool) -> bool {
        let waits = |printed: &mut Printed| !holds(printed) && !printed.is_over;
        let waited = self.changed.wait_timeout_while(self.lock(), PATIENCE, waits);
        holds(&waited.unwrap_or_else(PoisonError::into_inner).0)
    }
}

/// A running process.
pub(crate) struct Participant {
    name: String,
    process: Child,
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

/// What is left of a process.
pub(crate) struct Remains {
    pub(crate) name: String,
    pub(crate) acknowledged: Acknowledged,
    pub(crate) received: Received,
    /// What it showed, if it was a consumer.
    pub(crate) events: u64,
    /// What it did that it should not.
    pub(crate) fault: Option<String>,
}

impl Participant {
    /// A supplier, which gets events from now on.
    ///
    /// # Errors
    /// The process could not be started.
    pub(crate) fn supplier(
        name: String,
        command: &mut Command,
        life: Life,
    ) -> Result<Self, String> {
        let mut started = Self::start(name, command.stdin(Stdio::piped()))?;
        if let Some(mut input) = started.process.stdin.take() {
            let shared = Arc::clone(&started.shared);
            started.threads.push(std::thread::spawn(move || {
                for number in 0.. {
                    shared.wait_until(|printed| printed.acknowledged.total() + AHEAD > number);
                    shared.pause_if_held();
                    let is_stopped = shared.is_stopped.load(Ordering::SeqCst);
                    let line = format!("\"{}\"\n", account::text(life, number));
                    if is_stopped || input.write_all(line.as_bytes()).is_err() {
                        return;
                    }
                }
            }));
        }
        started.read(|text, printed| {
            let text: String = serde_json::from_str(text).ok()?;
            let (of, number) = account::parse(&text)?;
            Some(printed.acknowledged.take(of, number))
        });
        Ok(started)
    }

    /// A consumer, with what it got in its lives before.
    ///
    /// # Errors
    /// The process could not be started.
    pub(crate) fn consumer(
        name: String,
        command: &mut Command,
        received: Received,
    ) -> Result<Self, String> {
        let mut started = Self::start(name, command.stdin(Stdio::null()))?;
        started.shared.lock().received = received;
        started.shared.lock().received.begins();
        started.read(|text, printed| {
            let event: serde_json::Value = serde_json::from_str(text).ok()?;
            let (of, number) = account::parse(event.get("value")?.as_str()?)?;
            Some(printed.received.take(of, number))
        });
        Ok(started)
    }

    fn start(name: String, command: &mut Command) -> Result<Self, String> {
        let process = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| format!("{command:?} cannot be run: {error}"))?;
        Ok(Self { name, process, shared: Arc::default(), threads: vec![] })
    }

    /// Reads all lines; `take` says `None` of one that it does not understand.
    fn read(
        &mut self,
        take: impl Fn(&str, &mut Printed) -> Option<Result<(), String>> + Send + 'static,
    ) {
        let Some(output) = self.process.stdout.take() else { return };
        let shared = Arc::clone(&self.shared);
        self.threads.push(std::thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                let mut printed = shared.lock();
                if let Some(broken) = printed.broken.take() {
                    printed.fault.get_or_insert(format!("it printed {broken:.100?}"));
                }
                match take(&line, &mut printed) {
                    None => printed.broken = Some(line),
                    Some(Err(fault)) => _ = printed.fault.get_or_insert(fault),
                    Some(Ok(())) => {}
                }
                printed.lines += 1;
                drop(printed);
                shared.changed.notify_all();
                shared.pause_if_held();
            }
            shared.lock().is_over = true;
            shared.changed.notify_all();
        }));
    }

    /// Waits until it has printed so many more lines.
    ///
    /// # Errors
    /// It has not in time, or has ended: with what it said.
    pub(crate) fn progress(&mut self, lines: u64) -> Result<(), String> {
        let before = self.shared.lock().lines;
        if self.shared.wait_until(|printed| printed.lines >= before + lines) {
            return Ok(());
        }
        let why = self.last_words();
        Err(format!("{} does not go on: {why}", self.name))
    }

    fn last_words(&mut self) -> String {
        let ended = self.process.try_wait().ok().flatten();
        let _ = self.process.kill();
        let mut errors = String::new();
        if let Some(mut stderr) = self.process.stderr.take() {
            let _ = std::io::Read::read_to_string(&mut stderr, &mut errors);
        }
        let lines = self.shared.lock().lines;
        let state = ended.map_or("it runs".to_owned(), |status| format!("it ended with {status}"));
        format!("{state} after {lines} lines; {}", errors.trim())
    }

    pub(crate) fn hold(&self, is_held: bool) {
        self.shared.is_held.store(is_held, Ordering::SeqCst);
    }

    /// Hangs (SIGSTOP), or goes on (SIGCONT).
    ///
    /// # Errors
    /// It has ended.
    pub(crate) fn hang(&self, hangs: bool) -> Result<(), String> {
        let signal = if hangs { Signal::STOP } else { Signal::CONT };
        let sent = kill_process(Pid::from_child(&self.process), signal);
        sent.map_err(|error| format!("{}: it gets no {signal:?}: {error}", self.name))
    }

    /// The server died.
    pub(crate) fn was_left(&self, hangs: bool) {
        self.shared.lock().received.was_left(hangs);
    }

    pub(crate) fn events(&self) -> u64 {
        self.shared.lock().lines
    }

    /// How many different events a consumer has got.
    pub(crate) fn different(&self) -> u64 {
        self.shared.lock().received.different()
    }

    /// Waits until a consumer has got what `is_all` wants, for as long as it goes on.
    pub(crate) fn wait_for(&self, is_all: impl Fn(&Received) -> bool) {
        let mut lines = self.events();
        while self.shared.wait_until(|now| is_all(&now.received) || now.lines > lines) {
            let now = self.shared.lock();
            if is_all(&now.received) {
                return;
            }
            lines = now.lines;
        }
    }

    /// Ends it with SIGKILL.
    pub(crate) fn kill(mut self) -> Remains {
        let _ = self.process.kill();
        let _ = self.process.wait();
        self.remains(None)
    }

    /// Gives a supplier no more events and waits until it has ended by itself, well.
    pub(crate) fn stop(mut self) -> Remains {
        self.shared.is_stopped.store(true, Ordering::SeqCst);
        self.shared.changed.notify_all();
        let deadline = Instant::now() + PATIENCE;
        let over = self.shared.wait_until(|printed| printed.is_over);
        let status = loop {
            match self.process.try_wait() {
                Ok(None) if over && Instant::now() < deadline => std::thread::yield_now(),
                Ok(Some(status)) => break Some(status),
                _ => break None,
            }
        };
        let fault = match status {
            Some(status) if status.success() => None,
            _ => Some(format!("it did not end well: {}", self.last_words())),
        };
        let _ = self.process.wait();
        self.remains(fault)
    }

    fn remains(mut self, fault: Option<String>) -> Remains {
        self.hold(false);
        self.shared.is_stopped.store(true, Ordering::SeqCst);
        self.shared.changed.notify_all();
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
        let mut printed = self.shared.lock();
        let fault = fault.or(printed.fault.take()).map(|fault| format!("{}: {fault}", self.name));
        Remains {
            name: std::mem::take(&mut self.name),
            events: if printed.acknowledged.0.is_empty() { printed.lines } else { 0 },
            acknowledged: std::mem::take(&mut printed.acknowledged),
            received: std::mem::take(&mut printed.received),
            fault,
        }
    }
}

impl Drop for Participant {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
