//! The steps of a soak, one after the other, chosen by the seed: a process is killed, or hangs for
//! some steps, or wakes, or is slow. The next victim has to have gone on before, whatever became of
//! the others.

use super::{Habit, Kind, Slot, System};
use crate::account::Acknowledged;
use crate::participant::Participant;

/// How many may hang at once, and how many of these may be suppliers: a channel has two or more.
const HANGING: usize = 2;
const HANGING_SUPPLIERS: usize = 1;
/// So many steps at most a process hangs.
const HANGING_STEPS: usize = 8;
/// One in so many sleepers is awake, or one.
const AWAKE: usize = 4;
/// Events that may wait for a sleeper of `durable`, so that it gets them all in the end in a time
/// that has a relation to that of the soak.
const BACKLOG: u64 = 20_000;

/// A process that hangs.
pub(super) struct Hanging {
    slot: usize,
    /// It goes on, or is killed, before this step.
    until: usize,
    is_killed: bool,
}

impl System {
    /// Something happens.
    pub(super) fn step(&mut self) -> Result<(), String> {
        self.steps += 1;
        self.let_go(self.steps)?;
        self.limit_backlog()?;
        if self.steps % 16 == 5 {
            self.hold_back()?;
        }
        match self.seed.below(8) {
            0 => self.hang_one(),
            1 | 2 if self.is_durable => self.wake_one(),
            _ => self.kill_one(),
        }
    }

    /// Waits until a process has done a part of its work, kills it, and has it replaced.
    fn kill_one(&mut self) -> Result<(), String> {
        let odds = self.odds_of_server();
        if odds > 0 && self.seed.below(odds) == 0 {
            return self.kill_server();
        }
        let victims = self.all(|slot| slot.habit != Habit::Stays && slot.running.is_some());
        let victims: Vec<_> = victims.into_iter().filter(|slot| !self.hangs(*slot)).collect();
        let victim = victims.get(self.seed.below(victims.len())).copied();
        let events = 1 + self.seed.below(200) as u64;
        let Some(victim) = victim else { return Err("no process is here".into()) };
        if let Some(running) = &mut self.slots[victim].running {
            running.progress(events)?;
        }
        self.kills += 1;
        self.end(victim)
    }

    pub(super) fn kill_server(&mut self) -> Result<(), String> {
        self.kills += 1;
        self.kills_of_server += 1;
        for slot in self.slots.iter().filter(|slot| slot.kind == Kind::PushedTo) {
            if let Some(running) = &slot.running {
                running.was_left(self.hangs(slot.number));
            }
        }
        self.server.kill_and_restart()?;
        self.sampler.follow(self.server.process());
        Ok(())
    }

    /// Kills a process, and has it replaced, unless it sleeps now.
    fn end(&mut self, number: usize) -> Result<(), String> {
        let slot = &mut self.slots[number];
        let Some(running) = slot.running.take() else { return Ok(()) };
        let remains = running.kill();
        slot.life += 1;
        let sleeps = slot.habit == Habit::Sleeps;
        self.bury(number, remains);
        if sleeps { Ok(()) } else { self.animate(number) }
    }

    /// Sends a SIGSTOP to a process.
    fn hang_one(&mut self) -> Result<(), String> {
        let suppliers = self.hanging.iter().filter(|of| self.slots[of.slot].kind.is_supplier());
        let suppliers = suppliers.count();
        let candidates = self.all(|slot| {
            let is_one_too_many = slot.kind.is_supplier() && suppliers >= HANGING_SUPPLIERS;
            may_hang(slot) && slot.running.is_some() && !is_one_too_many
        });
        let candidates: Vec<_> = candidates.into_iter().filter(|slot| !self.hangs(*slot)).collect();
        let chosen = candidates.get(self.seed.below(candidates.len())).copied();
        let steps = 1 + self.seed.below(HANGING_STEPS);
        let is_killed = self.seed.below(2) == 0;
        let Some(slot) = chosen.filter(|_| self.hanging.len() < HANGING) else { return Ok(()) };
        let is_killed = is_killed && self.slots[slot].habit != Habit::Stays;
        if let Some(running) = &self.slots[slot].running {
            running.hang(true)?;
        }
        self.hangs += 1;
        self.hanging.push(Hanging { slot, until: self.steps + steps, is_killed });
        Ok(())
    }

    fn hangs(&self, slot: usize) -> bool {
        self.hanging.iter().any(|hanging| hanging.slot == slot)
    }

