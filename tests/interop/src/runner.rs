//! Runs the matrix: servers and clients as processes, on loopback, one pair at a time, and compares
//! what the clients say with what the matrix expects.

mod build;
mod process;
mod refusals;
mod site;
mod table;

pub(crate) use build::Peers;
pub(crate) use corbie_testkit::servers::free_port;
pub(crate) use process::Child;
#[cfg(test)]
pub(crate) use refusals::CASES;

use crate::arguments::Selection;
use crate::matrix::{Matrix, Pair, RuleOutcome, Run, Tls};
use build::Manner;
use site::{Ports, Shown, Site};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// How long a server may take until it is ready; a JVM on a busy machine takes seconds.
const READY: Duration = Duration::from_secs(60);
/// How long a client may take for everything.
const CLIENT: Duration = Duration::from_secs(180);

/// What came of one feature of one pair.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Cell {
    /// It passed, as expected.
    Passed,
    /// It failed or was not run, as rule `rule` says.
    Known { rule: usize, ran: bool },
    /// It should have passed.
    Failed(String),
    /// It passed, and rule `rule` says it cannot.
    Unexpected { rule: usize },
    /// The peer is not installed.
    Missing,
}

impl Cell {
    /// Whether it is as the matrix says.
    pub(crate) fn is_expected(&self) -> bool {
        matches!(self, Cell::Passed | Cell::Known { .. } | Cell::Missing)
    }
}

/// One column of a table.
pub(crate) struct Column {
    pub(crate) pair: Pair,
    pub(crate) cells: BTreeMap<String, Cell>,
}

/// Runs what was selected and prints it. Whether everything was as expected.
#[allow(clippy::print_stdout, clippy::print_stderr)]
pub(crate) fn run(selection: &Selection) -> Result<bool, String> {
    let matrix = Matrix::load()?;
    if selection.list {
        println!("{}", table::list(&matrix));
        return Ok(true);
    }
    let started = Instant::now();
    let wanted =
        |name: &str| selection.peers.is_empty() || selection.peers.iter().any(|p| p == name);
    let peers = Peers::build(&wanted);
    let mut totals = table::Totals::default();
    for run in matrix.run.iter().filter(|run| is_selected(run, selection)) {
        let mut columns = Vec::new();
        for pair in run.pairs()? {
            if !wanted(&pair.client) && !wanted(&pair.server) {
                continue;
            }
            eprintln!("{}: {} → {}", run.name, pair.client, pair.server);
            columns.push(column(&matrix, run, pair, &peers, selection));
        }
        println!("{}", table::of_run(&matrix, run, &columns, selection.full, &mut totals));
    }
    let all_there = peers.missing().is_empty() || selection.allow_missing;
    println!("{}", table::summary(&matrix, &totals, peers.missing(), started.elapsed()));
    Ok(totals.is_expected() && totals.cells() > 0 && all_there)
}

fn is_selected(run: &Run, selection: &Selection) -> bool {
    let named = selection.runs.is_empty() || selection.runs.contains(&run.name);
    named && (!selection.quick || !selection.runs.is_empty() || run.name == "GIOP 1.2")
}

fn column(matrix: &Matrix, run: &Run, pair: Pair, peers: &Peers, selection: &Selection) -> Column {
    let features = matrix.features(run).into_iter().flat_map(|(_, features)| features);
    let is_wanted =
        |f: &&str| selection.features.is_empty() || selection.features.iter().any(|x| x == f);
    let features: Vec<&str> = features.filter(is_wanted).collect();
    let skipped = |feature: &&str| {
        matrix.rule(run, &pair, feature).is_some_and(|(_, rule)| rule.outcome == RuleOutcome::Skip)
    };
    let to_run: Vec<&str> = features.iter().copied().filter(|f| !skipped(f)).collect();
    let bulk = if selection.quick { run.bulk.min(1 << 20) } else { run.bulk };
    let there = peers.is_there(&pair.client) && peers.is_there(&pair.server);
    let answers = match () {
        () if !there => Ok(BTreeMap::new()),
        () if to_run.is_empty() => Ok(BTreeMap::new()),
        () if run.tls == Some(Tls::Refused) => refusals::run(run, &pair, peers, &to_run),
        () => run_pair(run, &pair, peers, &to_run, bulk),
    };
    let cell = |feature: &str| match (&answers, matrix.rule(run, &pair, feature)) {
        _ if !there => Cell::Missing,
        (_, Some((rule, of))) if of.outcome == RuleOutcome::Skip => {
            Cell::Known { rule, ran: false }
        }
        (Err(reason), _) => Cell::Failed(reason.clone()),
        (Ok(answers), rule) => match (answers.get(feature), rule) {
            (Some(Ok(())), None) => Cell::Passed,
            (Some(Ok(())), Some((rule, _))) => Cell::Unexpected { rule },
            (Some(Err(_)), Some((rule, _))) => Cell::Known { rule, ran: true },
            (Some(Err(reason)), None) => Cell::Failed(reason.clone()),
            (None, _) => Cell::Failed("the client ended before it came to this".to_owned()),
        },
    };
    let cells = features.iter().map(|feature| ((*feature).to_owned(), cell(feature))).collect();
    Column { pair, cells }
}

