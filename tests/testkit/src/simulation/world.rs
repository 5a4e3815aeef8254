//! A client, its servers and the network between them, in virtual time: a run is a sequence of
//! events in the order of their times, the same for the same plan and seed.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use corbie_giop::{Attempts, Fault as CallFault, Place, Roles, Step};
use corbie_types::CompletionStatus;

use super::Seed;
use super::checks::{Checks, Counts, Outcome};
use super::end::{AnsweredWith, Asked, Call, Came, End, Minds};
use super::plan::{Fault, Plan};
use super::wire::{Wire, lock};

/// The end that opened a connection, and the other one.
const CLIENT: usize = 0;
const SERVER: usize = 1;
/// A run with more events than this does not end.
const EVENTS_MAX: u64 = 200_000;
/// The flusher's millisecond.
const TICK_US: u64 = 1_000;

/// Something that happens at a time.
#[derive(Clone, Copy, Debug)]
enum Event {
    Start(Call),
    Cancel(Call),
    /// An end looks at its link.
    Look(usize, usize),
    /// Deadlines of an end are due.
    Expire(usize, usize),
    /// The flusher comes by.
    Tick(usize, usize),
    /// A servant has returned.
    Answer {
        connection: usize,
        end: usize,
        id: u32,
        asked: Asked,
        answered: AnsweredWith,
    },
    Fault(Fault),
}

struct Connection {
    server: usize,
    wire: Arc<Wire>,
    ends: [End; 2],
    /// The number of the last request that each end has seen.
    seen: [u32; 2],
}

/// Where a call is.
#[derive(Clone, Debug, Default)]
struct Progress {
    attempts: Attempts,
    /// Where a server forwarded it to.
    forwarded: Option<usize>,
    /// Connection, end and request id under which it waits.
    waits: Option<(usize, usize, u32)>,
    deadline: u64,
}

pub(super) struct World {
    plan: Plan,
    seed: Seed,
    now_us: Arc<AtomicU64>,
    /// Stands for the virtual time 0, where times are `Instant`s.
    epoch: Instant,
    /// By time, then in the order in which they were planned.
    events: BTreeMap<(u64, u64), Event>,
    planned: u64,
    is_dead: Vec<bool>,
    minds: Minds,
    connections: Vec<Connection>,
    calls: Vec<Progress>,
    checks: Checks,
}

impl World {
    pub(super) fn new(plan: Plan, seed: Seed) -> Self {
        let mut world = World {
            seed,
            now_us: Arc::default(),
            // Later than all that connections call now.
            epoch: Instant::now() + Duration::from_secs(3600),
            events: BTreeMap::new(),
            planned: 0,
            is_dead: plan.servers.iter().map(|server| server.is_dead).collect(),
            minds: Minds::new(&plan.sending),
            connections: Vec::new(),
            calls: vec![Progress::default(); plan.calls.len()],
            checks: Checks::new(plan.calls.len()),
            plan,
        };
        for call in 0..world.calls.len() {
            world.plan_event(world.plan.calls[call].start_us, Event::Start(call));
        }
        for (at, fault) in world.plan.faults.clone() {
            world.plan_event(at, Event::Fault(fault));
        }
        world
    }

    fn plan_event(&mut self, at_us: u64, event: Event) {
        self.planned += 1;
        self.events.insert((at_us.max(self.now_us.load(Ordering::Relaxed)), self.planned), event);
    }

    /// Lets everything happen.
    ///
    /// # Errors
    /// What must not happen and did.
    pub(super) fn run(mut self) -> Result<Counts, String> {
        while let Some(((at_us, _), event)) = self.events.pop_first() {
            if self.planned > EVENTS_MAX {
                return Err("the run does not end".to_owned());
            }
            self.now_us.store(at_us, Ordering::Relaxed);
            self.happens(event)?;
            loop {
                let came = lock(&self.minds.log).pop_front();
                let Some((connection, end, came)) = came else { break };
                self.came(connection, end, came)?;
            }
            self.plan_looks();
            self.plan_ticks();
            self.check_bounds()?;
        }
        for connection in &self.connections {
            for end in &connection.ends {
                if end.connection.pending() > 0 {
                    return Err(format!("requests wait for ever: {:?}", end.connection));
                }
                if end.connection.life().in_service() > 0 {
                    return Err(format!("requests are in service for ever: {:?}", end.connection));
                }
            }
        }
        self.checks.finish(&self.plan)
    }

