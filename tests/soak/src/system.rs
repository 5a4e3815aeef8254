//! The soak itself: channels of each policy, suppliers and consumers of all four kinds at each,
//! victims chosen at random, and the account at the end.
//!
//! `kept` blocks its suppliers when a queue is full: who stays gets every event that was
//! acknowledged. `dropping` drops the oldest: what is missing is what was counted. `durable`
//! outlives its server and its consumers: they go on where they were. `retained` does as well, but
//! keeps little, and most of its consumers sleep: what is missing was counted at least.

mod closing;
mod peopling;
mod size;
mod steps;

use crate::account::{Acknowledged, Received};
use crate::participant::{PATIENCE, Participant, Remains};
use crate::report::Report;
use crate::server::Server;
use crate::vitals::{Sampler, Vitals};
use crate::{Length, Options};
use corbie_testkit::Seed;
use corbie_testkit::servers::ScratchFolder;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Pushing,
    Pulled,
    Pulling,
    PushedTo,
}

impl Kind {
    fn is_supplier(self) -> bool {
        matches!(self, Kind::Pushing | Kind::Pulled)
    }
}

/// What becomes of who is in a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Habit {
    /// It is there from the beginning to the end.
    Stays,
    /// It is killed now and then, and replaced at once.
    Dies,
    /// The same, but its next life begins much later.
    Sleeps,
}

/// A place for one supplier or consumer after the other.
struct Slot {
    number: usize,
    channel: &'static str,
    kind: Kind,
    habit: Habit,
    life: usize,
    /// Where a durable consumer listens.
    port: u16,
    /// The number of its proxy, of a durable consumer.
    proxy: u64,
    running: Option<Participant>,
    /// What durable consumers got in their lives before.
    received: Received,
}

impl Slot {
    fn is_durable(&self) -> bool {
        matches!(self.channel, "durable" | "retained")
    }
}

/// A part of the run of a durable channel: from which part of the whole on, its name, and of how
/// many kills one is the server's; 0: none.
const PHASES: [(f64, &str, usize); 3] =
    [(0.0, "many lives of the server", 6), (0.4, "longer lives", 40), (0.6, "one life", 0)];

struct System {
    server: Server,
    is_durable: bool,
    slots: Vec<Slot>,
    seed: Seed,
    /// The references of durable subscriptions.
    folder: ScratchFolder,
    sampler: Sampler,
    report: Report,
    idle: Vitals,
    began: Instant,
    /// Which of `PHASES` it is.
    phase: usize,
    steps: usize,
    kills: usize,
    kills_of_server: usize,
    hanging: Vec<steps::Hanging>,
    hangs: usize,
    /// Of suppliers that are no more, by channel.
    acknowledged: BTreeMap<&'static str, Acknowledged>,
    /// What consumers that are no more got.
    events: u64,
    again: u64,
}

pub(crate) fn run(options: &Options, say: &mut dyn FnMut(&str)) -> Result<Report, String> {
    let mut system = System::start(options)?;
    system.soak(options.length, say)?;
    say("the suppliers end, the rest is delivered");
    system.finish()
}

impl System {
    fn soak(&mut self, length: Length, say: &mut dyn FnMut(&str)) -> Result<(), String> {
        let mut said = Instant::now();
        loop {
            let done = match length {
                Length::Time(time) => self.began.elapsed().as_secs_f64() / time.as_secs_f64(),
                Length::Kills(kills) => self.kills as f64 / kills as f64,
            };
            if done >= 1.0 {
                break;
            }
            self.enter_phase(done)?;
            self.step()?;
            if said.elapsed() >= Duration::from_secs(1) {
                said = Instant::now();
                say(&self.progress());
            }
        }
        say(&self.progress());
        Ok(())
    }

    /// Begins the phase in which it is now, unless it has begun.
    fn enter_phase(&mut self, done: f64) -> Result<(), String> {
        if !self.is_durable {
            if self.report.phases.is_empty() {
                self.begin_phase("one life");
            }
            return Ok(());
        }
        let phase = PHASES.iter().rposition(|(from, ..)| done >= *from).unwrap_or_default();
        if phase == self.phase && !self.report.phases.is_empty() {
            return Ok(());
        }
        self.phase = phase;
        if self.odds_of_server() == 0 {
            self.kill_server()?;
        }
        self.begin_phase(PHASES[phase].1);
        Ok(())
    }

    /// Of how many kills one is the server's; 0: none.
    fn odds_of_server(&self) -> usize {
        if self.is_durable { PHASES[self.phase].2 } else { 0 }
    }

    fn begin_phase(&mut self, name: &'static str) {
        self.report.phases.push((self.began.elapsed(), name));
    }

    fn progress(&self) -> String {
        let vitals = self.sampler.last();
        let running = |suppliers: bool| {
            let slots = self.slots.iter().filter(|slot| slot.kind.is_supplier() == suppliers);
            slots.filter_map(|slot| slot.running.as_ref()).map(Participant::events).sum::<u64>()
        };
        format!(
            "{:5.0} s  {} kills, {} hang; {} events acknowledged, {} delivered; {:.1} MiB, {} \
             threads, {} descriptors",
            self.began.elapsed().as_secs_f64(),
            self.kills,
            self.hanging.len(),
            self.acknowledged.values().map(Acknowledged::total).sum::<u64>() + running(true),
            self.events + running(false),
            vitals.memory_kib as f64 / 1024.0,
            vitals.threads,
            vitals.descriptors
        )
    }

    /// Takes what is left of a process into the account.
    fn bury(&mut self, number: usize, remains: Remains) {
        let slot = &mut self.slots[number];
        self.report.faults.extend(remains.fault);
        let of_channel = self.acknowledged.entry(slot.channel).or_default();
        of_channel.0.extend(remains.acknowledged.0);
        self.events += remains.events;
        if slot.is_durable() {
            slot.received = remains.received;
            if slot.kind == Kind::Pulling {
                slot.received.died();
            }
            return;
        }
        if slot.channel == "kept"
            && let Some(gaps) = remains.received.gaps()
        {
            self.report.fault(format!("{}: {gaps}", remains.name));
        }
    }

    fn wait_for_counters(
        &mut self,
        channel: &str,
        what: &str,
        holds: impl Fn(&serde_json::Value) -> bool,
    ) -> Result<(), String> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let counters = self.server.statistics(channel)?;
            if holds(&counters) {
                return Ok(());
            }
            if Instant::now() > deadline {
                let text = format!("{channel} does not come to {what}: {counters}");
                self.report.fault(text);
                return Ok(());
            }
            std::thread::park_timeout(Duration::from_millis(20));
        }
    }
}

/// The counters of the consumers of a channel.
fn consumers(counters: &serde_json::Value) -> &[serde_json::Value] {
    counters["consumers"].as_array().map_or(&[][..], Vec::as_slice)
}
