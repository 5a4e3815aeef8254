//! An experiment as data, and the one way of running it: every contender in turn, round after
//! round.
//!
//! `main.rs` looks a name up in `experiments.rs` and calls [`run`]. An experiment lists its cells
//! (which contender does what, pinned where), the pictures, the paper's table and the ratios.

mod shown;

pub(crate) use shown::{Chart, PaperRow, PaperTable, Plot};

use crate::contender::{Contender, Roster};
use crate::machine;
use crate::orders::{Answer, Order, Step};
use crate::placement::Pin;
use crate::process::Process;
use crate::processor_time::ProcessorTime;
use crate::record::{self, At, Collected, Curve, Missing, Record, Timeline};
use crate::statistics;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Write};

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
    /// What a series added to another: that other one, and the metric. Gives rows `added_…`.
    pub(crate) added: Option<(&'static str, &'static str)>,
    /// Rows that are computed and not measured: what would be ideal.
    pub(crate) ideal: Option<fn(&At) -> Option<f64>>,
    /// The metric of the printed table's first column and of the first plot.
    pub(crate) metric: &'static str,
    /// The plots: the first is named as the experiment, the others have their name behind it.
    pub(crate) charts: &'static [Plot],
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
    /// Pauses that are scaled otherwise are as long as in the paper, where it has any (`mshn.rs`).
    pub(crate) full_pause: bool,
}

/// One thing done in every round.
pub(crate) struct Cell {
    /// The contender.
    pub(crate) contender: Contender,
    /// Where.
    pub(crate) pin: Pin,
    /// With a sink behind it, the contender is a middle tier: how long the sink takes to answer.
    pub(crate) sink_delay_ms: Option<u64>,
    /// What; the warm-up of [`Order::Latency`] is the contender's own.
    pub(crate) order: Order,
    /// What the row says beside pin and configuration.
    pub(crate) x: Vec<(&'static str, serde_json::Value)>,
}

impl Cell {
    /// What its row says.
    pub(crate) fn at(&self) -> At {
        let mut x: At =
            self.x.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
        x.insert("pin".to_owned(), self.pin.name().into());
        if !self.contender.config.is_empty() {
            x.insert("config".to_owned(), self.contender.config.into());
        }
        x
    }

    /// How long computing a schedule is to take, by what the row says.
    fn pause_us(&self) -> u64 {
        let is_pause = |(name, _): &&(&str, serde_json::Value)| *name == "pause_ms";
        let pause_ms = self.x.iter().find(is_pause).and_then(|(_, value)| value.as_u64());
        pause_ms.unwrap_or(0) * 1_000
    }

    /// What a progress line says.
    pub(crate) fn label(&self) -> String {
        let mut label = self.contender.series.clone();
        for value in self.at().values() {
            label.push_str(" · ");
            label.push_str(&value.to_string().replace('"', ""));
        }
        label
    }
}

/// A server and its client, running; or the three tiers.
struct Session {
    // The client first: it is dropped, and so ended, before the server.
    client: Process,
    /// The server, or the middle tier: who is measured. None where all is in one process.
    server: Option<Process>,
    sink: Option<Process>,
}

impl Session {
    fn start(cell: &Cell, roster: &Roster, log: &File) -> Result<Session, String> {
        let text = |e: io::Error| e.to_string();
        if let Some(delay_ms) = cell.sink_delay_ms {
            let sink = Process::start(&roster.sink(delay_ms), None, log).map_err(text)?;
            let launch = roster.tier(&cell.contender, &sink.address().map_err(text)?)?;
            let server = Process::start(&launch, cell.pin.server(), log).map_err(text)?;
            let launch = roster.sources(&server.address().map_err(text)?);
            let client = Process::start(&launch, cell.pin.client(), log).map_err(text)?;
            return Ok(Session { client, server: Some(server), sink: Some(sink) });
        }
        if cell.contender.is_alone() {
            let launch = roster.client(&cell.contender, "")?;
            let client = Process::start(&launch, cell.pin.client(), log).map_err(text)?;
            return Ok(Session { client, server: None, sink: None });
        }
        let launch = roster.server(&cell.contender)?;
        let server = Process::start(&launch, cell.pin.server(), log).map_err(text)?;
        let address = server.address().map_err(text)?;
        let launch = roster.client(&cell.contender, &address)?;
        let client = Process::start(&launch, cell.pin.client(), log).map_err(text)?;
        Ok(Session { client, server: Some(server), sink: None })
    }

