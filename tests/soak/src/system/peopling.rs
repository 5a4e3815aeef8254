//! The beginning of a soak: the server, its channels, and who is in which place; and how the
//! process for a place is started, then and whenever it is replaced.

use super::{Habit, Kind, Slot, System, consumers};
use crate::account::{Life, Received};
use crate::participant::{PATIENCE, Participant};
use crate::report::Report;
use crate::server::Server;
use crate::vitals::{Sampler, Vitals};
use crate::{Length, Options};
use corbie_testkit::Seed;
use corbie_testkit::servers::{ScratchFolder, free_port};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// A consumer that cannot be reached is disconnected after so long, in milliseconds.
const GIVE_UP: &str = "500";
/// Durable channels do not wait for dead processes; the living may be hard to reach for a while
/// when their server begins again on a busy machine.
const GIVE_UP_DURABLE: &str = "20000";
/// Longer than anybody hangs: what times out is pushed twice at once, and comes in any order.
const PUSH_TIMEOUT: &str = "600000";
/// The same for suppliers, in seconds.
const TIMEOUT: &str = "600";
/// What `retained` keeps: a thousand events, more or less.
pub(super) const RETAIN_OCTETS: u64 = 256 << 10;

impl System {
    pub(super) fn start(options: &Options) -> Result<Self, String> {
        let server = Server::start(&options.corbie, options.is_durable)?;
        make_channels(&server, options.is_durable)?;
        let idle = Vitals::of(server.process()).ok_or("the server of the channels has ended")?;
        let began = Instant::now();
        let sampler = Sampler::start(server.process(), began);
        let mut system = Self {
            server,
            is_durable: options.is_durable,
            slots: vec![],
            seed: Seed::new(options.seed),
            folder: ScratchFolder::new("soak-subscriptions"),
            sampler,
            report: Report::default(),
            idle,
            began,
            phase: 0,
            steps: 0,
            kills: 0,
            kills_of_server: 0,
            hanging: vec![],
            hangs: 0,
            acknowledged: BTreeMap::new(),
            events: 0,
            again: 0,
        };
        if options.is_durable {
            // How many sleep, of `durable` and of `retained`.
            system.people_durable(match options.length {
                Length::Time(_) => (4, 14),
                Length::Kills(_) => (1, 2),
            })?;
        } else {
            system.people_volatile()?;
        }
        Ok(system)
    }

    /// Fills the channels that end with their server; those who stay are there before the first
    /// event.
    fn people_volatile(&mut self) -> Result<(), String> {
        use Kind::{Pulled, Pulling, PushedTo, Pushing};
        for channel in ["kept", "dropping"] {
            self.add(channel, Pulling, Habit::Stays)?;
            self.add(channel, PushedTo, Habit::Stays)?;
        }
        for channel in ["kept", "dropping"] {
            let both = |counters: &_| consumers(counters).len() == 2;
            self.wait_for_counters(channel, "both consumers", both)?;
        }
        for kind in [Pushing, Pushing, Pulled, Pulling, PushedTo] {
            self.add("kept", kind, Habit::Dies)?;
        }
        self.add("dropping", Pushing, Habit::Stays)?;
        Ok(())
    }

    /// Fills those that outlive it; all have subscribed before the first event.
    fn people_durable(&mut self, (durable, retained): (usize, usize)) -> Result<(), String> {
        use Kind::{Pulled, Pulling, PushedTo, Pushing};
        for (channel, sleepers) in [("durable", durable), ("retained", retained)] {
            let kinds = [Pulling, PushedTo].into_iter().cycle().enumerate().take(2 + sleepers);
            for (index, kind) in kinds {
                let habit = if index < 2 { Habit::Dies } else { Habit::Sleeps };
                self.subscribe(channel, kind, habit)?;
            }
        }
        for kind in [Pushing, Pushing, Pulled] {
            self.add("durable", kind, Habit::Dies)?;
        }
        for _ in 0..2 {
            self.add("retained", Pushing, Habit::Dies)?;
        }
        Ok(())
    }

