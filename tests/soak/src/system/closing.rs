//! The end of a soak: suppliers end by themselves, what waits is delivered, everything is accounted
//! for, everybody goes, and the server has to be as it was before.

use super::{Kind, SPARE, System};
use crate::account::{self, Acknowledged, Life, Received};
use crate::participant::{PATIENCE, Remains};
use crate::report::Report;
use crate::vitals::{GROWTH_KIB, Vitals, thirds};
use std::time::{Duration, Instant};

impl System {
    /// Ends all, and judges.
    pub(super) fn finish(mut self) -> Result<Report, String> {
        let dropping = self.end_suppliers();
        self.end_mortal_consumers();
        self.judge_kept()?;
        self.judge_dropping(&dropping)?;
        self.judge_durable()?;
        // Durable subscriptions stay, and so do dead suppliers for as long as may be.
        for channel in self.channels().into_iter().filter(|channel| *channel != "durable") {
            self.wait_for_counters(channel, "no client", |counters| {
                let consumers = counters["consumers"].as_array().map_or(0, Vec::len);
                counters["suppliers"].as_u64() == Some(0) && consumers == 0
            })?;
        }
        self.judge_size();
        let acknowledged = self.kept.total() + self.durable.total() + dropping.total();
        let report = &mut self.report;
        report.row("time", format!("{:.0} s", self.began.elapsed().as_secs_f64()));
        report.row("suppliers and consumers killed", self.kills - self.kills_of_server);
        report.row("server of the channels killed", self.kills_of_server);
        report.row("events acknowledged to suppliers", acknowledged);
        report.row("events delivered to consumers", self.events);
        report.row("of these again", self.again);
        Ok(self.report)
    }