    fn processor_time(&self) -> ProcessorTime {
        let mut processes = vec![("client_cpu_pct", self.client.id())];
        match (&self.server, &self.sink) {
            (None, _) => {}
            (Some(server), None) => processes.push(("server_cpu_pct", server.id())),
            (Some(tier), Some(sink)) => {
                processes.extend([("tier_cpu_pct", tier.id()), ("sink_cpu_pct", sink.id())]);
            }
        }
        ProcessorTime::of(&processes)
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
            if failed[index].is_some() || (cell.contender.is_once && round > 0) {
                continue;
            }
            progress(&format!("round {}/{}: {}", round + 1, effort.rounds, cell.label()))?;
            let when = When { first_round: round == 0, quick: effort.quick };
            match measure(cell, &mut sessions[index], roster, log, when) {
                Ok(measured) => measured.collect(cell, &mut collected),
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
    if let Some(ideal) = experiment.ideal {
        record::add_ideal(&mut rows, experiment.metric, ideal);
    }
    if let Some((series, metric)) = experiment.added {
        record::add_added(&mut rows, series, metric);
    }
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
        timelines: collected.timelines().to_vec(),
        curves: collected.curves().to_vec(),
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
) -> Result<Measured, String> {
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
        _ => {}
    }
    if let Order::Sources { clients, .. } = order {
        session.client.obey(&Order::Connect { clients }).map_err(|e| e.to_string())?;
    }
    if let Order::Requests(_) = order {
        let components = Order::Components { pause_us: cell.pause_us() };
        session.client.obey(&components).map_err(|e| e.to_string())?;
    }
    let before = session.processor_time();
    let show = |text: &str| progress(&format!("{}: {text}", cell.label()));
    let answer = session.client.obey_showing(&order, show).map_err(|e| e.to_string())?;
    let spent = session.processor_time().since(&before);
    let mut metrics = statistics::metrics(&answer, &order)?;
    metrics.extend(spent);
    if cell.contender.stays_warm() {
        *kept = Some(session);
    }
    let (steps, curve) = match answer {
        Answer::Steps(steps) => (steps, Vec::new()),
        Answer::Curve(curve) => (Vec::new(), curve),
        _ => (Vec::new(), Vec::new()),
    };
    Ok(Measured { metrics, steps, curve })
}

/// What one cell of one round gave.
#[derive(Debug)]
struct Measured {
    metrics: Vec<statistics::Metric>,
    steps: Vec<Step>,
    curve: Vec<u64>,
}

impl Measured {
    fn collect(self, cell: &Cell, collected: &mut Collected) {
        let (series, x) = (cell.contender.series.clone(), cell.at());
        for (name, value) in &self.metrics {
            collected.add(&series, &x, name, *value);
        }
        if !self.curve.is_empty() {
            let (series, x) = (series.clone(), x.clone());
            collected.add_curve(Curve { series, x, values: self.curve });
        }
        if !self.steps.is_empty() {
            collected.add_timeline(Timeline { series, x, steps: self.steps });
        }
    }
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
mod tests {
    use super::*;

    #[test]
    fn a_contender_that_cannot_start_is_named_and_the_rest_goes_on() {
        let cell = Cell {
            contender: Contender::awaited("corbie-later", &["it is not built yet"]),
            pin: Pin::None,
            sink_delay_ms: None,
            order: Order::Local { size: 1, window_ms: 1 },
            x: Vec::new(),
        };
        let roster = Roster::new(crate::raw::Sizes { request: 92, reply: 32 }).unwrap();
        let log = File::create("/dev/null").unwrap();
        let when = When { first_round: true, quick: true };
        let reason = measure(&cell, &mut None, &roster, &log, when).unwrap_err();
        let missing = missing(&[cell], &[Some(reason)]);
        assert_eq!(missing.len(), 1);
        assert_eq!(missing[0].series, "corbie-later");
        assert!(missing[0].reason.contains("not built yet"));
    }
}