    /// The network wakes ends.
    fn plan_looks(&mut self) {
        for connection in 0..self.connections.len() {
            for (at_us, end) in self.connections[connection].wire.take_wakes() {
                self.plan_event(at_us, Event::Look(connection, end));
            }
        }
    }

    /// The flusher comes by where something waits.
    fn plan_ticks(&mut self) {
        for connection in 0..self.connections.len() {
            for end in [CLIENT, SERVER] {
                let of = &mut self.connections[connection].ends[end];
                if of.connection.sender().waits() && !std::mem::replace(&mut of.is_ticking, true) {
                    let at_us = self.now_us.load(Ordering::Relaxed) + TICK_US;
                    self.plan_event(at_us, Event::Tick(connection, end));
                }
            }
        }
    }

    fn check_bounds(&self) -> Result<(), String> {
        // A sender takes fourfold its limit, the message beyond that, and small words.
        const MESSAGE: usize = 4_000;
        for connection in &self.connections {
            for end in &connection.ends {
                // A thread that must not wait may have four times as many pending.
                let (sender, pending) = (end.connection.sender(), end.connection.pending());
                if pending > 4 * self.plan.pending_max {
                    return Err(format!("{pending} requests wait"));
                }
                let limit = self.plan.sending.limits.queued_octets_max;
                let most = 4 * limit + MESSAGE + 200 * self.plan.calls.len();
                if sender.waiting() > most {
                    return Err(format!("{} octets wait to be sent", sender.waiting()));
                }
                let under_way = connection.wire.under_way(end.link.end);
                if under_way > self.plan.conditions.window_octets {
                    return Err(format!("{under_way} octets are under way"));
                }
            }
        }
        Ok(())
    }

    fn happens(&mut self, event: Event) -> Result<(), String> {
        match event {
            Event::Start(call) => self.start(call),
            Event::Cancel(call) => self.cancel(call),
            Event::Look(connection, end) => {
                self.connections[connection].ends[end].look();
                Ok(())
            }
            Event::Expire(connection, end) => {
                self.connections[connection].ends[end].connection.expire(self.now());
                Ok(())
            }
            Event::Tick(connection, end) => {
                let now = self.now();
                self.connections[connection].ends[end].tick(now);
                Ok(())
            }
            Event::Answer { connection, end, id, asked, answered } => {
                let twice_in = self.plan.twice_in;
                let is_twice = twice_in > 0 && self.seed.below(twice_in) == 0;
                let end = &mut self.connections[connection].ends[end];
                end.answer(id, asked, answered, 1 + usize::from(is_twice));
                self.checks.counts.replies_sent_twice += u64::from(is_twice);
                Ok(())
            }
            Event::Fault(fault) => {
                self.fault(fault);
                Ok(())
            }
        }
    }

    fn start(&mut self, call: Call) -> Result<(), String> {
        let planned = &self.plan.calls[call];
        self.calls[call].deadline =
            self.now_us.load(Ordering::Relaxed).saturating_add(planned.timeout_us);
        if let Some(after_us) = planned.cancel_after_us {
            self.plan_event(self.now_us.load(Ordering::Relaxed) + after_us, Event::Cancel(call));
        }
        self.attempt(call)
    }

    /// The application gives a call up.
    fn cancel(&mut self, call: Call) -> Result<(), String> {
        let Some((connection, end, id)) = self.calls[call].waits.take() else { return Ok(()) };
        self.checks.given_up += 1;
        match self.connections[connection].ends[end].connection.cancel(id) {
            Some(waits) if waits.call() == call => self.checks.end(call, Outcome::Cancelled),
            found => {
                let found = found.map(|waits| waits.call());
                Err(format!("call {call} waits as {id}, where {found:?} is"))
            }
        }
    }

