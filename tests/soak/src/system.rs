//! The soak itself: channels of each policy, suppliers and consumers of all four kinds at each,
//! victims chosen at random, and the account at the end.
//!
//! `kept` blocks its suppliers when a queue is full: who stays gets every event that was
//! acknowledged. `dropping` drops the oldest: what is missing is what was counted. `durable`
//! outlives its server and its consumers: they go on where they were.

mod closing;

use crate::account::{Acknowledged, Life, Received};
use crate::participant::{PATIENCE, Participant, Remains};
use crate::report::Report;
use crate::server::Server;
use crate::vitals::{GROWTH_KIB, Sampler, Vitals};
use crate::{Length, Options};
use corbie_testkit::Seed;
use corbie_testkit::servers::{ScratchFolder, free_port};
use std::time::{Duration, Instant};

/// A consumer that cannot be reached is disconnected after so long, in milliseconds; one that takes
/// its time is given more.
const GIVE_UP: &str = "500";
/// At durable channels nobody waits for the dead; the living may be hard to reach for a while when
/// their server begins again on a busy machine.
const GIVE_UP_DURABLE: &str = "20000";
const PUSH_TIMEOUT: &str = "30000";
/// How many threads and descriptors may be more at the end than before the first client.
const SPARE: Vitals = Vitals { memory_kib: GROWTH_KIB, threads: 8, descriptors: 16 };

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

/// A place that is always taken: who is killed is replaced.
struct Slot {
    number: usize,
    channel: &'static str,
    kind: Kind,
    is_mortal: bool,
    life: usize,
    /// Where a durable consumer listens.
    port: u16,
    running: Option<Participant>,
    /// What durable consumers got in their lives before.
    received: Received,
}

struct System {
    server: Server,
    slots: Vec<Slot>,
    seed: Seed,
    /// The references of durable subscriptions.
    folder: ScratchFolder,
    sampler: Sampler,
    report: Report,
    idle: Vitals,
    began: Instant,
    kills: usize,
    kills_of_server: usize,
    /// Of suppliers that are no more: of `kept`, and of `durable`.
    kept: Acknowledged,
    durable: Acknowledged,
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
    fn start(options: &Options) -> Result<Self, String> {
        let server = Server::start(&options.corbie, options.is_durable)?;
        let give_up = if options.is_durable { GIVE_UP_DURABLE } else { GIVE_UP };
        let common = ["--give-up-after", give_up, "--push-timeout", PUSH_TIMEOUT];
        if options.is_durable {
            server.ask(&[&["create", "durable", "--durable"][..], &common].concat())?;
        }
        let kept = ["create", "kept", "--when-full", "block-supplier", "--window", "8"];
        server.ask(&[&kept[..], &["--queue-events", "100"], &common].concat())?;
        let dropping = ["create", "dropping", "--when-full", "drop-oldest"];
        server.ask(&[&dropping[..], &["--queue-events", "50"], &common].concat())?;
        let idle = Vitals::of(server.process()).ok_or("the server of the channels has ended")?;
        let sampler = Sampler::start(server.process());
        let mut system = Self {
            server,
            slots: vec![],
            seed: Seed::new(options.seed),
            folder: ScratchFolder::new("soak-subscriptions"),
            sampler,
            report: Report::default(),
            idle,
            began: Instant::now(),
            kills: 0,
            kills_of_server: 0,
            kept: Acknowledged::default(),
            durable: Acknowledged::default(),
            events: 0,
            again: 0,
        };
        system.people(options.is_durable)?;
        Ok(system)
    }

    /// Fills the channels; those who stay are there before the first event.
    fn people(&mut self, is_durable: bool) -> Result<(), String> {
        use Kind::{Pulled, Pulling, PushedTo, Pushing};
        // A volatile channel ends with its server: where that is killed, there is none.
        let wanted = if is_durable {
            vec![("durable", Pulling, true), ("durable", PushedTo, true)]
        } else {
            vec![
                ("kept", Pulling, false),
                ("kept", PushedTo, false),
                ("dropping", Pulling, false),
                ("dropping", PushedTo, false),
            ]
        };
        for (channel, kind, is_mortal) in wanted {
            self.add(channel, kind, is_mortal)?;
        }
        for channel in if is_durable { &["durable"][..] } else { &["kept", "dropping"] } {
            self.wait_for_counters(channel, "both consumers", |counters| {
                counters["consumers"].as_array().is_some_and(|consumers| consumers.len() == 2)
            })?;
        }
        let wanted = if is_durable {
            vec![("durable", Pushing, true), ("durable", Pushing, true), ("durable", Pulled, true)]
        } else {
            vec![
                ("kept", Pushing, true),
                ("kept", Pushing, true),
                ("kept", Pulled, true),
                ("kept", Pulling, true),
                ("kept", PushedTo, true),
                ("dropping", Pushing, false),
            ]
        };
        wanted
            .into_iter()
            .try_for_each(|(channel, kind, is_mortal)| self.add(channel, kind, is_mortal))
    }

    fn add(&mut self, channel: &'static str, kind: Kind, is_mortal: bool) -> Result<(), String> {
        let port = if channel == "durable" { free_port() } else { 0 };
        let (number, received) = (self.slots.len(), Received::default());
        self.slots.push(Slot {
            number,
            channel,
            kind,
            is_mortal,
            life: 0,
            port,
            running: None,
            received,
        });
        self.animate(number)
    }

