//! An experiment as data, and the one way of running it: every contender in turn, round after
//! round.
//!
//! `main.rs` looks a name up in [`EXPERIMENTS`] and calls [`run`]. A new experiment is one file
//! below `experiment/` and one line in that table: it lists its cells (who does what, pinned
//! where), the paper's table and its ratios.

pub(crate) mod ami_latency;
pub(crate) mod ami_throughput;
pub(crate) mod bandwidth;

use crate::chart::Chart;
use crate::contender::{Contender, Roster};
use crate::machine;
use crate::orders::Order;
use crate::placement::Pin;
use crate::process::Process;
use crate::processor_time::ProcessorTime;
use crate::record::{self, At, Collected, Missing, Record};
use crate::statistics;
use crate::table::PaperTable;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Write};

/// Every experiment there is, in the order of `experiments.md`.
pub(crate) const EXPERIMENTS: &[&Experiment] =
    &[&ami_latency::EXPERIMENT, &ami_throughput::EXPERIMENT, &bandwidth::EXPERIMENT];

/// One experiment.
pub(crate) struct Experiment {
    /// The name on the command line and of the files.
    pub(crate) name: &'static str,
    /// The paper's table or figure; `-` when it is not from a paper.
    pub(crate) paper: &'static str,
    /// What it measures, in one sentence.
    pub(crate) summary: &'static str,
    /// What the reader must know about how it was measured.
    pub(crate) notes: &'static [&'static str],
    /// The paper's numbers, and which of our rows stands beside each.
    pub(crate) paper_table: Option<PaperTable>,
    /// Keys of the ratios, required ones first.
    pub(crate) ratios: &'static [&'static str],
    /// Series that are the best of others: name, prefix, metric.
    pub(crate) bests: &'static [(&'static str, &'static str, &'static str)],
    /// The metric of the printed table's first column and of the plot.
    pub(crate) metric: &'static str,
    /// How the plot looks.
    pub(crate) chart: Chart,
    /// The cells of one round.
    pub(crate) plan: fn(&Effort) -> Vec<Cell>,
}

/// How much is measured.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Effort {
    /// At most 60 s an experiment.
    pub(crate) quick: bool,
    /// Rounds.
    pub(crate) rounds: usize,
}

/// One thing done in every round.
pub(crate) struct Cell {
    /// Who.
    pub(crate) contender: Contender,
    /// Where.
    pub(crate) pin: Pin,
    /// What; the warm-up of [`Order::Latency`] is the contender's own.
    pub(crate) order: Order,
    /// What the row says beside pin and configuration.
    pub(crate) x: Vec<(&'static str, serde_json::Value)>,
}

impl Cell {
    fn at(&self) -> At {
        let mut x: At =
            self.x.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
        x.insert("pin".to_owned(), self.pin.name().into());
        if !self.contender.config.is_empty() {
            x.insert("config".to_owned(), self.contender.config.into());
        }
        x
    }

    /// Payload octets that one call carries there and back.
    fn octets_per_call(&self) -> u64 {
        match self.order {
            Order::Octets { size, .. } => 2 * size as u64,
            _ => 0,
        }
    }

