//! The Resource Status Server: what machines report, who is to be told when a job will be late, and
//! the proxy that passes on only what changes something (paper MSHN §2).
//!
//! Daemons report; the Scheduling Advisor asks and is called back with violations: a job that will
//! not meet its deadline as things are, or whose machine has fallen silent.

mod filter;
mod watching;

pub use filter::StatusProxy;

use crate::address::Address;
use crate::bounds::{self, MACHINES_MAX, WATCHES_MAX};
use crate::idl::{MachineStatus, MachineStatuses, Receipt, StatusReport, Violation, WatchOrder};
use crate::messages::{Component, Done, Request, Role, accepted, not_mine, refused};
use crate::peers::Peers;
use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};
use watching::Watched;
pub(crate) use watching::rate;

/// A machine that did not report for so long is not known any more.
const FORGOTTEN_AFTER: Duration = Duration::from_secs(3600);

/// How a status server judges.
#[derive(Clone, Debug)]
pub struct StatusOptions {
    /// A machine that did not report for so long is gone.
    pub silence: Duration,
    /// How often watched jobs are looked at besides when something is reported.
    pub interval: Duration,
}

impl Default for StatusOptions {
    fn default() -> Self {
        Self { silence: Duration::from_secs(5), interval: Duration::from_millis(250) }
    }
}

/// See the module.
pub struct StatusServer {
    options: StatusOptions,
    /// Whom to call back; none in tests and for the local form.
    peers: Option<Peers>,
    /// Lock "status": not held in calls.
    state: Mutex<StatusState>,
}

#[derive(Default)]
struct StatusState {
    machines: BTreeMap<String, (Instant, MachineStatus)>,
    watched: HashMap<String, Watched>,
}

impl StatusServer {
    /// A server that knows nothing yet. It calls advisors back through `peers`.
    #[must_use]
    pub fn new(options: StatusOptions, peers: Option<Peers>) -> Arc<Self> {
        let server = Arc::new(Self { options, peers, state: Mutex::default() });
        let (weak, interval) = (Arc::downgrade(&server), server.options.interval);
        std::thread::spawn(move || look_again(&weak, interval));
        server
    }

    fn lock(&self) -> MutexGuard<'_, StatusState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn report(&self, status: MachineStatus) -> Receipt {
        let machine = status.machine.clone();
        if machine.is_empty() {
            return refused("a report needs the name of its machine");
        }
        if let Some(why) = bounds::too_long([&machine]) {
            return refused(why);
        }
        let mut state = self.lock();
        if state.machines.len() >= MACHINES_MAX && !state.machines.contains_key(&machine) {
            return refused(format!("{MACHINES_MAX} machines are known, as many as may be"));
        }
        state.machines.insert(machine, (Instant::now(), status));
        drop(state);
        self.look();
        accepted()
    }

    fn watch(&self, order: WatchOrder) -> Receipt {
        if let Some(why) = bounds::too_long([&order.job, &order.machine, &order.advisor]) {
            return refused(why);
        }
        let (now, mut state) = (Instant::now(), self.lock());
        let is_full = state.watched.len() >= WATCHES_MAX;
        match state.watched.entry(order.job.clone()) {
            Entry::Occupied(mut known) => known.get_mut().again(order, now),
            Entry::Vacant(_) if is_full => {
                return refused(format!("{WATCHES_MAX} jobs are watched, as many as may be"));
            }
            Entry::Vacant(place) => {
                place.insert(Watched::new(order, now));
            }
        }
        accepted()
    }

    fn status(&self, machine: &str) -> StatusReport {
        let state = self.lock();
        let now = Instant::now();
        let wanted = |name: &String| machine.is_empty() || machine == name;
        let machines: MachineStatuses = state
            .machines
            .iter()
            .filter(|(name, _)| wanted(name))
            .map(|(_, (at, status))| MachineStatus {
                age_s: (now - *at).as_secs_f64(),
                ..status.clone()
            })
            .collect();
        StatusReport { machines }
    }

    /// Looks at every watched job and calls advisors back.
    fn look(&self) {
        let now = Instant::now();
        let mut late: Vec<(String, Violation)> = Vec::new();
        {
            let mut state = self.lock();
            let StatusState { machines, watched } = &mut *state;
            watched.retain(|_, watched| watched.is_wanted(now));
            machines.retain(|_, (at, _)| now.saturating_duration_since(*at) < FORGOTTEN_AFTER);
            for watched in watched.values_mut() {
                let machine = machines.get(watched.machine());
                late.extend(watched.look(now, machine, self.options.silence));
            }
        }
        let Some(peers) = &self.peers else { return };
        for (advisor, violation) in late {
            tracing::info!(job = violation.job, why = violation.why, "a job will be late");
            let to = Address::named(Role::Advisor, advisor);
            // Lost, it is told again as long as it is so.
            peers.start(&to, Request::Violated(violation), Box::new(|_| ()));
        }
    }
}

fn look_again(server: &Weak<StatusServer>, interval: Duration) {
    loop {
        std::thread::sleep(interval);
        let Some(server) = server.upgrade() else { return };
        server.look();
    }
}

impl Component for StatusServer {
    fn serve(&self, request: Request, done: Done) {
        let reply = match request {
            Request::Report(status) => self.report(status).into(),
            Request::Status(which) => self.status(&which.machine).into(),
            Request::Watch(order) => self.watch(order).into(),
            Request::Unwatch(which) => {
                self.lock().watched.remove(&which.id);
                accepted().into()
            }
            other => return done(Err(not_mine(&other))),
        };
        done(Ok(reply));
    }
}
