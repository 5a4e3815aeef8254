//! `corbie ping`: whether an object answers, and how fast. Like ping(8), with requests.
//!
//! Each ping is a call of `_non_existent`, which every object answers (CORBA 3.3 P1 §8.3.6), or
//! with `--locate` a LocateRequest, which the server's ORB answers without its servants.

use std::io::Write;
use std::time::{Duration, Instant};

use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};

use serde_json::{Value as Json, json};

use crate::failure::Failure;
use crate::session::{self, Session};

pub(super) fn table() -> Command {
    Command::new("ping")
        .about("Says whether an object answers, and how fast")
        .arg(session::reference())
        .arg(
            Arg::new("count")
                .short('c')
                .long("count")
                .value_name("N")
                .default_value("4")
                .value_parser(value_parser!(u32).range(1..))
                .help("How many requests"),
        )
        .arg(session::interval("The pause between two requests", session::seconds))
        .arg(
            Arg::new("locate")
                .long("locate")
                .action(ArgAction::SetTrue)
                .help("Send a LocateRequest instead of calling _non_existent"),
        )
        .arg(
            Arg::new("json")
                .long("json")
                .action(ArgAction::SetTrue)
                .help("Print one JSON object at the end, for programs"),
        )
        .args(session::arguments())
        .after_help(
            "Example: corbie ping -c 10 corbaloc::localhost:2809/NameService\n\n\
             Exit status: 0 if every request was answered and the object exists, else 1.",
        )
}

pub(super) fn run(matches: &ArgMatches, output: &mut dyn Write) -> Result<(), Failure> {
    let count = matches.get_one::<u32>("count").copied().unwrap_or(1);
    let pause = session::interval_of(matches);
    let session = Session::start(matches)?;
    let object = session.object(matches)?;
    let is_json = matches.get_flag("json");
    let mut tally = Tally::default();
    for number in 1..=count {
        if number > 1 {
            std::thread::sleep(pause);
        }
        let started = Instant::now();
        let answer =
            if matches.get_flag("locate") { object.locate() } else { session::exists(&object) };
        let elapsed = started.elapsed();
        match answer {
            Ok(()) => {
                tally.round_trips.push(elapsed);
                // The ORB connects at the first call.
                let note = if number == 1 { ", connecting included" } else { "" };
                if !is_json {
                    let time = milliseconds(elapsed);
                    writeln!(output, "reply {number}: time {time:.3} ms{note}")?;
                }
            }
            Err(exception) => {
                if !is_json {
                    writeln!(output, "request {number}: {exception}")?;
                }
                tally.failures.push(exception.to_string());
            }
        }
        output.flush()?;
    }
    if is_json {
        writeln!(output, "{:#}", tally.facts())?;
    } else {
        tally.write(output)?;
    }
    if tally.failures.is_empty() { Ok(()) } else { Err(Failure::silent()) }
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// The outcome of all requests.
#[derive(Default)]
struct Tally {
    /// In the order of the requests.
    round_trips: Vec<Duration>,
    failures: Vec<String>,
}

impl Tally {
    fn write(&self, output: &mut dyn Write) -> Result<(), Failure> {
        let answered = self.round_trips.len();
        writeln!(output, "{} requests, {answered} answered", answered + self.failures.len())?;
        if let Some([least, median, most]) = self.least_median_most() {
            writeln!(output, "round trip least/median/most {least:.3}/{median:.3}/{most:.3} ms")?;
        }
        Ok(())
    }

    fn facts(&self) -> Json {
        let answered = self.round_trips.len();
        let times: Vec<_> = self.round_trips.iter().map(|time| milliseconds(*time)).collect();
        let mut facts = json!({
            "requests": answered + self.failures.len(),
            "answered": answered,
            "round_trips_ms": times,
            "failures": self.failures,
        });
        if let Some([least, median, most]) = self.least_median_most() {
            facts["least_ms"] = json!(least);
            facts["median_ms"] = json!(median);
            facts["most_ms"] = json!(most);
        }
        facts
    }

    /// In milliseconds. The median of an even number of times is the mean of the two in the middle.
    fn least_median_most(&self) -> Option<[f64; 3]> {
        let mut sorted = self.round_trips.clone();
        sorted.sort_unstable();
        let (least, most) = (*sorted.first()?, *sorted.last()?);
        let median = (sorted[(sorted.len() - 1) / 2] + sorted[sorted.len() / 2]) / 2;
        Some([least, median, most].map(milliseconds))
    }
}