    fn label(&self) -> String {
        let mut label = self.contender.series.clone();
        for value in self.at().values() {
            label.push_str(" · ");
            label.push_str(&value.to_string().replace('"', ""));
        }
        label
    }
}

/// A server and its client, running.
struct Session {
    // The client first: it is dropped, and so ended, before the server.
    client: Process,
    server: Process,
}

impl Session {
    fn start(cell: &Cell, roster: &Roster, log: &File) -> Result<Session, String> {
        let text = |e: io::Error| e.to_string();
        let launch = roster.server(&cell.contender)?;
        let server = Process::start(&launch, cell.pin.server(), log).map_err(text)?;
        let address = server.address().map_err(text)?;
        let launch = roster.client(&cell.contender, &address)?;
        let client = Process::start(&launch, cell.pin.client(), log).map_err(text)?;
        Ok(Session { client, server })
    }
}

/// Runs an experiment: rounds A B C A B C …, medians over rounds.
///
/// # Errors
/// When nothing could be measured at all; a contender that fails is named in the record instead.
pub(crate) fn run(
    experiment: &Experiment,
    effort: Effort,
    roster: &Roster,
    log: &File,
    only: Option<&str>,
) -> io::Result<Record> {
    let mut machine = machine::describe();
    machine["request_octets"] = roster.sizes().request.into();
    machine["reply_octets"] = roster.sizes().reply.into();
    let cells: Vec<Cell> = (experiment.plan)(&effort)
        .into_iter()
        .filter(|cell| only.is_none_or(|only| cell.contender.series.contains(only)))
        .collect();
    let mut sessions: Vec<Option<Session>> = cells.iter().map(|_| None).collect();
    let mut failed: Vec<Option<String>> = cells.iter().map(|_| None).collect();
    let mut collected = Collected::default();
    for round in 0..effort.rounds {
        for (index, cell) in cells.iter().enumerate() {
            if failed[index].is_some() {
                continue;
            }
            progress(&format!("round {}/{}: {}", round + 1, effort.rounds, cell.label()))?;
            let when = When { first_round: round == 0, quick: effort.quick };
            match measure(cell, &mut sessions[index], roster, log, when) {
                Ok(metrics) => {
                    let (series, at) = (&cell.contender.series, cell.at());
                    metrics
                        .iter()
                        .for_each(|(name, value)| collected.add(series, &at, name, *value));
                }
                Err(reason) => {
                    progress(&format!("missing: {}: {reason}\n", cell.label()))?;
                    failed[index] = Some(reason);
                    sessions[index] = None;
                }
            }
        }
    }
    progress("")?;
    Ok(conclude(experiment, effort, machine, &collected, missing(&cells, &failed)))
}

fn conclude(
    experiment: &Experiment,
    effort: Effort,
    machine: serde_json::Value,
    collected: &Collected,
    missing: Vec<Missing>,
) -> Record {
    let mut rows = collected.rows();
    for (name, prefix, metric) in experiment.bests {
        record::add_best(&mut rows, name, prefix, metric);
    }
    let ratio = |key: &&str| ((*key).to_owned(), record::ratio(&rows, key));
    let ratios: BTreeMap<_, _> = experiment.ratios.iter().map(ratio).collect();
    Record {
        experiment: experiment.name.to_owned(),
        paper: experiment.paper.to_owned(),
        machine,
        rounds: effort.rounds,
        rows,
        ratios,
        missing,
    }
}

/// What decides how long a contender warms up.
#[derive(Clone, Copy)]
struct When {
    first_round: bool,
    quick: bool,
}

/// One cell of one round.
fn measure(
    cell: &Cell,
    kept: &mut Option<Session>,
    roster: &Roster,
    log: &File,
    when: When,
) -> Result<Vec<statistics::Metric>, String> {
    let mut session = match kept.take() {
        Some(session) => session,
        None => Session::start(cell, roster, log)?,
    };
    let mut order = cell.order.clone();
    match &mut order {
        Order::Latency { warm_up, .. } => {
            *warm_up = cell.contender.warm_up_calls(when.first_round, when.quick)
        }
        Order::Threads { warm_up_ms, .. } | Order::Octets { warm_up_ms, .. } => {
            *warm_up_ms = (*warm_up_ms).max(cell.contender.warm_up_ms(when.first_round));
        }
        Order::Oneways { .. } => {}
    }
    let before = ProcessorTime::of(session.client.id(), session.server.id());
    let answer = session.client.obey(&order).map_err(|e| e.to_string())?;
    let spent = ProcessorTime::of(session.client.id(), session.server.id()).since(before);
    let mut metrics = statistics::metrics(&answer, cell.octets_per_call())?;
    metrics.extend(spent);
    if cell.contender.stays_warm() {
        *kept = Some(session);
    }
    Ok(metrics)
}

fn missing(cells: &[Cell], failed: &[Option<String>]) -> Vec<Missing> {
    let mut missing: Vec<Missing> = Vec::new();
    for (cell, reason) in cells.iter().zip(failed) {
        let Some(reason) = reason else { continue };
        let config = cell.contender.config;
        let reason = if config.is_empty() { reason.clone() } else { format!("{config}: {reason}") };
        let entry = Missing { series: cell.contender.series.clone(), reason };
        if !missing.contains(&entry) {
            missing.push(entry);
        }
    }
    missing
}

/// Shows where the run is, on standard error, over what it showed before.
fn progress(text: &str) -> io::Result<()> {
    let mut err = io::stderr().lock();
    write!(err, "\r\x1b[2K{text}")?;
    err.flush()
}

#[cfg(test)]
mod tests;