    /// How many addresses the call has now.
    fn place(&self, call: Call) -> Place {
        match self.calls[call].forwarded {
            Some(_) => Place { addresses: 1, is_forwarded: true },
            None => Place { addresses: self.plan.calls[call].servers.len(), is_forwarded: false },
        }
    }

    fn attempt(&mut self, call: Call) -> Result<(), String> {
        match self.send(call) {
            Ok(()) => Ok(()),
            Err(fault) => self.after_fault(call, fault),
        }
    }

    fn after_fault(&mut self, call: Call, fault: CallFault) -> Result<(), String> {
        let place = self.place(call);
        let step = self.calls[call].attempts.failed(fault, place);
        self.take_step(call, step, None)
    }

    fn take_step(&mut self, call: Call, step: Step, to: Option<usize>) -> Result<(), String> {
        match step {
            Step::Send => {}
            Step::Follow => self.calls[call].forwarded = to,
            Step::Return => self.calls[call].forwarded = None,
            Step::End(completed) => return self.checks.end(call, Outcome::Failed(completed)),
        }
        self.attempt(call)
    }

    /// Sends the call where it is to go now.
    fn send(&mut self, call: Call) -> Result<(), CallFault> {
        let now_us = self.now_us.load(Ordering::Relaxed);
        if self.calls[call].deadline <= now_us {
            return Err(CallFault::Stopped);
        }
        let (connection, end) = self.connection_for(call).ok_or(CallFault::Unreachable)?;
        let deadline_us = self.calls[call].deadline;
        let deadline = self.epoch.checked_add(Duration::from_micros(deadline_us));
        let deadline = deadline.filter(|_| deadline_us != u64::MAX);
        let (planned, now) = (&self.plan.calls[call], self.now());
        let of = &mut self.connections[connection].ends[end];
        let asked = of.ask(call, planned.asked, planned.padding, deadline, now);
        match asked.map_err(|fault| fault.kind())? {
            None => {
                self.calls[call].attempts.answered();
                self.checks.oneway(call);
            }
            Some(id) => {
                self.calls[call].attempts.sent();
                self.calls[call].waits = Some((connection, end, id));
                if deadline.is_some() {
                    self.plan_event(deadline_us, Event::Expire(connection, end));
                }
            }
        }
        Ok(())
    }

    /// An open connection for the call, perhaps a new one; and the end that asks.
    fn connection_for(&mut self, call: Call) -> Option<(usize, usize)> {
        let planned = &self.plan.calls[call];
        let address = self.calls[call].attempts.address();
        let server =
            self.calls[call].forwarded.or_else(|| planned.servers.get(address).copied())?;
        let asks = if planned.is_callback { SERVER } else { CLIENT };
        let is_usable = |c: &Connection| c.server == server && c.ends[asks].connection.is_open();
        if let Some(found) = self.connections.iter().position(is_usable) {
            return Some((found, asks));
        }
        // Only the client opens connections.
        if planned.is_callback || self.is_dead[server] {
            return None;
        }
        let opened = self.open(server);
        self.connections.push(opened);
        Some((self.connections.len() - 1, CLIENT))
    }

    fn open(&mut self, server: usize) -> Connection {
        let break_in = self.plan.break_in;
        let breaks = break_in > 0 && self.seed.below(break_in) == 0;
        let breaks_at = breaks.then(|| (self.seed.below(2), self.seed.next_u64() % 600));
        let seed = Seed::new(self.seed.next_u64());
        let wire = Wire::new(Arc::clone(&self.now_us), self.plan.conditions, breaks_at, seed);
        let roles = match self.plan.is_bidirectional {
            true => [Roles::both(true), Roles::both(false)],
            false => [Roles::CLIENT, Roles::SERVER],
        };
        let number = self.connections.len();
        let Plan { dialect, sending, pending_max, .. } = self.plan;
        let end = |end: usize| {
            let mind = self.minds.of((number, end));
            End::new(&wire, roles[end], dialect, sending, pending_max, mind)
        };
        let ends = [end(CLIENT), end(SERVER)];
        self.checks.counts.connections += 1;
        Connection { server, wire, ends, seen: [0; 2] }
    }