    /// A consumer subscribes, and goes to sleep if it does.
    fn subscribe(&mut self, channel: &'static str, kind: Kind, habit: Habit) -> Result<(), String> {
        let known = self.proxies(channel)?;
        let number = self.add(channel, kind, habit)?;
        let file = self.folder.path().join(subscription(number));
        let deadline = Instant::now() + PATIENCE;
        let proxy = loop {
            let new = self.proxies(channel)?.into_iter().find(|proxy| !known.contains(proxy));
            if let Some(proxy) = new.filter(|_| file.exists()) {
                break proxy;
            }
            if Instant::now() > deadline {
                return Err(format!("consumer {number} of {channel} does not subscribe"));
            }
            std::thread::park_timeout(Duration::from_millis(10));
        };
        let slot = &mut self.slots[number];
        slot.proxy = proxy;
        if habit == Habit::Sleeps
            && let Some(running) = slot.running.take()
        {
            // There was no event yet that it could have died with.
            let remains = running.kill();
            slot.received = remains.received;
            slot.life += 1;
            self.report.faults.extend(remains.fault);
        }
        Ok(())
    }

    fn proxies(&self, channel: &str) -> Result<Vec<u64>, String> {
        let counters = self.server.statistics(channel)?;
        Ok(consumers(&counters).iter().filter_map(|of| of["id"].as_u64()).collect())
    }

    fn add(&mut self, channel: &'static str, kind: Kind, habit: Habit) -> Result<usize, String> {
        let number = self.slots.len();
        let received = match channel {
            "retained" => Received::of_little(),
            _ => Received::default(),
        };
        let port = if self.is_durable { free_port() } else { 0 };
        let (life, proxy, running) = (0, 0, None);
        let slot = Slot { number, channel, kind, habit, life, port, proxy, running, received };
        self.slots.push(slot);
        self.animate(number)?;
        Ok(number)
    }

    /// Starts the process of a slot.
    pub(super) fn animate(&mut self, number: usize) -> Result<(), String> {
        let slot = &mut self.slots[number];
        let name = format!("{:?} {} of {} in life {}", slot.kind, number, slot.channel, slot.life);
        let subscription = self.folder.path().join(subscription(number)).display().to_string();
        let listen = format!("127.0.0.1:{}", slot.port);
        let mut arguments = match slot.kind {
            Kind::Pushing => vec!["push", slot.channel, "-", "--show", "--timeout", TIMEOUT],
            Kind::Pulled => vec!["push", slot.channel, "-", "--show", "--pulled"],
            Kind::Pulling => vec!["tail", slot.channel],
            Kind::PushedTo => vec!["tail", slot.channel, "--pushed"],
        };
        if slot.is_durable() {
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
}

/// The name of the file that a durable consumer keeps its proxy in.
fn subscription(number: usize) -> String {
    format!("subscription-{number}")
}

/// A volatile channel ends with its server: where that is killed, there is none.
fn make_channels(server: &Server, is_durable: bool) -> Result<(), String> {
    let make = |name: &str, own: &[&str], give_up: &str| {
        let common = ["--give-up-after", give_up, "--push-timeout", PUSH_TIMEOUT];
        server.ask(&[&["create", name], own, &common].concat()).map(|_| ())
    };
    if is_durable {
        let octets = RETAIN_OCTETS.to_string();
        make("durable", &["--durable"], GIVE_UP_DURABLE)?;
        return make("retained", &["--durable", "--retain-octets", &octets], GIVE_UP_DURABLE);
    }
    let kept = ["--when-full", "block-supplier", "--window", "8", "--queue-events", "100"];
    make("kept", &kept, GIVE_UP)?;
    make("dropping", &["--when-full", "drop-oldest", "--queue-events", "50"], GIVE_UP)
}
