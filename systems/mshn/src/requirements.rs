//! The Resource Requirement Database: what applications used, by format and machine, in one `redb`
//! file; its replicas, which tell each other what is new; and the proxy that gathers before it
//! passes on (paper MSHN §2).
//!
//! Client Libraries record; the Scheduling Advisor asks for means.

mod gather;
mod shares;

pub use gather::RequirementProxy;

use crate::address::Address;
use crate::bounds;
use crate::idl::{News, Usage};
use crate::messages::{Component, Done, Request, Role, not_kept, not_mine, refused};
use crate::peers::Peers;
use corbie_store::{StoreFailure, StoreFile};
use shares::Shares;
use std::path::Path;
use std::sync::{Arc, Weak};
use std::time::Duration;

/// Between two questions to the other replicas what is new.
const EXCHANGE_EVERY: Duration = Duration::from_millis(500);

/// See the module.
pub struct RequirementDatabase {
    shares: Arc<Shares>,
}

impl RequirementDatabase {
    /// Opens the database in `path`, or makes it.
    ///
    /// # Errors
    /// When the file is no database, cannot be written, or is in use by another process.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, StoreFailure> {
        Self::prepare(StoreFile::create(path)?)
    }

    /// A database in memory, which ends with the process.
    ///
    /// # Errors
    /// None in practice.
    pub fn in_memory() -> Result<Self, StoreFailure> {
        Self::prepare(StoreFile::in_memory()?)
    }

    fn prepare(file: StoreFile) -> Result<Self, StoreFailure> {
        Ok(Self { shares: Arc::new(Shares::prepare(file)?) })
    }

    /// Asks the other replicas what is new, again and again as long as this is there.
    pub fn exchange(&self, peers: Peers) {
        let shares = Arc::downgrade(&self.shares);
        std::thread::spawn(move || exchange(&shares, &peers));
    }
}

fn exchange(shares: &Weak<Shares>, peers: &Peers) {
    // Our own name among the replicas, once we have asked ourselves.
    let mut own: Option<String> = None;
    loop {
        std::thread::sleep(EXCHANGE_EVERY);
        let names = peers.replicas(Role::RequirementDatabase).unwrap_or_default();
        let Some(shares) = shares.upgrade() else { return };
        if names.len() < 2 {
            continue;
        }
        for name in names.iter() {
            if own.as_ref() == Some(name) {
                continue;
            }
            let to = Address::named(Role::RequirementDatabase, name.clone());
            let news: Result<News, _> = peers.ask_once(&to, &Request::NewsSince(shares.known()));
            match news {
                Ok(news) if news.origin == shares.origin() => own = Some(name.clone()),
                Ok(news) => {
                    if let Err(error) = shares.learn(&news) {
                        tracing::error!(%error, "the requirement database");
                    }
                }
                Err(exception) => tracing::debug!(%exception, name, "no news of a replica"),
            }
        }
    }
}

/// No run is taken to last longer, some thirty years: means stay finite.
const LONGEST_S: f64 = 1e9;

/// The mean of both, weighted by their samples; of what `before` is about.
fn joined(before: &Usage, used: &Usage) -> Usage {
    let (old, new) = (f64::from(before.samples), f64::from(used.samples.max(1)));
    let mean = |a: f64, b: f64| (a * old + b * new) / (old + new);
    // Rounding must not make a mean unsound.
    let time = |a, b| mean(a, b).min(LONGEST_S);
    Usage {
        wall_s: time(before.wall_s, used.wall_s),
        processor_s: time(before.processor_s, used.processor_s),
        memory_kib: before.memory_kib.max(used.memory_kib),
        io_kib: mean(before.io_kib as f64, used.io_kib as f64) as u64,
        samples: before.samples.saturating_add(used.samples.max(1)),
        ..before.clone()
    }
}

/// What is said of others.
const UNSOUND: &str = "a time is negative, not a number, or beyond 1e9 s";

/// Whether the numbers are such as a run can give.
fn is_sound(used: &Usage) -> bool {
    let is_time = |seconds: f64| (0.0..=LONGEST_S).contains(&seconds);
    is_time(used.wall_s) && is_time(used.processor_s)
}

/// Why a record is refused, if it is.
fn refusal_of(used: &Usage) -> Option<String> {
    let names = [&used.application, &used.format, &used.machine];
    bounds::too_long(names).or_else(|| (!is_sound(used)).then(|| UNSOUND.to_owned()))
}

impl Component for RequirementDatabase {
    fn serve(&self, request: Request, done: Done) {
        let outcome = match request {
            Request::Record(used) => match refusal_of(&used) {
                Some(why) => Ok(refused(why).into()),
                None => self.shares.record(&used).map(Into::into),
            },
            Request::MeansOf(which) => self.shares.means_of(&which.name).map(Into::into),
            Request::NewsSince(known) => self.shares.news_since(&known).map(Into::into),
            other => return done(Err(not_mine(&other))),
        };
        done(outcome.map_err(|error| not_kept("the requirement database", &error)));
    }
}