    fn now(&self) -> Instant {
        self.epoch + Duration::from_micros(self.now_us.load(Ordering::Relaxed))
    }

    fn came(&mut self, connection: usize, end: usize, came: Came) -> Result<(), String> {
        match came {
            Came::Request { call, number, id, asked } => {
                self.request(connection, end, (call, number), id, asked)?;
            }
            Came::Declined => self.checks.counts.declined += 1,
            Came::Late => self.checks.unexpected(true)?,
            Came::Cancel => self.checks.counts.cancels += 1,
            Came::Unasked => self.checks.unexpected(false)?,
            Came::Expired(call) => {
                self.checks.given_up += 1;
                self.calls[call].waits = None;
                self.after_fault(call, CallFault::Stopped)?;
            }
            Came::Failed(call, fault) => {
                self.calls[call].waits = None;
                self.after_fault(call, fault)?;
            }
            Came::Reply(call, AnsweredWith::Done) => {
                self.calls[call].waits = None;
                self.calls[call].attempts.answered();
                self.checks.end(call, Outcome::Answered)?;
            }
            Came::Reply(call, AnsweredWith::Forward(server)) => {
                self.calls[call].waits = None;
                self.checks.counts.forwards += 1;
                let step = self.calls[call].attempts.redirected();
                self.take_step(call, step, Some(server))?;
            }
        }
        Ok(())
    }

    /// A request is in service now.
    fn request(
        &mut self,
        connection: usize,
        end: usize,
        (call, number): (Call, u32),
        id: u32,
        asked: Asked,
    ) -> Result<(), String> {
        let of = &mut self.connections[connection];
        let server = of.server;
        if number <= of.seen[end] {
            return Err(format!("request {number} came after request {}", of.seen[end]));
        }
        of.seen[end] = number;
        let planned = self.plan.servers[server];
        let answered = match planned.forwards_to {
            Some(to) if end == SERVER && asked != Asked::Oneway => AnsweredWith::Forward(to),
            _ => AnsweredWith::Done,
        };
        if answered == AnsweredWith::Done {
            self.checks.begun(call, asked)?;
        }
        let after_us = self.seed.next_u64() % planned.service_us;
        let event = Event::Answer { connection, end, id, asked, answered };
        self.plan_event(self.now_us.load(Ordering::Relaxed) + after_us, event);
        Ok(())
    }

    fn fault(&mut self, fault: Fault) {
        self.checks.counts.faults += 1;
        match fault {
            Fault::Close(server) => self.for_each_of(server, |c| {
                c.ends[SERVER].connection.close_when_served();
            }),
            #[cfg(test)]
            Fault::Lie(server) => self.for_each_of(server, |c| c.ends[SERVER].lie()),
            Fault::Kill(server) => {
                self.is_dead[server] = true;
                self.for_each_of(server, |c| {
                    c.ends[SERVER].connection.cut();
                    c.wire.break_now();
                });
            }
            Fault::Revive(server) => self.is_dead[server] = self.plan.servers[server].is_dead,
            Fault::CloseIdle => {
                for connection in &mut self.connections {
                    let end = &connection.ends[CLIENT].connection;
                    if end.idle_since().is_some() {
                        end.close_if_idle();
                    }
                }
            }
            Fault::Garbage(number, end) => {
                let octets = [self.seed.next_u64().to_le_bytes(); 3].concat();
                if let Some(connection) = self.connections.get_mut(number) {
                    let of = &mut connection.ends[end];
                    of.connection.sender().post(of.connection.link(), &octets);
                }
            }
        }
    }

    fn for_each_of(&mut self, server: usize, mut each: impl FnMut(&mut Connection)) {
        self.connections.iter_mut().filter(|c| c.server == server).for_each(&mut each);
    }
}

/// Whether a call that ended so may have been carried out.
pub(super) fn may_have_begun(outcome: Outcome) -> bool {
    outcome != Outcome::Failed(CompletionStatus::No)
}
