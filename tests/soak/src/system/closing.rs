//! The end of a soak: suppliers end by themselves, what waits is delivered, everything is accounted
//! for, everybody goes, and the server has to be as it was before.

use super::peopling::RETAIN_OCTETS;
use super::{Habit, Kind, System, consumers};
use crate::account::{self, Acknowledged, Life, Received};
use crate::participant::Remains;
use crate::report::Report;

/// What a log may have beyond what it is to keep, when that is in one segment with large events.
const ONE_SEGMENT: u64 = 256 << 10;

impl System {
    /// Ends all, and judges.
    pub(super) fn finish(mut self) -> Result<Report, String> {
        self.let_go(usize::MAX)?;
        self.begin_phase("end");
        self.end_suppliers();
        self.end_mortal_consumers();
        self.wake_all()?;
        self.judge_kept()?;
        self.judge_dropping()?;
        self.judge_durable()?;
        self.judge_retained()?;
        // Durable subscriptions stay, and so do dead suppliers for as long as may be.
        for channel in if self.is_durable { &[][..] } else { &["kept", "dropping"] } {
            self.wait_for_counters(channel, "no client", |counters| {
                counters["suppliers"].as_u64() == Some(0) && consumers(counters).is_empty()
            })?;
        }
        self.judge_size();
        let acknowledged: u64 = self.acknowledged.values().map(Acknowledged::total).sum();
        let report = &mut self.report;
        report.row("time", format!("{:.0} s", self.began.elapsed().as_secs_f64()));
        report.row("suppliers and consumers killed", self.kills - self.kills_of_server);
        report.row("suppliers and consumers that hung for a while", self.hangs);
        report.row("server of the channels killed", self.kills_of_server);
        report.row("events acknowledged to suppliers", acknowledged);
        report.row("events delivered to consumers", self.events);
        report.row("of these again", self.again);
        Ok(self.report)
    }

    fn end_suppliers(&mut self) {
        for number in self.all(|slot| slot.kind.is_supplier()) {
            if let Some(running) = self.slots[number].running.take() {
                let remains = running.stop();
                self.bury(number, remains);
            }
        }
    }

    fn end_mortal_consumers(&mut self) {
        for number in self.all(|slot| slot.habit == Habit::Dies && !slot.is_durable()) {
            if let Some(running) = self.slots[number].running.take() {
                let remains = running.kill();
                self.bury(number, remains);
            }
        }
    }

    /// Kills a consumer after it got what `is_all` wants, or does not go on.
    fn last_of(&mut self, number: usize, is_all: impl Fn(&Received) -> bool) -> Option<Remains> {
        let running = self.slots[number].running.take()?;
        running.wait_for(is_all);
        Some(running.kill())
    }

    fn consumers_of(&self, channel: &str) -> Vec<usize> {
        self.all(|slot| slot.channel == channel && slot.running.is_some())
    }

    fn acknowledged_by(&self, channel: &str) -> Acknowledged {
        self.acknowledged.get(channel).cloned().unwrap_or_default()
    }