    /// Starts the process of a slot.
    fn animate(&mut self, number: usize) -> Result<(), String> {
        let slot = &mut self.slots[number];
        let name = format!("{:?} {} of {} in life {}", slot.kind, number, slot.channel, slot.life);
        let subscription = self.folder.path().join(format!("subscription-{number}"));
        let subscription = subscription.display().to_string();
        let listen = format!("127.0.0.1:{}", slot.port);
        let mut arguments = match slot.kind {
            Kind::Pushing => vec!["push", slot.channel, "-", "--show", "--timeout", "60"],
            Kind::Pulled => vec!["push", slot.channel, "-", "--show", "--pulled"],
            Kind::Pulling => vec!["tail", slot.channel],
            Kind::PushedTo => vec!["tail", slot.channel, "--pushed"],
        };
        if slot.channel == "durable" {
            arguments.extend(["--retry", "120"]);
            if !slot.kind.is_supplier() {
                arguments.extend(["--subscription", &subscription]);
            }
            if slot.kind == Kind::PushedTo {
                arguments.extend(["--listen", &listen]);
            }
        }
        let mut command = self.server.command(&arguments);
        slot.running = Some(if slot.kind.is_supplier() {
            let life = Life { slot: slot.number, life: slot.life };
            Participant::supplier(name, &mut command, life)?
        } else {
            let received = std::mem::take(&mut slot.received);
            Participant::consumer(name, &mut command, received)?
        });
        Ok(())
    }

    fn soak(&mut self, length: Length, say: &mut dyn FnMut(&str)) -> Result<(), String> {
        let mut said = Instant::now();
        loop {
            match length {
                Length::Time(time) if self.began.elapsed() >= time => break,
                Length::Kills(kills) if self.kills >= kills => break,
                _ => {}
            }
            if self.kills % 16 == 5 {
                self.hold_back()?;
            }
            self.kill_one()?;
            if said.elapsed() >= Duration::from_secs(1) {
                said = Instant::now();
                say(&self.progress());
            }
        }
        say(&self.progress());
        Ok(())
    }

    fn progress(&self) -> String {
        let vitals = self.sampler.last();
        let running = |suppliers: bool| {
            let slots = self.slots.iter().filter(|slot| slot.kind.is_supplier() == suppliers);
            slots.filter_map(|slot| slot.running.as_ref()).map(Participant::events).sum::<u64>()
        };
        format!(
            "{:5.0} s  {} kills, {} events acknowledged, {} delivered; {:.1} MiB, {} threads, {} \
             descriptors",
            self.began.elapsed().as_secs_f64(),
            self.kills,
            self.kept.total() + self.durable.total() + running(true),
            self.events + running(false),
            vitals.memory_kib as f64 / 1024.0,
            vitals.threads,
            vitals.descriptors
        )
    }

    /// Waits until somebody has done a part of its work, kills it, and has it replaced.
    fn kill_one(&mut self) -> Result<(), String> {
        self.kills += 1;
        let is_durable = self.slots.iter().any(|slot| slot.channel == "durable");
        if is_durable && self.seed.below(6) == 0 {
            self.kills_of_server += 1;
            self.server.kill_and_restart()?;
            self.sampler.follow(self.server.process());
            return Ok(());
        }
        let mortal: Vec<usize> =
            self.slots.iter().filter(|slot| slot.is_mortal).map(|slot| slot.number).collect();
        let victim = mortal.get(self.seed.below(mortal.len())).copied().unwrap_or_default();
        let events = 1 + self.seed.below(200) as u64;
        let slot = &mut self.slots[victim];
        let Some(mut running) = slot.running.take() else { return Err("nobody is here".into()) };
        running.progress(events)?;
        let remains = running.kill();
        slot.life += 1;
        self.bury(victim, remains);
        self.animate(victim)
    }

    /// A consumer of `dropping` is not read for a while, so that events have to be dropped.
    fn hold_back(&mut self) -> Result<(), String> {
        let of = |system: &Self, kind: Kind| {
            let mut slots = system.slots.iter();
            slots.position(|slot| slot.channel == "dropping" && slot.kind == kind)
        };
        let kind = if self.seed.below(2) == 0 { Kind::Pulling } else { Kind::PushedTo };
        let (Some(slow), Some(supplier)) = (of(self, kind), of(self, Kind::Pushing)) else {
            return Ok(());
        };
        let held = |system: &Self, is_held: bool| {
            if let Some(running) = &system.slots[slow].running {
                running.hold(is_held);
            }
        };
        held(self, true);
        // More than what fits into the pipe behind it and into its queue.
        let progress = match &mut self.slots[supplier].running {
            Some(running) => running.progress(4000),
            None => Ok(()),
        };
        held(self, false);
        progress
    }

    /// Takes what is left of a process into the account.
    fn bury(&mut self, number: usize, remains: Remains) {
        let slot = &mut self.slots[number];
        self.report.faults.extend(remains.fault);
        let acknowledged = if slot.channel == "kept" { &mut self.kept } else { &mut self.durable };
        if slot.channel != "dropping" {
            acknowledged.0.extend(remains.acknowledged.0);
        }
        if slot.channel == "durable" {
            slot.received = remains.received;
            if slot.kind == Kind::Pulling {
                slot.received.died();
            }
            return;
        }
        self.events += remains.received.events;
        self.again += remains.received.again;
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