type Answers = BTreeMap<String, Result<(), String>>;

/// Starts a server, runs a client against it, and reads what the client says of each feature.
fn run_pair(
    run: &Run,
    pair: &Pair,
    peers: &Peers,
    features: &[&str],
    bulk: usize,
) -> Result<Answers, String> {
    if run.collocated {
        return Ok(answers(
            &peers.both(&run.giop, &wanted(run, pair, features, bulk))?.finish(CLIENT)?,
        ));
    }
    let port = free_port();
    let site = run.tls.map(|_| Site::new());
    let manner = |peer: &str, port| manner(run, site.as_ref(), peer, port);
    let start = || {
        let more = extra(&run.server, &pair.server);
        let how = manner(&pair.server, port);
        let mut server = peers.server_in(&pair.server, &run.giop, &how, more)?;
        server.wait_for("ready", READY)?;
        Ok::<Child, String>(server)
    };
    let mut server = start()?;
    let reference = match run.corbaloc {
        true => {
            let protocol = if run.tls.is_some() { "ssliop" } else { "iiop" };
            format!("corbaloc:{protocol}:{}@127.0.0.1:{port}/InteropRoot", run.giop)
        }
        false => server.line_after("ior ").ok_or("the server printed no reference")?,
    };
    let arguments = wanted(run, pair, features, bulk);
    let how = manner(&pair.client, 0);
    let mut client = peers.client_in(&pair.client, &run.giop, &reference, &how, &arguments)?;
    if run.restart {
        client.wait_for("restart now", CLIENT)?;
        server.kill();
        server = start()?;
        client.say("go on")?;
    }
    let lines = client.finish(CLIENT)?;
    server.kill();
    Ok(answers(&lines))
}

/// Where a peer listens, and what it is told of security.
fn manner(run: &Run, site: Option<&Site>, peer: &str, port: u16) -> Manner {
    let Some(site) = site else { return Manner::plain(peer, port) };
    match run.tls {
        Some(Tls::Older) => site.older(peer, port),
        // A client has no reason to be called back in plain text.
        Some(Tls::Offered) if port != 0 => site.manner(peer, Shown::Good, Ports::Both, port),
        _ => site.manner(peer, Shown::Good, Ports::Secure, port),
    }
}

/// What the client is told.
fn wanted(run: &Run, pair: &Pair, features: &[&str], bulk: usize) -> Vec<String> {
    let mut arguments: Vec<String> = vec!["--bulk".to_owned(), bulk.to_string()];
    for feature in features {
        arguments.extend(["--feature".to_owned(), (*feature).to_owned()]);
    }
    if run.restart {
        arguments.push("--restart".to_owned());
    }
    arguments.extend_from_slice(extra(&run.client, &pair.client));
    arguments
}

fn extra<'a>(by_peer: &'a BTreeMap<String, Vec<String>>, peer: &str) -> &'a [String] {
    by_peer.get(peer).map_or(&[], Vec::as_slice)
}

fn answers(lines: &[String]) -> Answers {
    let mut answers = Answers::new();
    for line in lines {
        if let Some(name) = line.strip_prefix("ok ") {
            answers.insert(name.to_owned(), Ok(()));
        } else if let Some(rest) = line.strip_prefix("FAIL ") {
            let (name, reason) = rest.split_once(' ').unwrap_or((rest, "no reason given"));
            answers.insert(name.to_owned(), Err(reason.to_owned()));
        }
    }
    answers
}