    /// A consumer that was there to the end has everything.
    fn judge_kept(&mut self) -> Result<(), String> {
        let numbers = self.consumers_of("kept");
        if numbers.is_empty() {
            return Ok(());
        }
        self.wait_for_counters("kept", "who stayed, with nothing dropped", |counters| {
            let consumers = consumers(counters);
            consumers.len() == 2
                && consumers.iter().all(|consumer| {
                    consumer["dropped"] == 0 && consumer["refused"] == 0 && consumer["queued"] == 0
                })
        })?;
        let (acknowledged, mut missing) = (self.acknowledged_by("kept"), 0);
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
    fn judge_dropping(&mut self) -> Result<(), String> {
        let numbers = self.consumers_of("dropping");
        if numbers.is_empty() {
            return Ok(());
        }
        self.wait_for_counters("dropping", "empty queues", |counters| {
            consumers(counters).iter().all(|consumer| consumer["queued"] == 0)
        })?;
        let acknowledged = self.acknowledged_by("dropping");
        let counters = self.server.statistics("dropping")?;
        for number in numbers {
            let is_pulling = self.slots[number].kind == Kind::Pulling;
            let mut all = consumers(&counters).iter();
            let of = all.find(|consumer| consumer["is_pulling"] == is_pulling);
            let count = |name: &str| of.and_then(|of| of[name].as_u64()).unwrap_or_default();
            let (delivered, dropped) = (count("delivered"), count("dropped"));
            let remains = self.last_of(number, |got| got.events >= delivered);
            let Some(remains) = remains else { continue };
            let missing = remains.received.count_lacking(&acknowledged, |_| true);
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
        let (acknowledged, kills) = (self.acknowledged_by("durable"), self.kills_of_server as u64);
        let all = self.last_of_all("durable")?;
        let mut sums = [(Kind::Pushing, 0, 0), (Kind::Pulled, 0, 0)];
        for (remains, dropped) in &all {
            let own = remains.received.deaths();
            self.report.check(*dropped == 0, || {
                format!("{}: {dropped} events were dropped, of those to be kept", remains.name)
            });
            for (kind, all_missing, all_allowed) in &mut sums {
                let is_of = |slot: usize| self.slots[slot].kind == *kind;
                let missing = remains.received.count_lacking(&acknowledged, is_of);
                let allowed = if *kind == Kind::Pulled { own + kills } else { own };
                self.report.check(missing <= allowed, || {
                    let lack = remains.received.lacks(&acknowledged).unwrap_or_default();
                    format!(
                        "{}: {missing} events of {kind:?} suppliers are missing, {allowed} may be: \
                         {lack}",
                        remains.name
                    )
                });
                (*all_missing, *all_allowed) = (*all_missing + missing, *all_allowed + allowed);
            }
        }
        for (kind, missing, allowed) in sums {
            let what = format!(
                "durable: missing of {kind:?} suppliers at its {} consumers, and allowed",
                all.len()
            );
            if !all.is_empty() {
                self.report.row(&what, format!("{missing}, {allowed}"));
            }
        }
        Ok(())
    }

    /// What is missing was dropped, as there was too much, or died with a consumer that pulls.
    fn judge_retained(&mut self) -> Result<(), String> {
        let acknowledged = self.acknowledged_by("retained");
        let all = self.last_of_all("retained")?;
        if all.is_empty() {
            return Ok(());
        }
        let (mut all_missing, mut all_dropped, mut without) = (0, 0, 0);
        for (remains, dropped) in &all {
            let own = remains.received.deaths();
            let missing = remains.received.count_lacking(&acknowledged, |_| true);
            self.report.check(missing <= dropped + own, || {
                let lack = remains.received.lacks(&acknowledged).unwrap_or_default();
                format!(
                    "{}: {missing} events are missing, {dropped} were dropped, {own} died with it: \
                     {lack}",
                    remains.name
                )
            });
            (all_missing, all_dropped) = (all_missing + missing, all_dropped + dropped);
            without += usize::from(*dropped == 0);
        }
        let what = format!(
            "retained: missing at its {} consumers, counted as dropped; how many missed none",
            all.len()
        );
        self.report.row(&what, format!("{all_missing}, {all_dropped}; {without}"));
        let what = format!("not much more than {RETAIN_OCTETS} octets");
        self.wait_for_counters("retained", &what, |counters| {
            counters["kept_octets"].as_u64().is_some_and(|kept| kept <= RETAIN_OCTETS + ONE_SEGMENT)
        })
    }

    /// What is left of the consumers of a durable channel when they have got all that they will,
    /// and what was dropped for each.
    fn last_of_all(&mut self, channel: &str) -> Result<Vec<(Remains, u64)>, String> {
        let numbers = self.consumers_of(channel);
        if numbers.is_empty() {
            return Ok(vec![]);
        }
        // A log has one order: who gets this has got all that it will.
        let last = Life { slot: self.slots.len(), life: 0 };
        let event = format!("\"{}\"", account::text(last, 0));
        self.server.ask(&["push", channel, &event, "--retry", "60"])?;
        let mut all = Vec::new();
        for number in numbers {
            let Some(remains) = self.last_of(number, |got| got.has(last)) else { continue };
            self.report.check(remains.received.has(last), || {
                format!("{}: it did not get the last event", remains.name)
            });
            self.events += remains.events;
            self.again += remains.received.again;
            self.report.faults.extend(remains.fault.clone());
            all.push((self.slots[number].proxy, remains));
        }
        let counters = self.server.statistics(channel)?;
        let dropped = |proxy: u64| {
            let of = consumers(&counters).iter().find(|of| of["id"] == proxy)?;
            of["dropped"].as_u64()
        };
        let with = |(proxy, remains): (u64, Remains)| match dropped(proxy) {
            Some(dropped) => Ok((remains, dropped)),
            None => Err(format!("{}: its proxy {proxy} is gone: {counters}", remains.name)),
        };
        all.into_iter().map(with).collect()
    }
}