    /// Those that have hung for long enough at this step go on, and have to, or are killed.
    pub(super) fn let_go(&mut self, step: usize) -> Result<(), String> {
        let hanging = std::mem::take(&mut self.hanging);
        let (over, hanging) = hanging.into_iter().partition(|of| of.until <= step);
        self.hanging = hanging;
        let over: Vec<Hanging> = over;
        for Hanging { slot, is_killed, .. } in over {
            if is_killed {
                self.kills += 1;
                self.end(slot)?;
            } else if let Some(running) = &mut self.slots[slot].running {
                running.hang(false)?;
                running.progress(1)?;
            }
        }
        Ok(())
    }

    /// A sleeper wakes, unless enough are awake.
    fn wake_one(&mut self) -> Result<(), String> {
        let sleepers = self.all(|slot| slot.habit == Habit::Sleeps);
        let asleep: Vec<_> =
            sleepers.iter().filter(|slot| self.slots[**slot].running.is_none()).collect();
        let awake = sleepers.len() - asleep.len();
        let chosen = asleep.get(self.seed.below(asleep.len())).copied();
        match chosen {
            Some(chosen) if awake < (sleepers.len() / AWAKE).max(1) => self.animate(*chosen),
            _ => Ok(()),
        }
    }

    /// All sleepers wake.
    pub(super) fn wake_all(&mut self) -> Result<(), String> {
        let asleep = self.all(|slot| slot.habit == Habit::Sleeps && slot.running.is_none());
        asleep.into_iter().try_for_each(|slot| self.animate(slot))
    }

    /// When a sleeper of `durable` is too far behind, its suppliers wait for it.
    fn limit_backlog(&mut self) -> Result<(), String> {
        let ended = self.acknowledged.get("durable").map_or(0, Acknowledged::total);
        let suppliers = self.all(|slot| slot.channel == "durable" && slot.kind.is_supplier());
        let running = suppliers.iter().filter_map(|slot| self.slots[*slot].running.as_ref());
        let acknowledged = ended + running.map(Participant::events).sum::<u64>();
        let sleepers = self.all(|slot| slot.channel == "durable" && slot.habit == Habit::Sleeps);
        let got = |slot: &Slot| match &slot.running {
            Some(running) => running.different(),
            None => slot.received.different(),
        };
        let least = sleepers.into_iter().min_by_key(|slot| got(&self.slots[*slot]));
        let Some(number) = least else { return Ok(()) };
        if got(&self.slots[number]) + BACKLOG > acknowledged {
            return Ok(());
        }
        if let Some(hanging) = self.hanging.iter_mut().find(|hanging| hanging.slot == number) {
            (hanging.until, hanging.is_killed) = (0, false);
            self.let_go(0)?;
        }
        let slept = self.slots[number].running.is_none();
        if slept {
            self.animate(number)?;
        }
        self.hold(&suppliers, true);
        while got(&self.slots[number]) + BACKLOG / 10 < acknowledged {
            if let Some(running) = &mut self.slots[number].running {
                running.progress(100)?;
            }
        }
        self.hold(&suppliers, false);
        if slept {
            self.kills += 1;
            self.end(number)?;
        }
        Ok(())
    }

    fn hold(&self, slots: &[usize], is_held: bool) {
        let running = slots.iter().filter_map(|slot| self.slots[*slot].running.as_ref());
        running.for_each(|running| running.hold(is_held));
    }

    /// A consumer of `dropping` is not read for a while, so that events have to be dropped.
    fn hold_back(&mut self) -> Result<(), String> {
        let kind = if self.seed.below(2) == 0 { Kind::Pulling } else { Kind::PushedTo };
        let slow = self.all(|slot| slot.channel == "dropping" && slot.kind == kind);
        let suppliers = self.all(|slot| slot.channel == "dropping" && slot.kind.is_supplier());
        self.hold(&slow, true);
        // More than what fits into the pipe behind it and into its queue.
        let progress = suppliers.into_iter().try_for_each(|supplier| {
            self.slots[supplier].running.as_mut().map_or(Ok(()), |running| running.progress(2500))
        });
        self.hold(&slow, false);
        progress
    }

    /// The numbers of some slots.
    pub(super) fn all(&self, is_wanted: impl Fn(&Slot) -> bool) -> Vec<usize> {
        let wanted = self.slots.iter().filter(|slot| is_wanted(slot));
        wanted.map(|slot| slot.number).collect()
    }
}

/// Whether the others go on when it hangs, as the policy of its channel has it.
fn may_hang(slot: &Slot) -> bool {
    match slot.channel {
        // Suppliers wait for a consumer that takes nothing.
        "kept" => slot.kind.is_supplier(),
        // Its one supplier is needed.
        "dropping" => !slot.kind.is_supplier(),
        _ => true,
    }
}