    fn channels(&self) -> Vec<&'static str> {
        let mut channels: Vec<_> = self.slots.iter().map(|slot| slot.channel).collect();
        channels.sort_unstable();
        channels.dedup();
        channels
    }

    /// What was acknowledged by `dropping`.
    fn end_suppliers(&mut self) -> Acknowledged {
        let mut dropping = Acknowledged::default();
        for number in 0..self.slots.len() {
            let slot = &mut self.slots[number];
            if !slot.kind.is_supplier() {
                continue;
            }
            let Some(running) = slot.running.take() else { continue };
            let is_dropping = slot.channel == "dropping";
            let remains = running.stop();
            if is_dropping {
                dropping.0.extend(remains.acknowledged.0.clone());
            }
            self.bury(number, remains);
        }
        dropping
    }

    fn end_mortal_consumers(&mut self) {
        for number in 0..self.slots.len() {
            let slot = &mut self.slots[number];
            if !slot.is_mortal || slot.channel == "durable" {
                continue;
            }
            if let Some(running) = slot.running.take() {
                let remains = running.kill();
                self.bury(number, remains);
            }
        }
    }

    /// Kills a consumer after it got what `is_all` wants, or all patience.
    fn last_of(&mut self, number: usize, is_all: impl Fn(&Received) -> bool) -> Option<Remains> {
        let running = self.slots[number].running.take()?;
        running.wait_for(is_all);
        Some(running.kill())
    }

    fn consumers_of(&self, channel: &str) -> Vec<usize> {
        let of = self.slots.iter().filter(|slot| slot.channel == channel);
        of.filter(|slot| slot.running.is_some()).map(|slot| slot.number).collect()
    }

    /// Who stayed has everything.
    fn judge_kept(&mut self) -> Result<(), String> {
        let numbers = self.consumers_of("kept");
        if numbers.is_empty() {
            return Ok(());
        }
        self.wait_for_counters("kept", "who stayed, with nothing dropped", |counters| {
            let consumers = counters["consumers"].as_array().map_or(&[][..], Vec::as_slice);
            consumers.len() == 2
                && consumers.iter().all(|consumer| {
                    consumer["dropped"] == 0 && consumer["refused"] == 0 && consumer["queued"] == 0
                })
        })?;
        let (acknowledged, mut missing) = (self.kept.clone(), 0);
        for number in numbers {
            let Some(remains) = self.last_of(number, |got| got.lacks(&acknowledged).is_none())
            else {
                continue;
            };
            missing += remains.received.count_lacking(&acknowledged, |_| true);
            if let Some(lack) = remains.received.lacks(&acknowledged) {
                self.report.fault(format!("{}: {lack}", remains.name));
            }
            self.bury(number, remains);
        }
        self.report.row("kept: missing at the consumers that stayed", missing);
        Ok(())
    }

    /// What is missing was counted.
    fn judge_dropping(&mut self, acknowledged: &Acknowledged) -> Result<(), String> {
        let numbers = self.consumers_of("dropping");
        if numbers.is_empty() {
            return Ok(());
        }
        self.wait_for_counters("dropping", "empty queues", |counters| {
            let consumers = counters["consumers"].as_array().map_or(&[][..], Vec::as_slice);
            consumers.iter().all(|consumer| consumer["queued"] == 0)
        })?;
        let counters = self.server.statistics("dropping")?;
        for number in numbers {
            let is_pulling = self.slots[number].kind == Kind::Pulling;
            let of = counters["consumers"].as_array().and_then(|consumers| {
                consumers.iter().find(|consumer| consumer["is_pulling"] == is_pulling)
            });
            let count = |name: &str| of.and_then(|of| of[name].as_u64()).unwrap_or_default();
            let (delivered, dropped) = (count("delivered"), count("dropped"));
            let remains = self.last_of(number, |got| got.events >= delivered);
            let Some(remains) = remains else { continue };
            let missing = remains.received.count_lacking(acknowledged, |_| true);
            self.report.check(missing == dropped, || {
                format!("{}: {missing} events are missing, {dropped} were counted", remains.name)
            });
            let what = format!("dropping: missing, and counted as dropped ({})", remains.name);
            self.report.row(&what, format!("{missing}, {dropped}"));
            self.bury(number, remains);
        }
        Ok(())
    }

    /// Durable consumers have everything, over all kills: but what a consumer that pulls had taken
    /// when it was killed, and what a pulled supplier had given when the server was.
    fn judge_durable(&mut self) -> Result<(), String> {
        let (acknowledged, kills) = (self.durable.clone(), self.kills_of_server as u64);
        let numbers = self.consumers_of("durable");
        if numbers.is_empty() {
            return Ok(());
        }
        // A log has one order: who gets this has got all that it will.
        let last = Life { slot: self.slots.len(), life: 0 };
        let event = format!("\"{}\"", account::text(last, 0));
        self.server.ask(&["push", "durable", &event, "--retry", "60"])?;
        for number in numbers {
            let slot = &self.slots[number];
            let own = if slot.kind == Kind::Pulling { slot.life as u64 } else { 0 };
            let Some(remains) = self.last_of(number, |got| got.has(last)) else { continue };
            self.report.check(remains.received.has(last), || {
                format!("{}: it did not get the last event", remains.name)
            });
            for (kind, allowed) in [(Kind::Pushing, own), (Kind::Pulled, own + kills)] {
                let is_of = |slot: usize| self.slots[slot].kind == kind;
                let missing = remains.received.count_lacking(&acknowledged, is_of);
                self.report.check(missing <= allowed, || {
                    let lack = remains.received.lacks(&acknowledged).unwrap_or_default();
                    format!(
                        "{}: {missing} events of {kind:?} suppliers are missing, {allowed} may be: \
                         {lack}",
                        remains.name
                    )
                });
                let what = format!("{}: missing of {kind:?} suppliers, and allowed", remains.name);
                self.report.row(&what, format!("{missing}, {allowed}"));
            }
            self.events += remains.received.events;
            self.again += remains.received.again;
            self.report.faults.extend(remains.fault);
        }
        Ok(())
    }

    /// Threads and descriptors are given back, and memory does not grow.
    fn judge_size(&mut self) {
        let process = self.server.process();
        let deadline = Instant::now() + PATIENCE;
        let idle = self.idle;
        let is_small = |now: &Vitals| {
            now.threads <= idle.threads + SPARE.threads
                && now.descriptors <= idle.descriptors + SPARE.descriptors
        };
        let last = loop {
            let now = Vitals::of(process).unwrap_or_default();
            if is_small(&now) || Instant::now() > deadline {
                break now;
            }
            std::thread::park_timeout(Duration::from_millis(50));
        };
        self.report.samples = self.sampler.finish();
        let (first, later) = thirds(&self.report.samples);
        let peak = |of: fn(&Vitals) -> u64| {
            self.report.samples.iter().map(|(_, vitals)| of(vitals)).max().unwrap_or_default()
        };
        let (threads, descriptors) = (peak(|v| v.threads), peak(|v| v.descriptors));
        let report = &mut self.report;
        report.check(is_small(&last), || {
            format!("without clients the server keeps {last:?}; before the first it had {idle:?}")
        });
        report.check(later <= first + GROWTH_KIB, || {
            format!("memory grew from {first} KiB in the first third to {later} KiB in the last")
        });
        let mib = |kib: u64| format!("{:.1} MiB", kib as f64 / 1024.0);
        report.row(
            "memory of the server: highest of the first, of the last third",
            format!("{}, {} (may grow by {})", mib(first), mib(later), mib(GROWTH_KIB)),
        );
        report.row(
            "threads of the server: before the first client, most, after the last",
            format!("{}, {threads}, {}", idle.threads, last.threads),
        );
        report.row(
            "descriptors of the server: the same",
            format!("{}, {descriptors}, {}", idle.descriptors, last.descriptors),
        );
    }
}
